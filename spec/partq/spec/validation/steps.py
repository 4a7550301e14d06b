"""A recording as `tla/Validation.tla` follows it: a trace of steps.

A step is what an operation did to one message, or in one partition, at one instant. Here are the records
and the order in which steps may be taken; which steps an operation becomes is `translation`'s business, how
they are written in TLA+ `module`'s.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from .graves import Grave
from .recording import FOREVER, Recording

DEAD: Final = " dead"
"""What the names of steps in the dead-letter queue end with."""

_SHOWING: Final = (
    *("receive", "receive deferred", "receive in session", "delete", "delete in session", "peek"),
)


@dataclass
class Step:
    """One step; the fields are those of the records in `Validation.tla`, and what the order is made from.

    ``who``: the client, or the flow by which it consumes. ``ms``: messages, with ``counts``, ``states`` (as
    a peek shows it), ``locks`` and ``users`` of each (a lock is known by the step that gave it; who uses
    it; of a lost flow all that are lost with it). ``part``: a partition; ``state``: what ``who`` is to it; or
    that of a ``session``; or "emptied" (`NoneDead`). ``error``: passing, lost or other. ``max``: how many
    messages an operation of unknown outcome may take. ``first``:
    of its operation. ``passing``: it was refused in passing; ``free``: which needs no other excuse.
    ``unknown``: it names a lock that no client was given. ``keyless``: a send that any partition takes.
    ``cached``: at the start of an outage, what front ends hand out in its course. ``late``: the transactions
    that may have lasted for their time. ``final``: certainly the last one of its transaction.

    ``head``: the first step of the same instant, ``then``: the next one, ``prior``: what has to be done
    before; 0 where there is none. ``optional``: it may have happened, and at any time after its ``call``."""

    op: str
    who: str = "-"
    ms: Sequence[int] = ()
    counts: Sequence[int] = ()
    states: Sequence[str] = ()
    locks: Sequence[int] = ()
    users: Sequence[str] = ()
    part: int = 0
    state: str = ""
    session: str = ""
    txn: str = ""
    error: str = ""
    max: int = 0
    first: bool = True
    passing: bool = False
    free: bool = False
    unknown: bool = False
    keyless: bool = False
    cached: Collection[int] = ()
    late: Collection[str] = ()
    final: bool = False
    head: int = 0
    then: int = 0
    prior: int = 0
    record: int = 0
    call: int = 0
    ret: int = FOREVER
    optional: bool = False

    @property
    def shows(self) -> Sequence[int]:
        """The messages that a client certainly saw in it."""
        return self.ms if self.op.removesuffix(DEAD) in _SHOWING and not self.optional else ()

    @property
    def dead(self) -> bool:
        """Whether it is one of the dead-letter queue."""
        return self.op.endswith(DEAD)


@dataclass(frozen=True)
class Order:
    """In which order the steps of a trace may be taken. ``heads``: the steps that have to be, by when they
    had returned. ``window``: for each place in it, what may be next; ``optional``: what may have happened
    without. ``last``: of each message the last place at which it is shown, or 0; ``dead``: the places
    at which it is shown among the dead."""

    heads: Sequence[int]
    window: Sequence[frozenset[int]]
    optional: Sequence[frozenset[int]]
    last: Sequence[int]
    dead: Sequence[Collection[int]]


def order_of(steps: Sequence[Step], messages: int) -> Order:
    """The order that calls and returns leave open."""
    numbered = dict(enumerate(steps, 1))
    heads = [n for n, step in numbered.items() if step.head == n and not step.optional]
    heads.sort(key=lambda n: (numbered[n].ret, n))
    optionals = [n for n, step in numbered.items() if step.optional]
    window, optional = [], []
    for k, n in enumerate(heads):
        until = numbered[n].ret
        window.append(frozenset(h for h in heads[k:] if numbered[h].call <= until))
        optional.append(frozenset(u for u in optionals if numbered[u].call <= until))
    rank = {n: k for k, n in enumerate(heads, 1)}
    shown: list[list[int]] = [[] for _ in range(messages)]
    dead: list[list[int]] = [[] for _ in range(messages)]
    for step in steps:
        for m in step.shows:
            (dead if step.dead else shown)[m - 1].append(rank[step.head])
    return Order(heads, window, optional, [max(places, default=0) for places in shown], dead)


@dataclass(frozen=True)
class Trace:
    """A recording to be followed. Of messages and partitions, sequences from 1 on.

    ``within``: the transaction that a message was sent in, or ""; ``vain``: where that comes to nothing, its
    place among such messages, by when it does so, or 0; ``sight``: its place among the messages, by
    when they were shown first; ``births``: what a scheduled one is
    activated as, or 0; ``past``: those whose time may have come when they were sent; ``mortal``: those whose
    time to live may have ended; ``copies``, ``repeats``: the messages of which one may be, or is, a
    duplicate. ``place``: its partition (0: not known) and number (-1); ``graves``: of it as a dead letter.
    ``allowed``: the partitions that may take it, of which ``likely`` ones are tried first. ``owner``: of
    each partition the messages by number. ``start``: its counter before the first one; ``floor``, ``top``:
    the first and last number shown. ``events``: the assignments that were told of it: flow and state;
    ``observed``: whether any were. ``cursors``: of walks that start at a number, by who walks. ``presumed``:
    the order in which messages of a batch were stored is not known for certain, so that a rejection says
    nothing. ``sessions``: that of each message, of ``session_names``; ``lacking``: those that lack one."""

    recording: Recording
    partitions: int
    keys: Sequence[str]
    conflicting: Collection[int]
    within: Sequence[str]
    vain: Sequence[int]
    sight: Sequence[int]
    births: Sequence[int]
    past: Collection[int]
    mortal: Collection[int]
    sessions: Sequence[str]
    session_names: Collection[str]
    lacking: Collection[int]
    copies: Sequence[Collection[int]]
    repeats: Sequence[Collection[int]]
    place: Sequence[tuple[int, int]]
    graves: Sequence[Grave]
    allowed: Sequence[Collection[int]]
    likely: Sequence[Collection[int]]
    owner: Sequence[dict[int, int]]
    start: Sequence[int]
    floor: Sequence[int]
    top: Sequence[int]
    events: Sequence[Sequence[tuple[str, str]]]
    observed: bool
    clients: Collection[str]
    cursors: Mapping[str, Sequence[int]] = field(default_factory=dict)
    steps: Sequence[Step] = ()
    order: Order = Order((), (), (), (), ())
    presumed: bool = False

    @property
    def messages(self) -> int:
        """How many were sent."""
        return len(self.keys)

    @property
    def guessed(self) -> Trace:
        """The trace with every message in a likely partition: it may be rejected though this one is not."""
        return replace(self, allowed=self.likely)
