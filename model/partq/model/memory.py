"""State kept only under waivers: removed (RCV-7), displaced and delayed messages, past tokens (RCV-8).

Without it the breach of one requirement looks like that of another. A displaced message is shown elsewhere
than in its own place; a delayed one is stored later than its send, if the history shows it. With every
requirement enforced all of it stays empty. Who asks for it is beside the clauses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .clauses import clause
from .edits import with_log, with_part
from .messages import Delivery
from .sequencing import counter_of, named
from .state import BACK, LOCKED, Entry, Part, State, entries


@clause("RCV-7")
def finished(state: State, ended: Iterable[Entry], part: Part) -> Part:
    """The partition that remembers these messages of it, which were just completed or deleted."""
    if state.forbids("RCV-7"):
        return part
    kept = [e._replace(status=BACK, lock=None, since=state.now, upsets=1, group=None) for e in ended]
    return part._replace(gone=tuple(sorted((*part.gone, *kept))))


@clause("RCV-7")
def revived(state: State, answer: Sequence[Delivery]) -> State:
    """The state in which the messages shown that were finished are stored again, with RCV-7 waived: the move
    of a broker that lost a completion, made as late as an answer shows it."""
    if state.forbids("RCV-7"):
        return state
    shown = {seen.id: seen for seen in answer}
    ids = shown.keys() - {entry.id for _, entry in entries(state)}
    for p, part in enumerate(state.parts):
        back = [_as_shown(entry, shown[entry.id]) for entry in part.gone if entry.id in ids]
        if back:
            log = tuple(sorted((*part.log, *back)))
            rest = tuple(entry for entry in part.gone if entry.id not in ids)
            state = with_part(state, p, with_log(part, log)._replace(gone=rest))
    for id in ids:
        state = _moved(state, shown[id])
    return state


def _as_shown(entry: Entry, seen: Delivery) -> Entry:
    """What comes back with the count that it is shown with, if that is a lower one."""
    count = entry.tries if seen.delivery_count is None else min(entry.tries, seen.delivery_count)
    return entry._replace(tries=count)


@clause("SEQ-6", "PEEK-6", "RCV-6", "RCV-12")
def elsewhere(state: State, answer: Sequence[Delivery]) -> State:
    """The state in which the messages shown are stored where they are shown, if requirements are waived: in
    another partition than before (SEQ-6), at another place since a peek (PEEK-6), and there, too,
    while they are locked (RCV-6), or shown twice (RCV-12)."""
    shown: set[str] = set()
    for seen in answer:
        place = next(((p, entry) for p, entry in entries(state) if entry.id == seen.id), None)
        if place is not None:
            p, entry = place
            peeked = entry.status == BACK and not entry.turn and not state.forbids("PEEK-6")
            apart = named(state.cfg, seen)[1] not in (None, p)
            if peeked or (apart and not state.forbids("SEQ-6")):
                state = _moved(state, seen)
            elif (entry.status == LOCKED and not state.forbids("RCV-6")) or (
                seen.id in shown and state.cfg.profile.partitioned and not state.forbids("RCV-12")
            ):
                state = _moved(state, seen, copied=True)
        shown.add(seen.id)
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
    if number >= size // 2 or any(other.number == number for other in part.log):
        return state
    if copied:
        entry = Entry(number, seen.id, BACK, since=state.now, turn=entry.turn, upsets=1, key=entry.key)
    else:
        log = tuple(other for other in state.parts[q].log if other is not entry)
        state = with_part(state, q, with_log(state.parts[q], log))
        part = state.parts[p]
    log = tuple(sorted((*part.log, entry._replace(number=number, at=None)), key=_number))
    return with_part(state, p, part._replace(next=max(part.next, number + 1), base=base, log=log))


def _number(entry: Entry) -> int:
    return entry.number


@clause("RCV-8")
def given(state: State, answer: Sequence[Delivery]) -> State:
    """The state that remembers the lock tokens of an answer, where RCV-8 is not enforced."""
    if state.forbids("RCV-8"):
        return state
    tokens = tuple((seen.lock, seen.id) for seen in answer if seen.lock is not None)
    return state._replace(former=tuple(sorted({*state.former, *tokens}))) if tokens else state


def withheld(state: State, ids: Iterable[str]) -> State:
    """The state in which these messages are not stored yet, and may be (`routing.store_withheld`)."""
    return state._replace(withheld=tuple(sorted({*state.withheld, *ids})))


def whose(state: State, token: str) -> tuple[int, int] | None:
    """Where the message is stored for which that token was once given, or None."""
    id = next((id for known, id in reversed(state.former) if known == token), None)
    if id is not None:
        for p, part in enumerate(state.parts):
            for index, entry in enumerate(part.log):
                if entry.id == id:
                    return p, index
    return None
