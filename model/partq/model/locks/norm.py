"""How locks end without their clients: by time, by faults, or unseen in a front end's cache.

A stored message says no more of this than has been observed. `Entry.since` is the earliest instant from which
an unseen lock may have run, `Entry.upsets` how many faults since may each have ended a lock early, with or
without raising the count. So the message may by now have any count from ``tries`` up to `most_tries`; which
one it is stays open until a delivery, a peek or a settlement observes it, and every function here picks the
forms that leave the most open. Who receives and who settles is not decided here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from ..clauses import clause, guard, point
from ..configuration import FOREVER, Config
from ..hooks import Hook
from ..state import Entry, Lock, State, unlocked
from ..statuses import BACK, CACHED, COUNTED, FRESH, LOCKED, LOOSE, OWED, PARTING, STATUSES


class Taken(NamedTuple):
    """How a message may be delivered. ``first``: in the order of numbers, never delivered before. ``tries``:
    its delivery count. ``since``: when its new lock began at the earliest. ``held``: until when a front end
    had locked it before (None: any lock of the cache may have begun as late as the delivery)."""

    first: bool
    tries: int
    since: int
    held: int | None = None


@clause("RCV-6", "RCV-9", "RCV-13")
def takings(state: State, entry: Entry, reach: int, count: int | None = None) -> list[Taken]:
    """Every way in which a message may be delivered by ``reach``, the broker's own moves that free it
    included, with this delivery count if one is given; of ways with equal counts the one that leaves the most
    open. None while it is certainly locked or not committed."""
    if entry.status in LOOSE:
        return _takings_of_free(state.cfg, entry, reach, count)
    if entry.status == CACHED:
        return _takings_of_cached(state.cfg, entry, reach, count)
    if entry.lock is None:
        return []
    ways: list[Taken] = []
    for after in reversed(ended(state, entry, reach)):
        if after is not None and not (ways and count is not None):
            ways += _takings_of_free(state.cfg, after, reach, count)
    return ways


def _takings_of_free(cfg: Config, entry: Entry, reach: int, count: int | None) -> list[Taken]:
    tries, since, first = entry.tries, entry.since, entry.status != BACK
    if entry.status == PARTING:
        return []
    if count == tries:
        return [Taken(first, tries, since)] if tries <= cfg.limit else []
    most = most_tries(cfg, entry, reach)
    if count is not None:
        return [_raised(cfg, entry, count)] if tries < count <= most else []
    return [Taken(first, tries, since), *(_raised(cfg, entry, n) for n in range(tries + 1, most + 1))]


def _takings_of_cached(cfg: Config, entry: Entry, reach: int, count: int | None) -> list[Taken]:
    lock = entry.lock
    assert lock is not None
    ways = [Taken(True, entry.tries, entry.since, lock.hi)]
    if lock.shaken:
        ways.append(Taken(True, entry.tries, entry.since))
    most = most_tries(cfg, entry, reach)
    if not cfg.hindsight and lock.lo <= reach:
        most = min(most + 1, cfg.limit)
    ways += [_raised(cfg, entry, n) for n in range(entry.tries + 1, most + 1)]
    return [way for way in ways if count in (None, way.tries)]


def _raised(cfg: Config, entry: Entry, tries: int) -> Taken:
    return Taken(False, tries, _since(cfg, entry, tries))


def _since(cfg: Config, entry: Entry, tries: int) -> int:
    """From when it is free if unseen locks raised its count to ``tries``: those that faults ended first, as
    they need no time."""
    return entry.since + max(0, tries - entry.tries - entry.upsets) * cfg.lock_duration


@clause("RCV-5", "RCV-9")
def most_tries(cfg: Config, entry: Entry, reach: int) -> int:
    """The highest delivery count that a message which no client holds may have by ``reach``, at which it may
    still be delivered: each unseen lock lasted its full time, or a fault ended it."""
    most = entry.tries + entry.upsets
    if cfg.hindsight:
        most += max(0, reach - entry.since) // cfg.lock_duration
    return min(most, cfg.limit)


@point("RCV-6", "RCV-9", "PEEK-6")
def ended(state: State, entry: Entry, reach: int) -> list[Entry | None]:
    """What a client's lock may have left by ``reach`` if it ended without a settlement: expiry raises the
    count, a fault may or may not. None: the message was dead-lettered. Empty while the lock holds."""
    lock = entry.lock
    assert lock is not None
    ways: list[Entry | None] = []
    if lock.shaken:
        ways.append(freed(state, entry, entry.tries, entry.since, entry.upsets))
    if lock.lo <= reach and (not lock.shaken or (state.cfg.hindsight and lock.lo < entry.since)):
        ways.append(timed_out(state, entry, lock))
    return ways


@clause("RCV-9")
def timed_out(state: State, entry: Entry, lock: Lock) -> Entry | None:
    """The message after this lock of it ran out, and it could not have been counted otherwise."""
    after = returned(state, entry, entry.tries + 1, lock.lo)
    return after and after._replace(upsets=entry.upsets)


@clause("RCV-5", "RCV-9")
def raised(state: State, entry: Entry, tries: int) -> Entry | None:
    """The message, which no client holds, after unseen locks raised its count to ``tries``. None: it was
    dead-lettered."""
    after = returned(state, entry, tries, _since(state.cfg, entry, tries))
    return after and after._replace(upsets=max(0, entry.upsets - (tries - entry.tries)))


@point("RCV-2", "RCV-9", "PEEK-6")
def may_be_gone(state: State, entry: Entry, reach: int) -> bool:
    """Whether the message may be gone by ``reach`` though nobody completed it: no client holds it, and as
    many deliveries of it as the entity allows may have come to nothing, so that it was dead-lettered, or its
    time to live may have ended."""
    return exhausted(state, entry, reach, state.cfg.limit) or outlived(state, entry, reach)


ends_life: Final = Hook[Callable[[State, Entry, int], bool]]()
"""Mark what says of a message with a time to live whether it may have ended by then."""


@clause("RCV-15")
def outlived(state: State, entry: Entry, reach: int) -> bool:
    """Whether its time to live may have ended while no client held it: then it goes at any time."""
    for end in ends_life:
        if end(state, entry, reach):
            return entry.status != LOCKED or bool(ended(state, entry, reach))
    return False


def goings(state: State, entry: Entry, reach: int) -> list[Entry | None]:
    """What there may be of a message that a client does not find: it is on its way to the dead-letter queue,
    or nothing; or, where its time to live ended, it is as it was, since it goes at any time. Empty where the
    client has to find it."""
    if outlived(state, entry, reach):
        return [entry]
    if not may_be_gone(state, entry, reach):
        return []
    none = (None,) if may_vanish(state, entry, reach) else ()
    return [*dict.fromkeys((parting(state, entry, state.cfg.limit + 1), *none))]


@guard("RCV-9")
def may_vanish(state: State, entry: Entry, reach: int) -> bool:
    """Whether the message, which is gone, need not come to the dead-letter queue: that is not followed, or
    not its deliveries ended it."""
    worn_out = exhausted(state, entry, reach, state.cfg.limit) and not outlived(state, entry, reach)
    return not (state.cfg.subqueue and worn_out)


def emptied(state: State, entry: Entry, slack: int) -> Entry | None:
    """What there is of a message once its entity was found empty, as it may have been."""
    status = STATUSES[entry.status]
    if status.kept:
        return entry
    gone = status.vanishes or may_vanish(state, entry, state.now + slack)
    return None if gone else parting(state, entry, state.cfg.limit + 1)


@point("SCH-1")
def is_over(state: State, entry: Entry, slack: int) -> bool:
    """Whether the message need not be there any more, or nobody could see it."""
    status = STATUSES[entry.status]
    return status.kept or status.vanishes or may_be_gone(state, entry, state.now + slack)


@clause("RCV-9")
def exhausted(state: State, entry: Entry, reach: int, limit: int) -> bool:
    """Whether so many deliveries of it may have failed."""
    if entry.status == LOCKED:
        ways = ended(state, entry, reach)
        return any(way is None or most_tries(state.cfg, way, reach) >= limit for way in ways)
    return most_tries(state.cfg, entry, reach) >= limit


@clause("RCV-9")
def run_out(state: State, entry: Entry, lock: Lock) -> list[Entry | None]:
    """What a lock leaves whose time has certainly ended: one form, or two where it may have run out before
    the fault that struck it. None: dead-lettered."""
    if entry.status == LOCKED:
        return ended(state, entry, lock.hi)
    if lock.shaken:
        return [entry._replace(status=FRESH, lock=None)]
    if state.cfg.hindsight:
        return [raised(state, entry, entry.tries + 1)]
    return [timed_out(state, entry, lock)]


@clause("RCV-5")
def is_fetched(entry: Entry) -> bool:
    """Whether a front end may fetch the message before a client asks: not what rests elsewhere, or belongs to
    a session."""
    return not (entry.rest or entry.session)


@clause("RCV-5", "RCV-13")
def cached(state: State, entry: Entry, slack: int) -> Entry:
    """The message in a front end's cache, fetched now at the latest."""
    cfg = state.cfg
    if cfg.untimed:
        return entry._replace(status=CACHED, lock=Lock(None, None, state.now, FOREVER))
    high = state.now + slack + cfg.lock_duration
    low = entry.since + cfg.lock_duration if cfg.hindsight else high
    return entry._replace(status=CACHED, lock=Lock(None, None, low, high))


