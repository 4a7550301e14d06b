"""How locks end: complete, abandon and renew by clients, and the broker's own moves on locks and messages.

The own moves are steps by themselves (`OWN`, offered by `moves`) when the machine is explored; where an
observed answer is to be explained they are folded into the operation that reveals them. Settlements in a
transaction are `transactions`' business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from .actions import INVALID, LOST, OK, Action, Answer, Observed, failure
from .clauses import clause
from .delivery import cached, ended
from .messages import Delivery
from .operations import UNAVAILABLE, Outcome
from .state import (
    BACK,
    CACHED,
    FRESH,
    LAGGING,
    LOCKED,
    Entry,
    Lock,
    Part,
    State,
    find_lock,
    find_number,
    is_up,
    position,
    put,
    returned,
)

Steps = Iterator[tuple[Answer, State]]
Place = tuple[int, int]


def settle(state: State, action: Action, seen: Observed | None) -> Steps:
    """Complete or abandon: all of the locks named, or none."""
    places = held(state, action)
    yield from refused(state, action, places, seen)
    if may_settle(state, places):
        yield OK, apply(state, action.op, [place for place in places if place is not None])


def held(state: State, action: Action) -> list[Place | None]:
    """For each lock that is named the place of its message, or None where it is not held (any more)."""
    return [_usable(state, action, token) for token in action.locks]


def _usable(state: State, action: Action, token: str) -> Place | None:
    place = find_lock(state, token, action.only)
    if place is None or state.flows is None:
        return place
    return place if (lock_at(state, place).holder, action.proc) in state.flows.active else None


def lock_at(state: State, place: Place) -> Lock:
    """The lock on the message at that place."""
    lock = state.parts[place[0]].log[place[1]].lock
    assert lock is not None
    return lock


@clause("RCV-8", "RCV-14", "ROUTE-7")
def may_settle(state: State, places: list[Place | None]) -> bool:
    """Whether these locks can be settled in one request: all held, in one partition, and that is up."""
    if None in places:
        return False
    parts = {place[0] for place in places if place is not None}
    together = len(parts) == 1 or state.flows is not None  # RCV-14 is not a rule of families with flows
    return together and all(is_up(state, p) for p in parts)


@clause("RCV-8", "RCV-14")
def refused(state: State, action: Action, places: list[Place | None], seen: Observed | None) -> Steps:
    """Why a settlement or renewal may be rejected; it then changes nothing."""
    if seen is not None and seen.status != Outcome.ERROR:
        return
    known = [place for place in places if place is not None]
    kinds: frozenset[str] = frozenset()
    if len(known) < len(places) or any(lock_at(state, place).txn for place in known):
        kinds |= LOST
    if len({p for p, _ in known}) > 1 and state.flows is None:
        kinds |= INVALID | LOST
    if any(not is_up(state, p) for p, _ in known) or (state.down and len(known) < len(places)):
        kinds |= UNAVAILABLE
    if kinds:
        yield failure(kinds), state
    if seen is not None:
        for place in known:
            for after in _lost(state, place, state.now + action.slack):
                yield failure(LOST), after


def _lost(state: State, place: Place, reach: int) -> Iterator[State]:
    """The states in which the lock turns out to have ended by itself."""
    entry = state.parts[place[0]].log[place[1]]
    for count, since in ended(lock_at(state, place), entry.tries, reach):
        yield put(state, *place, returned(state, entry, count, since))


@clause("RCV-7", "RCV-9", "SEQ-6")
def apply(state: State, op: str, places: list[Place]) -> State:
    """The state after these messages were settled: completed ones are gone, abandoned ones are back."""
    for p, index in sorted(places, reverse=True):
        entry = state.parts[p].log[index]
        after = None if op == "complete" else _abandoned(state, entry)
        state = put(state, p, index, after)
    return state


def _abandoned(state: State, entry: Entry) -> Entry:
    return returned(state, entry, entry.tries + 1, state.now)._replace(status=BACK)


@clause("RCV-8")
def renew(state: State, action: Action, seen: Observed | None) -> Steps:
    """Restart a lock's clock. The answer may show the message with its new end."""
    places = held(state, action)
    yield from refused(state, action, places, seen)
    if not may_settle(state, places) or places[0] is None:
        return
    (p, index), entry = places[0], state.parts[places[0][0]].log[places[0][1]]
    shown = seen.messages[0] if seen is not None and seen.messages else None
    if shown is not None and shown.id != entry.id:
        return
    renewed = _renewed(state, entry, action, shown)
    answer = Answer(Outcome.OK, messages=() if seen is None else seen.messages)
    yield answer, put(state, p, index, renewed)


