"""Verdicts as plain data, and back: ``verdicts.json``, schema ``partq.verdicts/1``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from partq.conformance.verdict.types import Finding, Status, Verdict, Verdicts

SCHEMA: Final = "partq.verdicts/1"
FILE: Final = "verdicts.json"
"""Where in a folder of results they lie."""


SHOWN: Final = 200
"""Characters of an error."""


def plain(verdicts: Verdicts) -> dict[str, Any]:
    """The verdicts as plain data: ``{ID: {status, exercised, findings, found, reason, candidates}}`` of
    ``partq.verdicts/1``."""
    return {
        requirement: {
            "status": verdict.status.value,
            "exercised": verdict.exercised,
            "findings": [finding_to_plain(finding) for finding in verdict.findings],
            "found": dict(verdict.found),
            "reason": verdict.reason,
            "candidates": list(verdict.candidates),
        }
        for requirement, verdict in verdicts.items()
    }


def from_plain(rows: Mapping[str, Any]) -> dict[str, Verdict]:
    """`plain` the other way round. Raises `ValueError`, `TypeError` or `KeyError` where it is none of it."""
    return {requirement: _verdict(row) for requirement, row in rows.items()}


def _verdict(row: Mapping[str, Any]) -> Verdict:
    findings = tuple(finding_of(finding) for finding in row["findings"])
    found = {str(key): int(times) for key, times in row.get("found", {}).items()}
    if found and not found.keys() >= {finding.key for finding in findings}:
        raise ValueError(f"found: a cause is missing: {found!r}")
    candidates = tuple(str(requirement) for requirement in row.get("candidates", ()))
    return Verdict(
        Status(row["status"]), int(row["exercised"]), findings, text_of(row, "reason"), found, candidates
    )


def finding_to_plain(finding: Finding) -> dict[str, Any]:
    """The finding as plain data; `finding_of` the other way round."""
    lists = {"witness": list(finding.witness), "candidates": list(finding.candidates)}
    return {**finding._asdict(), **lists}


def finding_of(data: Mapping[str, Any]) -> Finding:
    """A finding from plain data: from JSON, or the row of a table. Raises as `from_plain`."""
    texts = {name: text_of(data, name) for name in ("requirement", "title", "detail", "allowed", "key")}
    witness = data["witness"]
    if not isinstance(witness, list) or not all(type(i) is int for i in witness):
        raise ValueError(f"witness: expected a list of record numbers: {witness!r}")
    candidates = data.get("candidates", [])
    if not isinstance(candidates, list) or not all(isinstance(id, str) for id in candidates):
        raise ValueError(f"candidates: expected a list of requirements: {candidates!r}")
    return Finding(**texts, witness=tuple(witness), candidates=tuple(candidates))


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
