"""How a broker breaks the rules on settling and renewing (RCV-2, 6, 7, 8, 13, 14)."""

from __future__ import annotations

from collections.abc import Iterator

from ..actions import INVALID, LOST, OK, Action, Answer, Observed, failure
from ..departures import beyond, instead
from ..edits import put
from ..messages import Delivery
from ..operations import UNAVAILABLE, Outcome
from ..sequencing.norm import home
from ..state import Entry, Lock, Part, Place, State, Steps, find_lock
from ..statuses import BACK, LOCKED
from . import norm


@beyond(norm.settle, "RCV-14", where=lambda cfg: cfg.profile.partitioned and not cfg.profile.flows)
def settled_apart(state: State, action: Action, seen: Observed | None) -> Steps:
    """Locks of several partitions: all are settled, or those of one if it is refused or the rule broken."""
    known = norm.held_of(norm.held(state, action))
    parts = sorted({p for p, _ in known})
    if seen is None or len(parts) < 2:
        return
    settled = seen.status == Outcome.OK
    answer = OK if settled else failure(INVALID | LOST)
    for p in [] if settled and not state.breaks("RCV-14") else parts:
        yield answer, norm.apply(state, action.op, [one for one in known if one[0] == p])
    yield answer, norm.apply(state, action.op, known)


@beyond(norm.settle, "RCV-8")
def settled_late(state: State, action: Action, seen: Observed | None) -> Steps:
    """A lost lock settles or does not, though it is answered ok, and where the rule is broken one that is
    refused may settle all the same."""
    places = norm.held(state, action)
    known, broken = norm.held_of(places), state.breaks("RCV-8")
    if seen is None or (known and not norm.in_one_partition(state, known)):
        return
    refusal = seen.status == Outcome.ERROR
    if refusal and not broken:
        return
    answer = failure(LOST | INVALID | UNAVAILABLE) if refusal else OK
    every = sorted({*known, *_lost_places(state, action, places)})
    if None in places or (refusal and _may_be_refused(state, action, known, seen)):
        for op in dict.fromkeys((action.op, "complete") if broken else (action.op,)):
            yield answer, settled_anyhow(state, op, every)
    if None in places and every:
        yield answer, norm.apply(state, action.op, known)
    yield from ((answer, after) for after in _one_lost(state, action, known, not refusal))


def _lost_places(state: State, action: Action, places: list[Place | None]) -> list[Place]:
    """The places of the messages whose locks are lost."""
    lost = (token for place, token in zip(places, action.locks, strict=True) if place is None)
    return norm.held_of([whose(state, token) for token in lost])


def _one_lost(state: State, action: Action, places: list[Place], alone: bool) -> Iterator[State]:
    """The states in which one of these locks was lost, also if it is ``alone``, and the others settle."""
    for place in places:
        for after in norm.lost(state, place, state.now + action.slack):
            rest = norm.held_of([find_lock(after, token) for token in action.locks])
            if rest or alone:
                yield norm.apply(after, action.op, rest)


def _may_be_refused(state: State, action: Action, places: list[Place], seen: Observed) -> bool:
    """Whether the refusal breaks no requirement: it is a passing one, or a lock may have been lost."""
    return seen.error in UNAVAILABLE or not all(norm.holds(state, place, action.slack) for place in places)


def settled_anyhow(state: State, op: str, places: list[Place]) -> State:
    """The state after these messages were settled, also by locks that are lost: their ends may be counted
    already."""
    for p, index in sorted(places, reverse=True):
        entry = state.parts[p].log[index]
        if op != norm.RETURNS or entry.lock is not None:
            state = norm.apply(state, op, [(p, index)])
        else:
            state = put(state, p, index, entry._replace(upsets=entry.upsets + 1))
    return state


def whose(state: State, token: str) -> Place | None:
    """The place of the message for which that token was once given, or None."""
    id = next((id for known, id in reversed(state.former) if known == token), None)
    if id is not None:
        for p, part in enumerate(state.parts):
            for index, entry in enumerate(part.log):
                if entry.id == id:
                    return p, index
    return None


@beyond(norm.renew, "RCV-8")
def renewed_late(state: State, action: Action, seen: Observed | None) -> Steps:
    """A lost lock is renewed, or is said to be (one that may just have been lost, too), and where the rule is
    broken a renewal that is refused is made."""
    if seen is None:
        return
    place, messages = norm.held(state, action)[0], seen.messages
    refusal = seen.status == Outcome.ERROR
    if place is not None and not refusal:
        for after in norm.lost(state, place, state.now + action.slack):
            yield Answer(Outcome.OK, messages=messages), after
        return
    if refusal and not state.breaks("RCV-8"):
        return
    if place is not None and not _may_be_refused(state, action, [place], seen):
        return
    answer = failure(LOST) if refusal else Answer(Outcome.OK, messages=messages)
    if not refusal:
        yield answer, state
    found = place or whose(state, action.locks[0])
    if found is not None:
        again = _held_again(state, action, found, place is not None, norm.shown_by(seen))
        yield answer, put(state, *found, again)


def _held_again(state: State, action: Action, place: Place, holds: bool, shown: Delivery | None) -> Entry:
    """The message with its lock renewed, whose end, unless it still holds, may be counted or not."""
    entry = state.parts[place[0]].log[place[1]]
    count = entry.tries if holds else max(0, entry.tries - 1)
    again = entry._replace(status=LOCKED, tries=count, lock=Lock(action.locks[0], action.proc, 0, 0))
    return norm.renewed(state, again, action, shown)._replace(upsets=entry.tries - count)


@beyond(norm.refused, "RCV-6")
def refused_at_once(state: State, action: Action, places: list[Place | None], seen: Observed | None) -> Steps:
    """A lock that holds is reported as lost, and may be used again."""
    if seen is None or seen.status != Outcome.ERROR or not norm.held_of(places):
        return
    if seen.error is None or seen.error not in norm.reasons(state, places):
        yield failure(LOST), state


@beyond(norm.lost, "RCV-2")
def lost_with_its_message(state: State, place: Place, reach: int) -> Iterator[State]:
    """A lock ends with its message."""
    yield put(state, *place, None)


@instead(norm.finished, "RCV-7", broken=True)
def remembered(told: Part, state: State, part: Part, ended: list[Entry]) -> Part:
    """A finished message may return."""
    kept = [e._replace(status=BACK, lock=None, since=state.now, upsets=1, group=None) for e in ended]
    return told._replace(gone=tuple(sorted((*told.gone, *kept))))


@instead(norm.abandoned, "PEEK-6", broken=True)
def abandoned_after_a_peek(told: Entry | None, state: State, entry: Entry) -> Entry | None:
    """A peek's effect on the lock may still be counted."""
    return told and told._replace(upsets=entry.upsets)


@instead(norm.shown_renewed, "SEQ-6")
def shown_elsewhere(told: Part | None, state: State, p: int, index: int, shown: Delivery) -> Part | None:
    """A message was numbered anew, into another partition."""
    consistent, where = home(state.cfg, shown)
    return state.parts[p] if consistent and where not in (None, p) else told


@instead(norm.renewed, "RCV-13", broken=True)
def renewed_too_long(
    told: Entry, state: State, entry: Entry, action: Action, shown: Delivery | None
) -> Entry:
    """A lock that is shown to last too long ends then, or when it would have to."""
    until = None if shown is None else shown.locked_until
    if until is None or until <= norm.latest(state, action) or told.lock is None:
        return told
    return told._replace(lock=told.lock._replace(lo=state.now + state.cfg.lock_duration))
