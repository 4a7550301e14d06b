"""How a broker breaks the rules on peeks (PEEK), and shows wrong counts (RCV-9)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..actions import Action
from ..configuration import NARROWLY
from ..departures import beyond, instead
from ..edits import with_log, with_part
from ..locks.norm import ended
from ..messages import Delivery
from ..state import Entry, Lock, State
from ..statuses import BACK, CACHED, DEFERRED, LOCKED, OWED, SCHEDULED, SHOWN, VISIBLE
from . import observed
from .cursors import moved, start_of, starts


@instead(observed.found_empty, "PEEK-4")
def empty_at_will(told: State | None, state: State, action: Action, parts: Sequence[int]) -> State | None:
    """A peek shows nothing though a message is there."""
    return told or state


@instead(observed.found_empty, "PEEK-5")
def empty_later(told: State | None, state: State, action: Action, parts: Sequence[int]) -> State | None:
    """The same, later in the walk of a cursor."""
    walks = action.from_seq is None and any(start_of(state, p, action) for p in range(len(state.parts)))
    return told or (state if walks else None)


@instead(observed.found_empty, "ROUTE-7")
def empty_in_outage(told: State | None, state: State, action: Action, parts: Sequence[int]) -> State | None:
    """The same, while another partition is down."""
    return told or (state if state.down else None)


@beyond(observed.suffices, "PEEK-7")
def full_of_hidden(state: State, action: Action, missing: int) -> bool:
    """Hidden messages fill the whole answer."""
    return missing == action.max


@instead(observed.left_out, "PEEK-7")
def hidden(told: list[Entry | None], state: State, entry: Entry, reach: int) -> list[Entry | None]:
    """A message is hidden by a lock, as deferred, or, as the wide form has it, by a lock that it had."""
    had = entry.turn > 0 and NARROWLY not in state.cfg.waived
    return [entry] if had or entry.status in (LOCKED, CACHED, DEFERRED) else told


@instead(observed.shows, "PEEK-5", broken=True)
def shows_elsewhere(
    told: State | None, state: State, p: int, shown: list[Delivery], action: Action
) -> State | None:
    """A cursor stands anywhere."""
    once = _once(state, p, shown)
    if told is not None or once is None or action.from_seq is not None:
        return told
    numbers = {entry.id: entry.number for entry in state.parts[p].log if VISIBLE[entry.status]}
    return observed.shows_from(state, p, once, action, numbers[once[0].id])


@instead(observed.shows, "PEEK-1", "PEEK-2", broken=True)
def shows_any_of_them(
    told: State | None, state: State, p: int, shown: list[Delivery], action: Action
) -> State | None:
    """Any messages from the starting point on, or with PEEK-5 broken from anywhere, are shown, in any order,
    whatever number was asked for."""
    once = _once(state, p, shown)
    if (
        told is not None
        or once is None
        or state.forbids("PEEK-2" if state.cfg.profile.partitioned else "PEEK-1")
    ):
        return told
    log = state.parts[p].log
    places = {entry.id: index for index, entry in enumerate(log) if VISIBLE[entry.status]}
    chosen = [places[seen.id] for seen in once]
    if action.from_seq is None and not state.breaks("PEEK-5"):
        if min(log[index].number for index in chosen) < starts(state, p, action)[0]:
            return None
    return observed.revealed(state, p, once, action, chosen, {})


@instead(observed.shows, "TXN-5", broken=True)
def shows_uncommitted(
    told: State | None, state: State, p: int, shown: list[Delivery], action: Action
) -> State | None:
    """Messages of open transactions are shown among the others, at any place."""
    waiting = {send.id for txn in state.txns for send in txn.sends if send.part == p}
    others = [seen for seen in shown if seen.id not in waiting]
    if told is not None or len(others) == len(shown):
        return told
    after = observed.shows(state, p, others, action) if others else state
    numbers = [entry.number for entry in state.parts[p].log if entry.id in waiting & {s.id for s in shown}]
    last = max((*numbers, -1 if after is None else start_of(after, p, action) - 1))
    return after and moved(after, action, p, last)


def _once(state: State, p: int, shown: list[Delivery]) -> list[Delivery] | None:
    """The messages shown, each once, if all of them are stored there."""
    once = list({seen.id: seen for seen in shown}.values())
    ids = {entry.id for entry in state.parts[p].log if VISIBLE[entry.status]}
    return once if all(seen.id in ids for seen in once) else None


# What a peek does to a message


@instead(observed.looks, "PEEK-6", broken=True)
def touched(told: Entry | None, state: State, entry: Entry, seen: Delivery, action: Action) -> Entry | None:
    """It is locked by the peek, counted, moved, or its lock ended, before it is shown; narrowly after it, so
    that it shows in what comes later."""
    if NARROWLY in state.cfg.waived:
        return told and _touched(state, told, seen._replace(delivery_count=None), action)
    before = _touched(state, entry, seen, action)
    return observed.counts(state, before, seen.delivery_count, state.now + action.slack)


@beyond(observed.unseen, "PEEK-6")
def touched_unseen(state: State, action: Action) -> Iterator[State]:
    """A peek whose answer no client saw touches all messages."""
    if not observed.shows_any(state):
        return
    if action.from_seq is None:
        state = observed.moved_unseen(state, action)
    nothing = Delivery("")
    for p, part in enumerate(state.parts):
        log = (_touched(state, e, nothing, action) if VISIBLE[e.status] else e for e in part.log)
        state = with_part(state, p, with_log(part, tuple(log)))
    yield state


def _touched(state: State, entry: Entry, seen: Delivery, action: Action) -> Entry:
    """The message as a peek may leave it: locked by it, counted, moved, or with its lock ended."""
    upsets, lock = entry.upsets + 1, entry.lock
    if entry.status == LOCKED and lock is not None:
        rivals = lock.rivals if seen.lock is None else (*lock.rivals, seen.lock)
        raises = 0 if seen.delivery_count is None else seen.delivery_count - entry.tries
        raises = raises if 0 < raises <= upsets else 0
        since = entry.since if lock.shaken else state.now
        held = lock._replace(rivals=rivals, shaken=True)
        return entry._replace(tries=entry.tries + raises, lock=held, upsets=upsets - raises, since=since)
    if seen.lock is None:
        if entry.status == SCHEDULED:
            return entry._replace(tries=max(entry.tries, seen.delivery_count or 0))
        return entry._replace(status=entry.rest or BACK, lock=None, upsets=upsets)
    until = seen.locked_until or state.now + action.slack + state.cfg.lock_duration
    held = Lock(seen.lock, action.proc, state.now, until, shaken=True)
    return entry._replace(status=LOCKED, lock=held, since=state.now, upsets=upsets)


@instead(observed.counts, "RCV-9", broken=True)
def untold(told: Entry | None, state: State, entry: Entry, count: int | None, reach: int) -> Entry | None:
    """The count is what the first peek after a lock shows, and peeks show from then on."""
    if count is None or (count == entry.tries - 1 and entry.owed == OWED):
        return told
    if told is not None:
        return told._replace(owed=SHOWN)
    if entry.status == LOCKED:
        ways = [way for way in ended(state, entry, reach) if way is not None]
        entry = ways[-1] if ways else entry
    return None if entry.owed == SHOWN else entry._replace(tries=count, owed=SHOWN)
