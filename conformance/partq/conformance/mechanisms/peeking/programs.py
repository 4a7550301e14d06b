"""Cases. Browsing: PEEK on the azure profiles."""

from __future__ import annotations

from typing import Final

from partq.conformance.workload.cases.case import Cases, Steps
from partq.conformance.workload.cases.steps import (
    AZURE,
    HELD,
    PARTITIONED,
    abandon,
    complete,
    message,
    partitions,
    pass_time,
    peek,
    receive,
    send,
    take,
    walk,
)
from partq.conformance.workload.program import Step
from partq.model.profiles import profile as profile_named


def _fill(count: int, keys: int = 1) -> list[Step]:
    return [send("c1", message(f"m{n}", f"k{n % keys}")) for n in range(count)]


CASES: Final = Cases()


@CASES.case("peek-oldest-first", ("azure-flat",), "PEEK-1")
def _oldest() -> Steps:
    """A peek shows the oldest messages from its start on.
    From the start, on from the cursor, and from numbers that were seen; then with the oldest gone."""
    looks = [peek("c2", 3), peek("c2", 3), peek("c3", 4, "start"), peek("c3", 4, 2), peek("c3", 1, 0)]
    return [*_fill(8), *looks, take("c4", 2), peek("c5", 3), peek("c3", 3, "start")]


@CASES.case("peek-skips-nothing", PARTITIONED, "PEEK-2")
def _of_many_partitions() -> Steps:
    """Within each partition a peek shows the oldest messages from its start on."""
    looks = [peek("c2", 4), peek("c2", 4), peek("c3", 50, "start"), peek("c3", 5, 3), peek("c3", 5, 9)]
    return [*_fill(16, 6), *looks, take("c4", 3), peek("c5", 5), peek("c3", 50, "start")]


@CASES.case("peek-counts", AZURE, "PEEK-4")
def _counts() -> Steps:
    """A peek shows at most what was asked for, and something where there is something."""
    empty = [peek("c2", 1), peek("c2", 5, "start")]
    return [*empty, *_fill(6, 3), *[peek(f"p{n}", n) for n in (1, 2, 5, 6, 100)]]


@CASES.case("peek-to-the-end", AZURE, "PEEK-5")
def _to_the_end(profile: str) -> Steps:
    """One cursor walks through all messages and then finds nothing."""
    walks = [*walk("c2", 6 + partitions(profile), 3), send("c1", message("late", "k0")), *walk("c2", 2, 3)]
    return [*_fill(10, 4), *walks]


def _most(profile: str) -> int:
    """As many partitions as there may be."""
    return max(profile_named(profile).partitions or (16,))


@CASES.case("peek-most-partitions", PARTITIONED, "PEEK-2", "PEEK-5", partitions=_most)
def _most_partitions(profile: str) -> Steps:
    """A walk through as many partitions as there may be shows each message once, and ends.
    Peeks come partition by partition, until an answer is empty."""
    most = _most(profile)
    return [*_fill(2 * most, most), *walk("c2", most + 8, 10)]


@CASES.case("peek-changes-nothing", AZURE, "PEEK-6", lock_duration=HELD)
def _changes_nothing() -> Steps:
    """Peeked messages are not locked, and a peek counts no delivery."""
    looks = [peek("c2", 10, "start"), peek("c3", 10, "start")]
    taken = [receive("c4", 2), *looks, abandon("c4"), *looks, complete("c4")]
    return [*_fill(4), *looks, *looks, *taken, *looks]


@CASES.case("peek-shows-locked", AZURE, "PEEK-7")
def _states() -> Steps:
    """Locked and abandoned messages are seen like others."""
    held = [receive("c2", 2), peek("c3", 10, "start"), abandon("c2"), peek("c3", 10, "start")]
    return [*_fill(5), *held, pass_time(), peek("c3", 10, "start"), peek("c4", 10)]


@CASES.case("peek-while-others-work", AZURE, "PEEK-4", "PEEK-6", concurrent=True)
def _while_others_work() -> Steps:
    """Two clients browse while another receives, completes and abandons."""
    work = [step for n in range(4) for step in (receive("c2", 2), complete("c2"), abandon("c2"))]
    own = [send(client, message(f"of {client}", "k0")) for client in ("c3", "c4")]
    looks = [step for _ in range(8) for step in (peek("c3", 3), peek("c4", 50, "start"))]
    return [*_fill(12, 3), *work, *own, *looks]
