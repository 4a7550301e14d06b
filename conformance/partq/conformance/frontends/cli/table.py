"""Verdicts as a table and as a line of counts. Prints nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from partq.conformance.frontends.cli.streams import printable
from partq.conformance.verdict import NOT_IN_QUESTION, Status, Verdict, Verdicts, plural
from partq.model.requirements import Level, catalogue

STYLES: Final = {
    Status.PASS: "green",
    Status.VIOLATED: "bold red",
    Status.UNKNOWN: "yellow",
    Status.SEEN: "green",
    Status.NOT_EXERCISED: "cyan",
    Status.NOT_APPLICABLE: "dim",
    Status.NOT_IMPLEMENTED: "dim",
}

_UNTOLD: Final = (Status.SEEN, *NOT_IN_QUESTION)
"""The statuses of which it is not told how many rules of each level have them: the conclusion counts what
binds, and only what may bind has another status."""

Numbers = Mapping[tuple[str, str], Sequence[int]]
"""(profile, rule) -> the numbers under which findings say that it is violated, or one of several."""

NARROW: Final = 80
"""Columns of a terminal; where there are fewer, rules are named by their IDs alone."""

_TITLE: Final = 20
"""Columns that the title of a rule needs at least."""


def fits(out: Console, table: Table) -> bool:
    """Whether the table is as wide as the output at the most, titles broken."""
    titles = max((len(row.title) for row in catalogue().values()), default=0)
    spare = titles - _TITLE if out.width >= NARROW else 0
    return Measurement.get(out, out.options.update(max_width=10 * NARROW), table).maximum - spare <= out.width


def titled(title: str, headings: Sequence[str], *, right: Sequence[str] = (), **more: Any) -> Table:
    """A table of these columns; those ``right`` of the others hold numbers. ``more``: of the rest."""
    table = Table(title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, **more)
    for heading in right:
        table.add_column(heading, justify="right")
    return table


def verdict_table(
    results: Mapping[str, Verdicts], whole_catalogue: bool, width: int, numbers: Numbers
) -> tuple[Table, dict[Status, list[str]]]:
    """The table for an output of so many columns, with a column for each of several profiles; and the rules
    left out of it, by their status. ``numbers``: of the findings, to which rows point."""
    table = Table()
    about = ("ID", "level", "rule") if width >= NARROW else ("ID",)
    counts = ("exercised", "violations")
    for heading in (*about, *(("status", *counts) if len(results) == 1 else results)):
        wraps = heading in ("rule", "status")
        table.add_column(heading, no_wrap=not wraps, justify="right" if heading in counts else "left")
    cells = _columns if len(results) == 1 else _cells
    hidden: dict[Status, list[str]] = {}
    for requirement, row in catalogue().items():
        verdicts = [result[requirement] for result in results.values()]
        statuses = [verdict.status for verdict in verdicts]
        if not whole_catalogue and all(status in NOT_IN_QUESTION for status in statuses):
            hidden.setdefault(max(statuses, key=NOT_IN_QUESTION.index), []).append(requirement)
            continue
        words = (requirement, row.level.value, row.title)[: len(about)]
        pointers = [pointer(numbers.get((profile, requirement), ())) for profile in results]
        table.add_row(*words, *cells(verdicts, pointers))
    return table, hidden


def _styled(verdict: Verdict, more: str = "") -> Text:
    style = STYLES[Status.VIOLATED if verdict.candidates else verdict.status]
    text = Text(f"{verdict.ambiguity or verdict.status.words}{more}", style=style)
    if verdict.undecided:
        text.append(f", {verdict.openness}", style=STYLES[Status.UNKNOWN])
    return text


def pointer(numbers: Sequence[int]) -> str:
    """Which findings speak for a rule."""
    return f"finding{'s'[: len(numbers) > 1]} {', '.join(map(str, numbers))}" if numbers else ""


def _columns(verdicts: Sequence[Verdict], pointers: Sequence[str]) -> tuple[Text, ...]:
    (verdict,), (pointer,) = verdicts, pointers
    status = _styled(verdict)
    if pointer:
        status.append(f"\n{pointer}", style="dim")
    if verdict.reason and not verdict.candidates:
        status.append(f"\n{printable(verdict.reason)}", style="dim")
    return (status, *(Text(f"{count:,}" if count else "") for count in (verdict.exercised, verdict.times)))


def _cells(verdicts: Sequence[Verdict], pointers: Sequence[str]) -> tuple[Text, ...]:
    cells = []
    for verdict, pointer in zip(verdicts, pointers, strict=True):
        times = f" {verdict.exercised:,}×" if verdict.exercised else ""
        found = f", {plural(verdict.times, 'violation')}" if verdict.findings else ""
        if verdict.status is Status.NOT_APPLICABLE:
            cells.append(Text("–", style=STYLES[verdict.status]))
        else:
            cells.append(_styled(verdict, f"{times}{found}{f' ({pointer})' if pointer else ''}"))
    return tuple(cells)


def summary(results: Mapping[str, Verdicts]) -> Text:
    """How many rules ended how, profile by profile, and how many of these need not bind."""
    text = Text()
    for name, result in results.items():
        counts = Counter(verdict.status for verdict in result.values())
        rows = [(catalogue().get(id), verdict.status) for id, verdict in result.items()]
        levels = Counter((status, row.level) for row, status in rows if row)
        text.append(f"{name}: " if len(results) > 1 else "")
        for number, status in enumerate(status for status in STYLES if counts[status]):
            count = f"{counts[status]:,}" if number else plural(counts[status], "rule")
            text.append(", " if number else "")
            each = [f"{n} {level}" for level in Level if (n := levels[status, level])]
            mixed = len(each) > 1 or not levels[status, Level.MUST]
            of = f" ({', '.join(each)})" if mixed and status not in _UNTOLD else ""
            said = "passes" if status is Status.PASS and counts[status] == 1 else status.words
            if status is Status.SEEN:
                count, said = plural(counts[status], "permission"), "used (MAY)"
            text.append(f"{count} {said}{of}", style=STYLES[status])
        text.append("\n")
    text.rstrip()
    return text
