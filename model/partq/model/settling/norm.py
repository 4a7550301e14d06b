"""How locks end: complete, abandon and renew by clients, and the broker's own moves on locks and messages.

The own moves are steps by themselves (`OWN`, offered by `moves`) when the machine is explored; where an
observed answer is to be explained they are folded into the operation that reveals them. Settlements in a
transaction are `transactions`' business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from ..actions import INVALID, LOST, OK, Action, Answer, Observed, failure
from ..clauses import clause, guard, point
from ..configuration import position
from ..edits import appeared, put, with_entry, with_part
from ..locks.norm import cached, ended, freed, is_fetched, parting, raised, returned, run_out
from ..messages import Delivery
from ..operations import SETTLEMENTS, UNAVAILABLE, Outcome
from ..sequencing.norm import as_shown, home
from ..state import Entry, Lock, Part, Place, State, Steps, find_lock, find_number, is_up, once_visible
from ..statuses import BACK, CACHED, FRESH, LAGGING, LOCKED, LOOSE

REMOVES: Final = "complete"
"""The settlement after which a message is gone."""

RETURNS: Final = "abandon"
"""The settlement that ends a lock as expiry does: on a lost lock it has no effect."""


@point("RCV-8", "RCV-14")
def settle(state: State, action: Action, seen: Observed | None) -> Steps:
    """Complete or abandon: all of the locks named, or none."""
    places = held(state, action)
    yield from refused(state, action, places, seen)
    if may_settle(state, places):
        yield OK, apply(state, action.op, [place for place in places if place is not None])


def holds(state: State, place: Place, slack: int) -> bool:
    """Whether the lock there certainly holds, and no transaction settles by it."""
    lock = lock_at(state, place)
    return not (lock.shaken or lock.txn or lock.lo <= state.now + slack)


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
    known = held_of(places)
    if len(known) < len(places):
        return False
    return in_one_partition(state, known) and (state.cfg.serving or all(is_up(state, p) for p, _ in known))


@guard("RCV-14")
def in_one_partition(state: State, places: list[Place]) -> bool:
    """Whether these locks are of one partition's messages; with flows no rule asks."""
    return state.flows is not None or len({p for p, _ in places}) == 1


def held_of(places: list[Place | None]) -> list[Place]:
    """The places without the Nones."""
    return [place for place in places if place is not None]


@point("RCV-8", "RCV-14", "RCV-6")
def refused(state: State, action: Action, places: list[Place | None], seen: Observed | None) -> Steps:
    """Why a settlement or renewal may be rejected; it then changes nothing."""
    if seen is not None and seen.status != Outcome.ERROR:
        return
    kinds = reasons(state, places)
    if kinds:
        yield failure(kinds), state
    if seen is not None and (seen.error is None or seen.error not in kinds):
        for place in held_of(places):
            for after in lost(state, place, state.now + action.slack):
                yield failure(LOST), after


@clause("RCV-8", "RCV-14")
def reasons(state: State, places: list[Place | None]) -> frozenset[str]:
    """The errors that a settlement or renewal of these may end in, in this state."""
    known = held_of(places)
    kinds: frozenset[str] = frozenset()
    if len(known) < len(places) or any(lock_at(state, place).txn for place in known):
        kinds |= LOST
    if len({p for p, _ in known}) > 1 and state.flows is None:
        kinds |= INVALID | LOST
    if any(not is_up(state, p) for p, _ in known) or (state.down and len(known) < len(places)):
        kinds |= UNAVAILABLE
    return kinds


@point("RCV-2")
def lost(state: State, place: Place, reach: int) -> Iterator[State]:
    """The states in which the lock has ended by itself."""
    for entry in ended(state, state.parts[place[0]].log[place[1]], reach):
        yield put(state, *place, entry)


Settled = Callable[[State, Entry], Entry | None]

_settled: Final[dict[str, Settled]] = {}


def settles(op: str) -> Callable[[Settled], Settled]:
    """Mark what an operation makes of a message that it settles, and does not remove."""

    def mark(function: Settled) -> Settled:
        _settled[op] = function
        return function

    return mark


@clause("RCV-7", "RCV-9", "SEQ-6")
def apply(state: State, op: str, places: list[Place]) -> State:
    """The state after these messages were settled: completed ones are gone, others what `settles` says."""
    for p, index in sorted(places, reverse=True):
        part = state.parts[p]
        if op in _settled:
            after = settled(state, op, part.log[index])
            state = with_part(state, p, with_entry(part, index, after))
        else:
            state = removed(state, p, index)
    return state


