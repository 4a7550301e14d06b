"""Receiving, locks and settling.

What a front end keeps in its cache is decided in hindsight: a receive that skips a message that was never
delivered fixes that some front end held it (`CACHED`), from then on at the latest. With an observed answer
the broker's own moves that it needs (a lock ran out, a front end fetched, a commit appeared) are made on
the way; without one they are steps of their own (`settling`), and a receive delivers only what is free right
now. Who may consume with flows is `rebalancing`'s business.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Final, NamedTuple

from .actions import NOWHERE, OK, Action, Answer, Observed, failure
from .clauses import clause
from .messages import Delivery
from .operations import UNAVAILABLE, Outcome
from .sequencing import bound, home, shown_seq, timed
from .state import (
    BACK,
    CACHED,
    COUNTED,
    FOREVER,
    FRESH,
    LAGGING,
    LOCKED,
    Config,
    Entry,
    Lock,
    Part,
    State,
    is_up,
    with_part,
)

Steps = Iterator[tuple[Answer, State]]
Picked = tuple[tuple[Delivery, ...], Part]

DELETE: Final = "receive_and_delete"


class Taken(NamedTuple):
    """How a message may be delivered: whether for the first time, with which count, free since when, and
    until when a front end held it (None: no front end did)."""

    first: bool
    tries: int
    since: int
    held: int | None = None


def receive(state: State, action: Action, seen: Observed | None, parts: Sequence[int] | None = None) -> Steps:
    """Receive up to ``max``, locking or deleting. ``parts``: the partitions that may answer, by default those
    that are up."""
    if (state.down or state.dead) and action.only in (None, NOWHERE):
        yield failure(UNAVAILABLE), state
    if seen is not None:
        if seen.status == Outcome.OK:
            for after in explained(state, action, seen.messages, parts):
                yield Answer(Outcome.OK, messages=seen.messages), after
        return
    if action.only in (None, NOWHERE):
        yield OK, state  # RCV-5; a receive with a timeout may always come back empty
    among = range(len(state.parts)) if parts is None else parts
    serving = [p for p in among if is_up(state, p) and action.only in (None, p)]
    yield from _answers(state, action, serving, ())


@clause("RCV-4", "RCV-5", "RCV-11", "RCV-12")
def _answers(state: State, action: Action, parts: list[int], shown: tuple[Delivery, ...]) -> Steps:
    """Every answer, of one partition or of several, at most as many as asked for. Within an answer messages
    stand by partition and number; any other mix is the same answer."""
    if not parts:
        if shown:
            yield Answer(Outcome.OK, messages=shown), state
        return
    p, rest = parts[0], parts[1:]
    yield from _answers(state, action, rest, shown)
    room = action.max - len(shown)
    for deliveries, part in picks(state, p, room, action):
        yield from _answers(with_part(state, p, part), action, rest, shown + deliveries)


@clause("RCV-3", "RCV-6", "REB-3")
def picks(state: State, p: int, room: int, action: Action) -> Iterator[Picked]:
    """What one partition may contribute: never-delivered messages from the first on, none left out, and any
    of those that are cached or came back."""
    log = state.parts[p].log
    fresh = [index for index, entry in enumerate(log) if entry.status == FRESH]
    loose = [index for index, entry in enumerate(log) if entry.status in (CACHED, BACK)]
    for n in range(min(len(fresh), room) + 1):
        for extra in range(min(len(loose), room - n) + 1):
            for others in combinations(loose, extra):
                if n or extra:
                    yield _picked(state, p, sorted((*fresh[:n], *others)), action)


def _picked(state: State, p: int, indexes: list[int], action: Action) -> Picked:
    part, deliveries, log = state.parts[p], [], list(state.parts[p].log)
    for index in indexes:
        entry = log[index]
        taken = takings(state, entry, state.now, False)[0]
        after = _after(state, p, entry, taken, action, None)
        deliveries.append(_shown(state, p, part, entry, taken, after))
        log[index] = after or entry
    if action.mode == DELETE:
        log = [entry for index, entry in enumerate(log) if index not in indexes]
    return tuple(deliveries), part._replace(log=tuple(log))


def explained(
    state: State, action: Action, answer: Sequence[Delivery], parts: Sequence[int] | None = None
) -> Iterator[State]:
    """Every state in which a receive that gave this answer may have left the broker."""
    if len(answer) > action.max:
        return
    among = range(len(state.parts)) if parts is None else parts
    found = [_find(state, seen, among) for seen in answer]
    if None in found or len(set(found)) < len(found):
        return
    places = [place for place in found if place is not None]
    reach = state.now + action.slack
    ways = [
        [t for t in takings(state, entry, reach, True) if _fits(state.cfg, entry, t, d)]
        for entry, d in zip((state.parts[p].log[i] for p, i in places), answer, strict=True)
    ]
    for way in product(*ways):
        after = _delivered(state, action, answer, places, way)
        if after is not None:
            yield after


def _find(state: State, seen: Delivery, parts: Sequence[int]) -> tuple[int, int] | None:
    """Where the message that is shown is stored, in a partition that may answer."""
    consistent, wanted = home(state.cfg, seen)
    if not consistent:
        return None
    for p in parts:
        if (wanted is None or p == wanted) and is_up(state, p):
            for index, entry in enumerate(state.parts[p].log):
                if entry.id == seen.id:
                    return p, index
    return None


@clause("RCV-6", "RCV-9", "RCV-13")
def takings(state: State, entry: Entry, reach: int, fold: bool) -> list[Taken]:
    """Every way in which a message may be delivered by ``reach``: none while it is surely locked, or not
    committed. ``fold``: the broker's own moves that free it may happen on the way."""
    status, tries, since, lock = entry.status, entry.tries, entry.since, entry.lock
    ways: list[Taken] = []
    if status == FRESH or (fold and status == LAGGING):
        ways.append(Taken(True, tries, since))
    elif status == CACHED and lock is not None:
        ways.append(Taken(True, tries, since, None if lock.shaken else lock.hi))
    elif status == BACK:
        ways.append(Taken(False, tries, since))
    if not fold:
        return ways
    if lock is not None and not (status == CACHED and state.cfg.hindsight):
        ways += [Taken(False, c, s) for c, s in ended(lock, tries, reach) if c > tries or status == LOCKED]
    if state.cfg.hindsight:
        upsets = entry.upsets + (status == CACHED and lock is not None and lock.shaken)
        for way in tuple(ways):
            ways += _lapses(state.cfg, way, reach, upsets)
    return ways


