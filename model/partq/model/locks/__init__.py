"""Locks on messages: how they end, and what may have become of a message whose lock ended (RCV)."""
