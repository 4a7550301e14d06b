"""What was recorded of one entity, as plain data in the specification's words.

A `Recording` is what a history is turned into before it is followed. It knows no broker and no codec, and
nothing of how it is followed.
"""

from __future__ import annotations

from typing import Final, NamedTuple

FOREVER: Final = 2**62
"""The instant by which an operation has returned that may still happen at any time, ns."""


class NotFollowed(Exception):
    """The specification says nothing of what was done; the message names it."""


class Sent(NamedTuple):
    """A message that was sent. ``key``: by which it is routed, or None. ``conflicting``: it bears two
    different keys (KEY-3). ``later``: of a scheduled one its ID from its activation on; ``past``: its time
    may have come when it was sent. ``mortal``: its time to live may have ended. ``copies``: those of its ID
    and key of which it may be a duplicate (DUP-1), ``repeats``: of which it is one, if that was stored.
    ``lacking``: it lacks the session that the entity requires."""

    id: str
    key: str | None = None
    conflicting: bool = False
    later: str | None = None
    past: bool = False
    mortal: bool = False
    lacking: bool = False
    copies: tuple[str, ...] = ()
    repeats: tuple[str, ...] = ()


class Shown(NamedTuple):
    """A message that a broker showed; None: not shown. ``partition``: its name. ``tag``, ``number``: the
    partition bits and the counter of its sequence number. ``tries``: its delivery count. ``altered``: not as
    it was sent. ``reason``: why it was dead-lettered. ``state``: what a peek shows of it."""

    id: str
    partition: int | None = None
    tag: int | None = None
    number: int | None = None
    tries: int | None = None
    lock: str | None = None
    altered: bool = False
    reason: str | None = None
    state: str | None = None


class Operation(NamedTuple):
    """One operation of a client, or event of the environment.

    ``record``: its number in the history. ``call``, ``ret``: the instants between which it happened, ns; ret
    None: it may still happen later. ``outcome``: ok, error or unknown. ``limit``: how many messages were
    asked for. ``deletes``: a receive that takes no locks. ``since``: of a peek from a number on, its
    partition bits and counter. ``impatient``: a send whose timeout is too short to be re-routed (ROUTE-6).
    ``partition``: which one a fault strikes, a bind asks for, or an assignment tells of; ``flow``: by which
    a client consumes, or that of the assignment; ``state``: what the flow is to the partition (REB-13).
    ``dead``: it was asked of the dead-letter queue, or tells of that; ``reason``: why a client dead-letters
    messages, if it says why. ``about``: the messages that it names by their numbers, those that any has;
    ``strange``: another number is among them; ``apart``: they are of different partitions. ``full``: its
    transaction may have as many messages as it may have (TXN-9), ``overfull``: and cannot take what it
    sends; ``late``: the transactions that may have lasted for their time. ``session``: that it names, or was
    given; ``next``: the next one was asked for."""

    record: int
    op: str
    client: str
    call: int
    ret: int | None
    outcome: str = "ok"
    error: str | None = None
    sent: tuple[Sent, ...] = ()
    shown: tuple[Shown, ...] = ()
    locks: tuple[str, ...] = ()
    txn: str | None = None
    limit: int = 1
    deletes: bool = False
    since: tuple[int, int] | None = None
    impatient: bool = False
    partition: int | None = None
    flow: str | None = None
    state: str | None = None
    dead: bool = False
    reason: str | None = None
    about: tuple[str, ...] = ()
    strange: bool = False
    apart: bool = False
    full: bool = False
    overfull: bool = False
    session: str | None = None
    next: bool = False
    late: tuple[str, ...] = ()

    @property
    def passing(self) -> bool:
        """Whether it was refused in passing: nothing happened, and it might be asked again."""
        return self.error in _PASSING

    @property
    def happened(self) -> bool:
        """Whether it certainly did."""
        return self.outcome == "ok"

    @property
    def refused(self) -> bool:
        """Whether it certainly did not happen."""
        return self.outcome == "error"


_PASSING: Final = frozenset({"unavailable", "timeout", "internal", "connection_lost"})


class Recording(NamedTuple):
    """The operations on one entity, sorted by call. ``words``: of the broker family, those of
    `Catalogue.tla`. ``rules``: the requirements that bind the family. ``bits``: of a partition's counter.
    ``first``: its first number, if known. ``maximum``: deliveries before a message is dead-lettered.
    ``late``: by how many ns an assignment may be told of after it happened. ``unseen``: how many locks of
    one message there was time for, at the most. ``sessions``: the entity requires them."""

    words: frozenset[str]
    rules: frozenset[str]
    partitions: int
    operations: tuple[Operation, ...]
    bits: int = 48
    first: int | None = None
    maximum: int = 10
    late: int = 0
    unseen: int = 1
    sessions: bool = False


def prefix(recording: Recording, until: int) -> Recording:
    """The recording up to an instant: what was called later is left out, what had not returned is unknown."""
    kept = [
        one
        if one.ret is not None and one.ret <= until
        else one._replace(ret=None, outcome="unknown", error=None, shown=())
        for one in recording.operations
        if one.call <= until
    ]
    return recording._replace(operations=tuple(kept))
