"""What a drain does about messages that are set aside: it receives them by their numbers."""

from __future__ import annotations

from typing import Final

from partq.conformance.execution.drain import Leftover, Taking
from partq.conformance.workload.cases.steps import complete
from partq.conformance.workload.program import Step
from partq.model.messages import DEFERRED
from partq.model.operations import DRAINER


def take() -> Taking:
    """Receive what the last peek showed as deferred, partition by partition."""
    found = set[str]()
    while (did := (yield Step(DRAINER, "receive_deferred", {"peeked": True}))) is not None:
        found.update(message.id for message in did.messages)
        if did.messages:  # the last locks: before them stand those of a settlement that was refused
            yield complete(DRAINER, *range(-len(did.messages), 0))
    return found


LEFTOVERS: Final = (Leftover(DEFERRED, take),)
