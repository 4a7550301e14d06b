"""Deferred messages: set aside by their holder, received by number (RCV-10)."""
