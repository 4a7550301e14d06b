"""Queues that forward to others."""
