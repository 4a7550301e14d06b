"""Observed peeks: how a state explains an answer, and what the answer reveals of the broker's own moves.

Whether a lock had expired, a commit was visible, a message was dead-lettered or a fault had reset the cursor,
an answer decides only as far as it shows. So there is one state after it, or none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..actions import NOWHERE, Action
from ..clauses import clause, guard, point
from ..delivery.norm import as_found
from ..edits import appeared, with_client, with_log, with_part
from ..locks.norm import ended, goings, most_tries, raised, takings
from ..messages import ACTIVE, Delivery
from ..sequencing.norm import as_shown, home
from ..state import Entry, Part, State, client, is_up, label, range_of
from ..statuses import CERTAIN, COUNTED, FADING, LABELS, LAGGING, LOCKED, OWED, STATUSES, VISIBLE, WITHDRAWN
from .cursors import certain, eligible, kept, most, moved, passed, starts

LeftOut = Mapping[int, Entry | None]
"""What is left at the places of messages that an answer skips: None where they are gone."""


@clause("PEEK-4", "PEEK-6", "PEEK-7")
def explained(state: State, action: Action, answer: Sequence[Delivery]) -> Iterator[State]:
    """The state in which a peek that gave this answer left the broker, if it can have. With ``only`` an
    empty answer says nothing of other partitions."""
    after: State | None
    if not answer:
        parts = range_of(state, action.entity) if action.only is None else (action.only,)
        after = found_empty(state, action, [p for p in parts if p != NOWHERE])
    else:
        may_show = is_bounded(state, action, answer) and is_unlocked(state, answer)
        after = _showed(as_found(state, answer), action, answer) if may_show else None
    if after is not None:
        yield after


@guard("PEEK-4")
def is_bounded(state: State, action: Action, answer: Sequence[Delivery]) -> bool:
    """Whether no more messages are shown than requested."""
    return len(answer) <= most(state, action)


@guard("PEEK-6")
def is_unlocked(state: State, answer: Sequence[Delivery]) -> bool:
    """Whether a peek locks nothing."""
    return all(seen.lock is None for seen in answer)


@guard("PEEK-7")
def is_labelled(state: State, entry: Entry, shown: str | None) -> bool:
    """Whether the message may be shown in that state. A lock, or a commit's lag, may hide that it is set
    aside."""
    if shown == ACTIVE:
        return not STATUSES[entry.status].label or entry.group is not None
    return shown not in LABELS or shown == label(entry)


def _showed(state: State, action: Action, answer: Sequence[Delivery]) -> State | None:
    by_part: dict[int, list[Delivery]] = {}
    for seen in answer:
        p = _home_of(state, seen, action.only)
        if p is None:
            return None
        by_part.setdefault(p, []).append(seen)
    ids = {seen.id for seen in answer}
    coming = (e for p in by_part for e in state.parts[p].log if e.group is not None and e.id in ids)
    groups = {e.group for e in coming if e.group is not None and e.status == LAGGING}
    if groups:
        state = appeared(state, groups, action.slack)
    after: State | None = state
    for p, shown in by_part.items():
        after = after and shows(after, p, shown, action)
    return after


@point("PEEK-4", "PEEK-5", "ROUTE-7")
def found_empty(state: State, action: Action, parts: Sequence[int]) -> State | None:
    """The state after nothing of these partitions was shown, if that can be. A cursor that a fault may have
    reset stays undecided where nothing was to be shown either way."""
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
    return after


def _without(state: State, p: int, indexes: Sequence[int], action: Action) -> State | None:
    """The state in which nothing certainly visible is at these places, or None where that cannot be."""
    part = state.parts[p]
    missing: dict[int, Entry | None] = {}
    for index in indexes:
        if not certain(state, p, part.log[index], action):
            _faded(part, index, missing)
        elif not _skip(state, part, index, action, missing):
            return None
        if suffices(state, action, len(missing)):
            break
    return with_part(state, p, _less(part, missing)) if missing else state


@point("PEEK-7")
def suffices(state: State, action: Action, missing: int) -> bool:
    """Whether an answer ends with so many messages that it does not show."""
    return False


def _less(part: Part, missing: LeftOut) -> Part:
    log = (missing.get(index, entry) for index, entry in enumerate(part.log))
    return with_log(part, tuple([entry for entry in log if entry is not None]))


def _skip(state: State, part: Part, index: int, action: Action, missing: dict[int, Entry | None]) -> bool:
    ways = left_out(state, part.log[index], state.now + action.slack)
    if ways:
        missing[index] = ways[0]
    return bool(ways)


@clause("TXN-5")
def _faded(part: Part, index: int, missing: dict[int, Entry | None]) -> None:
    """What a commit removed, and a peek shows no more, none does; of a cancelled one the number remains."""
    entry = part.log[index]
    if entry.status == FADING:
        missing[index] = entry._replace(status=WITHDRAWN) if entry.due else None


@point("PEEK-7", "RCV-2", "RCV-9")
def left_out(state: State, entry: Entry, reach: int) -> list[Entry | None]:
    """What becomes of a visible message that a peek does not show, if that can be. Of a lock that nothing but
    this would show nothing is said (PEEK-1, PEEK-2)."""
    return goings(state, entry, reach)


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


@point("PEEK-1", "PEEK-2", "PEEK-5", "PEEK-7")
def shows(state: State, p: int, shown: list[Delivery], action: Action) -> State | None:
    """The state after a partition showed exactly these messages as its oldest, with what they reveal of it;
    None where it cannot have."""
    start, reset = starts(state, p, action)
    for begin in (start,) if reset is None else (start, reset):
        after = shows_from(state, p, shown, action, begin)
        if after is not None:
            return after
    return _shows_later(state, p, shown, action) if client(state, action.proc).unseen else None


def shows_from(state: State, p: int, shown: list[Delivery], action: Action, start: int) -> State | None:
    """As `shows`, from that number on."""
    chosen = _chosen(state, p, shown, action, start)
    return revealed(state, p, shown, action, *chosen) if chosen is not None else None


def _shows_later(state: State, p: int, shown: list[Delivery], action: Action) -> State | None:
    """As `shows`, after answers that did not reach the client had moved its cursor."""
    first = next((entry.number for entry in state.parts[p].log if entry.id == shown[0].id), 0)
    after = passed(state, action, p, first)
    return after and shows_from(after, p, shown, action, first)


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
        elif not CERTAIN[entry.status]:
            _faded(part, index, missing)
        elif not _skip(state, part, index, action, missing):
            return None
    return (chosen, missing) if len(chosen) == len(shown) else None


def revealed(
    state: State, p: int, shown: list[Delivery], action: Action, chosen: list[int], missing: LeftOut
) -> State | None:
    """The state after these messages were shown and those left out; the client's cursor has passed them."""
    part = as_shown(state.cfg, state.parts[p], zip(chosen, shown, strict=True))
    if part is None:
        return None
    log = list(part.log)
    for index, seen in zip(chosen, shown, strict=True):
        look = looks(state, log[index], seen, action)
        if look is None or not is_labelled(state, log[index], seen.state):
            return None
        log[index] = _labelled(look, seen.state)
    after = _less(with_log(part, tuple(log)), missing)
    return moved(with_part(state, p, after), action, p, max(part.log[index].number for index in chosen))


