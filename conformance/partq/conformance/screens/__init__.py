"""Fast and sound detectors on histories of any size, one mechanism a room.

Shared by all: what a detector is (`protocol`), what no detector follows (`unsupported`), which there are
(`registry`) and running them all (`assess`). A screen reads `facts`, never another screen's findings, and
never asks the model.
"""
