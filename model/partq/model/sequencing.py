"""Sequence numbers and enqueued times: how a message gets its number, and what a shown one has to be.

Inside, a partition's numbers count from 0 and never end; what clients see is that count from the partition's
first counter on, modulo the counter's size, with the partition's name above it. Where messages go, and who
may send, is not decided here.
"""

from __future__ import annotations

from collections.abc import Iterator

from .clauses import clause
from .messages import Delivery
from .state import COUNTER_BITS, Config, Entry, Part, State


@clause("SEQ-1", "SEQ-2", "SEQ-5")
def shown_seq(cfg: Config, p: int, part: Part, number: int) -> int | None:
    """The number as clients see it, or None where they do not or cannot yet be said to."""
    if part.base is None or not cfg.profile.shows_seq:
        return None
    counter = (part.base + number) % (1 << cfg.bits)
    if not cfg.profile.partitioned:
        return counter
    return None if cfg.names[p] < 0 else cfg.names[p] << COUNTER_BITS | counter


@clause("SEQ-2")
def home(cfg: Config, seen: Delivery) -> tuple[bool, int | None]:
    """Whether what is shown of a message's partition is consistent and known, and its position if shown."""
    if not cfg.profile.partitioned:
        return True, 0
    name = seen.partition
    if seen.seq is not None and cfg.profile.shows_seq:
        if name is not None and name != seen.seq >> COUNTER_BITS:
            return False, None
        name = seen.seq >> COUNTER_BITS
    if name is None:
        return True, None
    return (True, cfg.names.index(name)) if name in cfg.names else (False, None)


def counter_of(cfg: Config, seq: int) -> int:
    """The counter in a shown number."""
    return seq & ((1 << COUNTER_BITS) - 1) if cfg.profile.partitioned else seq


@clause("SEQ-1", "SEQ-3", "SEQ-4", "SEQ-5")
def assign(state: State, p: int, hint: Delivery | None, strict: bool) -> Iterator[tuple[int, Part, int]]:
    """Every number that the next message of a partition may get: (number, partition after, numbers still
    unexplained). A gap is as long as numbers that failed sends may have used up (SEQ-4). ``hint`` says which
    number it is shown with; a message that is never shown takes the next one unless ``strict``."""
    part, burnt = state.parts[p], state.burnt
    if hint is not None and hint.seq is not None:
        counter = counter_of(state.cfg, hint.seq)
        if part.base is None:
            base = (counter - part.next) % (1 << state.cfg.bits)
            yield part.next, part._replace(base=base, next=part.next + 1), burnt
            return
        gap = (counter - part.base - part.next) % (1 << state.cfg.bits)
        if gap <= burnt:
            yield part.next + gap, part._replace(next=part.next + gap + 1), burnt - gap
        return
    for gap in range(burnt + 1 if strict else 1):
        yield part.next + gap, part._replace(next=part.next + gap + 1), burnt - gap


@clause("SEQ-1", "SEQ-6")
def bound(cfg: Config, part: Part, number: int, seq: int | None) -> Part | None:
    """The partition after one of its messages was shown with that number, or None if it can't be its own.
    The first number shown in a partition tells where its counter began."""
    if seq is None or not cfg.profile.shows_seq:
        return part
    base = (counter_of(cfg, seq) - number) % (1 << cfg.bits)
    if part.base is None:
        return part._replace(base=base)
    return part if part.base == base else None


@clause("SEQ-7")
def timed(cfg: Config, part: Part, number: int, at: int | None) -> Part | None:
    """The partition after one of its messages was shown with that enqueued time, or None if it cannot be.
    True times lie within their sends and do not decrease along the numbers; what is shown of one may be wrong
    by the clock skew."""
    if at is None or not cfg.timed:
        return part
    log = []
    for entry in part.log:
        narrowed = _narrowed(entry, number, at, cfg.skew)
        if narrowed is None:
            return None
        log.append(narrowed)
    return part._replace(log=tuple(log), floor=max(part.floor, at - cfg.skew))


def _narrowed(entry: Entry, number: int, at: int, skew: int) -> Entry | None:
    if entry.at is None:
        return entry
    low, high = entry.at
    if entry.number <= number:
        high = min(high, at + skew)
    if entry.number >= number:
        low = max(low, at - skew)
    if low > high:
        return None
    return entry if (low, high) == entry.at else entry._replace(at=(low, high))


def stamp(state: State, part: Part, slack: int, since: int | None = None) -> tuple[int, int] | None:
    """Within what the enqueued time of a message lies that is stored now (its send began at ``since``)."""
    if not state.cfg.timed:
        return None
    begun = state.now if since is None else since
    return max(begun, part.floor), max(state.now + slack, part.floor)


@clause("SEQ-3", "SEQ-5")
def is_older(a: int, b: int, bits: int) -> bool:
    """Whether counter ``a`` comes before ``b``, across the roll-over too (serial order)."""
    return 0 < (b - a) % (1 << bits) < 1 << (bits - 1)
