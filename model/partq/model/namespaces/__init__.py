"""Namespaces: entities side by side, and how many."""
