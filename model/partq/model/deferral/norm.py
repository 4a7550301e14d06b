"""Deferral: a holder sets a message aside, and it is received by its number alone.

A deferred message rests in its partition as `DEFERRED`, with its number (`Entry.rest`). A lock that a receive
by number gave ends as any other, and it rests there again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Final

from ..actions import LOST, NOWHERE, Action, Answer, Observed, failure
from ..clauses import clause, guard, point
from ..configuration import COUNTER_BITS, Config
from ..delivery import norm as delivery
from ..edits import put
from ..hooks import Hook
from ..locks.norm import ended, freed, goings
from ..messages import Delivery
from ..operations import UNAVAILABLE, Outcome
from ..settling.norm import settles
from ..state import Entry, Place, State, Steps, entries, is_up
from ..statuses import BACK, DEFERRED, LOCKED


@delivery.demands
@guard("RCV-10")
def is_offered(state: State, entry: Entry, until: int | None) -> bool:
    """Whether a receive may deliver the message: not one that is set aside."""
    return not entry.rest


@settles("defer")
@clause("RCV-10", "SEQ-6")
def set_aside(state: State, entry: Entry) -> Entry | None:
    """The message after it was deferred. No source says whether that counts as a delivery."""
    upsets = 0 if entry.lock is not None and entry.lock.shaken else entry.upsets
    return freed(state, entry._replace(rest=DEFERRED), entry.tries, 0, upsets + 1)


@point("RCV-10")
def receive(state: State, action: Action, seen: Observed | None) -> Steps:
    """Receive the deferred messages with these numbers, or some of them (RCV-5)."""
    kinds = refusals(state, action)
    if kinds:
        yield failure(kinds), state
    if not kinds >= LOST:
        yield from ((failure(LOST), after) for after in _gone(state, action))
    if seen is not None and seen.status != Outcome.OK:
        return
    answer = _available(state, action) if seen is None else seen.messages
    if is_asked(state, action, answer) and is_in_one_partition(state, action):
        for after in _delivered(state, action, answer):
            yield Answer(Outcome.OK, messages=tuple(answer)), after


@point("RCV-10", "KEY-9")
def refusals(state: State, action: Action) -> frozenset[str]:
    """The errors that it may end in; none if it has to succeed. No source specifies the kinds."""
    kinds: frozenset[str] = frozenset()
    found = _named(state, action)
    waiting = [place for place in found if state.parts[place[0]].log[place[1]].status == DEFERRED]
    if any(leaves(state.cfg) for leaves in unsettled):
        kinds |= LOST
    if len(waiting) < max(action.max, len(action.about)) or not _in_one_partition(state, action):
        kinds |= LOST
    if state.down and not all(is_up(state, p) for p, _ in found):
        kinds |= UNAVAILABLE
    return kinds if action.only in (None, NOWHERE) else frozenset()


unsettled: Final = Hook[Callable[[Config], bool]]()
"""Mark what says of an entity that no source settles how its deferred messages are received."""


def _named(state: State, action: Action) -> list[Place]:
    """The places of the messages that the numbers name."""
    parts = range(len(state.parts))
    return [(p, n) for p in parts for n, entry in enumerate(state.parts[p].log) if entry.id in action.about]


def _gone(state: State, action: Action) -> Iterator[State]:
    """The states in which one of the messages is gone."""
    for p, index in _named(state, action) if action.only in (None, NOWHERE) else ():
        for after in goings(state, state.parts[p].log[index], state.now + action.slack):
            yield put(state, p, index, after)


def _available(state: State, action: Action) -> tuple[Delivery, ...]:
    """The messages that a step delivers: all that are deferred."""
    found = [(p, state.parts[p].log[n]) for p, n in _named(state, action) if action.only in (None, p)]
    return tuple(Delivery(entry.id) for _, entry in found if entry.status == DEFERRED)


@guard("RCV-10")
def is_asked(state: State, action: Action, answer: Sequence[Delivery]) -> bool:
    """Whether every message delivered is named by a number."""
    return all(seen.id in action.about for seen in answer)


@guard("RCV-10")
def is_in_one_partition(state: State, action: Action) -> bool:
    """Whether the numbers are those of one partition."""
    return _in_one_partition(state, action)


def _in_one_partition(state: State, action: Action) -> bool:
    if not state.cfg.profile.partitioned:
        return True
    named = {seq >> COUNTER_BITS for seq in action.seqs}
    return len(named) < 2 and len({p for p, _ in _named(state, action)}) < 2


def _delivered(state: State, action: Action, answer: Sequence[Delivery]) -> Iterator[State]:
    """The states after these messages were delivered: as by a receive that finds them free."""
    ids, reach = {seen.id for seen in answer}, state.now + action.slack
    places = [(p, n) for p, part in enumerate(state.parts) for n, e in enumerate(part.log) if e.id in ids]
    ways = [openings(state, state.parts[p].log[index], reach) for p, index in places]
    for way in product(*ways):
        opened = state
        for (p, index), entry in zip(places, way, strict=True):
            opened = put(opened, p, index, entry._replace(status=BACK, rest=0, since=state.now))
        for after in delivery.explained(opened, action, answer):
            yield _resting(after, ids)


@point("RCV-10", "RCV-6")
def openings(state: State, entry: Entry, reach: int) -> list[Entry]:
    """The message as it may wait for a receive by its number: nothing where it does not."""
    if entry.status == LOCKED and entry.rest:
        return [way for way in ended(state, entry, reach) if way is not None]
    return [entry] if entry.status == DEFERRED else []


def _resting(state: State, ids: set[str]) -> State:
    """The state in which these messages rest as deferred when their locks end."""
    for p, entry in list(entries(state)):
        if entry.id in ids:
            state = put(state, p, state.parts[p].log.index(entry), entry._replace(rest=DEFERRED))
    return state


CLIENT_OPS: Final = {"receive_deferred": receive}
"""The operations of clients."""
