"""Sequence numbers and enqueued times: how a message gets them, and which may be shown.

Inside, a partition's numbers count from 0 and never end; what clients see is that count from the partition's
first counter on, modulo the counter's size, with the partition's name above it. Where messages go, and who
may send, is not decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..clauses import clause, point
from ..configuration import COUNTER_BITS, Config
from ..edits import more, with_key, with_log
from ..messages import Delivery, is_dead
from ..state import Entry, Part, State


@clause("SEQ-1", "SEQ-2", "SEQ-5")
def shown_seq(cfg: Config, p: int, part: Part, number: int) -> int | None:
    """The number as clients see it, or None if they do not, or its partition's first counter is unknown."""
    if part.base is None or not cfg.profile.shows_seq:
        return None
    counter = (part.base + number) % (1 << cfg.bits)
    if not cfg.profile.partitioned:
        return counter
    return None if cfg.names[p] < 0 else cfg.names[p] << COUNTER_BITS | counter


@point("SEQ-2", "SEQ-5")
def home(cfg: Config, seen: Delivery) -> tuple[bool, int | None]:
    """Whether what is shown of a message's partition is consistent and known, and its position if shown."""
    return named(cfg, seen)


def named(cfg: Config, seen: Delivery) -> tuple[bool, int | None]:
    """As `home`, by name and number alone."""
    first = cfg.entity.partitions if cfg.subqueue and is_dead(seen.id) else 0
    if not cfg.profile.partitioned:
        return True, first
    name = seen.partition
    if seen.seq is not None and cfg.profile.shows_seq:
        if name is not None and name != seen.seq >> COUNTER_BITS:
            return False, None
        name = seen.seq >> COUNTER_BITS
    if name is None:
        return True, None
    return (True, first + cfg.names.index(name)) if name in cfg.names else (False, None)


def counter_of(cfg: Config, seq: int) -> int:
    """The counter in a shown number."""
    return seq & ((1 << COUNTER_BITS) - 1) if cfg.profile.partitioned else seq


@clause("SEQ-4")
def burn(state: State, p: int | None, key: str, count: int) -> State:
    """The state in which failed sends may have used up so many more numbers: in that partition, or None: in
    that of the key, or without one in any."""
    if not state.cfg.gaps or not count:
        return state
    return state._replace(burnt=more(state.burnt, -1 if p is None else p, key, count))


def _skipped(state: State, p: int, gap: int) -> Iterator[State]:
    """The states after a gap in that partition is explained: by its own failed sends as far as possible, then
    by those without a partition, of which keys then live there: as few as do, in the order of their keys."""
    own = sum(count for where, _, count in state.burnt if where == p)
    loose = sum(count for where, key, count in state.burnt if where < 0 and not key)
    keyed = tuple((key, count) for where, key, count in state.burnt if where < 0 and key)
    yield from _with_keys_of(state, p, gap, own, loose, keyed)


def _with_keys_of(
    state: State, p: int, gap: int, own: int, loose: int, keyed: tuple[tuple[str, int], ...]
) -> Iterator[State]:
    if gap <= own + loose:
        first = min(gap, own)
        yield state._replace(burnt=more(more(state.burnt, p, "", -first), -1, "", first - gap))
    if own < gap <= own + loose + sum(count for _, count in keyed):
        for n, (key, count) in enumerate(keyed, start=1):
            yield from _with_keys_of(with_key(state, key, p), p, gap, own + count, loose, keyed[n:])


Numbered = tuple[int, Part, State]


@point("SEQ-1", "SEQ-3", "SEQ-4", "SEQ-5")
def assign(state: State, p: int, seq: int | None, strict: bool) -> Iterator[Numbered]:
    """Every number that the next message of a partition may get: (number, partition after, the state but for
    the partition). A gap is as long as numbers that failed sends may have used up (SEQ-4). ``seq`` is the
    number that it is shown with; a message that is never shown takes the next one unless ``strict``."""
    part = state.parts[p]
    next, base = part.next, part.base
    if seq is not None:
        base, gap = ahead(state.cfg, part, seq)
        gaps: Sequence[int] = (gap,)
    else:
        gaps = range(_most(state, p) + 1) if strict and state.burnt else (0,)
    for gap in gaps:
        number = next + gap
        after = Part(number + 1, base, part.floor, part.log, part.gone)
        if not gap:
            yield number, after, state
        elif state.burnt:
            yield from ((number, after, explained) for explained in _skipped(state, p, gap))


