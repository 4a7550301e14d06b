"""Duplicate detection (DUP), and the message ID as a key (KEY-4)."""
