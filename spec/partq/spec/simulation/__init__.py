"""What may happen? Random walks and counterexamples (`behaviours`), kept as traces in ITF (`itf`); a set of
them comes with the package (`traces/`).

Making programs of them is the conformance suite's business.
"""
