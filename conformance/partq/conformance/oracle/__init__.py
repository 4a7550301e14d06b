"""The model asked about whole histories: the judge, and the coverage of the model's graph.

`partq.model` decides what is allowed; this package searches for an order that it allows.
"""
