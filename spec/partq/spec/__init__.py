"""The TLA+ toolchain in Python: running TLC and Apalache, reading their graphs, traces and values.

Ties the specifications beside this package to `partq.model`, the only package of ours it may import.
Checkers, adapters and anything a conformance run needs do not belong here.
"""
