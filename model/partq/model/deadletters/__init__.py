"""The dead-letter queue: what moves there, when, and why (RCV-9)."""
