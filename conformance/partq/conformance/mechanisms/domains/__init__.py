"""Order domains (ORD): what may be delivered while others of its domain wait."""