@clause("RCV-7")
def removed(state: State, p: int, index: int) -> State:
    """The state in which that message has left its queue for good."""
    part = state.parts[p]
    return with_part(state, p, finished(state, with_entry(part, index, None), [part.log[index]]))


def settled(state: State, op: str, entry: Entry) -> Entry | None:
    """The message after it was settled so; None: it is gone."""
    return None if op == REMOVES else _settled[op](state, entry)


@point("RCV-7")
def finished(state: State, part: Part, ended: list[Entry]) -> Part:
    """The partition after these messages of it were completed or deleted: they never come back."""
    return part


@settles(RETURNS)
@point("RCV-9", "PEEK-6")
def abandoned(state: State, entry: Entry) -> Entry | None:
    """The message after it was abandoned."""
    assert entry.lock is not None
    after = returned(state, entry, entry.tries + 1, state.now)
    return after and after._replace(
        status=after.rest or BACK, upsets=0 if entry.lock.shaken else entry.upsets
    )


@point("RCV-8")
def renew(state: State, action: Action, seen: Observed | None) -> Steps:
    """Restart a lock's clock. The answer may show the message with its new end."""
    places = held(state, action)
    yield from refused(state, action, places, seen)
    if not may_settle(state, places) or places[0] is None:
        return
    p, index = places[0]
    shown = shown_by(seen)
    part = state.parts[p] if shown is None else _as_renewal(state, action, p, index, shown)
    if part is None:
        return
    after = renewed(state, part.log[index], action, shown)
    answer = Answer(Outcome.OK, messages=() if seen is None else seen.messages)
    yield answer, with_part(state, p, with_entry(part, index, after))


def shown_by(seen: Observed | None) -> Delivery | None:
    """The message in the answer to a renewal, if there is one."""
    return seen.messages[0] if seen is not None and seen.messages else None


@clause("RCV-13", "SEQ-2", "SEQ-7")
def _as_renewal(state: State, action: Action, p: int, index: int, shown: Delivery) -> Part | None:
    """The partition after a renewal showed its message so, or None where it is another one, in another
    partition, with another number, or its lock ends later than it can."""
    if shown.id != state.parts[p].log[index].id or not ends_in_time(state, action, shown.locked_until):
        return None
    return shown_renewed(state, p, index, shown)


@guard("RCV-13")
def ends_in_time(state: State, action: Action, until: int | None) -> bool:
    """Whether a lock that is renewed now may be shown to last until then."""
    return until is None or state.now - state.cfg.skew <= until <= latest(state, action)


@point("SEQ-6")
def shown_renewed(state: State, p: int, index: int, shown: Delivery) -> Part | None:
    """The partition after its message was shown so, if it is this one's."""
    consistent, where = home(state.cfg, shown)
    if not consistent or where not in (None, p):
        return None
    return as_shown(state.cfg, state.parts[p], [(index, shown)])


def latest(state: State, action: Action) -> int:
    """Until when a lock that is renewed now may be shown to last."""
    return state.now + action.slack + state.cfg.lock_duration + state.cfg.skew


@point("RCV-13")
def renewed(state: State, entry: Entry, action: Action, shown: Delivery | None) -> Entry:
    """The message with its lock's new end, as it is shown."""
    assert entry.lock is not None
    until, skew = None if shown is None else shown.locked_until, state.cfg.skew
    low = state.now + state.cfg.lock_duration
    low, high = (low, low + action.slack) if until is None else (until - skew, until + skew)
    lock = entry.lock._replace(lo=low, hi=high + state.cfg.grace, shaken=False)
    return entry._replace(lock=lock, upsets=0)


# The broker's own moves


Moved = tuple[Entry | None, ...]
"""What a move leaves of a message: nothing in it where the move cannot happen, None in it where the message
is gone."""


@clause("RCV-9")
def _expire(state: State, part: Part, entry: Entry) -> Moved:
    lock, reach = entry.lock, state.now
    if lock is None:
        return ()
    if entry.status == CACHED and (state.cfg.hindsight or lock.shaken):
        return _lapse(state, part, entry)
    timely = lock.lo <= reach and (not lock.shaken or lock.lo < entry.since)
    if not timely and not lock.shaken:
        return ()
    left = entry.upsets if timely else entry.upsets - 1
    after = returned(state, entry, entry.tries + 1, lock.lo if timely else entry.since)
    return (after and after._replace(upsets=left),)


