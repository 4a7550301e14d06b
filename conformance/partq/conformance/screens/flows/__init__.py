"""Partitioned flows: ownership, deliveries, order, rebalancing."""
