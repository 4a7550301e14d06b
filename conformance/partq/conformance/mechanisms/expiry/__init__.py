"""Messages with a time to live (RCV-15)."""
