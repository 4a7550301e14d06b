"""Fast and sound detectors on histories of any size, one folder per mechanism.

Shared by all: what a detector is (`protocol`), what no detector follows (`unsupported`), the list of them
(`registry`) and running them all (`assess`). A screen reads `facts`, never another screen's findings, and
never asks the model.
"""