def ahead(cfg: Config, part: Part, seq: int) -> tuple[int, int]:
    """Where the partition's counter began, by this number that the next message is shown with if nothing told
    before; and how many numbers that leaves out, around the counter's size."""
    counter, size = counter_of(cfg, seq), 1 << cfg.bits
    base = (counter - part.next) % size if part.base is None else part.base
    return base, (counter - base - part.next) % size


def entered(part: Part, entry: Entry) -> Part:
    """The partition with one more message, in its place by number. The time of one that is not the last is
    not compared (SEQ-7)."""
    if entry.number == part.next - 1:
        return with_log(part, (*part.log, entry))
    index = sum(other.number <= entry.number for other in part.log)
    return with_log(part, (*part.log[:index], entry._replace(at=None), *part.log[index:]))


def _most(state: State, p: int) -> int:
    """The greatest length of a gap in that partition."""
    return sum(count for where, _, count in state.burnt if where in (p, -1))


@point("SEQ-1", "SEQ-6")
def bound(cfg: Config, part: Part, number: int, seq: int | None) -> Part | None:
    """The partition after one of its messages was shown with that number, or None if it can't be its own.
    The first number shown in a partition tells where its counter began."""
    if seq is None or not cfg.profile.shows_seq:
        return part
    base = (counter_of(cfg, seq) - number) % (1 << cfg.bits)
    if part.base is None:
        return part._replace(base=base)
    return part if part.base == base else None


@point("SEQ-7")
def timed(cfg: Config, part: Part, number: int, at: int | None) -> Part | None:
    """The partition after one of its messages was shown with that enqueued time, or None if it cannot be.
    True times lie within their sends and do not decrease along the numbers; what is shown of one may be wrong
    by the clock skew."""
    if at is None or not cfg.timed:
        return part
    log, earliest, latest = list(part.log), at - cfg.skew, at + cfg.skew
    for index, entry in enumerate(part.log):
        if entry.at is None:
            continue
        low, high = entry.at
        if high > latest and entry.number <= number:
            high = latest
        if low < earliest and entry.number >= number:
            low = earliest
        if low > high:
            return None
        if (low, high) != entry.at:
            log[index] = entry._replace(at=(low, high))
    return Part(part.next, part.base, max(part.floor, earliest), tuple(log), part.gone)


def as_shown(cfg: Config, part: Part, shown: Iterable[tuple[int, Delivery]]) -> Part | None:
    """The partition after messages of it, by their indexes, were shown so, or None where they cannot be."""
    after: Part | None = part
    for index, seen in shown:
        number = part.log[index].number
        after = after and bound(cfg, after, number, seen.seq)
        if after is not None and not _is_known(after, index, seen.enqueued_at):
            after = timed(cfg, after, number, seen.enqueued_at)
    return after


def _is_known(part: Part, index: int, at: int | None) -> bool:
    """Whether the message there was shown with that enqueued time before, so that it says nothing new."""
    return at is None or (part.floor >= at and part.log[index].at == (at, at))


def stamp(state: State, part: Part, slack: int, since: int) -> tuple[int, int] | None:
    """Within what the enqueued time of a message lies that is stored now (its send began at ``since``)."""
    if not state.cfg.timed:
        return None
    return max(since, part.floor), max(state.now + slack, part.floor)


@clause("SEQ-3", "SEQ-5")
def is_older(a: int, b: int, bits: int) -> bool:
    """Whether counter ``a`` comes before ``b``, across the roll-over too (serial order)."""
    return 0 < (b - a) % (1 << bits) < 1 << (bits - 1)
