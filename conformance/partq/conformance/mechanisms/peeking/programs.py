"""Cases. Browsing: PEEK on the azure profiles."""

from __future__ import annotations

from typing import Final

from partq.conformance.workload.cases import steps as do
from partq.conformance.workload.cases.case import Cases, Steps
from partq.conformance.workload.cases.steps import AZURE, HELD, PARTITIONED, message, partitions
from partq.conformance.workload.program import Step
from partq.model.profiles import profile as profile_named


def _fill(count: int, keys: int = 1) -> list[Step]:
    return [do.send("c1", message(f"m{n}", f"k{n % keys}")) for n in range(count)]


CASES: Final = Cases()


@CASES.case("peek-oldest-first", ("azure-flat",), "PEEK-1")
def _oldest() -> Steps:
    """A peek shows the oldest messages from its start on.
    From the start, on from the cursor, and from numbers that were seen; then with the oldest gone."""
    looks = [
        do.peek("c2", 3),
        do.peek("c2", 3),
        do.peek("c3", 4, "start"),
        do.peek("c3", 4, 2),
        do.peek("c3", 1, 0),
    ]
    return [*_fill(8), *looks, do.take("c4", 2), do.peek("c5", 3), do.peek("c3", 3, "start")]


@CASES.case("peek-skips-nothing", PARTITIONED, "PEEK-2")
def _of_many_partitions() -> Steps:
    """Within each partition a peek shows the oldest messages from its start on."""
    looks = [
        do.peek("c2", 4),
        do.peek("c2", 4),
        do.peek("c3", 50, "start"),
        do.peek("c3", 5, 3),
        do.peek("c3", 5, 9),
    ]
    return [*_fill(16, 6), *looks, do.take("c4", 3), do.peek("c5", 5), do.peek("c3", 50, "start")]


@CASES.case("peek-counts", AZURE, "PEEK-4")
def _counts() -> Steps:
    """A peek shows at most what was asked for, and something where there is something."""
    empty = [do.peek("c2", 1), do.peek("c2", 5, "start")]
    return [*empty, *_fill(6, 3), *[do.peek(f"p{n}", n) for n in (1, 2, 5, 6, 100)]]


@CASES.case("peek-to-the-end", AZURE, "PEEK-5")
def _to_the_end(profile: str) -> Steps:
    """One cursor walks through all messages and then finds nothing."""
    walks = [
        *do.walk("c2", 6 + partitions(profile), 3),
        do.send("c1", message("late", "k0")),
        *do.walk("c2", 2, 3),
    ]
    return [*_fill(10, 4), *walks]


def _most(profile: str) -> int:
    """As many partitions as there may be."""
    return max(profile_named(profile).partitions or (16,))


@CASES.case("peek-most-partitions", PARTITIONED, "PEEK-2", "PEEK-5", partitions=_most)
def _most_partitions(profile: str) -> Steps:
    """A walk through as many partitions as there may be shows each message once, and ends.
    As "Partitioned queues and topics" says: peeks come partition by partition, until an answer is empty."""
    most = _most(profile)
    return [*_fill(2 * most, most), *do.walk("c2", most + 8, 10)]


@CASES.case("peek-changes-nothing", AZURE, "PEEK-6", lock_duration=HELD)
def _changes_nothing() -> Steps:
    """Peeked messages are not locked, and a peek counts no delivery."""
    looks = [do.peek("c2", 10, "start"), do.peek("c3", 10, "start")]
    taken = [do.receive("c4", 2), *looks, do.abandon("c4"), *looks, do.complete("c4")]
    return [*_fill(4), *looks, *looks, *taken, *looks]


@CASES.case("peek-shows-locked", AZURE, "PEEK-7")
def _states() -> Steps:
    """Locked and abandoned messages are seen like others."""
    held = [do.receive("c2", 2), do.peek("c3", 10, "start"), do.abandon("c2"), do.peek("c3", 10, "start")]
    return [*_fill(5), *held, do.pass_time(), do.peek("c3", 10, "start"), do.peek("c4", 10)]


@CASES.case("peek-while-others-work", AZURE, "PEEK-4", "PEEK-6", concurrent=True)
def _while_others_work() -> Steps:
    """Two clients browse while another receives, completes and abandons."""
    work = [step for n in range(4) for step in (do.receive("c2", 2), do.complete("c2"), do.abandon("c2"))]
    own = [do.send(client, message(f"of {client}", "k0")) for client in ("c3", "c4")]
    looks = [step for _ in range(8) for step in (do.peek("c3", 3), do.peek("c4", 50, "start"))]
    return [*_fill(12, 3), *work, *own, *looks]
