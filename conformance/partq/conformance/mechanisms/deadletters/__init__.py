"""The dead-letter queue, and messages moved there for a reason (RCV-9)."""
