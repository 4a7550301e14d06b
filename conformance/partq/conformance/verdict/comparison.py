"""Several runs side by side: what each says of each requirement, what differs first. Pure.

Columns in, rows out. Where two runs are of one broker, also what became of each requirement (`regression`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

from partq.conformance.verdict import regression
from partq.conformance.verdict.columns import Column, names
from partq.conformance.verdict.document import plain
from partq.conformance.verdict.exercised import NOT_IN_QUESTION
from partq.conformance.verdict.exit_codes import Exit, binding_requirements
from partq.conformance.verdict.regression import Regression
from partq.conformance.verdict.types import Status, Verdict, plural
from partq.model.requirements import catalogue

SCHEMA: Final = "partq.comparison/1"


class Group(StrEnum):
    """In what the columns differ that a requirement applies to (``all`` are all of these), in the order in
    which it is told."""

    BY_SOME = "violated by some"
    BY_ALL = "violated by all"
    OPEN = "left open"
    UNEVEN = "exercised by some only"
    AGREED = "agreed by all"

    @property
    def words(self) -> str:
        """The group as a user reads it; its value is for data."""
        told = {Group.OPEN: Status.UNKNOWN.words, Group.BY_ALL: "violated wherever it applies"}
        return told.get(self, self.value)


class Row(NamedTuple):
    """One requirement: the verdict in each column."""

    requirement: str
    group: Group
    cells: tuple[Verdict, ...]

    @property
    def differs(self) -> bool:
        """Whether the columns that it applies to do not all say the same."""
        said = {(cell.status, bool(cell.candidates)) for cell in self.cells}
        return len({(status, open) for status, open in said if status not in NOT_IN_QUESTION}) > 1

    @property
    def status(self) -> Status:
        """The status in all columns that it applies to, where they agree; else the first one's."""
        applying = (cell.status for cell in self.cells if cell.status not in NOT_IN_QUESTION)
        return next(applying, self.cells[0].status)


@dataclass(frozen=True, slots=True)
class Comparison:
    """``names``: one for each column, all different. ``rows``: every requirement, by group, within it in the
    catalogue's order. ``regressions``: of two runs of one broker, for each profile of both. ``dropped``: the
    profiles that only the first of these has. ``code``, ``conclusion``: the exit code, and why."""

    columns: tuple[Column, ...]
    names: tuple[str, ...]
    rows: tuple[Row, ...]
    regressions: tuple[Regression, ...]
    dropped: tuple[str, ...]
    code: int
    conclusion: str

    def of(self, group: Group) -> list[Row]:
        """The rows of that group."""
        return [row for row in self.rows if row.group is group]


def compare(sources: Sequence[Sequence[Column]], strict: bool = False) -> Comparison:
    """The columns of all sources side by side. ``strict``: a SHOULD that the last of two runs of one broker
    newly violates counts for the exit code, too."""
    columns = tuple(column for source in sources for column in source)
    cells = {id: tuple(column.verdicts[id] for column in columns) for id in catalogue()}
    rows = [Row(id, _group(several), several) for id, several in cells.items()]
    rows.sort(key=lambda row: list(Group).index(row.group))
    pairs, dropped = _runs_of_one(sources)
    binding = binding_requirements(strict)
    regressions = tuple(regression.regression(first, last, binding) for first, last in pairs)
    code, words = regression.conclusion(regressions, dropped) if pairs else _compared(columns, rows)
    return Comparison(columns, names(columns), tuple(rows), regressions, dropped, code, words)


def _group(cells: Iterable[Verdict]) -> Group:
    """In what those differ that the requirement applies to."""
    applying = [cell for cell in cells if cell.status not in NOT_IN_QUESTION]
    bad = [cell for cell in applying if cell.bad]
    if bad:
        return Group.BY_ALL if len(bad) == len(applying) else Group.BY_SOME
    statuses = {cell.status for cell in applying}
    if Status.UNKNOWN in statuses:
        return Group.OPEN
    return Group.UNEVEN if len(statuses) > 1 else Group.AGREED


def _runs_of_one(sources: Sequence[Sequence[Column]]) -> tuple[list[tuple[Column, Column]], tuple[str, ...]]:
    """Of two runs of one broker the columns of each profile that both have, and the profiles that only the
    first has. Nothing where it is not that."""
    if len(sources) != 2 or len({column.broker for source in sources for column in source}) != 1:
        return [], ()
    first, last = ({column.profile: column for column in source} for source in sources)
    pairs = [(column, last[name]) for name, column in first.items() if name in last]
    return pairs, tuple(name for name in first if name not in last) if pairs else ()


def _compared(columns: Sequence[Column], rows: Sequence[Row]) -> tuple[int, str]:
    """What is said of several brokers: no verdict on any."""
    differing = sum(row.differs for row in rows)
    bad = [row.requirement for row in rows if row.group in (Group.BY_SOME, Group.BY_ALL)]
    differ = "differs" if differing == 1 else "differ"
    said = f"{plural(len(columns), 'column')}, {differing} of {plural(len(rows), 'rule')} {differ}"
    return Exit.CONFORMANT, f"COMPARED: {said}; violated: {', '.join(bad) or 'none'}"


# --- partq.comparison/1 -------------------------------------------------------------------------------


def comparison_to_plain(comparison: Comparison) -> dict[str, Any]:
    """The comparison as plain data of ``partq.comparison/1``."""
    verdicts = [plain(column.verdicts) for column in comparison.columns]
    return {
        "schema": SCHEMA,
        "exit": comparison.code,
        "conclusion": comparison.conclusion,
        "columns": [
            {
                "name": name,
                "broker": one.broker,
                "profile": one.profile,
                "source": one.source,
                "note": one.why,
                "done": one.told,
            }
            for name, one in zip(comparison.names, comparison.columns, strict=True)
        ],
        "rows": [
            {
                "requirement": row.requirement,
                "group": row.group.value,
                "verdicts": [column[row.requirement] for column in verdicts],
            }
            for row in comparison.rows
        ],
        "regressions": {
            one.profile: {
                "exit": one.code,
                "why": one.why,
                "changes": {change.value: one.of(change) for change in regression.Change},
            }
            for one in comparison.regressions
        },
        "dropped": list(comparison.dropped),
    }