def _renewed(state: State, entry: Entry, action: Action, shown: Delivery | None) -> Entry:
    assert entry.lock is not None
    until = None if shown is None else shown.locked_until
    low = state.now + state.cfg.lock_duration if until is None else until
    high = low + action.slack if until is None else until
    return entry._replace(lock=entry.lock._replace(lo=low, hi=high, shaken=False))


# The broker's own moves


@clause("RCV-9")
def _expire(state: State, part: Part, entry: Entry) -> Entry | None:
    lock = entry.lock
    if lock is None:
        return None
    if entry.status == CACHED and (lock.shaken or entry.upsets):
        left = entry.upsets if lock.shaken else entry.upsets - 1
        return returned(state, entry, entry.tries + 1, entry.since)._replace(upsets=left)
    if lock.lo <= state.now or lock.shaken:
        return returned(state, entry, entry.tries + 1, min(lock.lo, state.now))
    return None


def _release(state: State, part: Part, entry: Entry) -> Entry | None:
    lock = entry.lock
    if lock is None or not lock.shaken:
        return None
    if entry.status == CACHED:
        return entry._replace(status=FRESH, lock=None)
    return returned(state, entry, entry.tries, state.now)


@clause("RCV-5", "RCV-9")
def _lapse(state: State, part: Part, entry: Entry) -> Entry | None:
    lasts = state.cfg.lock_duration
    if not state.cfg.hindsight or entry.status not in (FRESH, LAGGING, BACK):
        return None
    if entry.upsets:
        return returned(state, entry, entry.tries + 1, entry.since)._replace(upsets=entry.upsets - 1)
    if state.now - entry.since < lasts:
        return None
    return returned(state, entry, entry.tries + 1, entry.since + lasts)


@clause("RCV-5")
def _prefetch(state: State, part: Part, entry: Entry) -> Entry | None:
    if not state.cfg.profile.caching_front_ends or entry.status != FRESH:
        return None
    first = next(e for e in part.log if e.status == FRESH)
    return cached(state, entry, 0) if entry is first else None


@clause("TXN-5")
def _appear(state: State, part: Part, entry: Entry) -> Entry | None:
    return entry._replace(status=FRESH) if entry.status == LAGGING else None


OWN: Final[dict[str, Callable[[State, Part, Entry], Entry | None]]] = {
    "expire": _expire,
    "release": _release,
    "lapse": _lapse,
    "prefetch": _prefetch,
    "appear": _appear,
}
"""The broker's moves on one message: a lock runs out (or a fault ended it so); a fault ended a lock without
counting; a front end had fetched a message unnoticed and its lock ran out, or fell to a fault; a front end
fetches the next one; a committed message becomes visible. Each gives the message after, or None where it
cannot happen."""


def own(state: State, action: Action, seen: Observed | None) -> Steps:
    """One of `OWN` on the message with ``number`` in ``partition``."""
    p = position(state.cfg, action.partition)
    assert p is not None and action.number is not None
    index = find_number(state.parts[p], action.number)
    if index is None:
        return
    after = OWN[action.op](state, state.parts[p], state.parts[p].log[index])
    if after is not None:
        yield OK, put(state, p, index, after)


def moves(state: State) -> Iterator[Action]:
    """Every one of `OWN` that can happen now."""
    for p in range(len(state.parts)):
        yield from moves_in(state, p)


def moves_in(state: State, p: int) -> Iterator[Action]:
    """Those of them in one partition."""
    part = state.parts[p]
    for entry in part.log:
        for op in _POSSIBLE.get(entry.status, ()):
            if OWN[op](state, part, entry) is not None:
                yield Action(op, partition=state.cfg.names[p], number=entry.number)


_POSSIBLE: Final = {
    LAGGING: ("appear", "lapse"),
    FRESH: ("lapse", "prefetch"),
    CACHED: ("expire", "release"),
    LOCKED: ("expire", "release"),
    BACK: ("lapse",),
}


@clause("RCV-9")
def expired(state: State) -> list[State]:
    """The states after every lock whose time has certainly ended by now was given back: one, or more where
    a fault may have ended a lock before its time did."""
    states = [state]
    for p, part in enumerate(state.parts):
        for index, entry in enumerate(part.log):
            if entry.lock is not None and entry.lock.hi <= state.now:
                ways = _ran_out(state, entry, entry.lock)
                states = [put(before, p, index, way) for before in states for way in ways]
    return states


def _ran_out(state: State, entry: Entry, lock: Lock) -> list[Entry]:
    ways = [returned(state, entry, entry.tries + 1, lock.hi)]
    if lock.shaken and entry.status == CACHED:
        ways.append(entry._replace(status=FRESH, lock=None))
    elif lock.shaken:
        ways.append(returned(state, entry, entry.tries, lock.hi))
    return ways
