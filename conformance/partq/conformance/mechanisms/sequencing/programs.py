"""Cases. Sequence numbers and enqueued times: SEQ on the azure profiles."""

from __future__ import annotations

from typing import Final

from partq.conformance.workload.cases import steps as do
from partq.conformance.workload.cases.case import Cases, Steps
from partq.conformance.workload.cases.steps import AZURE, PARTITIONED, apart, message
from partq.model.profiles import profile as profile_named

_KEYS: Final = ("a", "b", "c", "d", "e")


CASES: Final = Cases()


@CASES.case("numbers", AZURE, "SEQ-1", "SEQ-3", "SEQ-4", "SEQ-7")
def _numbers() -> Steps:
    """Messages sent one after the other have unique, growing numbers and times, without gaps.
    Several keys, so that a partitioned entity uses several partitions."""
    sends = [do.send("c1", message(f"{key}{n}", key)) for n in range(3) for key in _KEYS]
    return [*sends, do.peek("c2"), do.receive("c2", 20), do.peek("c2", start="start")]


@CASES.case("numbers-name-partitions", PARTITIONED, "SEQ-2")
def _partition_bits() -> Steps:
    """The top 16 bits of a number are those of its partition."""
    return _numbers()


@CASES.case("numbers-of-senders-at-once", AZURE, "SEQ-1", "SEQ-4", "SEQ-7", concurrent=True)
def _at_once() -> Steps:
    """Three clients send at the same time."""
    clients = ("c1", "c2", "c3")
    sends = [do.send(client, message(f"{client}-{n}", _KEYS[n % 2])) for n in range(6) for client in clients]
    return [*sends, do.peek("c1")]


@CASES.case("tickets-in-order-of-arrival", AZURE, "SEQ-1", "SEQ-4", "SEQ-7")
def _tickets() -> Steps:
    """Who asked first for a ticket of an event gets it first.
    The example of "Message sequencing and timestamps": buyers ask for tickets of two events; the seller of
    each serves them in the order of their arrival."""
    buyers = ("c1", "c2", "c3", "c1", "c2", "c3")
    sends = [
        do.send(buyer, message(f"{event} {n} of {buyer}", event))
        for n, buyer in enumerate(buyers)
        for event in ("concert", "play")
    ]
    return [*sends, do.peek("c4"), *apart(*[do.take("c5", 2)] * 2, *[do.take("c6", 2)] * 4)]


@CASES.case("numbers-after-restart", AZURE, "SEQ-1", "SEQ-3", "SEQ-4")
def _after_restart() -> Steps:
    """Numbers go on where they were when the broker comes back."""
    before = [do.send("c1", message(f"m{n}", _KEYS[n % 2])) for n in range(4)]
    after = [do.send("c1", message(f"m{n}", _KEYS[n % 2])) for n in range(4, 8)]
    return [*before, do.take("c2"), *do.restart(), *after, do.peek("c2")]


def _near_its_end(profile: str) -> int:
    """Where a counter begins that is about to roll over."""
    return int(2 ** profile_named(profile).counter_bits - 3)


@CASES.case("numbers-roll-over", AZURE, "SEQ-5", seq_start=_near_its_end)
def _roll_over() -> Steps:
    """A counter that begins three below its end passes it."""
    sends = [do.send("c1", message(f"m{n}", "a")) for n in range(6)]
    return [*sends, do.peek("c2", 2), do.peek("c2", 10), do.receive("c2", 3), do.receive("c2", 3)]


@CASES.case("numbers-stay", AZURE, "SEQ-6")
def _keeps() -> Steps:
    """A message keeps its number when it is locked, abandoned, and when its lock expires."""
    yield do.send("c1", message("m1", "a"))
    yield do.send("c1", message("m2", "a"))
    yield do.peek("c2")
    yield do.receive("c2")
    yield do.abandon("c2")
    yield do.receive("c2", 2)
    yield do.pass_time()
    yield do.receive("c3", 2)
    yield do.peek("c2", start="start")