def _release(state: State, part: Part, entry: Entry) -> Moved:
    lock = entry.lock
    if lock is None or not lock.shaken:
        return ()
    if entry.status == CACHED:
        return (entry._replace(status=FRESH, lock=None, upsets=entry.upsets - 1),)
    return (freed(state, entry, entry.tries, entry.since, entry.upsets - 1),)


@clause("RCV-5", "RCV-9")
def _lapse(state: State, part: Part, entry: Entry) -> Moved:
    timely = state.cfg.hindsight and state.now - entry.since >= state.cfg.lock_duration
    return (raised(state, entry, entry.tries + 1),) if entry.upsets or timely else ()


@clause("RCV-9")
def _exhaust(state: State, part: Part, entry: Entry) -> Moved:
    return (parting(state, entry, state.cfg.limit + 1),) if entry.tries >= state.cfg.limit else ()


@clause("RCV-5")
def _prefetch(state: State, part: Part, entry: Entry) -> Moved:
    if not state.cfg.profile.caching_front_ends or entry.status != FRESH or not is_fetched(entry):
        return ()
    first = next(e for e in part.log if e.status == FRESH)
    return (cached(state, entry, 0),) if entry is first else ()


@clause("TXN-5")
def _appear(state: State, part: Part, entry: Entry) -> Moved:
    return (entry._replace(status=once_visible(entry), group=None),) if entry.status == LAGGING else ()


OWN: Final[dict[str, Callable[[State, Part, Entry], Moved]]] = {
    "expire": _expire,
    "release": _release,
    "lapse": _lapse,
    "exhaust": _exhaust,
    "prefetch": _prefetch,
    "appear": _appear,
}
"""The broker's moves on one message: a lock runs out (or a fault ended it so); a fault ended a lock without
counting; a front end had fetched a message unnoticed and its lock ran out, or fell to a fault; too many
deliveries came to nothing, and it is dead-lettered; a front end fetches the next one; a committed
transaction's messages become visible."""


def own(state: State, action: Action, seen: Observed | None) -> Steps:
    """One of `OWN` on the message with ``number`` in ``partition``."""
    p = position(state.cfg, action.partition)
    assert p is not None and action.number is not None
    index = find_number(state.parts[p], action.number)
    if index is None or action.op not in _POSSIBLE.get(state.parts[p].log[index].status, ()):
        return
    group = state.parts[p].log[index].group
    for after in OWN[action.op](state, state.parts[p], state.parts[p].log[index]):
        yield OK, put(state, p, index, after) if group is None else appeared(state, {group}, parts=(p,))


def moves(state: State) -> Iterator[Action]:
    """Every one of `OWN` that can happen now."""
    for p in range(len(state.parts)):
        yield from moves_in(state, p)


def moves_in(state: State, p: int) -> Iterator[Action]:
    """Those of them in one partition."""
    part = state.parts[p]
    for entry in part.log:
        for op in _POSSIBLE.get(entry.status, ()):
            if OWN[op](state, part, entry):
                yield Action(op, partition=state.cfg.names[p], number=entry.number)


_POSSIBLE: Final = {
    LAGGING: ("appear",),
    FRESH: ("lapse", "prefetch", "exhaust"),
    CACHED: ("expire", "release"),
    LOCKED: ("expire", "release"),
    **dict.fromkeys(sorted(LOOSE - {FRESH}), ("lapse", "exhaust")),
}


@clause("RCV-9")
def expired(state: State) -> Iterator[State]:
    """The states after every lock whose time has certainly ended by now was given back; nearly always one
    (`locks.run_out`). Each is made as it is asked for: of locks that a fault struck they are many."""
    now = state.now
    due = [
        (p, entry, run_out(state, entry, entry.lock))
        for p, part in enumerate(state.parts)
        for entry in part.log
        if entry.lock is not None and entry.lock.hi <= now
    ]
    states: Iterator[State] = iter((state,))
    for p, entry, ways in due:
        states = _given_back(states, p, entry, ways)
    return states


def _given_back(
    states: Iterator[State], p: int, entry: Entry, ways: Sequence[Entry | None]
) -> Iterator[State]:
    for state in states:
        for way in ways:
            yield put(state, p, state.parts[p].log.index(entry), way)


CLIENT_OPS: Final = {"renew_lock": renew, **dict.fromkeys(SETTLEMENTS, settle)}
"""What clients ask for."""

BROKER_OPS: Final = dict.fromkeys(OWN, own)
"""The broker's own moves on messages."""
