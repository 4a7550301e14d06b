"""The reference broker: partitions, front ends, stores and faults, on a virtual or a real clock.

An independent implementation that imports no other package of ours, so that it cannot share a mistake
with the model that judges it. Adapters, checkers and verdicts do not belong here.
"""
