"""Refused requests, and the faults that excuse a refusal."""
