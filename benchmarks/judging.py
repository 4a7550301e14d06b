"""The judge on campaign histories: how many it decides, in what time; the bars are those of one core.

Times are of the processor. A history that the judge rejects is printed as a bar that is not met: the
reference conforms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import cycle, islice
from statistics import median
from time import thread_time
from typing import Final, NamedTuple

from partq.conformance.adapters import open_broker
from partq.conformance.execution.runner import run
from partq.conformance.history import History
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.workload.generator import generate, trace_seed
from partq.conformance.workload.themes import THEMES
from partq.conformance.workload.weights import Weights

from .figure import Figure

SEED: Final = 2_026


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


def figures() -> list[Figure]:
    """Each bar's figures."""
    return [_figure(bar) for bar in BARS]


def _figure(bar: _Bar) -> Figure:
    took, sizes, rejected = [], [], 0
    for history in _histories(bar):
        began = thread_time()
        status = judge(history, 1.5 * bar.seconds).status
        took.append(thread_time() - began if status is not Judged.UNKNOWN else float("inf"))
        sizes.append(len(history))
        rejected += status is Judged.REJECTED
    share = sum(seconds <= bar.seconds for seconds in took) / len(took)
    typical = f", median ≤ {bar.typical * 1000:g} ms" if bar.typical < 1 else ""
    wrong = f", {rejected} REJECTED" if rejected else ""
    return Figure(
        f"judge, {', '.join(bar.profiles)}, {median(sizes):.0f} records",
        f"{share:.1%} of {len(took)} within {bar.seconds:g} s, median {median(took) * 1000:.1f} ms{wrong}",
        f"≥ {bar.share:.1%}{typical}",
        share,
        share >= bar.share and median(took) <= bar.typical and not rejected,
    )


def _histories(bar: _Bar) -> Iterator[History]:
    for profile in bar.profiles:
        yield from islice(
            (one for one in drawn(profile, bar.lengths) if len(one) in bar.records), bar.histories
        )


def drawn(profile: str, lengths: range, themes: Mapping[str, Weights] = THEMES) -> Iterator[History]:
    """Histories of the reference, of programs with these numbers of phrases in turn."""
    broker = open_broker("reference")
    broker.profile = profile
    lacks = broker.lacks()
    for number, length in enumerate(cycle(lengths)):
        seed = trace_seed(SEED, number)
        yield run(broker, generate(profile, seed, length=length, lacks=lacks, themes=themes))