@clause("RCV-2", "RCV-6")
def struck(state: State, entry: Entry) -> Entry:
    """The message after a fault that may end a lock on it, also one of a front end's cache that nobody has
    seen."""
    hindsight, lock = state.cfg.hindsight, entry.lock
    upsets = entry.upsets + 1 if hindsight else 1
    if not STATUSES[entry.status].struck:
        return entry
    if lock is None:
        return entry._replace(upsets=upsets) if hindsight and is_fetched(entry) else entry
    since = state.now if hindsight and entry.status == LOCKED and not lock.shaken else entry.since
    return entry._replace(since=since, upsets=upsets, lock=lock._replace(shaken=True))


def returned(state: State, entry: Entry, tries: int, since: int) -> Entry | None:
    """The message free again, after a lock of it ended that may have raised its count, since then: at any
    position, or with flows at its own (REB-3); or dead-lettered for too many deliveries (RCV-9)."""
    if tries > state.cfg.limit:
        return parting(state, entry, tries)
    owed = OWED if tries > entry.tries and state.cfg.owing else COUNTED
    return freed(state, entry, tries, since, 0, owed)


@clause("RCV-9")
def parting(state: State, entry: Entry, tries: int) -> Entry | None:
    """The message, with this count, on its way to the dead-letter queue; None where that is not followed."""
    if not state.cfg.subqueue:
        return None
    return freed(state, entry, tries, 0, 0)._replace(status=PARTING, since=0, rest=0)


def freed(state: State, entry: Entry, tries: int, since: int, upsets: int, owed: int = COUNTED) -> Entry:
    """The message free again, with this count and what may have happened to it unseen."""
    status = entry.rest or (FRESH if state.cfg.profile.flows else BACK)
    when = (since if is_fetched(entry) else FOREVER) if state.cfg.hindsight else 0
    return unlocked(entry, status, tries, when, upsets, owed)
