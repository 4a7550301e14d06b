"""Verdicts as plain data, and back: ``verdicts.json``, schema ``partq.verdicts/1``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from partq.conformance.verdict.statuses import held
from partq.conformance.verdict.types import Finding, Status, Verdict, Verdicts

SCHEMA: Final = "partq.verdicts/1"
FILE: Final = "verdicts.json"
"""Where in a folder of results they lie."""


SHOWN: Final = 200
"""Characters of an error."""


def plain(verdicts: Verdicts) -> dict[str, Any]:
    """The verdicts as plain data: ``{ID: {status, exercised, findings, found, reason, candidates, traces,
    undecided}}``, and ``together`` where that is so, of ``partq.verdicts/1``."""
    return {
        requirement: {
            "status": verdict.status.value,
            "exercised": verdict.exercised,
            "findings": [finding_to_plain(finding) for finding in verdict.findings],
            "found": dict(verdict.found),
            "reason": verdict.reason,
            "candidates": list(verdict.candidates),
            "traces": verdict.traces,
            "undecided": verdict.undecided,
            **_together(verdict),
        }
        for requirement, verdict in verdicts.items()
    }


def from_plain(rows: Mapping[str, Any]) -> dict[str, Verdict]:
    """`plain` the other way round. Raises `ValueError`, `TypeError` or `KeyError` where it is none of it."""
    return {requirement: _verdict(requirement, row) for requirement, row in rows.items()}


def _verdict(requirement: str, row: Mapping[str, Any]) -> Verdict:
    findings = tuple(finding_of(finding) for finding in row["findings"])
    found = {str(key): int(times) for key, times in row.get("found", {}).items()}
    if found and not found.keys() >= {finding.key for finding in findings}:
        raise ValueError(f"found: a cause is missing: {found!r}")
    candidates = tuple(str(requirement) for requirement in row.get("candidates", ()))
    status = Status(row["status"])
    return Verdict(
        held(requirement) if status is Status.PASS else status,  # older files say that a MAY passes
        int(row["exercised"]),
        findings,
        text_of(row, "reason"),
        found,
        candidates,
        count_of(row, "traces", 0) or 0,
        count_of(row, "undecided", 0) or 0,
        row.get("together") is True,
    )


def finding_to_plain(finding: Finding) -> dict[str, Any]:
    """The finding as plain data; `finding_of` the other way round."""
    lists = {name: list(getattr(finding, name)) for name in ("witness", *_NAMES)}
    return {**finding._asdict(), **lists, **_together(finding)}


def _together(said: Finding | Verdict) -> dict[str, bool]:
    """That its candidates are violated together, where they are."""
    return {"together": True} if said.together else {}


_NAMES: Final = ("candidates", "conditions")


def finding_of(data: Mapping[str, Any]) -> Finding:
    """A finding from plain data: from JSON, or the row of a table. Raises as `from_plain`."""
    texts = {name: text_of(data, name) for name in ("requirement", "title", "detail", "allowed", "key")}
    witness = data["witness"]
    if not isinstance(witness, list) or not all(type(i) is int for i in witness):
        raise ValueError(f"witness: expected a list of record numbers: {witness!r}")
    candidates, conditions = (_names(data, name) for name in _NAMES)
    return Finding(**texts, witness=tuple(witness), candidates=candidates, conditions=conditions)


def _names(data: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The names in that field; none where it is not there, as in older files."""
    names = data.get(name) or []
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise ValueError(f"{name}: expected a list of names: {names!r}")
    return tuple(names)


def count_of(data: Mapping[str, Any], name: str, absent: int | None) -> int | None:
    """The number in that field, 0 or more; null and no such field are ``absent``. Raises as `from_plain`."""
    value = data.get(name)
    if value is None:
        return absent
    if type(value) is not int or value < 0:
        raise ValueError(f"{name}: expected a whole number, 0 or more: {value!r}"[:SHOWN])
    return value


def text_of(data: Mapping[str, Any], name: str) -> str:
    """The text in that field. Raises as `from_plain`."""
    value = data[name]
    if not isinstance(value, str):
        raise ValueError(f"{name}: expected text: {value!r}")
    return value
