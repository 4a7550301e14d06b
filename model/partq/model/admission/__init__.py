"""Reasons for which any valid request may be refused."""
