"""Flows that come back to the partitions that they had."""
