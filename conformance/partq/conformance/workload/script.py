"""From a program's symbolic steps to concrete operations, one client at a time.

A `Script` remembers what its client holds (locks, an open transaction, a flow, numbers it has seen) and
turns the next step into arguments, or into nothing where the step makes no sense now. Pure: the
drivers (simulation, threads) do the calls and report to the script what came of them. What each operation
makes of it is its record's business (`operations`).
"""

from __future__ import annotations

from typing import Final

from partq.conformance.workload.operations.record import Args, Holdings, Told
from partq.conformance.workload.operations.table import OPERATIONS
from partq.conformance.workload.program import Step
from partq.model.messages import Delivery


class Script(Holdings):
    """What one client of a running program holds. ``most_flows``: so many it may have at a time."""

    __slots__ = ()

    def resolve(self, step: Step, now: int) -> Args | None:
        """The operation arguments of a step that is taken ``now`` (ns), as a history records them, or None:
        nothing to do."""
        self.now = now
        resolver = _RESOLVERS.get(step.op)
        return step.args if resolver is None else resolver(self, step.args)

    def absorb(
        self, op: str, args: Args, outcome: str, error: str | None, messages: tuple[Delivery, ...]
    ) -> None:
        """Learn from what came of an operation."""
        learn = _LEARNERS.get(op)
        if learn is not None:
            learn(self, Told(args, outcome, error, messages))


_RESOLVERS: Final = {name: one.resolve for name, one in OPERATIONS.items() if one.resolve is not None}
_LEARNERS: Final = {name: one.learn for name, one in OPERATIONS.items() if one.learn is not None}
