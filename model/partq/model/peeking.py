"""Peek: looking at messages without touching them, from a number on or from the client's own cursor.

An answer shows of each partition in it the oldest messages from the starting point on, none left out; which
partitions are in it, and in what mix, is free. Nothing here changes a message, but for what the answer
reveals of the broker's own moves (a lock had run out, a commit had appeared).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from .actions import NOWHERE, OK, REFUSED, Action, Answer, Observed, failure
from .clauses import clause
from .delivery import takings
from .messages import Delivery
from .operations import UNAVAILABLE, Outcome
from .sequencing import bound, counter_of, home, is_older, shown_seq, timed
from .state import (
    COUNTED,
    COUNTER_BITS,
    FRESH,
    LAGGING,
    OPEN,
    OWED,
    RESERVED,
    Entry,
    Part,
    State,
    client,
    is_up,
    returned,
    with_client,
    with_part,
)

Steps = Iterator[tuple[Answer, State]]


def peek(state: State, action: Action, seen: Observed | None) -> Steps:
    """Look at up to ``max`` messages."""
    if not state.cfg.profile.peek:
        yield failure(REFUSED), state
        return
    if (state.down or state.dead) and action.only in (None, NOWHERE):
        yield failure(UNAVAILABLE), state
    for begun in _begun(state, action):
        if seen is None:
            every = range(len(state.parts))
            yield from _answers(begun, action, [p for p in every if action.only in (None, p)], ())
            if action.only in (None, NOWHERE) and _may_be_empty(begun, action):
                yield OK, begun
        elif seen.status == Outcome.OK:
            for after in _explained(begun, action, seen.messages):
                yield Answer(Outcome.OK, messages=seen.messages), after


def _begun(state: State, action: Action) -> list[State]:
    """The state with the client's cursor settled: a fault may have set it back to the start."""
    who = client(state, action.proc)
    if action.from_seq is not None or not who.loose:
        return [state]
    kept = with_client(state, who._replace(loose=False))
    reset = with_client(state, who._replace(loose=False, cursor=()))
    return [kept] if kept == reset else [kept, reset]


@clause("PEEK-1", "PEEK-2")
def eligible(state: State, p: int, action: Action) -> list[int]:
    """The indexes of what a peek may show of one partition, oldest first: it is stored, committed, and not
    before the starting point."""
    part = state.parts[p]
    shown = [index for index, entry in enumerate(part.log) if entry.status != RESERVED]
    if action.from_seq is None:
        cursor = client(state, action.proc).cursor
        start = cursor[p] if cursor else 0
        return [index for index in shown if part.log[index].number >= start]
    return [index for index in shown if _from(state, p, part, part.log[index], action.from_seq)]


def _from(state: State, p: int, part: Part, entry: Entry, from_seq: int) -> bool:
    """Whether a message's number is at or after the given one: by the partition's name first, then serially.
    Where the partition or its first counter was never shown, it counts as after."""
    cfg = state.cfg
    if cfg.profile.partitioned and cfg.names[p] >= 0 and cfg.names[p] != from_seq >> COUNTER_BITS:
        return cfg.names[p] > from_seq >> COUNTER_BITS
    seq = shown_seq(cfg, p, part, entry.number)
    if seq is None or from_seq == 0:
        return True
    return not is_older(counter_of(cfg, seq), counter_of(cfg, from_seq), cfg.bits)


def _cap(state: State, action: Action) -> int:
    cap = state.cfg.entity.peek_cap
    return action.max if cap is None else min(action.max, cap)


@clause("PEEK-4", "PEEK-5")
def _may_be_empty(state: State, action: Action) -> bool:
    """Whether a peek may show nothing: only if nothing that is surely visible matches."""
    for p, part in enumerate(state.parts):
        if is_up(state, p):
            if any(_surely(state, p, part.log[index], action) for index in eligible(state, p, action)):
                return False
    return True


def _surely(state: State, p: int, entry: Entry, action: Action) -> bool:
    """Whether an eligible message is surely visible, and its number surely at or after the given one."""
    if entry.status == LAGGING:
        return False
    return not action.from_seq or shown_seq(state.cfg, p, state.parts[p], entry.number) is not None


@clause("PEEK-2", "PEEK-3", "PEEK-4", "PEEK-7")
def _answers(state: State, action: Action, parts: list[int], shown: tuple[Delivery, ...]) -> Steps:
    """Every answer that is not empty, partition by partition; any mix of those is the same answer."""
    if not parts:
        if shown:
            yield Answer(Outcome.OK, messages=shown), state
        return
    p, rest = parts[0], parts[1:]
    yield from _answers(state, action, rest, shown)
    if not is_up(state, p):
        return
    part = state.parts[p]
    visible = [i for i in eligible(state, p, action) if part.log[i].status != LAGGING]
    for size in range(1, min(len(visible), _cap(state, action) - len(shown)) + 1):
        for looks in product(*(_faces(part.log[i]) for i in visible[:size])):
            log = list(part.log)
            for index, entry in zip(visible, looks, strict=False):
                log[index] = entry
            after = _moved(state, action, p, looks[-1].number)
            if tuple(log) != part.log:
                after = with_part(after, p, part._replace(log=tuple(log)))
            deliveries = tuple(_shown(state, p, part, entry) for entry in looks)
            yield from _answers(after, action, rest, shown + deliveries)


