"""A broker tried by hand, one Azure operation at a time: may it answer this next? No flows, batches or kills:
`validation` follows these in recorded histories.

Operations are followed (`session`) by Apalache's explorer (`server`): in which words they are asked
(`observed`), of which generated module (`module`).

Running the broker is the conformance suite's business.
"""
