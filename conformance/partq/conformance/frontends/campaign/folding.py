"""A campaign's rows gone through once: fingerprints of all, sums of those that are added up. No Spark here.

A row comes as Spark's JSON of it. Tasks fold what they read, and what they folded is merged.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any, Final

import pyarrow as pa

from partq.conformance.frontends.campaign.manifest import Fingerprint
from partq.conformance.frontends.campaign.tables import SUMMED, TABLES

LINES: Final = ("wave", "table", "line")
"""The columns of what is folded: a row's wave, its table, and the row as JSON."""

FOLDED: Final = "folded binary"
"""What tasks answer, as Spark writes it."""

Row = dict[str, Any]


class Folded:
    """``fingerprints``: by wave and table. ``findings``: of the verdicts of each wave. ``operations`` and
    ``open`` (undecided traces): of all verdicts. Nothing is known of a table without rows."""

    def __init__(self) -> None:
        self.fingerprints: dict[tuple[int, str], Fingerprint] = {}
        self.findings: dict[int, int] = {}
        self.operations = self.open = 0
        self._cells: dict[str, dict[tuple[Any, ...], Row]] = {name: {} for name in SUMMED}

    def fingerprint(self, wave: int, table: str) -> Fingerprint:
        """What rows the wave has in that table."""
        return self.fingerprints.get((wave, table), Fingerprint())

    def rows(self, table: str) -> int:
        """How many rows there are in that table."""
        return sum(found.rows for (_, name), found in self.fingerprints.items() if name == table)

    def sums(self, name: str) -> list[Row]:
        """The rows of a table that are alike in its keys as one, in order of these."""
        cells = self._cells[name]
        return [cells[key] for key in sorted(cells)]

    def add(self, wave: int, name: str, line: str) -> None:
        """One more row."""
        if name in SUMMED:
            row = json.loads(line)
            line = _text(row)
            self._add_cell(name, row)
        elif name == "verdicts":
            row = json.loads(line)
            self.findings[wave] = self.findings.get(wave, 0) + (row["findings"] or 0)
            self.operations += row["operations"] or 0
            self.open += row["undecided"] is not None
        self._add_fingerprint(wave, name, Fingerprint.of(line))

    def merge(self, other: Folded) -> None:
        """All rows of another one, too."""
        for (wave, name), found in other.fingerprints.items():
            self._add_fingerprint(wave, name, found)
        for wave, findings in other.findings.items():
            self.findings[wave] = self.findings.get(wave, 0) + findings
        self.operations += other.operations
        self.open += other.open
        for name, cells in other._cells.items():
            for row in cells.values():
                self._add_cell(name, row)

    def _add_fingerprint(self, wave: int, name: str, found: Fingerprint) -> None:
        self.fingerprints[wave, name] = self.fingerprint(wave, name).with_(found)

    def _add_cell(self, name: str, row: Row) -> None:
        table = TABLES[name]
        cell = self._cells[name].setdefault(tuple(row[key] for key in table.keys), row)
        if cell is row:
            return
        for column in table.sums:
            cell[column] = (cell[column] or 0) + (row[column] or 0)
        if table.first and _rank(row) < _rank(cell):
            cell.update({column: row[column] for column in table.first})


def _rank(row: Row) -> tuple[bool, bool, int]:
    """The lower, the sooner it is taken: a trace that names candidates, then the first."""
    return row["trace"] is None, not row["candidates"], row["trace"] or 0


def _text(row: Row) -> str:
    """A row of sums as JSON."""
    return json.dumps(row, sort_keys=True)


def fingerprint(sums: Iterable[Row]) -> Fingerprint:
    """What rows of sums there are."""
    return reduce(Fingerprint.with_, (Fingerprint.of(_text(row)) for row in sums), Fingerprint())


def fold(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a task answers of the rows `LINES` that it reads."""
    whole = Folded()
    for batch in batches:
        for wave, name, line in zip(*(batch[column].to_pylist() for column in LINES), strict=True):
            whole.add(wave, name, line)
    yield pa.RecordBatch.from_pydict({"folded": [pickle.dumps(whole)]})


def merged(answers: Iterable[bytes]) -> Folded:
    """What the tasks answered, as one."""
    whole = Folded()
    for answer in answers:
        whole.merge(pickle.loads(answer))
    return whole
