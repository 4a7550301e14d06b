"""A client whose connection was lost comes back under the name of its flow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.workload.operations.flows import FLOWS
from partq.conformance.workload.operations.record import Args, Holdings, Operation


def _resolve(held: Holdings, args: Args) -> Args | None:
    return {"flow": held.last_flow} if held.last_flow and not held.flows else None


OPERATIONS: Final[Mapping[str, Operation]] = {
    "rebind": Operation({}, _resolve, FLOWS["bind"].learn, idle="it had a flow, or never had one")
}
