"""Keys that are torn apart: what a finding says that this may depend on."""

from __future__ import annotations

import pytest

from corpus import corpus
from partq.conformance.screens.assess import inspect

BASE = {
    "alike in all that is visible": "neither sender, connection",
    "seen by peeks alone": "neither sender, connection",
    "in the partition that the broker names": "neither sender, connection",
    "by sender": "depends on the key and the sender or the connection",
    "by kind of send": "depends on the key and the operation",
    "by kind of key": "depends on the key and the kind of key",
    "by size": "depends on the key and the length of the body",
    "by any of several": "depends on the key and the sender, the connection or the operation",
    "too little speaks for the transaction": "neither sender, connection",
    "too little speaks for the fault": "neither sender, connection",
}
"""Splits that are ROUTE-2's, and what may explain them: a guess, so that all are of one cause."""


@pytest.mark.parametrize("name", BASE)
def test_equal_keys_in_two_partitions(name: str) -> None:
    because = BASE[name]
    findings = inspect(corpus()[f"routing/bad: {name}"].history).findings
    assert set(findings) == {"ROUTE-2"}
    (finding,) = findings["ROUTE-2"]
    assert because in finding.detail
    assert ("is consistent with" in finding.detail) == because.startswith("depends")
    assert "key 'a'" in finding.detail
    assert finding.key == "ROUTE-2/apart"
    assert len(finding.witness) >= 2


SPECIAL = {
    "only session IDs": ("KEY-1", "the key unless it is a session ID"),
    "only session IDs, beside the same key without": ("KEY-1", "the key unless it is a session ID"),
    "only partition keys": ("KEY-2", "the key only if it is a session ID"),
    "only in transactions": ("TXN-8", "the key and whether it is sent in a transaction"),
    "since the broker was killed": ("ROUTE-1", "the key and the last broker kill before the send"),
    "since a front end was lost": ("ROUTE-1", "the key and the last frontend lost before the send"),
    "since a partition was down": ("ROUTE-1", "the key and the last partition down before the send"),
    "since a partition came back": ("ROUTE-1", "the key and the last partition up before the send"),
    "while its own partition was down": ("ROUTE-5", "whether the key's own partition was down"),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_a_special_rule_owns_what_enough_speaks_for(name: str) -> None:
    rule, because = SPECIAL[name]
    inspection = inspect(corpus()[f"routing/bad: {name}"].history)
    assert set(inspection.findings) == {rule}
    assert inspection.findings[rule][0].detail.endswith(
        f"consistent with a partition that depends on {because}"
    )
    assert {finding.key for finding in inspection.findings[rule]} == {f"{rule}/apart"}


def test_a_special_rule_for_which_too_little_speaks_is_open() -> None:
    entry = corpus()["routing/bad: a special rule for which too little speaks is open"]
    inspection = inspect(entry.history)
    assert set(inspection.findings) == {"ROUTE-2"}
    assert inspection.open["KEY-1"].endswith("depends on the key unless it is a session ID")
    assert "KEY-2" not in inspection.open
