"""Order domains (ORD): which messages may be delivered while others of their domain wait."""
