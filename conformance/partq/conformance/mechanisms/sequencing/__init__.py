"""The numbers of messages in their partition (SEQ)."""
