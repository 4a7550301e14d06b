"""The place of the TLA+ side: specifications, and what runs TLC and Apalache and reads their answers.

None of it is written yet. It will be tied to `partq.model`, the only package of ours it may import.
Checkers, adapters and anything a conformance run needs do not belong here.
"""
