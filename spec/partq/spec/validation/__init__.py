"""Recorded histories validated by TLC: can the specification's own actions explain them?

A `Recording` (`recording`) becomes a trace of steps (`places`: where messages are; `translation`: what
operations become; `scope`: what is not followed), the traces of a batch a module in TLA+ (`module`), which
TLC follows by `tla/Validation.tla` (`batches`) and answers for (`verdict`). The specification has no clock:
a timer may end at any moment, and times are not compared.
"""

from .batches import SECONDS, SIZE, STATES, Limits, batches, validate
from .recording import NotFollowed, Operation, Recording, Sent, Shown, prefix
from .translation import trace_of
from .verdict import Status, Validated

__all__ = [
    "SECONDS",
    "SIZE",
    "STATES",
    "Limits",
    "NotFollowed",
    "Operation",
    "Recording",
    "Sent",
    "Shown",
    "Status",
    "Validated",
    "batches",
    "prefix",
    "trace_of",
    "validate",
]
