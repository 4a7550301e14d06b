"""Capacity: how much an entity holds."""
