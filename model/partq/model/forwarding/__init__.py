"""Forwarding: a queue passes on to another one what it is sent (FWD)."""
