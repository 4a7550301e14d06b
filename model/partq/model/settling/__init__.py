"""What a client does with a message that it has locked: complete, abandon, renew (RCV)."""
