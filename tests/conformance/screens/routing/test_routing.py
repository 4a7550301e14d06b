"""Keys that are torn apart: what a finding says that this may depend on."""

from __future__ import annotations

import pytest

from corpus import corpus
from partq.conformance.history.notation import history
from partq.conformance.screens.assess import inspect

BASE = (
    "alike in all that is visible",
    "seen by peeks alone",
    "in the partition that the broker names",
    "by sender",
    "by kind of send",
    "by kind of key",
    "by size",
    "by any of several",
    "too little speaks for the transaction",
    "too little speaks for the fault",
)
"""Splits that are ROUTE-2's, with so few sends that whatever may explain them may do so by chance."""


@pytest.mark.parametrize("name", BASE)
def test_equal_keys_in_two_partitions_are_shown_without_a_guess(name: str) -> None:
    findings = inspect(corpus()[f"routing/bad: {name}"].history).findings
    assert set(findings) == {"ROUTE-2"}
    (finding,) = findings["ROUTE-2"]
    assert "consistent with" not in finding.detail
    assert "key 'a'" in finding.detail
    assert finding.key == "ROUTE-2/apart"
    assert len(finding.witness) >= 2


def test_what_differs_by_chance_is_not_guessed_however_often() -> None:
    sends = "".join(f"p1 send m{n} key=a\np2 send n{n} key=a\n" for n in range(5))
    shown = ", ".join(f"m{n}#3.{n + 1}, n{n}#4.{n + 1}" for n in range(5))
    (finding,) = inspect(history(f"{sends}p1 receive 9 -> {shown}", "azure-standard")).findings["ROUTE-2"]
    assert "depends on" not in finding.detail


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


def test_a_special_rule_for_which_too_little_speaks_owns_nothing() -> None:
    entry = corpus()["routing/bad: a special rule for which too little speaks is open"]
    assert set(inspect(entry.history).findings) == {"ROUTE-2"}


def test_a_key_that_moved_in_a_fault_is_shown_with_the_fault() -> None:
    whole = corpus()["routing/bad: since the broker was killed"].history
    finding = inspect(whole).findings["ROUTE-1"][0]
    assert "broker_kill" in {record.op for record in whole.records if record.i in finding.witness}
