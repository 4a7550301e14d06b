"""Scheduled messages: SCH on the azure profiles."""

from __future__ import annotations

from typing import Any, Final

from partq.conformance.workload.cases.case import Case
from partq.conformance.workload.cases.steps import (
    AZURE,
    begin,
    commit,
    complete,
    message,
    pass_time,
    peek,
    program,
    receive,
    restart,
    rollback,
    send,
    take,
)
from partq.conformance.workload.program import Program, Step
from partq.model.messages import Message
from partq.model.profiles import SECOND

SOON: Final = 2 * SECOND
LATER: Final = 20 * SECOND


def _schedule(proc: str, *messages: Message, delay: int = SOON, **args: Any) -> Step:
    return Step(proc, "schedule", {"messages": messages, "delay": delay, **args})


def _cancel(proc: str, pick: int, **args: Any) -> Step:
    return Step(proc, "cancel_scheduled", {"pick": pick, **args})


def _in_its_time(profile: str) -> Program:
    """Asked for before their time, shown while they wait, received after."""
    return program(
        profile,
        _schedule("c1", message("m1", "a"), message("m2", "a")),
        _schedule("c1", message("m3", "b")),
        receive("c2", 5),
        peek("c2"),
        pass_time(SOON + SECOND),
        *[step for _ in range(3) for step in (receive("c2", 5), complete("c2"))],
        peek("c2"),
    )


def _behind_what_was_sent(profile: str) -> Program:
    """What was sent while a message waited comes before it, what is sent later after it."""
    sends = [send("c1", message(f"m{n}", "a")) for n in range(3)]
    after = [send("c1", message(f"n{n}", "a")) for n in range(2)]
    return program(
        profile,
        _schedule("c1", message("late", "a")),
        *sends,
        pass_time(SOON + SECOND),
        *after,
        take("c2", 20),
    )


def _cancelled(profile: str) -> Program:
    """One of two is cancelled in time, and never comes; it cannot be cancelled again."""
    return program(
        profile,
        _schedule("c1", message("m1", "a"), message("m2", "a"), delay=LATER),
        _cancel("c1", 0),
        peek("c2"),
        _cancel("c1", 0),
        pass_time(LATER + SECOND),
        take("c2", 5),
        peek("c2"),
    )


def _void(profile: str) -> Program:
    """Once a message is active its old number is void, and cancels nothing."""
    return program(
        profile,
        _schedule("c1", message("m1", "a")),
        pass_time(SOON + 3 * SECOND),
        receive("c2", 5),
        _cancel("c1", 0),
        complete("c2"),
        _cancel("c1", 0),
        peek("c2"),
    )


def _through_a_restart(profile: str) -> Program:
    """The broker is killed while messages wait, and starts when one of them is due."""
    down, up = restart()
    return program(
        profile,
        _schedule("c1", message("m1", "a")),
        _schedule("c1", message("m2", "b"), delay=LATER),
        down,
        pass_time(SOON),
        up,
        peek("c2"),
        pass_time(LATER),
        take("c2", 5),
    )


def _in_a_transaction(profile: str) -> Program:
    """Scheduled and cancelled in transactions: all of it at the commit, nothing after a rollback."""
    return program(
        profile,
        _schedule("c1", message("m1", "a"), delay=LATER),
        begin("c1"),
        _schedule("c1", message("m2", "a"), delay=LATER, txn=True),
        _cancel("c1", 0, txn=True),
        peek("c2"),
        commit("c1"),
        peek("c2"),
        begin("c1"),
        _schedule("c1", message("m3", "a"), delay=LATER, txn=True),
        rollback("c1"),
        pass_time(LATER + SECOND),
        take("c2", 5),
    )


CASES: Final = (
    Case(
        "scheduled",
        ("SCH-1", "SCH-2", "SCH-6"),
        AZURE,
        "Scheduled messages have numbers, and come once, in their time.",
        _in_its_time,
    ),
    Case(
        "scheduled-behind",
        ("SCH-4",),
        AZURE,
        "A message that is activated is the last one, with a new number.",
        _behind_what_was_sent,
    ),
    Case(
        "scheduled-cancelled",
        ("SCH-3",),
        AZURE,
        "A message that is cancelled in time never comes.",
        _cancelled,
    ),
    Case(
        "scheduled-void",
        ("SCH-4",),
        AZURE,
        "The number that a message had while it was scheduled cancels nothing once it is active.",
        _void,
    ),
    Case(
        "scheduled-restart",
        ("SCH-1",),
        AZURE,
        "Scheduled messages outlive a restart of the broker.",
        _through_a_restart,
    ),
    Case(
        "scheduled-transaction",
        ("SCH-2", "SCH-3"),
        AZURE,
        "What a transaction schedules and cancels happens at its commit, or not at all.",
        _in_a_transaction,
    ),
)
