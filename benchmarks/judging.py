"""The judge on histories of the reference: how many it decides, in what time; the bars are those of one core.

Campaign histories of several sizes, and those of each theme if asked for (a quarter of an hour). Times are of
the processor. What is not decided has a reason: not modelled, or over the budget. A history that the judge
rejects is a bar that is not met: the reference conforms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import cycle, islice
from statistics import median
from time import thread_time
from typing import Final, NamedTuple

from partq.conformance.history import History
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.workload.generator import trace_seed
from partq.conformance.workload.themes import THEMES, themes_of
from partq.conformance.workload.weights import Weights
from partq.model.profiles import profile

from .edited import drawn
from .figure import Figure

SEED: Final = 2_026

TRIES: Final = 20
"""Programs drawn for each history of the size that is wanted, at the most."""


class _Bar(NamedTuple):
    """So many ``histories`` of ``records``, a profile, of programs of ``lengths`` phrases in turn; of all
    at least ``share`` is to be decided within ``seconds``, the median within ``typical``."""

    profiles: tuple[str, ...]
    lengths: range
    records: range
    histories: int
    share: float
    seconds: float
    typical: float = float("inf")


AZURE: Final = ("azure-standard", "azure-premium", "azure-flat")

BARS: Final = (
    _Bar(AZURE, range(16, 41, 4), range(33, 76), 100, 0.995, 0.1, 0.004),
    _Bar(("solace",), range(10, 27, 4), range(53, 121), 150, 0.97, 1.0, 0.008),
    _Bar(AZURE, range(60, 221, 20), range(200, 301), 35, 0.99, 1.0),
    _Bar(("solace",), range(30, 121, 15), range(200, 301), 50, 0.92, 5.0),
    _Bar(AZURE, range(120, 601, 40), range(800, 1001), 5, 0.92, 20.0),
    _Bar(("solace",), range(60, 361, 30), range(800, 1001), 10, 0.65, 20.0),
)

OF_THEMES: Final = (
    _Bar(("azure-standard", "azure-premium"), range(8, 41, 4), range(38, 63), 150, 0.99, 0.1),
    _Bar(("azure-standard", "azure-premium"), range(40, 201, 20), range(150, 251), 50, 0.95, 1.0),
)


def figures() -> list[Figure]:
    """Each bar's figures."""
    return [_figure(", ".join(bar.profiles), bar, THEMES) for bar in BARS]


def themes() -> list[Figure]:
    """The figures of each theme, in alphabetical order, over the profiles that have it."""
    names = sorted({name for bar in OF_THEMES for one in bar.profiles for name in themes_of(profile(one))})
    return [_figure(name, bar, {name: THEMES[name]}) for name in names for bar in OF_THEMES]


def _figure(what: str, bar: _Bar, themes: Mapping[str, Weights]) -> Figure:
    took, found = [], Counter[str]()
    for history in _histories(bar, themes):
        began = thread_time()
        judgement = judge(history, 1.5 * bar.seconds)
        took.append(thread_time() - began if judgement.status is not Judged.UNKNOWN else float("inf"))
        found[judgement.kind or judgement.status] += 1
    share = sum(seconds <= bar.seconds for seconds in took) / max(1, len(took))
    usual = median(took or [0.0])
    typical = f", median ≤ {bar.typical * 1000:g} ms" if bar.typical < 1 else ""
    others = "".join(f", {count} {kind}" for kind, count in found.items() if kind != Judged.ACCEPTED)
    return Figure(
        f"judge, {what}, {bar.records[0]} to {bar.records[-1]} records",
        f"{share:.1%} of {len(took)} within {bar.seconds:g} s, median {usual * 1000:.1f} ms{others}",
        f"≥ {bar.share:.1%}{typical}",
        share,
        share >= bar.share and usual <= bar.typical and not found[Judged.REJECTED],
    )


def _histories(bar: _Bar, themes: Mapping[str, Weights]) -> Iterator[History]:
    for name in bar.profiles:
        of_it = themes_of(profile(name))
        if any(theme in of_it for theme in themes):
            lengths = islice(enumerate(cycle(bar.lengths)), TRIES * bar.histories)
            several = (drawn(name, trace_seed(SEED, number), length, themes) for number, length in lengths)
            yield from islice((one for one in several if len(one) in bar.records), bar.histories)
