"""What exercises the rules on clients that come back, in a history."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from partq.conformance.facts.flow_timeline import FlowSession, FlowTimeline
from partq.conformance.facts.index import Facts
from partq.conformance.oracle.roles import RESUMES
from partq.conformance.screens.protocol import Exercise

Apart = tuple[int, int]
"""How long, ns, after its flow was lost a client bound another one, at least and at most."""


def _returns(facts: Facts) -> Iterator[Apart]:
    """Of each flow that a client bound anew after it had lost one, and that was given a partition."""
    timeline = facts.derive(FlowTimeline)
    last: dict[str, FlowSession] = {}
    for session in timeline.sessions:
        before, given = last.get(session.bind.proc), timeline.assignments_of.get(session.flow, ())
        if any(one.begin.call >= session.bind.call for one in given) and session.bind.op != RESUMES:
            if before is not None and before.certain_end < session.bind.call:
                bound = session.certain_start - before.possible_end
                yield session.bind.call - before.certain_end, bound
        last[session.bind.proc] = session


def _counted(fits: Callable[[Apart, int], bool]) -> Callable[[Facts], int]:
    """Count the returns that came within the delay, or after it."""

    def count(facts: Facts) -> int:
        delay = facts.entity.rebalance_delay
        return sum(fits(apart, delay) for apart in _returns(facts)) if facts.profile.flows else 0

    return count


EXERCISED: Final[Mapping[str, Exercise]] = {
    "REB-9": Exercise(_counted(lambda apart, delay: apart[1] < delay), ("assignment",)),
    "REB-10": Exercise(_counted(lambda apart, delay: apart[0] > delay), ("assignment",)),
}
