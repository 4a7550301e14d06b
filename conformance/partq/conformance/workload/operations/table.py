"""Each operation that a program's steps may ask for, as one record: those of the files here, and those of
each mechanism (its `steps`).

A record is all that programs, scripts, writers and drivers know of an operation beside the alphabet
(`partq.model.operations`): none of them names one. Nothing here runs a step or knows a broker.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.of_mechanisms import given
from partq.conformance.workload.operations.faults import FAULTS
from partq.conformance.workload.operations.flows import FLOWS
from partq.conformance.workload.operations.receiving import RECEIVING
from partq.conformance.workload.operations.record import Args, Operation
from partq.conformance.workload.operations.sending import SENDING
from partq.conformance.workload.operations.settling import SETTLING
from partq.conformance.workload.operations.transactions import TRANSACTIONS

OPERATIONS: Final[Mapping[str, Operation]] = {
    **SENDING,
    **RECEIVING,
    **SETTLING,
    **TRANSACTIONS,
    **FLOWS,
    **FAULTS,
    **{name: record for table in given("steps", "OPERATIONS").values() for name, record in table.items()},
}
"""Every step of a program."""


def is_offered(op: str, args: Args, lacks: frozenset[str]) -> bool:
    """Whether a broker that lacks these does the step, asked so: what cannot schedule heeds no message's
    time, and what moves no messages to another entity has none there."""
    return op not in lacks and OPERATIONS[op].also(args) not in lacks
