"""The judge on the programs of each theme: how many histories it decides, in what time.

A row for each theme and size, over the profiles that have the theme. What is not decided has a reason: not
modelled, or over the budget. `python -m benchmarks themes` takes about a quarter of an hour.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from time import thread_time
from typing import Final, NamedTuple

from partq.conformance.history import History
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.workload.themes import THEMES, themes_of
from partq.model.profiles import profile

from .figure import Figure
from .judging import drawn

PROFILES: Final = ("azure-standard", "azure-premium")

TRIES: Final = 20
"""Programs drawn for each history of the size that is wanted, at the most."""


class _Size(NamedTuple):
    """For each profile so many ``histories`` of ``records``, of programs of ``lengths`` phrases in turn, of
    which at least ``share`` is to be decided within ``seconds``."""

    records: range
    lengths: range
    histories: int
    share: float
    seconds: float


SIZES: Final = (
    _Size(range(38, 63), range(8, 41, 4), 150, 0.99, 0.1),
    _Size(range(150, 251), range(40, 201, 20), 50, 0.95, 1.0),
)


def figures() -> list[Figure]:
    """The figures of each theme, in alphabetical order."""
    names = sorted({name for one in PROFILES for name in themes_of(profile(one))})
    return [_figure(name, size) for name in names for size in SIZES]


def _figure(theme: str, size: _Size) -> Figure:
    found, took = Counter[str](), list[float]()
    for history in _histories(theme, size):
        began = thread_time()
        judgement = judge(history, 1.5 * size.seconds)
        if judgement.status is not Judged.UNKNOWN:
            took.append(thread_time() - began)
        found[judgement.kind or judgement.status] += 1
    within, every = sum(seconds <= size.seconds for seconds in took), max(1, found.total())
    others = "".join(f", {count} {kind}" for kind, count in found.items() if kind != Judged.ACCEPTED)
    return Figure(
        f"{theme}, {size.records[0]} to {size.records[-1]} records",
        f"{within / every:.1%} of {found.total()} within {size.seconds:g} s{others}",
        f"≥ {size.share:.0%}",
        within / every,
        within >= size.share * every and not found[Judged.REJECTED],
    )


def _histories(theme: str, size: _Size) -> Iterator[History]:
    themes = {theme: THEMES[theme]}
    for name in PROFILES:
        if theme in themes_of(profile(name)):
            several = islice(drawn(name, size.lengths, themes), TRIES * size.histories)
            yield from islice((one for one in several if len(one) in size.records), size.histories)
