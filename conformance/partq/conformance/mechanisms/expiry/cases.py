"""Messages with a time to live: RCV-15 on the azure profiles."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from partq.conformance.workload.cases.case import Case
from partq.conformance.workload.cases.steps import (
    AZURE,
    abandon,
    complete,
    message,
    pass_time,
    peek,
    program,
    receive,
    send,
    take,
)
from partq.conformance.workload.program import Program
from partq.model.messages import Message
from partq.model.profiles import SECOND

LIFE: Final = 5 * SECOND


def _mortal(id: str) -> Message:
    return replace(message(id, "a"), ttl=LIFE)


def _over(profile: str) -> Program:
    """One is received in time, one is over, and what was sent after it is there."""
    return program(
        profile,
        send("c1", _mortal("m1")),
        take("c2"),
        send("c1", _mortal("m2")),
        send("c1", message("m3", "a")),
        pass_time(LIFE + 2 * SECOND),
        peek("c2"),
        take("c2", 5),
        take("c2", 5),
        peek("c2", start="start"),
    )


def _held(profile: str) -> Program:
    """Two are locked when their time ends: one is completed, one comes back, and is over."""
    return program(
        profile,
        send("c1", _mortal("m1")),
        send("c1", _mortal("m2")),
        receive("c2"),
        receive("c2"),
        pass_time(LIFE + 2 * SECOND),
        complete("c2"),
        abandon("c2"),
        receive("c2", 5),
        peek("c1"),
    )


CASES: Final = (
    Case(
        "expired",
        ("RCV-15",),
        AZURE,
        "A message is not delivered once its time to live has ended.",
        _over,
    ),
    Case(
        "expired-locked",
        ("RCV-15",),
        AZURE,
        "A locked message is settled after its time to live; when its lock ends otherwise, it is over.",
        _held,
    ),
)
