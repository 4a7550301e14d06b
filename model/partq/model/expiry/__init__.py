"""Time to live: an expired message is not delivered (RCV-15)."""
