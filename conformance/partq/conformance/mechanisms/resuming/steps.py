"""A client whose connection was lost comes back under the name of its flow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.workload.operations.flows import FLOWS
from partq.conformance.workload.operations.record import Operation

OPERATIONS: Final[Mapping[str, Operation]] = {
    "rebind": Operation(
        {},
        lambda held, args: {"flow": held.last_flow} if held.last_flow and not held.flows else None,
        FLOWS["bind"].learn,
        idle="it had a flow, or never had one",
    )
}
