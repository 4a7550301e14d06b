"""Outages, kills and lost front ends, and the time that passes."""
