"""A program on a broker: in simulation or on threads, recorded as a history, drained at its end.

What the broker answers is written down and never judged.
"""
