"""Faults in the facts: only those that happened, and sure only where the outcome says so."""

from __future__ import annotations

from partq.conformance.facts.index import FOREVER, Facts, facts_of
from partq.conformance.history import Header, History, Record


def facts(*records: Record) -> Facts:
    return facts_of(History(Header("azure-premium"), records))[0]


def test_a_rejected_fault_did_not_happen() -> None:
    record = Record(0, "env", "partition_down", "q", 1, 2, {"index": 3}, "error", "unsupported")
    assert facts(record).down == {}
    assert facts(record).disruptions == []


def test_a_fault_of_unknown_outcome_is_never_sure() -> None:
    down = Record(0, "env", "partition_down", "q", 1, 2, {"partition": 3}, "unknown", "timeout")
    interval = facts(down).down[3][0]
    assert (interval.start, interval.certain_start) == (1, FOREVER)


def test_a_repair_of_unknown_outcome_ends_nothing_for_sure() -> None:
    down = Record(0, "env", "partition_down", "q", 1, 2, {"partition": 3})
    repair = Record(1, "env", "partition_up", "q", 3, 4, {"partition": 3}, "unknown", "timeout")
    interval = facts(down, repair).down[3][0]
    assert (interval.certain_start, interval.certain_end, interval.end) == (2, 3, FOREVER)
