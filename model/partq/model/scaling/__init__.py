"""Scaling: the number of partitions changes."""
