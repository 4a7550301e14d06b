"""What came together in a campaign, in short: mechanisms by faults, and how rare what is rarest is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from rich.table import Table

from partq.conformance.frontends.cli.common import output, say
from partq.conformance.frontends.cli.table import titled
from partq.conformance.verdict import plural

RAREST: Final = 3
"""So many combinations are named."""


def combinations(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A campaign's combinations of mechanism, fault and shape, all profiles together, the rarest first:
    ``traces``, ``times`` and ``ok``."""
    sums = ("traces", "times", "ok")
    totals: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows:
        key = row["mechanism"], row["fault"], row["shape"]
        total = totals.setdefault(key, {"mechanism": key[0], "fault": key[1], "shape": key[2]})
        for name in sums:
            total[name] = total.get(name, 0) + row[name]
    return sorted(totals.values(), key=lambda total: (total["traces"], total["mechanism"], total["fault"]))


def show_combinations(rows: Sequence[dict[str, Any]], table: bool) -> None:
    """Print how many there are and the rarest, and in a table, if asked for, in how many operations each
    mechanism met each fault; ``rows``: as `combinations` answers."""
    if not rows:
        return
    if table:
        output().print(_table(rows))
    parts = ((row["mechanism"], row["fault"], row["shape"], plural(row["traces"], "trace")) for row in rows)
    rarest = "; ".join(" / ".join(filter(None, one)) for one in islice(parts, RAREST))
    say(f"{plural(len(rows), 'combination')} of mechanism, fault and shape; the rarest: {rarest}")


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    faults = list(dict.fromkeys(row["fault"] for row in reversed(rows)))
    table = titled("operations by what was broken when they were called", ["mechanism"], right=faults)
    for mechanism in sorted({row["mechanism"] for row in rows}):
        times = dict.fromkeys(faults, 0)
        for row in rows:
            if row["mechanism"] == mechanism:
                times[row["fault"]] += row["times"]
        table.add_row(mechanism, *(f"{times[fault]:,}" if times[fault] else "-" for fault in faults))
    return table
