"""The TLA+ side: the specification (`tla/`), and what runs TLC and Apalache and reads their answers.

It is tied to `partq.model`, the only package of ours that it may import. Brokers, histories and anything a
conformance run needs do not belong here; the specification itself takes nothing from Python.
"""
