"""``make bench``: every figure the project promises, measured side by side in one run.

Times are medians of several rounds; ratios come from rounds taken in turn, so that a noisy machine
disturbs both sides alike. Prints a table with the bar of each figure; ``--json FILE`` keeps the numbers.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from . import blaming, campaign, exploration, judging, screening, search, throughput, validation
from .figure import Figure

BENCHMARKS: dict[str, Callable[[], list[Figure]]] = {
    "throughput": throughput.figures,
    "growth": throughput.growth,
    "judging": judging.figures,
    "themes": judging.themes,
    "screening": screening.figures,
    "blaming": blaming.figures,
    "search": search.figures,
    "exploration": exploration.figures,
    "tlc": exploration.beside_tlc,
    "campaign": campaign.figures,
    "campaign-growth": campaign.growth,
    "campaign-broken": campaign.broken,
    "validation": validation.figures,
    "agreement": validation.agreement,
    "deciding": validation.deciding,
}

_NAMED = ("themes", "tlc", "validation", "agreement", "deciding", "campaign-growth", "campaign-broken")
"""What runs only if it is named: some need TLC (`partq spec setup`), and all take their time."""

_USUAL = [name for name in BENCHMARKS if name not in _NAMED]


def main() -> None:
    """Run all benchmarks, or those named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        choices=[[], *BENCHMARKS],
        help=f"which; if none is named, all but {', '.join(_NAMED)}",
    )
    parser.add_argument("--json", type=Path, help="keep the numbers in this file")
    options = parser.parse_args()
    figures = [figure for name in options.names or _USUAL for figure in BENCHMARKS[name]()]
    table = Table(title=f"partq benchmarks, Python {platform.python_version()}", title_justify="left")
    for heading in ("what", "measured", "bar", "met"):
        table.add_column(heading)
    for figure in figures:
        table.add_row(figure.what, figure.measured, figure.bar, "yes" if figure.met else "no")
    Console(highlight=False).print(table)
    if options.json:
        options.json.write_text(json.dumps([asdict(figure) for figure in figures], indent=1) + "\n")


if __name__ == "__main__":
    main()
