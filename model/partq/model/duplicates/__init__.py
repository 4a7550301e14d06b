"""Duplicate detection: a message ID counts once within a window (DUP), and is a key (KEY-4)."""
