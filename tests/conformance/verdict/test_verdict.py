"""What many findings come to: of each cause the earliest are kept, and all are counted."""

from __future__ import annotations

import pytest
from canned_broker import SPLIT

from partq.conformance.evaluation.decision import NONE, check_history
from partq.conformance.history import Record
from partq.conformance.history.notation import history
from partq.conformance.screens.assess import take_in
from partq.conformance.screens.protocol import Report
from partq.conformance.screens.registry import ALL
from partq.conformance.verdict import (
    KEPT_FINDINGS,
    Exit,
    Finding,
    Inspection,
    Status,
    Verdict,
    Verdicts,
    ambiguities,
    binding_requirements,
    exit_code,
    from_plain,
    merge,
    plain,
    unmet,
    verdicts_of,
)
from partq.conformance.verdict.types import kept

RECORD = Record(7, "a", "receive", "queue", 1, 2, {"max": 1})


def report(**causes: int) -> Report:
    """A screen's report of that many findings of each cause of ROUTE-1."""
    found = Report()
    for cause, times in causes.items():
        for n in range(times):
            found.find("ROUTE-1", cause, (RECORD,), f"the {n}th")
    return found


def run_of(**causes: int) -> Verdicts:
    """The verdicts of a run in which one screen reported them."""
    inspection = Inspection()
    take_in(inspection, report(**causes))
    return verdicts_of(inspection, "azure-standard", ALL)


def test_a_frequent_cause_does_not_displace_a_rare_one() -> None:
    total = merge([run_of(often=2 * KEPT_FINDINGS), run_of(often=3), run_of(rare=1)])["ROUTE-1"]
    assert [f.key for f in total.findings] == ["ROUTE-1/often"] * KEPT_FINDINGS + ["ROUTE-1/rare"]
    assert total.found == {"ROUTE-1/often": 2 * KEPT_FINDINGS + 3, "ROUTE-1/rare": 1}
    assert total.times == 2 * KEPT_FINDINGS + 4


def test_of_one_history_with_several_entities_as_many_are_kept_and_all_counted() -> None:
    inspection = Inspection()
    for _ in range(2):
        take_in(inspection, report(often=KEPT_FINDINGS + 1))
    (found,) = (v for v in verdicts_of(inspection, "azure-standard", ALL).values() if v.findings)
    assert len(found.findings) == KEPT_FINDINGS
    assert found.times == 2 * (KEPT_FINDINGS + 1)


def test_a_history_counts_what_it_shows() -> None:
    shown = check_history(history(SPLIT, "azure-premium"), NONE)["ROUTE-2"]
    assert shown.status is Status.VIOLATED
    assert shown.found == {shown.findings[0].key: 1}


def test_the_earliest_are_kept() -> None:
    many = [Finding("A-1", "t", (n,), "d", "a", "A-1/k") for n in range(KEPT_FINDINGS + 1)]
    assert kept(many) == tuple(many[:-1])


@pytest.mark.parametrize("bad_first", [True, False])
def test_findings_given_without_a_count_are_counted(bad_first: bool) -> None:
    finding = Finding("A-1", "t", (), "d", "a", "A-1/k")
    runs = [{"A-1": Verdict(Status.VIOLATED, 1, (finding,) * 3)}, {"A-1": Verdict(Status.PASS, 1)}]
    total = merge(runs if bad_first else runs[::-1])
    assert total["A-1"].times == 3
    assert plain(total)["A-1"]["found"] == {"A-1/k": 3}


def ambiguous(*rules: str) -> Verdicts:
    """The verdicts of a run of which a screen says that one of these rules is broken."""
    said, inspection = Report(), Inspection({"SEQ-1": 1})
    said.ambiguous(rules, "the one or the other")
    said.settle(frozenset())
    take_in(inspection, said)
    return verdicts_of(inspection, "azure-standard", ALL)


def test_one_of_several_rules_is_violated_for_sure() -> None:
    found = ambiguous("RCV-6", "RCV-7")
    for rule in ("RCV-6", "RCV-7"):
        assert (found[rule].status, found[rule].reason) == (Status.UNKNOWN, "the one or the other")
        assert found[rule].candidates == ("RCV-6", "RCV-7")
    assert exit_code(found, binding_requirements(strict=False)) == Exit.VIOLATED
    assert (
        exit_code(from_plain(plain(merge([found, run_of()]))), binding_requirements(strict=False))
        == Exit.VIOLATED
    )


def test_what_may_be_a_mere_should_fails_strict_runs_alone() -> None:
    found = ambiguous("RCV-6", "ROUTE-4")
    assert exit_code(found, binding_requirements(strict=False)) == Exit.INCONCLUSIVE
    assert exit_code(found, binding_requirements(strict=True)) == Exit.VIOLATED


def test_one_of_several_is_not_said_where_one_is_known_to_be_violated() -> None:
    ambiguous = Verdict(Status.UNKNOWN, reason="either", candidates=("RCV-3", "RCV-2"))
    both = {"RCV-2": ambiguous, "RCV-3": ambiguous}
    assert {names: one.reason for names, one in ambiguities(merge([both, both])).items()} == {
        ("RCV-3", "RCV-2"): "either"
    }
    assert merge([both])["RCV-2"].ambiguity == "RCV-3 or RCV-2 violated"
    finding = Finding("RCV-3", "t", (0,), "d", "a", "RCV-3/k")
    told = merge([both, {"RCV-3": Verdict(Status.VIOLATED, 1, (finding,))}])
    assert ambiguities(told) == {}
    assert told["RCV-2"].status is Status.UNKNOWN
    assert exit_code(told) == Exit.VIOLATED


def test_what_another_violation_contradicts_by_the_letter_does_not_pass() -> None:
    exercised = history(
        SPLIT + "\np1 send m8 key=z\np2 send m9 key=z\np3 peek 9 -> m8#3.8 key=z, m9#3.9 key=z",
        "azure-premium",
    )
    found = check_history(exercised, NONE)
    assert found["ROUTE-1"].exercised and found["ROUTE-2"].status is Status.VIOLATED
    assert found["ROUTE-1"].status is Status.UNKNOWN
    assert found["ROUTE-1"].reason == "equal keys were in two partitions: see ROUTE-2"
    assert exit_code(found, binding_requirements(strict=False)) == Exit.VIOLATED
    assert not unmet(found, ["ROUTE-1"], binding_requirements(strict=False))
    (finding,) = found["ROUTE-2"].findings
    assert finding.heading == "ROUTE-2 violated: The key alone picks the partition"


def test_a_freedom_is_seen_and_does_not_pass() -> None:
    verdicts = verdicts_of(Inspection({"RCV-4": 28, "RCV-3": 1}), "azure-standard", ALL)
    assert [verdicts[id].status for id in ("RCV-4", "RCV-5", "RCV-3")] == [
        Status.SEEN,
        Status.NOT_EXERCISED,
        Status.PASS,
    ]
    assert verdicts["RCV-4"].exercised == 28
    assert unmet(verdicts, ("RCV-4", "RCV-5"), binding_requirements(False)) == [
        "RCV-5 is required, but was not exercised"
    ]


def test_in_older_files_a_freedom_passes() -> None:
    older = {id: {**row, "status": "pass"} for id, row in plain({"RCV-4": Verdict(Status.SEEN, 2)}).items()}
    assert from_plain(older)["RCV-4"].status is Status.SEEN
