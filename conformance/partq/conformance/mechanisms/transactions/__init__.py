"""What belongs together, and happens as a whole or not at all (TXN)."""
