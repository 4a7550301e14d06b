"""How a broker breaks the rules on what a receive delivers (RCV-2, 3, 6, 7, 8, 9, 12, 13, REB-3)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from ..actions import Action
from ..configuration import Config
from ..departures import beyond, instead
from ..edits import log_of, with_log, with_part
from ..locks.norm import Taken, takings
from ..messages import Delivery, is_dead
from ..sequencing.norm import counter_of, named, shown_seq
from ..state import Entry, Lock, Place, State, entries
from ..statuses import BACK, LOCKED, STATUSES
from . import norm


@instead(norm.by_number, "RCV-3", where=lambda cfg: not (cfg.profile.flows or norm.ordered_apart(cfg)))
@instead(norm.by_number, "REB-3", where=lambda cfg: cfg.profile.flows)
def any_order(told: bool, state: State) -> bool:
    """First deliveries follow no numbers."""
    return False


@instead(norm.passed, "RCV-2")
def passed_as_lost(told: list[Entry | None], state: State, entry: Entry, slack: int) -> list[Entry | None]:
    """A message that is passed is lost."""
    return told or [None]


# Messages that come back, or are elsewhere: moves of the broker made as late as an answer shows them


@instead(norm.as_found, "RCV-7", broken=True)
def revived(told: State, state: State, answer: Sequence[Delivery]) -> State:
    """Messages shown that were finished are stored again."""
    if not state.breaks("RCV-7"):  # consulted at any answer, for a pair: what comes back may end only later
        return told
    shown = {seen.id: seen for seen in answer}
    ids = shown.keys() - {entry.id for _, entry in entries(told)}
    for p, part in enumerate(told.parts):
        back = [_as_shown(entry, shown[entry.id]) for entry in part.gone if entry.id in ids]
        if back:
            log = tuple(sorted((*part.log, *back)))
            rest = tuple(entry for entry in part.gone if entry.id not in ids)
            told = with_part(told, p, with_log(part, log)._replace(gone=rest))
    for id in ids:
        told = _moved(told, shown[id])
    return told


def _as_shown(entry: Entry, seen: Delivery) -> Entry:
    """What comes back, free, or set aside as it was, with the count that it is shown with, if that is a lower
    one."""
    count = entry.tries if seen.delivery_count is None else min(entry.tries, seen.delivery_count)
    rest = entry.rest if entry.rest and STATUSES[entry.rest].label == seen.state else 0
    return entry._replace(status=rest or entry.status, tries=count, rest=rest)


@instead(norm.as_found, "SEQ-6", "PEEK-6", "RCV-6", "RCV-12", broken=True)
def elsewhere(told: State, state: State, answer: Sequence[Delivery]) -> State:
    """Messages shown are stored where they are shown: in another partition than before (SEQ-6), at another
    place since a peek (PEEK-6), and there, too, while they are locked (RCV-6), or shown twice (RCV-12)."""
    shown: set[str] = set()
    for seen in answer:
        place = next(((p, entry) for p, entry in entries(told) if entry.id == seen.id), None)
        if place is not None:
            told = _found_elsewhere(told, seen, *place, seen.id in shown)
        shown.add(seen.id)
    return told


def _found_elsewhere(state: State, seen: Delivery, p: int, entry: Entry, again: bool) -> State:
    peeked = entry.status == BACK and not entry.turn and not state.forbids("PEEK-6")
    apart = named(state.cfg, seen)[1] not in (None, p)
    if peeked or (apart and not state.forbids("SEQ-6")):
        return _moved(state, seen)
    twice = again and state.cfg.profile.partitioned and not state.forbids("RCV-12")
    if twice or (entry.status == LOCKED and not state.forbids("RCV-6")):
        return _moved(state, seen, copied=True)
    return state


def _moved(state: State, seen: Delivery, copied: bool = False) -> State:
    """The state in which a message is stored at the place that it is shown at, or also there, if that is
    known, and free."""
    consistent, p = named(state.cfg, seen)
    places = [(q, entry) for q, entry in entries(state) if entry.id == seen.id]
    if not consistent or p is None or seen.seq is None or not places or not state.cfg.profile.shows_seq:
        return state
    (q, entry), part, size = places[0], state.parts[p], 1 << state.cfg.bits
    counter = counter_of(state.cfg, seen.seq)
    base = (counter - part.next) % size if part.base is None else part.base
    number = (counter - base) % size
    early = number >= size // 2 and not is_dead(seen.id)  # the dead-letter queue's first number may be any
    if early or any(other.number == number for other in part.log):
        return state
    if copied:
        entry = Entry(number, seen.id, BACK, since=state.now, turn=entry.turn, upsets=1, key=entry.key)
    else:
        log = tuple(other for other in state.parts[q].log if other is not entry)
        state = with_part(state, q, with_log(state.parts[q], log))
        part = state.parts[p]
    log = log_of((*part.log, entry._replace(number=number, at=None)))
    return with_part(state, p, part._replace(next=max(part.next, number + 1), base=base, log=log))


@instead(norm.stored_at, "RCV-1", "RCV-6", "RCV-7", "RCV-12", "TXN-5", "TXN-10", broken=True)
def stored_twice(told: Place | None, state: State, seen: Delivery, parts: Sequence[int]) -> Place | None:
    """A message is stored twice: the one with this number is meant."""
    for p in parts if told is not None else ():
        for index, entry in enumerate(state.parts[p].log):
            if entry.id == seen.id and shown_seq(state.cfg, p, state.parts[p], entry.number) == seen.seq:
                return p, index
    return told


@beyond(norm.explained, "RCV-6", "RCV-7")
@beyond(norm.explained, "RCV-12", broken=True)
def delivered_twice(
    state: State, action: Action, answer: Sequence[Delivery], parts: Sequence[int] | None = None
) -> Iterator[State]:
    """An answer holds messages twice: they are delivered once, with two locks."""
    if len({seen.id for seen in answer}) == len(answer) or _once(state, action, answer):
        return
    moved = norm.as_found(state, answer)
    kept = _kept(answer, norm.located(moved, action, answer, parts))
    once = [seen for n, seen in enumerate(answer) if n in kept]
    tokens = {seen.id: seen.lock for n, seen in enumerate(answer) if n not in kept and seen.lock}
    for after in norm.explained(moved, action, once, parts) if 0 < len(once) < len(answer) else ():
        for p, part in enumerate(after.parts):
            log = [_with_rival(entry, tokens.get(entry.id)) for entry in part.log]
            after = with_part(after, p, with_log(part, tuple(log)))
        yield after if state.forbids("RCV-8") else _given(after, answer)


def _kept(answer: Sequence[Delivery], found: list[Place | None]) -> set[int]:
    """Which messages of the answer are the first of those at one place; none where one is nowhere."""
    first = {seen.id: place for seen, place in zip(answer, found, strict=True) if place is not None}
    places = [place or first.get(seen.id) for seen, place in zip(answer, found, strict=True)]
    if None in places:
        return set()
    return {*{place: n for n, place in reversed(list(enumerate(places)))}.values()}


def _once(state: State, action: Action, answer: Sequence[Delivery]) -> bool:
    """Whether the answer, or any, may hold no message twice."""
    if len(answer) > action.max and not norm.may_exceed(state):
        return True
    profile = state.cfg.profile
    if profile.partitioned and not profile.flows and "RCV-12" in state.cfg.binding:
        return state.forbids("RCV-12")
    return state.forbids("RCV-7" if action.mode == norm.DELETE else "RCV-6")


def _with_rival(entry: Entry, token: str | None) -> Entry:
    if token is None or entry.lock is None:
        return entry
    return entry._replace(lock=entry.lock._replace(rivals=(*entry.lock.rivals, token)))


# Counts, marks and locks


@instead(norm.counted, "RCV-9")
def uncounted(told: list[Taken], state: State, entry: Entry, reach: int, count: int | None) -> list[Taken]:
    """The count is what the delivery shows."""
    ways = (told if count is None else takings(state, entry, reach))[:2]
    return [way if count is None else way._replace(tries=count) for way in ways]


@beyond(norm.is_marked, "REB-3")
def marked_anyhow(cfg: Config, mark: bool, entry: Entry, taken: Taken) -> bool:
    """The redelivered mark is wrong; where the rule does not bind it says nothing."""
    return True


@beyond(norm.is_marked, "RCV-1", "RCV-7", broken=True)
def marked_as_another(cfg: Config, mark: bool, entry: Entry, taken: Taken) -> bool:
    """A wrong mark tells of a delivery that was not (RCV-1), or of an earlier one (RCV-7)."""
    return True


@instead(norm.delivered, "RCV-8")
def remembered(
    told: State | None,
    state: State,
    action: Action,
    answer: Sequence[Delivery],
    places: list[Place],
    way: tuple[Taken, ...],
) -> State | None:
    """Lock tokens from long ago still work."""
    return told and _given(told, answer)


def _given(state: State, answer: Sequence[Delivery]) -> State:
    former = state.former
    for token in ((seen.lock, seen.id) for seen in answer if seen.lock is not None):
        at = bisect_left(former, token)
        if former[at : at + 1] != (token,):
            former = (*former[:at], token, *former[at:])
    return state if former is state.former else state._replace(former=former)


@instead(norm.rivals, "RCV-6")
def rivals_held(told: tuple[str, ...], state: State, lock: Lock, action: Action) -> tuple[str, ...]:
    """A message is delivered while another lock on it certainly holds."""
    if lock.token is None or lock.lo <= state.now + action.slack:
        return told
    return (*lock.rivals, lock.token)


@instead(norm.deadline, "RCV-13", broken=True)
def too_late(
    told: tuple[int, int], state: State, taken: Taken, slack: int, until: int | None
) -> tuple[int, int]:
    """A lock that is shown to last too long ends then, or when it would have to."""
    if until is None or until <= norm.latest(state.cfg, taken, state.now + slack):
        return told
    return norm.deadline(state, taken, slack, None)[0], told[1]


@instead(norm.given_at, "ORD-2")
def never_given(told: int, state: State, action: Action) -> int:
    """The lock blocks nothing."""
    return 0
