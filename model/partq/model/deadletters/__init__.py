"""The dead-letter queue: which messages move there, when, and why (RCV-9)."""
