"""A comparison as tables, signs and lines. Prints nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from rich.table import Table
from rich.text import Text

from partq.conformance.frontends.cli.streams import printable
from partq.conformance.frontends.cli.table import STYLES, summary
from partq.conformance.verdict import Change, Comparison, Regression, Row, Status, Verdict, letters, plural
from partq.model.requirements import catalogue

SIGNS: Final = {
    Status.VIOLATED: "✗",
    Status.UNKNOWN: "?",
    Status.PASS: "✓",
    Status.SEEN: "◇",
    Status.NOT_EXERCISED: "○",
    Status.NOT_APPLICABLE: "–",
    Status.NOT_IMPLEMENTED: "…",
}
ONE_OF_SEVERAL: Final = "✗?"

_WORDS: Final = (
    (SIGNS[Status.VIOLATED], "violated", Status.VIOLATED),
    (ONE_OF_SEVERAL, "it or another rule is", Status.VIOLATED),
    *((sign, status.words, status) for status, sign in SIGNS.items() if status is not Status.VIOLATED),
)

_SIGN: Final = 4
"""Columns of the terminal that a sign takes, with the space before it."""

_ID: Final = max(map(len, catalogue()))
_LEVEL: Final = max(len(row.level.value) for row in catalogue().values())
_TITLE: Final = max(len(row.title) for row in catalogue().values())
"""Columns of the terminal that the words about a rule take at most."""

_SPACE: Final = 2
_LEAST: Final = 32
"""Columns between words, and those that level and title need at least together."""


def legend() -> Text:
    """What the signs mean, in a line."""
    text = Text()
    for sign, word, status in _WORDS:
        text.append("  " if text else "")
        text.append(f"{sign} {word}", style=STYLES[status])
    return text


def columns_table(comparison: Comparison) -> Table:
    """The columns by their letters, and how many rules ended how in each."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for number, (name, column) in enumerate(zip(comparison.names, comparison.columns, strict=True)):
        text = Text(printable(name), style="bold")
        more = [word for word in (column.broker, column.profile) if word not in name]
        more += [] if column.source in (*more, name, column.broker) else [f"from {column.source}"]
        if more:
            text.append(f" ({printable(', '.join(more))})", style="dim not bold")
        text.append("\n").append_text(summary({name: column.verdicts}))
        text.append(f"\n{column.told}", style="dim")
        if column.why:
            text.append(f"\nended with {printable(column.why)}", style="yellow")
        table.add_row(Text(letters(number), style="bold"), text)
    return table


def rows_tables(rows: Sequence[Row], number: int, width: int) -> Iterator[Table]:
    """The rows with ``number`` columns on an output of so many columns: one table, or as many as it takes."""
    fitting = max(1, (width - _ID) // _SIGN)
    for start in range(0, number, fitting):
        yield _block(rows, range(start, min(number, start + fitting)), width)


def _block(rows: Iterable[Row], shown: range, width: int) -> Table:
    """The rows with these columns; without the rules' levels and titles where there is no room for them."""
    room = width - _ID - _SIGN * len(shown)
    about = (("level", _LEVEL), ("rule", min(room - _LEVEL - 2 * _SPACE, _TITLE))) if room >= _LEAST else ()
    table = Table(box=None, padding=0, pad_edge=False, header_style="bold")
    table.add_column("ID", width=_ID)
    for heading, wide in about:
        table.add_column(_SPACE * " ")
        table.add_column(heading, width=wide)
    for column in shown:
        table.add_column(letters(column), width=_SIGN, justify="right")
    for row in rows:
        known = catalogue()[row.requirement]
        words = ("", known.level.value, "", known.title) if about else ()
        table.add_row(row.requirement, *words, *(sign(row.cells[column]) for column in shown))
    return table


def sign(verdict: Verdict) -> Text:
    """The sign of the verdict."""
    if verdict.candidates:
        return Text(ONE_OF_SEVERAL, style=STYLES[Status.VIOLATED])
    return Text(SIGNS[verdict.status], style=STYLES[verdict.status])


def spoken(rows: Iterable[Row]) -> Iterator[tuple[str, list[str]]]:
    """Of each rule that is violated somewhere its heading, and a line for each finding with the columns that
    have it."""
    for row in rows:
        where: dict[str, Counter[str]] = {}
        for number, cell in enumerate(row.cells):
            for text, times in _found(cell):
                where.setdefault(text, Counter())[letters(number)] += times
        lines = [f"{', '.join(found)}: {text}{_times(found.total())}" for text, found in where.items()]
        yield f"{row.requirement} {catalogue()[row.requirement].title}", lines


def _found(cell: Verdict) -> Iterator[tuple[str, int]]:
    """What speaks against the rule in a column, and how often."""
    for finding, times in cell.counted():
        yield finding.summary, times
    if cell.findings:
        return
    if cell.candidates:
        yield f"{cell.ambiguity}: {cell.reason}", 0
    elif cell.status is Status.VIOLATED:
        yield "violated, without a finding", 0


def _times(number: int) -> str:
    return f" ({plural(number, 'violation')})" if number else ""


AGREED: Final[Mapping[Status, str]] = {
    Status.PASS: "pass where applicable",
    Status.SEEN: "freedoms seen where applicable",
    Status.NOT_EXERCISED: "exercised by none",
    Status.NOT_APPLICABLE: "applicable to none",
    Status.NOT_IMPLEMENTED: "checked for none",
}
"""What is said of rules of which all columns say the same."""


def agreed(rows: Iterable[Row]) -> str:
    """How many rules are agreed on, by what is said of them."""
    counts = Counter(AGREED[row.status] for row in rows)
    return "; ".join(f"{counts[words]} {words}" for words in AGREED.values() if words in counts)


_CHANGE_STYLES: Final = {
    Change.NEW: "bold red",
    Change.OPENED: "yellow",
    Change.LOST: "cyan",
    Change.STILL: "red",
    Change.FIXED: "green",
    Change.DECIDED: "green",
    Change.GAINED: "green",
}


def changes_table(regression: Regression) -> Table:
    """What became of each rule from one run to the next."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for one in regression.changes:
        title = catalogue()[one.requirement].title
        why = Text(title)
        for text in _reasons(one.change, one.before, one.after):
            why.append(f"\n{printable(text)}", style="dim")
        words = one.change.words if one.binding else f"{one.change.words} (does not bind)"
        table.add_row(Text(words, style=_CHANGE_STYLES[one.change]), one.requirement, why)
    return table


def _reasons(change: Change, before: Verdict, after: Verdict) -> Iterator[str]:
    """Why it is said to be so."""
    if change in (Change.NEW, Change.STILL):
        known = {finding.key for finding in before.findings}
        for finding, times in after.counted():
            mark = "" if change is Change.NEW or finding.key in known else "new cause: "
            yield f"{mark}{finding.summary}{_times(times)}"
        if not after.findings:
            yield after.ambiguity or after.reason
    elif after.reason:
        yield after.reason
