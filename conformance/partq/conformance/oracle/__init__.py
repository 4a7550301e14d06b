"""The model asked about whole histories: the judge, and the coverage of the model's graph.

What is allowed is decided in `partq.model`; here is only the search for an order that it allows.
"""
