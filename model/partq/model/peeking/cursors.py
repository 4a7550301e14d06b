"""Cursors: where a peek starts in each partition, what it may show from there on, and where it leaves off.

A client's own cursor stands after the last message that its cursorless peeks showed of a partition; a fault
may have set it back to the start, which the first peek that tells the difference decides. What an answer may
hold is the business of `norm` and `observed`.
"""

from __future__ import annotations

from ..actions import Action
from ..clauses import clause
from ..configuration import COUNTER_BITS
from ..edits import with_client
from ..sequencing.norm import counter_of, is_older, shown_seq
from ..state import Entry, Part, State, client
from ..statuses import CERTAIN, VISIBLE


@clause("PEEK-1", "PEEK-2")
def eligible(state: State, p: int, action: Action, start: int) -> list[int]:
    """The indexes of what a peek may show of one partition, oldest first: it is stored, committed, and not
    before the starting point, which ``start`` is where the client's cursor counts."""
    part, from_seq = state.parts[p], action.from_seq
    if from_seq is None:
        return [n for n, entry in enumerate(part.log) if entry.number >= start and VISIBLE[entry.status]]
    shown = [index for index, entry in enumerate(part.log) if VISIBLE[entry.status]]
    return [index for index in shown if _from(state, p, part, part.log[index], from_seq)]


def start_of(state: State, p: int, action: Action) -> int:
    """The number at which the client's next cursorless peek of that partition starts."""
    cursor = client(state, action.proc).cursor
    return cursor[p] if cursor else 0


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


def most(state: State, action: Action) -> int:
    """The limit of messages in an answer."""
    cap = state.cfg.entity.peek_cap
    return action.max if cap is None else min(action.max, cap)


def certain(state: State, p: int, entry: Entry, action: Action) -> bool:
    """Whether an eligible message is certainly visible, and certainly at or after the number given."""
    if not CERTAIN[entry.status]:
        return False
    return not action.from_seq or shown_seq(state.cfg, p, state.parts[p], entry.number) is not None


def starts(state: State, p: int, action: Action) -> tuple[int, int | None]:
    """Where a peek of that partition starts, and where else if a fault reset the cursor."""
    if action.from_seq is not None:
        return 0, None
    who = client(state, action.proc)
    return start_of(state, p, action), (0 if who.loose >> p & 1 else None)


def kept(state: State, action: Action, p: int) -> State:
    """The state in which no fault has set back the client's cursor in that partition."""
    who = client(state, action.proc)
    return with_client(state, who._replace(loose=who.loose & ~(1 << p)))


@clause("PEEK-5")
def moved(state: State, action: Action, p: int, number: int) -> State:
    """The state after the client's cursor passed that message; a peek from a number leaves it alone."""
    if action.from_seq is not None:
        return state
    who = client(state, action.proc)
    cursor = list(who.cursor or (0,) * len(state.parts))
    cursor[p] = number + 1
    return with_client(state, who._replace(cursor=tuple(cursor), loose=who.loose & ~(1 << p)))


@clause("PEEK-5")
def passed(state: State, action: Action, p: int, number: int) -> State | None:
    """The state in which answers that did not reach the client had moved its cursor in that partition to this
    number; None where they cannot have."""
    start, reset = starts(state, p, action)
    start = start if reset is None or number > start else reset
    who, part = client(state, action.proc), state.parts[p]
    if action.from_seq is not None or not who.unseen or number <= start:
        return None
    between = [part.log[index] for index in eligible(state, p, action, start)]
    count = sum(entry.number < number and CERTAIN[entry.status] for entry in between)
    if count > who.unseen:
        return None
    return moved(with_client(state, who._replace(unseen=who.unseen - count)), action, p, number - 1)


def restarted(state: State, proc: str, p: int) -> State:
    """The state with the client's cursor in that partition at the start."""
    who = client(state, proc)
    cursor = (*who.cursor[:p], 0, *who.cursor[p + 1 :])
    return with_client(state, who._replace(cursor=cursor, loose=who.loose & ~(1 << p)))
