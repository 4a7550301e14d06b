"""Programs that send messages again under their IDs, with bodies of their own. Cases: DUP and KEY-4 on the
azure profiles."""

from __future__ import annotations

from typing import Any, Final

from partq.conformance.workload.cases.case import Case
from partq.conformance.workload.cases.steps import (
    AZURE,
    PARTITIONED,
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

WINDOW: Final = 6 * SECOND
"""How long message IDs count in the cases."""


def _detecting(profile: str, *steps: Step, **settings: Any) -> Program:
    return program(profile, *steps, duplicate_detection=True, duplicate_window=WINDOW, **settings)


def _copy(id: str, nth: int, key: str | None = "a") -> Message:
    return message(id, key, body=f"copy {nth} of {id}")


def _one_is_kept(profile: str) -> Program:
    """Sent again while it is there, while it is locked, and when it is gone."""
    return _detecting(
        profile,
        send("c1", message("m1", "a")),
        send("c2", _copy("m1", 2)),
        receive("c3"),
        send("c1", _copy("m1", 3)),
        complete("c3"),
        send("c1", _copy("m1", 4), message("m2", "a")),
        peek("c3", start="start"),
        take("c3", 5),
    )


def _new_after_the_window(profile: str) -> Program:
    """The same ID after its window, while the first message is there still, and once more then."""
    return _detecting(
        profile,
        send("c1", message("m1", "a")),
        pass_time(WINDOW + 2 * SECOND),
        send("c1", _copy("m1", 2)),
        send("c1", _copy("m1", 3)),
        peek("c3", start="start"),
        take("c3", 5),
    )


def _through_a_restart(profile: str) -> Program:
    """IDs are remembered through a restart of the broker."""
    return _detecting(
        profile,
        send("c1", message("m1", "a")),
        *restart(),
        send("c1", _copy("m1", 2)),
        peek("c3", start="start"),
        take("c3", 5),
    )


def _scheduled_and_active(profile: str) -> Program:
    """A scheduled message has a later one dropped, and an active one a scheduled one."""
    return _detecting(
        profile,
        Step("c1", "send", {"messages": (message("m1", "a"),), "delay": 2 * SECOND}),
        send("c1", _copy("m1", 2)),
        send("c1", message("m2", "a")),
        Step("c1", "send", {"messages": (_copy("m2", 2),), "delay": 2 * SECOND}),
        peek("c3", start="start"),
        pass_time(5 * SECOND),
        peek("c3", start="start"),
        take("c3", 5),
    )


def _in_transactions(profile: str) -> Program:
    """What was rolled back is not remembered, what was committed is."""
    return _detecting(
        profile,
        begin("c1"),
        send("c1", message("m1", "a"), txn=True),
        rollback("c1"),
        send("c1", _copy("m1", 2)),
        begin("c1"),
        send("c1", message("m2", "a"), txn=True),
        commit("c1"),
        send("c1", _copy("m2", 2)),
        peek("c3", start="start"),
        take("c3", 5),
    )


def _scope(profile: str) -> Program:
    """One ID under two keys is two messages."""
    return _detecting(
        profile,
        send("c1", message("m1", "a")),
        send("c1", _copy("m1", 2, "b")),
        send("c1", _copy("m1", 3, "a")),
        peek("c3", start="start"),
        take("c3", 5),
        take("c3", 5),
    )


def _id_is_the_key(profile: str) -> Program:
    """Without another key the ID is one: it has a transaction, and one partition for ever."""
    return _detecting(
        profile,
        begin("c1"),
        send("c1", message("m1"), txn=True),
        commit("c1"),
        *[
            step
            for n in range(2, 6)
            for step in (pass_time(WINDOW + SECOND), send("c1", _copy("m1", n, None)))
        ],
        peek("c3", start="start"),
        *[take("c3", 5) for _ in range(3)],
    )


CASES: Final = (
    Case(
        "duplicates",
        ("DUP-1",),
        AZURE,
        "Within the window one message of an ID is kept, whatever became of it.",
        _one_is_kept,
    ),
    Case(
        "duplicates-new",
        ("DUP-2",),
        AZURE,
        "After the window a message ID is new.",
        _new_after_the_window,
    ),
    Case(
        "duplicates-restart",
        ("DUP-1",),
        AZURE,
        "Message IDs are remembered through a restart.",
        _through_a_restart,
    ),
    Case(
        "duplicates-scheduled",
        ("DUP-1",),
        AZURE,
        "Scheduled and active messages are duplicates of each other.",
        _scheduled_and_active,
    ),
    Case(
        "duplicates-transaction",
        ("DUP-1",),
        AZURE,
        "What a transaction committed is remembered, what it rolled back is not.",
        _in_transactions,
    ),
    Case(
        "duplicates-keys",
        ("DUP-1",),
        PARTITIONED,
        "One ID under two keys is two messages.",
        _scope,
    ),
    Case(
        "message-id-key",
        ("KEY-4",),
        PARTITIONED,
        "With duplicate detection the message ID is the key where no other is.",
        _id_is_the_key,
    ),
)
