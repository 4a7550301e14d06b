"""Duplicate detection: a message ID counts once within a window (DUP), is a key (KEY-4), and is assigned
where the application gave none (KEY-6)."""