@clause("PEEK-6")
def _faces(entry: Entry) -> tuple[Entry, ...]:
    """The message as a peek may find it: whether its last lock's end is counted is decided by the first."""
    if entry.owed != OPEN:
        return (entry,)
    return entry._replace(owed=COUNTED), entry._replace(owed=OWED)


def _shown(state: State, p: int, part: Part, entry: Entry) -> Delivery:
    seq = shown_seq(state.cfg, p, part, entry.number)
    count = entry.tries - (entry.owed == OWED)
    return Delivery(entry.id, seq=seq, partition=state.cfg.names[p], delivery_count=count)


@clause("PEEK-5")
def _moved(state: State, action: Action, p: int, number: int) -> State:
    """The state after the client's cursor passed that message; a peek from a number leaves it alone."""
    if action.from_seq is not None:
        return state
    who = client(state, action.proc)
    cursor = list(who.cursor or (0,) * len(state.parts))
    cursor[p] = number + 1
    return with_client(state, who._replace(cursor=tuple(cursor)))


@clause("PEEK-4", "PEEK-6")
def _explained(state: State, action: Action, answer: Sequence[Delivery]) -> Iterator[State]:
    """Every state in which a peek that gave this answer may have left the broker."""
    if not answer:
        if _may_be_empty(state, action):
            yield state
        return
    if len(answer) > _cap(state, action) or any(seen.lock is not None for seen in answer):
        return
    by_part: dict[int, list[Delivery]] = {}
    for seen in answer:
        p = _home_of(state, seen)
        if p is None:
            return
        by_part.setdefault(p, []).append(seen)
    ways = [list(_reveals(state, p, shown, action)) for p, shown in by_part.items()]
    for way in product(*ways):
        after = state
        for (p, _), part in zip(by_part.items(), way, strict=True):
            after = _moved(with_part(after, p, part), action, p, _last(state, p, by_part[p]))
        yield after


def _home_of(state: State, seen: Delivery) -> int | None:
    consistent, wanted = home(state.cfg, seen)
    for p, part in enumerate(state.parts):
        if consistent and wanted in (None, p) and is_up(state, p) and any(e.id == seen.id for e in part.log):
            return p
    return None


def _last(state: State, p: int, shown: list[Delivery]) -> int:
    return max(entry.number for entry in state.parts[p].log if entry.id == shown[-1].id)


@clause("PEEK-1", "PEEK-2", "PEEK-6", "PEEK-7")
def _reveals(state: State, p: int, shown: list[Delivery], action: Action) -> Iterator[Part]:
    """Every partition that shows exactly these messages as its oldest, with what they reveal of it."""
    part = state.parts[p]
    indexes = eligible(state, p, action)
    chosen: list[int] = []
    position = 0
    for index in indexes:
        if position == len(shown):
            break
        if part.log[index].id == shown[position].id:
            chosen.append(index)
            position += 1
        elif part.log[index].status != LAGGING:
            return
    if position < len(shown):
        return
    ways = [list(_looks(state, part.log[i], seen, action)) for i, seen in zip(chosen, shown, strict=True)]
    for way in product(*ways):
        after = _bound(state, part, chosen, shown, way)
        if after is not None:
            yield after


def _bound(
    state: State, part: Part, chosen: list[int], shown: list[Delivery], way: tuple[Entry, ...]
) -> Part | None:
    log = list(part.log)
    for index, entry in zip(chosen, way, strict=True):
        log[index] = entry
    after: Part | None = part._replace(log=tuple(log))
    for index, seen in zip(chosen, shown, strict=True):
        number = part.log[index].number
        after = after and bound(state.cfg, after, number, seen.seq)
        after = after and timed(state.cfg, after, number, seen.enqueued_at)
    return after


@clause("PEEK-6", "PEEK-7")
def _looks(state: State, entry: Entry, seen: Delivery, action: Action) -> Iterator[Entry]:
    """The message as it must be to look like this: as it was, or as one of the broker's own moves left it."""
    count, now = seen.delivery_count, entry
    if entry.status == LAGGING:
        now = entry._replace(status=FRESH)
    if count is None:
        yield now
        return
    yield from (face for face in _faces(now) if face.tries - (face.owed == OWED) == count)
    for way in takings(state, entry, state.now + action.slack, True):
        if not way.first and way.tries > entry.tries:
            left = max(0, entry.upsets - (way.tries - entry.tries))
            raised = returned(state, entry, way.tries, way.since)._replace(upsets=left)
            yield from (face for face in _faces(raised) if face.tries - (face.owed == OWED) == count)
