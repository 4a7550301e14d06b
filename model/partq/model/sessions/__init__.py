"""Sessions: messages that only the holder of their session's lock receives, in order (SES)."""
