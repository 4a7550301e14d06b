"""A comparison as one HTML file that needs nothing else: rules × brokers, and what spoke in each cell.

What differs was decided in `partq.conformance.verdict`; here it is put into words and an order. As for the
report, everything that comes from data passes `visible` and Jinja's autoescape. The page has no script.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from markupsafe import Markup

from partq.conformance.verdict import (
    Change,
    Column,
    Comparison,
    Finding,
    Group,
    Regression,
    Row,
    Status,
    Verdict,
    letters,
    plural,
)
from partq.model.requirements import Requirement, catalogue

from .html import environment, static
from .signs import SEALS, SIGNS, Share, Sign, shares, sign_of
from .text import compact, count

_SHOWN_CAUSES: Final = 5
"""Causes told of a cell; the rest are counted."""

_WITNESSES: Final = 12
"""Records named of a finding; the rest are counted."""

_COMPARED: Final = Sign("", "idle", "⇄")
"""The sign of a headline that is no verdict, but a mere comparison."""

_CHANGE_SIGNS: Final = {
    Change.NEW: Sign(Change.NEW.words, "violated", "✗"),
    Change.OPENED: Sign(Change.OPENED.words, "unknown", "?"),
    Change.LOST: Sign(Change.LOST.words, "idle", "○"),
    Change.STILL: Sign(Change.STILL.words, "violated", "✗"),
    Change.FIXED: Sign(Change.FIXED.words, "pass", "✓"),
    Change.DECIDED: Sign(Change.DECIDED.words, "pass", "✓"),
    Change.GAINED: Sign(Change.GAINED.words, "pass", "✓"),
}


class ColumnView(NamedTuple):
    """One column: its letter and name. ``about``: what its name leaves out. ``done``: what was done to the
    broker. ``note``: how else its run ended."""

    letter: str
    name: str
    about: tuple[str, ...]
    done: str
    note: str
    shares: tuple[Share, ...]


class CauseView(NamedTuple):
    """The first finding of a cause, how many there were, and the records that show it, in words."""

    finding: Finding
    times: str
    witness: str


@dataclass(frozen=True, slots=True)
class CellView:
    """One verdict. ``number``: how often violated, or exercised, in short, ``full`` in words. ``anchor``: of
    what is told of it below, where something is; empty otherwise. ``more``: causes that are not told."""

    column: ColumnView
    sign: Sign
    number: str
    full: str
    reason: str
    anchor: str
    causes: tuple[CauseView, ...]
    more: int


class SilentView(NamedTuple):
    """Columns that say the same of a rule, with nothing more to tell: each with its number."""

    sign: Sign
    reason: str
    columns: tuple[tuple[ColumnView, str], ...]


@dataclass(frozen=True, slots=True)
class RowView:
    """One rule. ``speaking``: the cells of which something is told, ``silent``: the others, by what they
    say."""

    requirement: Requirement
    cells: tuple[CellView, ...]
    speaking: tuple[CellView, ...]
    silent: tuple[SilentView, ...]


class GroupView(NamedTuple):
    """The rules that differ in the same way. ``folded``: they do not differ, and are hidden at first."""

    title: str
    rows: tuple[RowView, ...]
    folded: bool


class ChangeView(NamedTuple):
    """What became of these rules from one run to the next; each with whether it binds."""

    sign: Sign
    rules: tuple[tuple[Requirement, bool], ...]


class RegressionView(NamedTuple):
    """What became of the rules under one profile."""

    profile: str
    changes: tuple[ChangeView, ...]


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """A whole page."""

    title: str
    css: str
    glyph: str
    word: str
    sentence: str
    columns: tuple[ColumnView, ...]
    regressions: tuple[RegressionView, ...]
    groups: tuple[GroupView, ...]
    folded: int
    version: str


def render(comparison: Comparison, version: str) -> str:
    """The page. Equal comparisons give equal text."""
    style = static("report.css") + static("comparison.css")
    template = environment().get_template("comparison.html.j2")
    return template.render(
        page=comparison_view(comparison, version), signs=tuple(SIGNS.values()), style=Markup(style)
    )


def comparison_view(comparison: Comparison, version: str) -> ComparisonView:
    """The page of the comparison, as data."""
    columns = tuple(
        _column(number, name, column)
        for number, (name, column) in enumerate(zip(comparison.names, comparison.columns, strict=True))
    )
    groups = tuple(_groups(comparison, columns))
    seal = SEALS[comparison.code] if comparison.regressions else _COMPARED
    word, _, sentence = comparison.conclusion.partition(": ")
    return ComparisonView(
        _title(comparison),
        seal.css,
        seal.glyph,
        word.capitalize(),
        sentence,
        columns,
        tuple(_regression(one) for one in comparison.regressions if one.changes),
        groups,
        sum(len(group.rows) for group in groups if group.folded),
        version,
    )


def _title(comparison: Comparison) -> str:
    brokers = list(dict.fromkeys(column.broker for column in comparison.columns))
    if comparison.regressions:
        return f"Two runs of {brokers[0]}"
    what = brokers[0] if len(brokers) == 1 else plural(len(brokers), "broker")
    return f"{what}, {plural(len(comparison.columns), 'column')} side by side"


def _column(number: int, name: str, column: Column) -> ColumnView:
    return ColumnView(
        letters(number),
        name,
        tuple(text for text in (column.broker, column.profile, column.source) if text not in name),
        column.told,
        column.why,
        shares(column.verdicts.values()),
    )


def _groups(comparison: Comparison, columns: tuple[ColumnView, ...]) -> Iterator[GroupView]:
    for group in Group:
        if rows := comparison.of(group):
            views = tuple(_row(row, columns) for row in rows)
            yield GroupView(group.words.capitalize(), views, group is Group.AGREED)


def _row(row: Row, columns: Iterable[ColumnView]) -> RowView:
    pairs = zip(columns, row.cells, strict=True)
    cells = tuple(_cell(row.requirement, column, verdict) for column, verdict in pairs)
    speaking = tuple(cell for cell in cells if cell.anchor)
    return RowView(catalogue()[row.requirement], cells, speaking, tuple(_silent(cells)))


def _cell(id: str, column: ColumnView, verdict: Verdict) -> CellView:
    bad = verdict.status is Status.VIOLATED or bool(verdict.candidates)
    number = verdict.times if bad else verdict.exercised
    words = plural(number, "violation") if bad else f"exercised {plural(number, 'time')}"
    causes = verdict.causes
    return CellView(
        column,
        sign_of(verdict),
        compact(number) if number else "",
        words if number else "",
        verdict.reason,
        f"{id}-{column.letter}" if bad or verdict.status is Status.UNKNOWN else "",
        tuple(_cause(finding, verdict) for finding in causes[:_SHOWN_CAUSES]),
        max(0, len(causes) - _SHOWN_CAUSES),
    )


def _cause(finding: Finding, verdict: Verdict) -> CauseView:
    shown = ", ".join(map(str, finding.witness[:_WITNESSES]))
    more = len(finding.witness) - _WITNESSES
    return CauseView(
        finding,
        f"{count(verdict.found[finding.key])}×",
        f"{shown} and {more} more" if more > 0 else shown,
    )


def _silent(cells: Iterable[CellView]) -> Iterator[SilentView]:
    said: dict[tuple[Sign, str], list[tuple[ColumnView, str]]] = {}
    for cell in cells:
        if not cell.anchor:
            said.setdefault((cell.sign, cell.reason), []).append((cell.column, cell.number))
    for (sign, reason), columns in said.items():
        yield SilentView(sign, reason, tuple(columns))


def _regression(one: Regression) -> RegressionView:
    changes: dict[Change, list[tuple[Requirement, bool]]] = {}
    for changed in one.changes:
        changes.setdefault(changed.change, []).append((catalogue()[changed.requirement], changed.binding))
    views = (ChangeView(_CHANGE_SIGNS[change], tuple(rules)) for change, rules in changes.items())
    return RegressionView(one.profile, tuple(views))
