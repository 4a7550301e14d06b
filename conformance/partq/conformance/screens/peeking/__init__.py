"""Peeks: what they answer, what they skip, what they must not change."""
