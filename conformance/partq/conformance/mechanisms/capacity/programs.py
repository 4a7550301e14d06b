"""Programs that fill an entity, or one partition of it. Cases: ENT-6 on Standard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from partq.conformance.workload.cases import steps as do
from partq.conformance.workload.cases.case import Cases, Steps
from partq.conformance.workload.cases.steps import PARTITIONED, message
from partq.conformance.workload.phrases import Draft, Phrases
from partq.conformance.workload.weights import Theme, weighed
from partq.model.messages import Message
from partq.model.profiles import requirements_of

_SIZE: Final = 4_000
_FIVE: Final = 5_000
_LOAD: Final = "x" * 24_000
"""Sixteen partitions have room for two of these."""


def _large(draft: Draft, body: str, key: str | None, session: str | None = None) -> None:
    draft.messages += 1
    draft.send(draft.client(), Message(f"m{draft.messages}", body, session, key))


def _flood(draft: Draft) -> None:
    """More than there is room for, without keys."""
    for _ in range(2 + draft.source.below(3)):
        _large(draft, _LOAD, None)


def _heat(draft: Draft) -> None:
    """Much of one key."""
    key = draft.some_key()
    for _ in range(1 + draft.source.below(3)):
        _large(draft, "x" * (1_300 + draft.source.below(3) * 600), key)


def _heat_session(draft: Draft) -> None:
    """Much of one session, up to what all partitions have room for."""
    session = draft.key()
    for _ in range(1 + draft.source.below(3)):
        _large(draft, "x" * (1_300, 3_200, 24_000)[draft.source.below(3)], None, session)


PHRASES: Final[Phrases] = {
    "capacity_flood": _flood,
    "capacity_heat": _heat,
    "capacity_in_session": _heat_session,
}

THEME: Final = Theme(
    "capacity",
    rule="ENT-6",
    weights=weighed(
        "capacity_flood 6, capacity_heat 16, send 12, batch 3, receive 4, take 4, complete 4, peek 4, "
        "transaction 2, outage 2, kill 1, advance 2"
    ),
    settings={"max_size": _SIZE},
    needs="get",
    one_in=12,
)

CASES: Final = Cases()


def _known(size: int) -> Callable[[str], int | None]:
    return lambda profile: size if THEME.rule in requirements_of(profile) else None


@CASES.case("filled", PARTITIONED, "ENT-6", "RCV-2", max_size=_known(_SIZE))
def _filled() -> Steps:
    """An entity has room for sixteen times the size chosen, and no more; what was refused is not stored.
    One large message after the other, without keys, and one more after some were taken."""
    yield do.send("c1", message("first", "k", body="x" * 2_500))
    yield from (do.send("c1", message(f"m{n}", body=_LOAD)) for n in range(4))
    yield do.take("c2", 2)
    yield do.send("c1", message("last", body="x" * 100))
    yield from (do.take("c2", 10) for _ in range(2))


@CASES.case("five-that-hold-eighty", PARTITIONED, "ENT-6", "RCV-2", max_size=_known(_FIVE))
def _eighty() -> Steps:
    """A size of 5 holds 80 in sixteen partitions, and the next message is refused until one has gone.
    The 5 GB and 80 GB of "Partitioned queues and topics" (June 2020), in thousands of bytes."""
    yield from (do.send(f"c{1 + n % 2}", message(f"m{n}", body="x" * _FIVE)) for n in range(18))
    yield from (do.take("c3"), do.send("c1", message("in its place", body="x" * _FIVE)))
    yield from (do.take("c3", 10) for _ in range(3))
