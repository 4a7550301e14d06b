"""Cases. Sequence numbers and enqueued times: SEQ on the azure profiles."""

from __future__ import annotations

from typing import Final

from partq.conformance.workload.cases.case import Case
from partq.conformance.workload.cases.steps import (
    AZURE,
    PARTITIONED,
    abandon,
    apart,
    message,
    pass_time,
    peek,
    program,
    receive,
    restart,
    send,
    take,
)
from partq.conformance.workload.program import Program
from partq.model.profiles import profile as profile_named

_KEYS: Final = ("a", "b", "c", "d", "e")


def _numbers(profile: str) -> Program:
    """Several keys, so that a partitioned entity uses several partitions."""
    sends = [send("c1", message(f"{key}{n}", key)) for n in range(3) for key in _KEYS]
    return program(profile, *sends, peek("c2"), receive("c2", 20), peek("c2", start="start"))


def _at_once(profile: str) -> Program:
    clients = ("c1", "c2", "c3")
    sends = [send(client, message(f"{client}-{n}", _KEYS[n % 2])) for n in range(6) for client in clients]
    return program(profile, *sends, peek("c1"), concurrent=True)


def _after_restart(profile: str) -> Program:
    before = [send("c1", message(f"m{n}", _KEYS[n % 2])) for n in range(4)]
    after = [send("c1", message(f"m{n}", _KEYS[n % 2])) for n in range(4, 8)]
    return program(profile, *before, take("c2"), *restart(), *after, peek("c2"))


def _roll_over(profile: str) -> Program:
    start = 2 ** profile_named(profile).counter_bits - 3
    sends = [send("c1", message(f"m{n}", "a")) for n in range(6)]
    steps = (*sends, peek("c2", 2), peek("c2", 10), receive("c2", 3), receive("c2", 3))
    return program(profile, *steps, seq_start=start)


def _keeps(profile: str) -> Program:
    return program(
        profile,
        send("c1", message("m1", "a")),
        send("c1", message("m2", "a")),
        peek("c2"),
        receive("c2"),
        abandon("c2"),
        receive("c2", 2),
        pass_time(),
        receive("c3", 2),
        peek("c2", start="start"),
    )


def _tickets(profile: str) -> Program:
    """Buyers ask for tickets of two events; the seller of each serves them in the order of their arrival."""
    buyers = ("c1", "c2", "c3", "c1", "c2", "c3")
    sends = [
        send(buyer, message(f"{event} {n} of {buyer}", event))
        for n, buyer in enumerate(buyers)
        for event in ("concert", "play")
    ]
    return program(profile, *sends, peek("c4"), *apart(*[take("c5", 2)] * 2, *[take("c6", 2)] * 4))


CASES: Final = (
    Case(
        "numbers",
        ("SEQ-1", "SEQ-3", "SEQ-4", "SEQ-7"),
        AZURE,
        "Messages sent one after the other have unique, growing numbers and times, without gaps.",
        _numbers,
    ),
    Case(
        "numbers-name-partitions",
        ("SEQ-2",),
        PARTITIONED,
        "The top 16 bits of a number are those of its partition.",
        _numbers,
    ),
    Case(
        "numbers-of-senders-at-once",
        ("SEQ-1", "SEQ-4", "SEQ-7"),
        AZURE,
        "Three clients send at the same time.",
        _at_once,
    ),
    Case(
        "tickets-in-order-of-arrival",
        ("SEQ-1", "SEQ-4", "SEQ-7"),
        AZURE,
        "Who asked first for a ticket of an event gets it first.",
        _tickets,
    ),
    Case(
        "numbers-after-restart",
        ("SEQ-1", "SEQ-3", "SEQ-4"),
        AZURE,
        "Numbers go on where they were when the broker comes back.",
        _after_restart,
    ),
    Case(
        "numbers-roll-over",
        ("SEQ-5",),
        AZURE,
        "A counter that begins three below its end passes it.",
        _roll_over,
    ),
    Case(
        "numbers-stay",
        ("SEQ-6",),
        AZURE,
        "A message keeps its number when it is locked, abandoned, and when its lock expires.",
        _keeps,
    ),
)
