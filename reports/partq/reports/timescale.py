"""How much time passed between the rows of a diagram: a true scale with round ticks, and when each row is.

Only numbers and words; where they are drawn is `sequence.py`'s business.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple

_INSTANT: Final = 1_000
"""Within so many ns nothing is worth a scale: a simulation puts 1 ns between what is at one time."""

_UNITS: Final = ((10**9, "s"), (10**6, "ms"), (10**3, "µs"))
_FINER: Final = 100
"""Times are told to this part of a tick, at most."""


class Tick(NamedTuple):
    """A mark of the scale, ``time`` in ns."""

    time: int
    label: str


class Moment(NamedTuple):
    """Neighbouring rows, ``first`` to ``last``, of one time in ns, to the precision of the label."""

    first: int
    last: int
    time: int
    label: str


@dataclass(frozen=True, slots=True)
class TimeScale:
    """``start`` and ``end``: what it covers, in ns."""

    start: int
    end: int
    ticks: tuple[Tick, ...]
    moments: tuple[Moment, ...]


def time_scale(times: Sequence[int | None], most_ticks: int) -> TimeScale | None:
    """The scale of rows at these times (ns, in order; None: at no time), or None where no time passes."""
    if not passes(times):
        return None
    start, end = _span(times)
    step = _round_step((end - start) / most_ticks)
    words = Words(end - start, step)
    first = -(-start // step) * step
    ticks = tuple(Tick(time, words.coarse(time)) for time in range(first, end + 1, step))
    return TimeScale(start, end, ticks, tuple(_moments(times, words)))


def passes(times: Sequence[int | None]) -> bool:
    """Whether there is a time between the first and the last that is worth a scale."""
    start, end = _span(times)
    return end - start >= _INSTANT


def elapsed(times: Sequence[int]) -> list[str]:
    """The times in words (ns, in order), alike in unit and precision; where no time passes, all the same."""
    if not passes(times):
        return ["0s"] * len(times)
    span = times[-1] - times[0]
    words = Words(span, _round_step(span / 10))
    return [words.fine(time) for time in times]


def _span(times: Sequence[int | None]) -> tuple[int, int]:
    known = [time for time in times if time is not None] or [0]
    return known[0], known[-1]


class Words:
    """Times in the unit of a span, to the precision of a step of it, or a part of that. All in ns."""

    def __init__(self, span: int, step: int) -> None:
        self.size, self.unit = next((one for one in _UNITS if span >= one[0]), _UNITS[-1])
        self.step = step

    def coarse(self, time: int) -> str:
        """A multiple of the step."""
        return self._told(time, self.step)

    def fine(self, time: int) -> str:
        """Any time, rounded."""
        part = max(1, self.step // _FINER)
        return self._told(round(time / part) * part, part)

    def _told(self, time: int, part: int) -> str:
        decimals = max(0, len(str(self.size)) - len(str(part)))
        number = f"{time / self.size:,.{decimals}f}"
        return f"{number.rstrip('0').rstrip('.') if decimals else number}{self.unit}"


def _round_step(least: float) -> int:
    """The smallest of 1, 2, 5, 10, 20, 50 … that is not less."""
    power = 1
    while True:
        for digit in (1, 2, 5):
            if digit * power >= least:
                return digit * power
        power *= 10


def _moments(times: Sequence[int | None], words: Words) -> Iterator[Moment]:
    rows = ((row, time, "" if time is None else words.fine(time)) for row, time in enumerate(times))
    for label, group in groupby(rows, key=lambda row: row[2]):
        (first, time, _), *others = group
        if time is not None:
            yield Moment(first, others[-1][0] if others else first, time, label)