@clause("TXN-5")
def _labelled(entry: Entry, shown: str | None) -> Entry:
    """The message that was shown in that state: as what a commit made it it is no more shown as before."""
    return entry._replace(group=None) if shown == label(entry) and shown in LABELS else entry


@point("PEEK-6")
def looks(state: State, entry: Entry, seen: Delivery, action: Action) -> Entry | None:
    """The message as it must be to look like this: as it was, or as one of the broker's own moves left it.
    Of what the count leaves open, the least is decided."""
    return counts(state, entry, seen.delivery_count, state.now + action.slack)


@point("RCV-9")
def counts(state: State, entry: Entry, count: int | None, reach: int) -> Entry | None:
    """The message as it must be to be shown with this count."""
    if count is None:
        return entry
    if count == entry.tries:
        return entry if entry.owed == COUNTED else entry._replace(owed=COUNTED)
    if count == entry.tries - 1 and entry.owed == OWED:
        return entry
    after = _counted(state, entry, count, reach)
    return after and after._replace(owed=COUNTED)


@point("PEEK-5", "PEEK-6")
def unseen(state: State, action: Action) -> Iterator[State]:
    """The states after a peek whose answer no client saw: it may have moved cursors."""
    if action.from_seq is None and shows_any(state):
        yield moved_unseen(state, action)


def shows_any(state: State) -> bool:
    """Whether a peek may show any message."""
    return any(VISIBLE[entry.status] for part in state.parts for entry in part.log)


def moved_unseen(state: State, action: Action) -> State:
    """The state in which an answer that did not reach the client may have moved its cursors."""
    who = client(state, action.proc)
    return with_client(state, who._replace(unseen=who.unseen + most(state, action)))


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
