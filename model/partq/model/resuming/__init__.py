"""Flows that come back in time, to the partitions that they had (REB-8)."""
