"""The number of partitions changes."""
