"""What a receive may deliver, and what its answer shows (RCV)."""
