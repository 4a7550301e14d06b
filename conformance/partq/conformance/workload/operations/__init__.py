"""Each operation that a program's steps may ask for, as one record: `OPERATIONS`. A mechanism is a file.

A record is all that programs, scripts, writers and drivers know of an operation beside the alphabet
(`partq.model.operations`): none of them names one. Nothing here runs a step or knows a broker.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.workload.operations.deferral import DEFERRAL
from partq.conformance.workload.operations.faults import FAULTS
from partq.conformance.workload.operations.flows import FLOWS
from partq.conformance.workload.operations.receiving import RECEIVING
from partq.conformance.workload.operations.record import Operation
from partq.conformance.workload.operations.scheduling import SCHEDULING
from partq.conformance.workload.operations.sending import SENDING
from partq.conformance.workload.operations.settling import SETTLING
from partq.conformance.workload.operations.transactions import TRANSACTIONS

OPERATIONS: Final[Mapping[str, Operation]] = {
    **SENDING,
    **SCHEDULING,
    **RECEIVING,
    **SETTLING,
    **DEFERRAL,
    **TRANSACTIONS,
    **FLOWS,
    **FAULTS,
}
"""Every step of a program."""
