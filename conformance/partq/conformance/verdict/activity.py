"""Whether a broker was active enough for its verdicts to mean something: from counts of what its histories
show, added up. Pure.

The thresholds were chosen on 3,000 lawful histories of the reference, which makes use of its freedoms: at
most 7 % of the calls of any kind fail, none hangs, 2 % of the receives return nothing while a message is
there; of single histories the worst have 5 of 5 such receives (of which nothing can be concluded then), and 3
of 3 calls that fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from partq.conformance.verdict.exit_codes import Exit
from partq.model.operations import UNAVAILABLE

Activity = Mapping[str, int]
"""How often what was counted, by `key`."""


class Count(StrEnum):
    """What is counted. ``CALLED``: clients' calls of an operation, amid no fault; ``HUNG``, ``FAILED``: those
    that did not return, that ended in a passing error. ``EMPTY``: receives given nothing though a message was
    there (of `RECEIVE`). ``LACKED``, ``OFFERED``: histories in which the broker did not have an operation or
    fault, and had it. ``SHOWN``: messages that showed a field (of `FIELDS`), of all `MESSAGES`, `LOCKED`."""

    CALLED = "called"
    HUNG = "hung"
    FAILED = "failed"
    EMPTY = "empty"
    LACKED = "lacked"
    OFFERED = "offered"
    SHOWN = "shown"


RECEIVE: Final = "receive with a message there"
"""Whose `Count.CALLED` and `Count.EMPTY` are not those of all receives."""

MESSAGES: Final = "messages"
LOCKED: Final = "locked messages"
FIELDS: Final[Mapping[str, str]] = {
    "sequence numbers": MESSAGES,
    "partitions": MESSAGES,
    "enqueued times": MESSAGES,
    "delivery counts": MESSAGES,
    "ends of locks": LOCKED,
}
"""What a broker may show of a message, and of which messages. A partition also shows by a number that names
it; where consumers have partitions, it shows by them."""

TOLD: Final = 10
"""Of so many messages that show no field of a kind the broker shows none."""

PASSING: Final = UNAVAILABLE | {"connection_lost", "quota", "adapter"}
"""The errors of a broker that works now and then. The others say what is wrong with the request."""


def key(count: Count, of: str) -> str:
    """The name of that count of an operation."""
    return f"{count.value} {of}"


class _Trouble(NamedTuple):
    """Of at least ``least`` calls more than the share ``most`` are of this kind. ``words``: what is said of
    them."""

    kind: Count
    least: int
    most: float
    words: str


_EMPTY: Final = "receives returned nothing while messages waited"
_TROUBLES: Final = (
    _Trouble(Count.EMPTY, 8, 0.5, _EMPTY),
    _Trouble(Count.EMPTY, 3, 0.99, _EMPTY),
    _Trouble(Count.HUNG, 1, 0.5, "calls of {op} never returned"),
    _Trouble(Count.FAILED, 8, 0.5, "calls of {op} failed though no fault struck"),
)


def stalled(profile: str, activity: Activity) -> list[tuple[int, str]]:
    """Why a profile's verdicts mean little: of which calls most hung, failed or returned nothing, each as an
    exit code and a sentence. Of a lawful broker there is none."""
    return [(Exit.INCONCLUSIVE, f"{why} ({profile})") for why in _stalled(activity)]


def _stalled(activity: Activity) -> Iterator[str]:
    for name, number in sorted(activity.items()):
        for trouble in _TROUBLES:
            of = name.removeprefix(trouble.kind)[1:]
            called = activity.get(key(Count.CALLED, of), 0)
            fits = name == key(trouble.kind, of) and called >= trouble.least
            if fits and number > trouble.most * called:
                yield f"{number:,} of {called:,} {trouble.words.format(op=of)}"
                break


def absent(activity: Activity) -> tuple[str, ...]:
    """The operations and faults that the broker never had, and the `FIELDS` that it never showed, sorted."""
    lacked = [name.removeprefix(Count.LACKED)[1:] for name in activity if name.startswith(Count.LACKED)]
    never = [op for op in lacked if not activity.get(key(Count.OFFERED, op))]
    for field, of in FIELDS.items():
        if activity.get(key(Count.SHOWN, of), 0) >= TOLD and not activity.get(key(Count.SHOWN, field)):
            never.append(field)
    return tuple(sorted(never))
