"""How a broker breaks the rules on numbers and enqueued times (SEQ)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..configuration import NARROWLY, Config
from ..departures import beyond, instead
from ..edits import with_entry
from ..messages import Delivery
from ..state import Entry, Part, State
from ..statuses import RESERVED
from .norm import Numbered, ahead, assign, bound, counter_of, home, timed

Home = tuple[bool, int | None]

NEAR: Final = 1 << 16
"""So many numbers around its roll-over a counter may be wrong with SEQ-5 waived."""

NEAR_HOLES: Final = 64
"""How many numbers at once may be left out to be given later, with SEQ-3 waived."""

MISPLACING: Final = ("SEQ-1", "SEQ-3", "SEQ-4", "SEQ-5", "SEQ-6", "RCV-6", "RCV-7", "RCV-12", "PEEK-6")
"""If one of these is waived a message may be in another place than its number says, or move there."""


@instead(home, "SEQ-2", broken=True)
def home_untold(told: Home, cfg: Config, seen: Delivery) -> Home:
    """Neither name nor number identifies the partition."""
    return (True, None) if cfg.profile.partitioned else told


@instead(home, "SEQ-5", broken=True)
def home_spilt(told: Home, cfg: Config, seen: Delivery) -> Home:
    """The number of an exhausted counter does not tell it: the counters of the entity are known to begin near
    their end."""
    start = cfg.entity.seq_start
    near = start is not None and start + NEAR >= 1 << cfg.bits
    spilt = near and seen.seq is not None and counter_of(cfg, seen.seq) < NEAR
    return (True, None) if spilt and cfg.profile.partitioned else told


@beyond(assign, "SEQ-1", "SEQ-3", broken=True)
def leaving_holes(state: State, p: int, seq: int | None, strict: bool) -> Iterator[Numbered]:
    """Numbers are left out, to be given later (SEQ-3) or never, as another message will bear this one, too
    (SEQ-1)."""
    part, gap = _irregular(state, p, seq)
    if 0 < gap <= NEAR_HOLES:
        number = part.next + gap
        holes = (Entry(n, "", RESERVED) for n in range(part.next, number))
        yield number, part._replace(next=number + 1, log=(*part.log, *holes)), state


@beyond(assign, "SEQ-3", broken=True)
def given_late(state: State, p: int, seq: int | None, strict: bool) -> Iterator[Numbered]:
    """A number that was left out, or lies before the first."""
    part, gap = _irregular(state, p, seq)
    if gap < 0:
        yield from ((number, after, state) for number, after, fresh in _before(part, gap) if fresh)


@beyond(assign, "SEQ-1", broken=True)
def given_twice(state: State, p: int, seq: int | None, strict: bool) -> Iterator[Numbered]:
    """A number that was given before, instead of its own."""
    part, gap = _irregular(state, p, seq)
    if gap < 0:
        yield from ((number, after, state) for number, after, fresh in _before(part, gap) if not fresh)


@beyond(assign, "SEQ-4", broken=True)
def left_out(state: State, p: int, seq: int | None, strict: bool) -> Iterator[Numbered]:
    """Numbers are left out for good."""
    part, gap = _irregular(state, p, seq)
    if gap > 0:
        yield part.next + gap, part._replace(next=part.next + gap + 1), state


@beyond(assign, "SEQ-5", broken=True)
def rolled_over(state: State, p: int, seq: int | None, strict: bool) -> Iterator[Numbered]:
    """Any number at the counter's roll-over, or, as the wide form has it, soon after it."""
    part, gap = _irregular(state, p, seq)
    if not gap or part.base is None:
        return
    passed = part.base + part.next - (1 << state.cfg.bits)  # of a counter that began before its end
    if not -NEAR <= passed <= (0 if NARROWLY in state.cfg.waived else NEAR):
        return
    if gap > 0:
        yield part.next + gap, part._replace(next=part.next + gap + 1), state
    else:
        yield from ((number, after, state) for number, after, _ in _before(part, gap))


@beyond(assign, "SEQ-6", broken=True)
def given_anew(state: State, p: int, seq: int | None, strict: bool) -> Iterator[Numbered]:
    """The numbers left out were given to a message that was numbered anew."""
    part, gap = _irregular(state, p, seq)
    if gap > 0 and any(entry.turn for entry in part.log):
        yield part.next + gap, part._replace(next=part.next + gap + 1), state


def _irregular(state: State, p: int, seq: int | None) -> tuple[Part, int]:
    """The partition with its counter's beginning, and how far off the next number the shown one is."""
    part = state.parts[p]
    if seq is None:
        return part, 0
    (base, gap), size = ahead(state.cfg, part, seq), 1 << state.cfg.bits
    return part._replace(base=base), gap if gap < size // 2 else gap - size


def _before(part: Part, gap: int) -> Iterator[tuple[int, Part, bool]]:
    """The number so far back, and whether nobody has it: it was left out, or lies before the first."""
    number = part.next + gap
    hole = next((index for index, e in enumerate(part.log) if e.number == number and not e.id), None)
    if hole is not None:
        yield number, with_entry(part, hole, None), True
    elif number < 0:
        yield number, part, True
    else:
        yield number, part, False
        yield number, part._replace(next=part.next + 1), False


@instead(bound, "SEQ-6", broken=True)
def renumbered(told: Part | None, cfg: Config, part: Part, number: int, seq: int | None) -> Part | None:
    """A message was numbered anew, which may have used up numbers."""
    if told is not None or seq is None or part.base is None:
        return told
    shown = (counter_of(cfg, seq) - part.base) % (1 << cfg.bits)
    return part._replace(next=shown + 1) if 0 <= shown - part.next <= NEAR_HOLES else part


@instead(timed, "SEQ-7", broken=True)
def untimed(told: Part | None, cfg: Config, part: Part, number: int, at: int | None) -> Part | None:
    """Enqueued times are not compared."""
    return part


@instead(timed, *MISPLACING, broken=True)
def timeless(told: Part | None, cfg: Config, part: Part, number: int, at: int | None) -> Part | None:
    """The time of a message that is out of its place is not compared."""
    return part if any(entry.number == number and entry.at is None for entry in part.log) else told
