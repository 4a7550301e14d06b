"""What receives of unknown outcome most likely took: messages whose locks no receive shows, or that vanished.

Likely, not certain: it orders what a search tries first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

from partq.conformance.history import Record
from partq.conformance.oracle.roles import DELIVERS, REMOVES
from partq.model.delivery.norm import DELETE
from partq.model.messages import as_active
from partq.model.operations import DRAINED


class _HiddenLock(NamedTuple):
    """A lock on a message that no receive shows, and between what instants it most likely began, ns.
    ``counted``: whether another one would be told from it."""

    id: str
    since: int
    until: int
    counted: bool


def _hidden_locks(records: Iterable[Record], lasting: int) -> list[_HiddenLock]:
    """Of messages that are marked as redelivered when they are shown for the first time, or counted more
    often than they were delivered; those that end first come first. ``lasting``: how long locks last, ns."""
    found: list[_HiddenLock] = []
    last: dict[str, tuple[int, int]] = {}
    for record in records:
        for message in record.sent:
            last.setdefault(message.id, (record.call, -1))
        for shown in record.messages if record.op in DELIVERS else ():
            count = shown.delivery_count or 0
            free, known = last.get(shown.id, (0, -1))
            counted, until = count - known - 1, (record.ret or record.call) - lasting
            unseen = counted or int(known < 0 and shown.redelivered is True)
            found += [_HiddenLock(shown.id, free, until, bool(counted))] * unseen
            last[shown.id] = shown.locked_until or record.call, count
    return sorted(found, key=lambda lock: lock.until)


def missed_by(records: Sequence[Record], lasting: int) -> dict[int, frozenset[str]]:
    """What each receive of unknown outcome most likely took, by its `Record.i`: one that deletes, messages
    that vanished; one that locks, as many of the hidden locks as it may have, and those of them that are
    counted no other one has. What was there when one was called it has before what was sent later."""
    unknown = [r for r in records if r.op in DELIVERS and r.unknown]
    if not unknown:
        return {}
    hidden, vanished, found = _hidden_locks(records, lasting), _vanished(records), {}
    for soon, record in product((True, False), unknown):
        ret = record.call if soon else record.end
        if record.args.get("mode") == DELETE:
            found[record.i] = frozenset(id for id, last in vanished.items() if last <= record.end)
            continue
        had = found.get(record.i, frozenset())
        fits = [lock for lock in hidden if lock.since <= ret and record.call <= lock.until]
        taken = fits[: record.args.get("max", 1) - len(had)]
        hidden = _without(hidden, (lock for lock in taken if lock.counted))
        found[record.i] = had.union(lock.id for lock in taken)
    return found


def _without(locks: Sequence[_HiddenLock], taken: Iterable[_HiddenLock]) -> list[_HiddenLock]:
    """The locks without those taken, each once, as several may be equal."""
    left = list(locks)
    for lock in taken:
        left.remove(lock)
    return left


def _vanished(records: Sequence[Record]) -> dict[str, int]:
    """The messages of which nothing tells who took them, though at the end nothing is left, and when each was
    shown or sent last, ns."""
    if not any(record.op == DRAINED for record in records):
        return {}
    sends = ((m, r.call) for r in records if r.ok for m in r.sent)
    found = {as_active(message.id): call for message, call in sends}
    held: dict[str, str] = {}
    for record in records:
        found |= {d.id: max(found[d.id], record.call) for d in record.messages if d.id in found}
        held |= {d.lock: d.id for d in record.messages if d.lock is not None}
    for record in records:
        if record.op in DELIVERS and record.args.get("mode") == DELETE:
            taken = [shown.id for shown in record.messages]
        else:
            completes = record.op in REMOVES and not record.refused
            taken = [held.get(token, "") for token in record.args.get("locks", ()) if completes]
        for id in taken:
            found.pop(id, None)
    return found
