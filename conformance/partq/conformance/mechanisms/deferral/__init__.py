"""Deferred messages (RCV-10)."""
