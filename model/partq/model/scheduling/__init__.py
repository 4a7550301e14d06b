"""Scheduled messages: stored at once, activated later (SCH)."""