@clause("RCV-5", "RCV-9")
def _lapses(cfg: Config, way: Taken, reach: int, upsets: int) -> list[Taken]:
    """The same after locks of front ends that nobody saw: each lasted its full time, or a fault ended it."""
    lasts = cfg.lock_duration
    times = (reach - way.since) // lasts + upsets
    return [Taken(False, way.tries + n, way.since + max(0, n - upsets) * lasts) for n in range(1, times + 1)]


@clause("RCV-9")
def ended(lock: Lock, tries: int, reach: int) -> list[tuple[int, int]]:
    """How a lock may have ended by ``reach`` without a settlement: (delivery count after, when at the
    earliest). Expiry raises the count; a fault may or may not."""
    ways = []
    if lock.lo <= reach or lock.shaken:
        ways.append((tries + 1, min(lock.lo, reach)))
    if lock.shaken:
        ways.append((tries, min(lock.lo, reach)))
    return ways


def _fits(cfg: Config, entry: Entry, taken: Taken, seen: Delivery) -> bool:
    if seen.redelivered not in (None, entry.turn > 0 or not taken.first):
        return False
    if seen.locked_until is not None and taken.held is not None and seen.locked_until > taken.held:
        return False
    return seen.delivery_count is None or cfg.profile.flows or seen.delivery_count == taken.tries


