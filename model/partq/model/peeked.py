"""Observed peeks: how a state explains an answer, and what the answer reveals of the broker's own moves.

A lock had run out, a commit had appeared, a message had been dead-lettered, a fault had reset the cursor: of
what is open, an answer decides only what it shows. So there is one state after it, or none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .actions import NOWHERE, Action
from .clauses import clause
from .cursors import certain, eligible, kept, most, moved, passed, start_of, starts
from .edits import appeared, with_client, with_log, with_part
from .locks import ended, may_be_gone, most_tries, raised, takings
from .memory import elsewhere, revived
from .messages import DEFERRED, SCHEDULED, Delivery
from .sequencing import as_shown, home
from .state import (
    BACK,
    CACHED,
    COUNTED,
    LAGGING,
    LOCKED,
    NARROWLY,
    OWED,
    RESERVED,
    SHOWN,
    Entry,
    Lock,
    Part,
    State,
    client,
    is_up,
)

LeftOut = Mapping[int, Entry | None]
"""What is left at the places of messages that an answer skips: None where they are gone."""


@clause("PEEK-4", "PEEK-6", "PEEK-7")
def explained(state: State, action: Action, answer: Sequence[Delivery]) -> Iterator[State]:
    """The state in which a peek that gave this answer left the broker, if it can have. With ``only`` an
    empty answer says nothing of other partitions."""
    if not answer:
        parts = range(len(state.parts)) if action.only is None else (action.only,)
        yield from _found_empty(state, action, [p for p in parts if p != NOWHERE])
        return
    if len(answer) > most(state, action) and state.forbids("PEEK-4"):
        return
    if any(seen.lock is not None for seen in answer) and state.forbids("PEEK-6"):
        return
    if any(seen.state in (DEFERRED, SCHEDULED) for seen in answer) and state.forbids("PEEK-7"):
        return
    if state.cfg.waived:
        state = elsewhere(revived(state, answer), answer)
    by_part: dict[int, list[Delivery]] = {}
    for seen in answer:
        p = _home_of(state, seen, action.only)
        if p is None:
            return
        by_part.setdefault(p, []).append(seen)
    ids = {seen.id for seen in answer}
    groups = {e.group for p in by_part for e in state.parts[p].log if e.group is not None and e.id in ids}
    if groups:
        state = appeared(state, groups, action.slack)
    after: State | None = state
    for p, shown in by_part.items():
        after = after and _shows(after, p, shown, action)
    if after is not None:
        yield after


def _found_empty(state: State, action: Action, parts: Sequence[int]) -> Iterator[State]:
    """The state after nothing of these partitions was shown. A cursor that a fault may have reset stays
    undecided where nothing was to be shown either way."""
    after: State | None = state
    for p in parts:
        if not is_up(state, p) or not state.parts[p].log:
            continue
        start, reset = starts(state, p, action)
        if reset is not None:
            empty = after and _without(after, p, eligible(state, p, action, reset), action)
            if empty is not None:
                after = empty
                continue
            after = after and kept(after, action, p)
        here = after
        after = here and _without(here, p, eligible(state, p, action, start), action)
        if after is None and here is not None:
            after = passed(here, action, p, here.parts[p].next)
    if after is not None:
        yield after
    elif _may_miss(state, action):
        yield state


@clause("PEEK-4", "PEEK-5", "ROUTE-7")
def _may_miss(state: State, action: Action) -> bool:
    """Whether a peek may show nothing though something is there: with PEEK-4 waived; later in the walk of a
    cursor with PEEK-5 waived; and, while another partition is down, with ROUTE-7 waived."""
    if state.down and not state.forbids("ROUTE-7"):
        return True
    later = action.from_seq is None and any(start_of(state, p, action) for p in range(len(state.parts)))
    return not state.forbids("PEEK-4") or (later and not state.forbids("PEEK-5"))


def _without(state: State, p: int, indexes: Sequence[int], action: Action) -> State | None:
    """The state in which nothing certainly visible is at these places, or None where that cannot be. With
    PEEK-7 waived what is hidden may stand for all that was asked for."""
    part = state.parts[p]
    missing: dict[int, Entry | None] = {}
    for index in indexes:
        if certain(state, p, part.log[index], action) and not _skip(state, part, index, action, missing):
            return None
        if len(missing) == action.max and not state.forbids("PEEK-7"):
            break
    return with_part(state, p, _less(part, missing)) if missing else state


def _less(part: Part, missing: LeftOut) -> Part:
    log = (missing.get(index, entry) for index, entry in enumerate(part.log))
    return with_log(part, tuple([entry for entry in log if entry is not None]))


@clause("PEEK-7", "RCV-2", "RCV-9")
def _skip(state: State, part: Part, index: int, action: Action, missing: dict[int, Entry | None]) -> bool:
    """Whether a visible message may be left out, and what becomes of it: it is gone, or, with PEEK-7 waived,
    hidden by a lock, or, as the wide form has it, by one that it had. Of a lock that nothing but this would
    show nothing is said (PEEK-1, PEEK-2)."""
    entry = part.log[index]
    hidden = entry.status in (LOCKED, CACHED) or (entry.turn > 0 and NARROWLY not in state.cfg.waived)
    if hidden and not state.forbids("PEEK-7"):
        missing[index] = entry
        return True
    missing[index] = None
    return may_be_gone(state, entry, state.now + action.slack)


def _home_of(state: State, seen: Delivery, only: int | None) -> int | None:
    """The partition in which a message that is shown may be, if it is stored anywhere."""
    consistent, wanted = home(state.cfg, seen)
    if not consistent:
        return None
    for p in range(len(state.parts)) if wanted is None else (wanted,):
        if only in (None, p) and (state.cfg.serving or is_up(state, p)):
            if wanted is not None or any(entry.id == seen.id for entry in state.parts[p].log):
                return p
    return None


@clause("PEEK-1", "PEEK-2", "PEEK-5", "PEEK-7")
def _shows(state: State, p: int, shown: list[Delivery], action: Action) -> State | None:
    """The state after a partition showed exactly these messages as its oldest, with what they reveal of it;
    None where it cannot have."""
    start, reset = starts(state, p, action)
    for begin in (start,) if reset is None else (start, reset):
        chosen = _chosen(state, p, shown, action, begin)
        if chosen is not None:
            after = _revealed(state, p, shown, action, *chosen)
            if after is not None:
                return after
    later = _shows_later(state, p, shown, action) if client(state, action.proc).unseen else None
    if later is not None or not state.cfg.waived:
        return later
    return _shows_anyhow(state, p, shown, action, start)


def _shows_later(state: State, p: int, shown: list[Delivery], action: Action) -> State | None:
    """The same after answers that did not reach the client had moved its cursor."""
    first = next((entry.number for entry in state.parts[p].log if entry.id == shown[0].id), 0)
    after = passed(state, action, p, first)
    chosen = after and _chosen(after, p, shown, action, first)
    return _revealed(after, p, shown, action, *chosen) if after is not None and chosen else None


@clause("PEEK-1", "PEEK-2", "PEEK-5")
def _shows_anyhow(state: State, p: int, shown: list[Delivery], action: Action, start: int) -> State | None:
    """The same with PEEK-5 waived, whose cursor may stand anywhere, or with PEEK-1 (PEEK-2) waived, when any
    messages from the starting point on may be shown, in any order, whatever number was asked for."""
    once = list({seen.id: seen for seen in shown}.values())
    places = {entry.id: index for index, entry in enumerate(state.parts[p].log) if entry.status != RESERVED}
    if any(seen.id not in places for seen in once):
        return None
    numbers = [state.parts[p].log[places[seen.id]].number for seen in once]
    if action.from_seq is None and not state.forbids("PEEK-5"):
        chosen = _chosen(state, p, once, action, numbers[0])
        return chosen and _revealed(state, p, once, action, *chosen)
    rule = "PEEK-2" if state.cfg.profile.partitioned else "PEEK-1"
    if state.forbids(rule) or (action.from_seq is None and min(numbers) < start):
        return None
    return _revealed(state, p, once, action, [places[seen.id] for seen in once], {})


def _chosen(
    state: State, p: int, shown: list[Delivery], action: Action, start: int
) -> tuple[list[int], LeftOut] | None:
    """The indexes of the messages shown, and what becomes of those that were left out."""
    part = state.parts[p]
    chosen: list[int] = []
    missing: dict[int, Entry | None] = {}
    for index in eligible(state, p, action, start):
        if len(chosen) == len(shown):
            break
        entry = part.log[index]
        if entry.id == shown[len(chosen)].id:
            chosen.append(index)
        elif entry.status != LAGGING and not _skip(state, part, index, action, missing):
            return None
    return (chosen, missing) if len(chosen) == len(shown) else None


def _revealed(
    state: State, p: int, shown: list[Delivery], action: Action, chosen: list[int], missing: LeftOut
) -> State | None:
    part = as_shown(state.cfg, state.parts[p], zip(chosen, shown, strict=True))
    if part is None:
        return None
    log = list(part.log)
    for index, seen in zip(chosen, shown, strict=True):
        look = _look(state, log[index], seen, action)
        if look is None:
            return None
        log[index] = look
    after = _less(with_log(part, tuple(log)), missing)
    return moved(with_part(state, p, after), action, p, max(part.log[index].number for index in chosen))


@clause("PEEK-6")
def _look(state: State, entry: Entry, seen: Delivery, action: Action) -> Entry | None:
    """The message as it must be to look like this: as it was, or as one of the broker's own moves left it.
    Of what the count leaves open, the least is decided."""
    if not state.cfg.waived or state.forbids("PEEK-6"):
        return _shown(state, entry, seen, action)
    if NARROWLY not in state.cfg.waived:
        return _shown(state, _touched(state, entry, seen, action), seen, action)
    after = _shown(state, entry, seen, action)  # what it does shows in what comes after it
    return after and _touched(state, after, seen._replace(delivery_count=None), action)


@clause("RCV-9")
def _shown(state: State, entry: Entry, seen: Delivery, action: Action) -> Entry | None:
    count, reach = seen.delivery_count, state.now + action.slack
    counted = SHOWN if state.cfg.waived and not state.forbids("RCV-9") else COUNTED
    if count is None:
        return entry
    if count == entry.tries:
        return entry if entry.owed == counted else entry._replace(owed=counted)
    if count == entry.tries - 1 and entry.owed == OWED:
        return entry
    after = _counted(state, entry, count, reach)
    if after is None and counted == SHOWN:
        after = _untold(state, entry, count, reach)
    return after and after._replace(owed=counted)


@clause("RCV-9")
def _untold(state: State, entry: Entry, count: int, reach: int) -> Entry | None:
    """With RCV-9 waived the count is what the first peek after a lock shows."""
    if entry.status == LOCKED:
        ways = [way for way in ended(state, entry, reach) if way is not None]
        entry = ways[-1] if ways else entry
    return None if entry.owed == SHOWN else entry._replace(tries=count)


@clause("PEEK-5", "PEEK-6")
def unseen(state: State, action: Action) -> Iterator[State]:
    """The states after a peek whose answer no client saw: it may have moved cursors, and with PEEK-6 waived
    have touched all."""
    if not any(entry.status != RESERVED for part in state.parts for entry in part.log):
        return
    if action.from_seq is None:
        who = client(state, action.proc)
        state = with_client(state, who._replace(unseen=who.unseen + most(state, action)))
        yield state
    if state.forbids("PEEK-6"):
        return
    nothing = Delivery("")
    for p, part in enumerate(state.parts):
        log = (e if e.status == RESERVED else _touched(state, e, nothing, action) for e in part.log)
        state = with_part(state, p, with_log(part, tuple(log)))
    yield state


@clause("PEEK-6")
def _touched(state: State, entry: Entry, seen: Delivery, action: Action) -> Entry:
    """The message as a peek may leave it with PEEK-6 waived: locked by it, counted, moved, or with its lock
    ended."""
    upsets, lock = entry.upsets + 1, entry.lock
    if entry.status == LOCKED and lock is not None:
        rivals = lock.rivals if seen.lock is None else (*lock.rivals, seen.lock)
        raises = 0 if seen.delivery_count is None else seen.delivery_count - entry.tries
        raises = raises if 0 < raises <= upsets else 0
        since = entry.since if lock.shaken else state.now
        held = lock._replace(rivals=rivals, shaken=True)
        return entry._replace(tries=entry.tries + raises, lock=held, upsets=upsets - raises, since=since)
    if seen.lock is None:
        return entry._replace(status=BACK, lock=None, upsets=upsets)
    until = seen.locked_until or state.now + action.slack + state.cfg.lock_duration
    held = Lock(seen.lock, action.proc, state.now, until, shaken=True)
    return entry._replace(status=LOCKED, lock=held, since=state.now, upsets=upsets)


def _counted(state: State, entry: Entry, tries: int, reach: int) -> Entry | None:
    """The message after locks of it ended by ``reach`` that raised its count to that; None where they cannot
    have."""
    if tries <= entry.tries:
        return None
    if entry.status != LOCKED:
        allowed = any(way.tries == tries for way in takings(state, entry, reach, tries))
        return raised(state, entry, tries) if allowed else None
    for after in reversed(ended(state, entry, reach)):
        if after is not None and after.tries <= tries <= most_tries(state.cfg, after, reach):
            return after if after.tries == tries else raised(state, after, tries)
    return None
