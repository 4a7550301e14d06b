"""May a broker answer this next? Operations followed one at a time (`session`) by Apalache's explorer
(`server`): in which words they are asked (`observed`), of which generated module (`module`).

Running the broker is the conformance suite's business.
"""
