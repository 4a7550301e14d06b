"""A broker tried by hand, one Azure operation at a time: may it answer this next? No flows, batches or kills:
`validation` follows these in recorded histories.

`session` follows operations with Apalache's explorer (`server`), in the words of `observed`, on a generated
module (`module`). The conformance suite runs the broker.
"""
