"""What became of a recording, and how TLC's output says so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from partq.spec.tools.tlc import Answer
from partq.spec.tools.values import InvalidValue, read_value

from .steps import Trace


class Status(StrEnum):
    """What became of a history. ``UNKNOWN``: a limit was reached. ``DECLINED``: the specification says
    nothing of what was done."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNKNOWN = "unknown"
    DECLINED = "declined"


class Validated(NamedTuple):
    """``record``: of a rejected history the operation that no behaviour explains, after all that returned
    before it was explained (``explained``: how many operations these are). ``reason``: why it is not known.
    ``states``: how many TLC found; 0 if it was not asked."""

    status: Status
    record: int | None = None
    explained: int = 0
    reason: str = ""
    states: int = 0

    @property
    def decided(self) -> bool:
        """Whether it is accepted or rejected."""
        return self.status in (Status.ACCEPTED, Status.REJECTED)


IN_PART: Final = "a search of a part of the states explains none"

_PRINTED: Final = re.compile(r'<<\s*"(?:at|gave up|in part)",[^>]*>>')
"""What `Validation.tla` prints: the trace, how far it was followed, the states found."""


def verdicts(traces: Sequence[Trace], answer: Answer) -> Iterator[Validated]:
    """What TLC's answer says of each trace of a module."""
    furthest = dict.fromkeys(range(1, len(traces) + 1), 1)
    states = dict.fromkeys(furthest, 0)
    left_out: dict[int, str] = {}
    for what, n, at, made in _printed(answer):
        furthest[n], states[n] = max(furthest[n], at), max(states[n], made)
        if what != "at":
            left_out[n] = IN_PART if what == "in part" else f"more than {states[n]:,} states"
    failure = answer.error or answer.violated
    for n, trace in enumerate(traces, 1):
        done = furthest[n] - 1
        heads = trace.order.heads
        if done == len(heads):
            yield Validated(Status.ACCEPTED, explained=done, states=states[n])
        elif n in left_out or failure:
            reason = left_out.get(n, failure)
            yield Validated(Status.UNKNOWN, explained=done, reason=reason, states=states[n])
        elif trace.presumed:
            reason = "in which order the messages of a batch were stored"
            yield Validated(Status.UNKNOWN, explained=done, reason=reason, states=states[n])
        else:
            record = trace.steps[heads[done] - 1].record
            yield Validated(Status.REJECTED, record, done, states=states[n])


def _printed(answer: Answer) -> Iterator[tuple[str, int, int, int]]:
    for line in answer.printed:
        for text in _PRINTED.findall(line):
            try:
                yield read_value(text)
            except InvalidValue:  # cut off by the time limit
                continue
