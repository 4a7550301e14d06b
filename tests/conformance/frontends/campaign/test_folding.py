"""Rows folded by several tasks come to what one would have made of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from partq.conformance.frontends.campaign.folding import LINES, Folded, Row, fingerprint, fold, merged
from partq.conformance.frontends.campaign.tables import TABLES

LANE = {"broker": "b", "profile": "p"}
NOBODY = {"trace": None, "why": None, "candidates": None}
NOTHING = dict.fromkeys(("exercised", "violated", "unknown", "traces", "undecided"), 0)


def required(rule: str, exercised: int, **first: Any) -> Row:
    """A row of the table ``requirements``."""
    row: Row = {**LANE, **NOTHING, **NOBODY, "requirement": rule, "exercised": exercised, **first}
    return {name: row[name] for name in TABLES["requirements"].schema.names}


def folded(*tasks: Iterable[tuple[int, str, Row]]) -> Folded:
    """What several tasks that read these rows come to."""
    answers = []
    for rows in tasks:
        lines = [(wave, table, json.dumps(row)) for wave, table, row in rows]
        columns = [list(column) for column in zip(*lines, strict=True)]
        batch = pa.RecordBatch.from_pydict(dict(zip(LINES, columns, strict=True)))
        answers += [one for found in fold([batch]) for one in found["folded"].to_pylist()]
    return merged(answers)


def test_the_first_reason_stays_but_candidates_count_for_more() -> None:
    rows = [
        required("A-1", 5),
        required("A-1", 1, trace=9, why="late", candidates=[]),
        required("A-1", 1, trace=3, why="early", candidates=[]),
        required("A-2", 1, trace=1, why="early", candidates=[]),
        required("A-2", 1, trace=8, why="violated", candidates=["A-2", "A-3"]),
        required("A-3", 5),
    ]
    lines = [(wave, "requirements", row) for wave, row in enumerate(rows)]
    for tasks in ([lines], [lines[:1], lines[1:3], lines[3:]], [lines[4:], lines[:4]], [lines[::-1]]):
        found = folded(*tasks).sums("requirements")
        assert [(row["requirement"], row["exercised"], row["why"], row["candidates"]) for row in found] == [
            ("A-1", 7, "early", []),
            ("A-2", 2, "violated", ["A-2", "A-3"]),
            ("A-3", 5, None, None),
        ]


def test_each_wave_and_table_has_a_fingerprint_and_verdicts_are_counted() -> None:
    verdict = {"operations": 3, "findings": 2, "undecided": None}
    one = (0, "verdicts", verdict)
    two = (4, "verdicts", {**verdict, "undecided": "over the budget"})
    sums = [required("A-1", 1), required("A-2", 1)]
    lines = [(4, "requirements", row) for row in sums]
    found = folded([one, *lines], [two, one])
    assert (found.rows("verdicts"), found.operations, found.open) == (3, 9, 1)
    assert found.findings == {0: 4, 4: 2}
    assert found.fingerprint(0, "verdicts") == folded([one, one]).fingerprint(0, "verdicts")
    assert found.fingerprint(0, "verdicts") != folded([one, two]).fingerprint(0, "verdicts")
    assert found.fingerprint(4, "requirements") == fingerprint(sums[::-1])
    assert found.fingerprint(4, "violations").rows == 0
