"""Flows, and the assignment of partitions to them (REB)."""
