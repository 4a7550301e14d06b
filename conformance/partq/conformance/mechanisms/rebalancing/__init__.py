"""Flows, and which of them has which partition (REB)."""
