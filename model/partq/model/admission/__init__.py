"""What any valid request of a client may be turned away for."""
