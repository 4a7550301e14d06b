"""Transactions: keys, sends, settlements."""
