"""The numbers that messages get in their partition (SEQ)."""
