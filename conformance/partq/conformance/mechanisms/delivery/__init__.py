"""What a receive may hand out, and what an answer tells (RCV)."""
