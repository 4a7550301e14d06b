"""Verdicts against a baseline: nothing is excused but what an entry names, and what has gone is told."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partq.conformance.verdict import (
    ANOTHER,
    KEPT_FINDINGS,
    Entry,
    Exit,
    Fault,
    Finding,
    Kind,
    Matched,
    State,
    Status,
    Verdict,
    ambiguities,
    entries_for,
    exit_code,
    match,
    merge,
)
from partq.conformance.verdict.baseline import faults
from partq.conformance.verdict.merging import resolved
from partq.model.conditions import ALWAYS

P = "azure-premium"
GOOD = Verdict(Status.PASS, 1)


def finding(requirement: str, key: str, *candidates: str) -> Finding:
    return Finding(requirement, "title", (1,), "detail", "allowed", key, candidates)


def violated(requirement: str, *keys: str) -> Verdict:
    return Verdict(Status.VIOLATED, 1, tuple(finding(requirement, key) for key in keys))


def one_of(*candidates: str, key: str = "k") -> dict[str, Verdict]:
    """Verdicts where one of these is violated, not known which."""
    first = Verdict(Status.UNKNOWN, 1, (finding(candidates[0], key, *candidates),), "why", {}, candidates)
    rest = {id: Verdict(Status.UNKNOWN, 1, reason="why", candidates=candidates) for id in candidates[1:]}
    return {candidates[0]: first, **rest}


def known(*rules: str, profile: str = "", cause: str = "", sometimes: bool = False) -> Entry:
    return Entry(Kind.VIOLATED, rules, "because", profile, cause, sometimes)


def left_open(rule: str) -> Entry:
    return Entry(Kind.OPEN, (rule,), "because")


def held(verdicts: Mapping[str, Verdict], *entries: Entry, whole: bool = True) -> tuple[Matched, int]:
    """The verdicts against the entries, and the exit code of what is not known."""
    found = match({P: verdicts}, entries, whole)
    return found, exit_code(found.beyond(P, verdicts))


BAD = {"RCV-1": GOOD, "RCV-3": violated("RCV-3", "a", "b")}
OPEN = {"RCV-1": GOOD, "RCV-3": Verdict(Status.UNKNOWN, 1, reason="too long")}
SEVERAL = {"RCV-1": GOOD, **one_of("RCV-3", "RCV-9")}
ALONE = {"RCV-1": GOOD, **one_of("RCV-3")}


@pytest.mark.parametrize(
    ("verdicts", "entries", "code"),
    [
        (BAD, [known("RCV-3")], Exit.CONFORMANT),
        (BAD, [known("RCV-3", cause="a"), known("RCV-3", cause="b")], Exit.CONFORMANT),
        (BAD, [known("RCV-3", profile=P)], Exit.CONFORMANT),
        (BAD, [], Exit.VIOLATED),
        (BAD, [known("RCV-3", cause="a")], Exit.VIOLATED),
        (BAD, [known("RCV-3", profile="azure-standard")], Exit.VIOLATED),
        (BAD, [known("RCV-1")], Exit.VIOLATED),
        (BAD, [left_open("RCV-3")], Exit.VIOLATED),
        (OPEN, [left_open("RCV-3")], Exit.CONFORMANT),
        (OPEN, [known("RCV-3")], Exit.CONFORMANT),
        (OPEN, [left_open("RCV-1")], Exit.INCONCLUSIVE),
        (SEVERAL, [known("RCV-9", "RCV-3")], Exit.CONFORMANT),
        (SEVERAL, [known("RCV-9", "RCV-3", "RCV-6", cause="k")], Exit.CONFORMANT),
        (SEVERAL, [known("RCV-3")], Exit.VIOLATED),
        (SEVERAL, [known("RCV-3"), known("RCV-9")], Exit.VIOLATED),
        (SEVERAL, [left_open("RCV-3"), left_open("RCV-9")], Exit.VIOLATED),
        (ALONE, [known("RCV-3")], Exit.VIOLATED),
        (ALONE, [known("RCV-3", ANOTHER)], Exit.CONFORMANT),
        (BAD, [known("RCV-3", ANOTHER)], Exit.CONFORMANT),
        (BAD, [known("RCV-3", "RCV-9")], Exit.VIOLATED),
    ],
)
def test_only_what_an_entry_names_is_excused(
    verdicts: Mapping[str, Verdict], entries: list[Entry], code: int
) -> None:
    found, came_to = held(verdicts, *entries)
    assert came_to == code
    assert bool(found.new) is (code != Exit.CONFORMANT)


def test_a_set_of_rules_that_only_a_finding_names_is_new_too() -> None:
    """Of (A, B), (A, C) and (B, C) no verdict names the last."""
    sets = [("RCV-3", "RCV-6"), ("RCV-3", "RCV-9"), ("RCV-6", "RCV-9")]
    verdicts = merge([*(one_of(*rules) for rules in sets), {"RCV-1": GOOD}])
    assert sets[2] not in ambiguities(verdicts)
    assert held(verdicts, *(known(*rules) for rules in sets))[1] == Exit.CONFORMANT
    found, code = held(verdicts, known(*sets[0]), known(*sets[1]))
    assert code == Exit.VIOLATED
    assert [fault.rules for fault in found.new] == [sets[2]]
    assert found.beyond(P, verdicts)["RCV-6"].candidates == sets[2]


def test_a_cause_of_which_not_all_findings_were_kept_may_be_certain() -> None:
    vague = finding("RCV-3", "b", "RCV-3", "RCV-9")
    few = Verdict(Status.VIOLATED, 1, (finding("RCV-3", "a"), vague))
    assert held({"RCV-3": few}, known("RCV-3", cause="a"))[1] == Exit.CONFORMANT
    many = Verdict(Status.VIOLATED, 1, few.findings, found={"a": 1, "b": 2})
    assert held({"RCV-3": many}, known("RCV-3", cause="a"))[1] == Exit.VIOLATED


def test_a_new_cause_of_a_known_rule_is_new_and_is_all_that_counts() -> None:
    found, _ = held(BAD, known("RCV-3", cause="a"))
    assert found.new == (Fault(Kind.VIOLATED, P, ("RCV-3",), "b", 1),)
    rest = found.beyond(P, BAD)["RCV-3"]
    assert [one.key for one in rest.findings] == ["b"] == list(rest.found)
    assert found.reason(P, finding("RCV-3", "a")) == "because"
    assert found.reason(P, finding("RCV-3", "b")) == ""


def test_a_finding_that_says_no_more_than_a_known_one_is_known() -> None:
    vague = finding("RCV-9", "c", "RCV-9", "RCV-3")
    verdicts = {**BAD, "RCV-9": Verdict(Status.UNKNOWN, 1, (vague,), "one of several")}
    found, code = held(verdicts, known("RCV-3"))
    assert found.reason(P, vague) == "because"
    assert code == Exit.INCONCLUSIVE, "that RCV-9 is left open is another matter"
    assert held(verdicts, known("RCV-3"), left_open("RCV-9"))[1] == Exit.CONFORMANT


@pytest.mark.parametrize(
    ("verdict", "entry", "whole", "state", "why"),
    [
        (GOOD, known("RCV-3"), True, State.GONE, "no longer violated: remove it"),
        (GOOD, left_open("RCV-3"), True, State.GONE, "no longer undecided: remove it"),
        (violated("RCV-3", "a"), known("RCV-3", cause="z"), True, State.GONE, "no longer violated"),
        (GOOD, known("RCV-3", sometimes=True), True, State.SILENT, "not violated this time"),
        (GOOD, known("RCV-3"), False, State.SILENT, "part of the suite"),
        (Verdict(Status.NOT_EXERCISED), known("RCV-3"), True, State.SILENT, "not exercised"),
        (Verdict(Status.NOT_IMPLEMENTED), known("RCV-3"), True, State.SILENT, "not exercised"),
        (Verdict(Status.NOT_APPLICABLE), known("RCV-3"), True, State.SILENT, "does not apply"),
        (GOOD, known("RCV-3", profile="azure-flat"), True, State.SILENT, "not run under azure-flat"),
        (violated("RCV-3", "a"), left_open("RCV-3"), True, State.SILENT, "violated for certain"),
    ],
)
def test_an_entry_that_nothing_matches_is_told(
    verdict: Verdict, entry: Entry, whole: bool, state: State, why: str
) -> None:
    (absent,) = held({"RCV-1": GOOD, "RCV-3": verdict}, entry, whole=whole)[0].absent
    assert (absent.entry, absent.state) == (entry, state)
    assert why in absent.why


def test_an_entry_of_several_rules_has_not_gone_while_one_was_not_exercised() -> None:
    verdicts = {"RCV-3": GOOD, "RCV-9": Verdict(Status.NOT_EXERCISED)}
    (absent,) = held(verdicts, known("RCV-3", "RCV-9"))[0].absent
    assert absent.state is State.SILENT


KILL, TWO = "after broker_kill", "with two consumers"


def under(*sets: tuple[str, ...], key: str = "k") -> dict[str, Verdict]:
    """Verdicts with a finding of RCV-7 under each of these sets of conditions."""
    found = tuple(finding("RCV-7", key)._replace(conditions=(*names, ALWAYS)) for names in sets)
    return {"RCV-1": GOOD, "RCV-7": Verdict(Status.VIOLATED, 1, found)}


def on(*conditions: str, cause: str = "k", sometimes: bool = False) -> Entry:
    return Entry(
        Kind.VIOLATED, ("RCV-7",), "because", cause=cause, sometimes=sometimes, conditions=conditions
    )


@pytest.mark.parametrize(
    ("verdicts", "entry", "code"),
    [
        (under((KILL,)), on(KILL), Exit.CONFORMANT),
        (under((KILL, TWO)), on(KILL), Exit.CONFORMANT),
        (under((KILL, TWO)), on(KILL, TWO), Exit.CONFORMANT),
        (under((TWO,)), on(ALWAYS), Exit.CONFORMANT),
        (under(()), on(KILL), Exit.VIOLATED),
        (under((TWO,)), on(KILL), Exit.VIOLATED),
        (under((TWO,)), on(KILL, TWO), Exit.VIOLATED),
        (under((KILL,), ()), on(KILL), Exit.VIOLATED),
        (under((KILL,), key="other"), on(KILL), Exit.VIOLATED),
        (under((KILL,), key="other"), on(KILL, sometimes=True), Exit.CONFORMANT),
        (under((), key="other"), on(ALWAYS, sometimes=True), Exit.VIOLATED),
        (under(()), on(), Exit.CONFORMANT),
    ],
)
def test_a_violation_is_known_only_under_the_conditions_of_its_entry(
    verdicts: Mapping[str, Verdict], entry: Entry, code: int
) -> None:
    """`sometimes`: causes vary, so conditions decide. Without a condition, as in older files: always."""
    found, came_to = held(verdicts, entry)
    assert (came_to, bool(found.new)) == (code, code != Exit.CONFORMANT)


def test_of_one_cause_a_part_may_be_known_and_the_rest_new() -> None:
    verdicts = under((KILL,), (TWO,), (KILL,), ())
    found, _ = held(verdicts, on(KILL))
    ((part, _),) = found.known
    assert part.circumstances == ((KILL, ALWAYS),)
    assert [one.circumstances for one in found.new] == [((TWO, ALWAYS), (ALWAYS,))]
    rest = found.beyond(P, verdicts)["RCV-7"]
    assert [one.conditions for one in rest.findings] == [(TWO, ALWAYS), (ALWAYS,)]
    reasons = [found.reason(P, one) for one in verdicts["RCV-7"].findings]
    assert reasons == ["because", "", "because", ""]


def test_what_is_written_has_a_cause_and_the_narrowest_condition_of_all_its_findings() -> None:
    (entry,) = entries_for(faults(P, under((KILL, TWO), (TWO,))), "because")
    assert (entry.cause, entry.conditions, entry.hides) == ("k", (TWO,), "")
    (entry,) = entries_for(faults(P, under((KILL, TWO), (KILL,))), "because", sometimes=True)
    assert (entry.cause, entry.conditions, entry.sometimes) == ("k", (KILL,), True)
    (entry,) = entries_for(faults(P, under((KILL, TWO), ())), "because")
    assert entry.conditions == (ALWAYS,)


def test_where_no_condition_holds_for_all_findings_an_entry_for_each_of_several_is_written() -> None:
    verdicts = under((KILL,), (TWO,), (KILL,))
    entries = entries_for(faults(P, verdicts), "because")
    assert [entry.conditions for entry in entries] == [(KILL,), (TWO,)]
    assert held(verdicts, *entries)[1] == Exit.CONFORMANT
    assert held(under((KILL,), ()), *entries)[1] == Exit.VIOLATED


def test_the_first_finding_under_each_condition_is_kept_however_many_came_before() -> None:
    usual = [under((KILL,))] * (KEPT_FINDINGS + 5)
    merged = merge([*usual, under((TWO,)), *usual])
    findings = merged["RCV-7"].findings
    assert len(findings) == KEPT_FINDINGS + 1
    assert findings[-1].conditions == (TWO, ALWAYS)
    assert held(merged, on(KILL))[1] == Exit.VIOLATED


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (on(KILL), ""),
        (on(KILL, cause=""), ""),
        (on(ALWAYS), ""),
        (on(ALWAYS, cause=""), "it has no cause"),
        (on(), "it has no condition"),
        (left_open("RCV-3"), ""),
    ],
)
def test_an_entry_that_hides_more_than_it_names_is_told(entry: Entry, why: str) -> None:
    assert entry.hides == why


RULES = ("RCV-1", "RCV-3", "RCV-6", "RCV-9")

some_verdict = st.sampled_from(
    [
        lambda id: GOOD,
        lambda id: Verdict(Status.NOT_EXERCISED),
        lambda id: violated(id, "a"),
        lambda id: violated(id, "a", "b"),
        lambda id: Verdict(Status.VIOLATED, 1),
        lambda id: Verdict(Status.UNKNOWN, 1, reason="why"),
    ]
)


@st.composite
def any_verdicts(draw: st.DrawFn) -> dict[str, Verdict]:
    """Verdicts of four rules, some violated, some left open, one of several violated or not."""
    verdicts = {id: draw(some_verdict)(id) for id in RULES}
    several = draw(st.lists(st.sampled_from(RULES), unique=True, max_size=3))
    return resolved({**verdicts, **(one_of(*several) if several else {})})


@given(any_verdicts())
def test_an_empty_baseline_changes_nothing(verdicts: dict[str, Verdict]) -> None:
    found, code = held(verdicts)
    assert code == exit_code(verdicts)
    assert found.beyond(P, verdicts) == verdicts
    assert (found.known, found.absent) == ((), ())


@given(any_verdicts())
def test_what_is_written_covers_all_and_none_of_it_has_gone(verdicts: dict[str, Verdict]) -> None:
    entries = entries_for(faults(P, verdicts), "because")
    found, code = held(verdicts, *entries)
    assert found.new == found.absent == ()
    assert code == Exit.CONFORMANT or not {v.status for v in verdicts.values()} - {Status.NOT_EXERCISED}
    assert all(entry.profile for entry in entries), "each is for its profile"


@given(any_verdicts(), st.sampled_from(RULES), st.sampled_from(["z", "y"]))
def test_a_new_cause_fails_whatever_else_is_known(verdicts: dict[str, Verdict], id: str, key: str) -> None:
    entries = [
        entry._replace(cause=entry.cause or "a") for entry in entries_for(faults(P, verdicts), "because")
    ]
    _, code = held({**verdicts, id: violated(id, key)}, *entries)
    assert code == Exit.VIOLATED
