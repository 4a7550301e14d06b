"""Scheduled messages (SCH)."""