def _delivered(
    state: State,
    action: Action,
    answer: Sequence[Delivery],
    places: list[tuple[int, int]],
    way: tuple[Taken, ...],
) -> State | None:
    by_part: dict[int, list[tuple[int, Delivery, Taken]]] = {}
    for (p, index), seen, taken in zip(places, answer, way, strict=True):
        by_part.setdefault(p, []).append((index, seen, taken))
    for p, chosen in by_part.items():
        part = _delivered_from(state, p, action, chosen)
        if part is None:
            return None
        state = with_part(state, p, part)
    return state


def _delivered_from(
    state: State, p: int, action: Action, chosen: list[tuple[int, Delivery, Taken]]
) -> Part | None:
    part: Part | None = state.parts[p]
    for index, seen, _ in chosen:
        number = state.parts[p].log[index].number
        part = part and bound(state.cfg, part, number, seen.seq)
        part = part and timed(state.cfg, part, number, seen.enqueued_at)
    if part is None:
        return None
    log = list(part.log)
    taken_out = {index for index, _, _ in chosen}
    last = max(
        (index for index, _, taken in chosen if taken.first and log[index].status != CACHED), default=0
    )
    for index, seen, taken in chosen:
        log[index] = _after(state, p, log[index], taken, action, seen) or log[index]
    for index in range(last):
        if index not in taken_out and not _passed(state, log, index, action):
            return None
    if action.mode == DELETE:
        log = [entry for index, entry in enumerate(log) if index not in taken_out]
    return part._replace(log=tuple(log))


@clause("RCV-3", "RCV-5", "REB-3")
def _passed(state: State, log: list[Entry], index: int, action: Action) -> bool:
    """Whether a later message may be delivered for the first time before this one: it is locked or not yet
    visible, or else, which is noted, a front end must have held it."""
    entry = log[index]
    if entry.status != FRESH:
        return True
    if not state.cfg.profile.caching_front_ends:
        return False
    log[index] = cached(state, entry, action.slack)
    return True


@clause("RCV-5", "RCV-13")
def cached(state: State, entry: Entry, slack: int) -> Entry:
    """The message in a front end's cache, fetched now at the latest."""
    lasts = state.cfg.lock_duration
    if state.cfg.untimed:
        return entry._replace(status=CACHED, lock=Lock(None, None, state.now, FOREVER))
    high = state.now + slack + lasts
    low = entry.since + lasts if state.cfg.hindsight else high
    return entry._replace(status=CACHED, lock=Lock(None, None, low, high))


@clause("RCV-6", "RCV-13")
def _after(
    state: State, p: int, entry: Entry, taken: Taken, action: Action, seen: Delivery | None
) -> Entry | None:
    """The message locked for the receiver; None where the receive deletes it."""
    if action.mode == DELETE:
        return None
    turn = 2 if entry.turn == 1 else 1
    token = f"{p}.{entry.number}.{turn}" if seen is None or seen.lock is None else seen.lock
    low, high = _deadline(state, taken, action.slack, None if seen is None else seen.locked_until)
    lock = Lock(token, action.flow or action.proc, low, high)
    return entry._replace(status=LOCKED, tries=taken.tries, turn=turn, lock=lock, upsets=0, owed=COUNTED)


def _deadline(state: State, taken: Taken, slack: int, until: int | None) -> tuple[int, int]:
    if until is not None:
        return until, until
    cfg = state.cfg
    if cfg.untimed:
        return state.now if cfg.profile.locks_expire else FOREVER, FOREVER
    high = state.now + slack + cfg.lock_duration if taken.held is None else taken.held
    if not cfg.hindsight:
        return high - slack, high
    return min(taken.since + cfg.lock_duration, high), high


def _shown(state: State, p: int, part: Part, entry: Entry, taken: Taken, after: Entry | None) -> Delivery:
    lock = None if after is None else after.lock
    return Delivery(
        entry.id,
        seq=shown_seq(state.cfg, p, part, entry.number),
        partition=None if state.cfg.profile.flows else state.cfg.names[p],
        delivery_count=taken.tries,
        lock=lock and lock.token,
        locked_until=lock and lock.hi,
    )
