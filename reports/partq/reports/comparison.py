"""A comparison as one HTML file that needs nothing else: rules × brokers, and what spoke in each cell.

What differs was decided in `partq.conformance.verdict`; here it is put into words and an order. As for the
report, everything that comes from data passes `visible` and Jinja's autoescape. The page has no script.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from markupsafe import Markup

from partq.conformance.verdict import (
    Change,
    Column,
    Comparison,
    Group,
    Regression,
    Status,
    Verdict,
    letters,
    plural,
    some,
)
from partq.model.grouping import grouped
from partq.model.requirements import Requirement, catalogue

from .html import filled, static
from .signs import SEALS, Headline, Sign, shares, sign_of
from .text import compact

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
    """One column under its letter and name."""

    letter: str
    name: str
    column: Column

    @property
    def about(self) -> list[str]:
        """What its name leaves out."""
        whole = (self.column.broker, self.column.profile, self.column.source)
        return [text for text in whole if text not in self.name]


@dataclass(frozen=True, slots=True)
class CellView:
    """One verdict on a rule."""

    rule: str
    column: ColumnView
    verdict: Verdict

    @property
    def anchor(self) -> str:
        """Of what is told of it below, where something is; empty otherwise."""
        spoke = self.verdict.bad or self.verdict.status is Status.UNKNOWN
        return f"{self.rule}-{self.column.letter}" if spoke else ""

    @property
    def sign(self) -> Sign:
        """How it looks."""
        return sign_of(self.verdict)

    @property
    def number(self) -> str:
        """How often violated, or exercised, in short."""
        number = self.verdict.times if self.verdict.bad else self.verdict.exercised
        return compact(number) if number else ""

    @property
    def full(self) -> str:
        """The same in words."""
        if self.verdict.bad:
            return plural(self.verdict.times, "violation") if self.number else ""
        return f"exercised {plural(self.verdict.exercised, 'time')}" if self.number else ""


@dataclass(frozen=True, slots=True)
class RowView:
    """One rule."""

    requirement: Requirement
    cells: tuple[CellView, ...]

    @property
    def speaking(self) -> list[CellView]:
        """The cells of which something is told."""
        return [cell for cell in self.cells if cell.anchor]

    @property
    def silent(self) -> dict[tuple[Sign, str], list[CellView]]:
        """The others, by what they say."""
        return grouped(((one.sign, one.verdict.reason), one) for one in self.cells if not one.anchor)


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
    headline: Headline
    columns: tuple[ColumnView, ...]
    regressions: tuple[RegressionView, ...]
    groups: tuple[GroupView, ...]
    folded: int
    version: str


def render(comparison: Comparison, version: str) -> str:
    """The page. Equal comparisons give equal text."""
    return filled(
        "comparison.html.j2",
        page=comparison_view(comparison, version),
        style=Markup(static("report.css") + static("comparison.css")),
        shown=_SHOWN_CAUSES,
        shares=shares,
        seen_in=lambda finding: some([*map(str, finding.witness)], _WITNESSES),
    )


def comparison_view(comparison: Comparison, version: str) -> ComparisonView:
    """The page of the comparison, as data."""
    pairs = enumerate(zip(comparison.names, comparison.columns, strict=True))
    columns = tuple(ColumnView(letters(number), name, column) for number, (name, column) in pairs)
    groups = tuple(_groups(comparison, columns))
    seal = SEALS[comparison.code] if comparison.regressions else _COMPARED
    word, _, sentence = comparison.conclusion.partition(": ")
    return ComparisonView(
        _title(comparison),
        Headline(seal, word.capitalize(), sentence),
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


def _groups(comparison: Comparison, columns: tuple[ColumnView, ...]) -> Iterator[GroupView]:
    for group in Group:
        if rows := comparison.of(group):
            views = tuple(
                RowView(
                    catalogue()[row.requirement],
                    tuple(map(partial(CellView, row.requirement), columns, row.cells)),
                )
                for row in rows
            )
            yield GroupView(group.words.capitalize(), views, group is Group.AGREED)


def _regression(one: Regression) -> RegressionView:
    changes = grouped((it.change, (catalogue()[it.requirement], it.binding)) for it in one.changes)
    views = (ChangeView(_CHANGE_SIGNS[change], tuple(rules)) for change, rules in changes.items())
    return RegressionView(one.profile, tuple(views))
