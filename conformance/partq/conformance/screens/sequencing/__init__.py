"""Sequence numbers and their gaps."""
