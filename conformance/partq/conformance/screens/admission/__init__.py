"""Requests refused, faults and what they excuse."""
