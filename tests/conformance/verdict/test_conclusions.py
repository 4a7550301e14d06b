"""What verdicts come to, in a code and in words."""

from __future__ import annotations

import pytest

from partq.conformance.verdict import (
    Exit,
    Finding,
    Status,
    Verdict,
    conclusion,
    exit_code,
    required,
    verdicts_document,
)
from partq.conformance.verdict.conclusions import WORDS

PASS = Verdict(Status.PASS, 1)
BAD = Verdict(Status.VIOLATED, 1, found={"k": 2})
OPEN = Verdict(Status.UNKNOWN, 1)
IDLE = Verdict(Status.NOT_EXERCISED)
ONE_OF = Verdict(Status.UNKNOWN, 1, candidates=("SEQ-1", "SEQ-3"))


@pytest.mark.parametrize(
    ("rows", "code", "said"),
    [
        ({"SEQ-1": PASS}, Exit.CONFORMANT, "CONFORMANT: the one binding rule that is checked held"),
        ({"SEQ-1": PASS, "SEQ-3": IDLE}, Exit.CONFORMANT, "NOTHING VIOLATED: 1 of 2 binding rules exercised"),
        ({"SEQ-1": BAD, "SEQ-3": OPEN}, Exit.VIOLATED, "NOT CONFORMANT: SEQ-1 (2 times) violated"),
        ({"SEQ-1": ONE_OF, "SEQ-3": ONE_OF}, Exit.VIOLATED, "NOT CONFORMANT: SEQ-1 or SEQ-3 violated"),
        ({"SEQ-1": OPEN, "SEQ-3": PASS}, Exit.INCONCLUSIVE, "INCONCLUSIVE: undecided: SEQ-1"),
        ({"SEQ-1": IDLE}, Exit.INCONCLUSIVE, "INCONCLUSIVE: nothing was exercised"),
    ],
)
def test_one_profile(rows: dict[str, Verdict], code: int, said: str) -> None:
    assert conclusion({"azure-premium": rows}, False) == (code, said)
    assert exit_code(rows) == code


def _found(*candidates: str, key: str = "SEQ-1/k") -> Finding:
    return Finding("SEQ-1", "t", (0,), "d", "a", key, candidates)


@pytest.mark.parametrize(
    ("findings", "said"),
    [
        ([_found(), _found(), _found("SEQ-1", "SEQ-3")], "1 more violation is of SEQ-1 or SEQ-3"),
        (
            [_found(), _found(), _found("SEQ-1", "SEQ-3", key="SEQ-1/or")],
            "1 more violation is of SEQ-1 or SEQ-3",
        ),
        (
            [_found(), _found(), *[_found("SEQ-1", "SEQ-3", key="SEQ-1/with SEQ-3")] * 2],
            "2 more violations are of SEQ-1 and SEQ-3",
        ),
        (
            [_found(), _found(), _found("SEQ-1", "SEQ-3"), _found("SEQ-1", "SEQ-4")],
            "2 more violations are of one of several rules each",
        ),
        ([_found(), _found(), _found("SEQ-1", "ROUTE-4")], ""),  # which may be no violation of a MUST
    ],
)
def test_what_may_be_another_rule_is_not_counted_as_certain(findings: list[Finding], said: str) -> None:
    rows = {
        "SEQ-1": Verdict(Status.VIOLATED, 3, tuple(findings)),
        "SEQ-3": OPEN,
        "SEQ-4": OPEN,
        "ROUTE-4": PASS,
    }
    more = f"; {said}" if said else ""
    assert conclusion({"azure-premium": rows}, False) == (
        1,
        f"NOT CONFORMANT: SEQ-1 (2 times) violated{more}",
    )


def test_the_worst_profile_is_named_and_a_should_counts_if_strict() -> None:
    results = {"azure-premium": {"SEQ-1": BAD}, "azure-flat": {"SEQ-1": PASS}}
    assert conclusion(results, False) == (1, "NOT CONFORMANT: SEQ-1 (2 times) violated (azure-premium)")
    should = {"azure-premium": {"SEQ-1": PASS, "ROUTE-4": BAD}}
    assert conclusion(should, False)[1].endswith("; violated, but no MUST: ROUTE-4")
    assert conclusion(should, True)[0] == Exit.VIOLATED


def test_what_binds_is_counted_for_each_of_several_profiles() -> None:
    held = {"azure-premium": {"SEQ-1": PASS, "SEQ-3": PASS}, "azure-flat": {"SEQ-1": PASS, "ROUTE-4": PASS}}
    said = "CONFORMANT: all 2 binding rules that are checked held (azure-premium 2, azure-flat 1)"
    assert conclusion(held, False) == (0, said)


def test_what_counts_besides_is_worse_than_a_success_and_no_better_than_a_violation() -> None:
    besides = [(Exit.INCONCLUSIVE, "1 answer was unusable")]
    held, bad = {"azure-premium": {"SEQ-1": PASS}}, {"azure-premium": {"SEQ-1": BAD}}
    assert conclusion(held, False, besides) == (3, "INCONCLUSIVE: 1 answer was unusable")
    assert conclusion(bad, False, besides)[0] == Exit.VIOLATED
    assert required(held, False, ["SEQ-1", "100%"]) == []
    (unmet,) = required({"azure-premium": {"SEQ-1": PASS, "SEQ-3": IDLE}}, False, ["SEQ-3"])
    assert unmet == (Exit.INCONCLUSIVE, "SEQ-3 is required, but was not exercised")


def test_a_rule_that_applies_under_no_profile_is_required_in_vain() -> None:
    lacking = Verdict(Status.NOT_APPLICABLE, reason="the broker lacks peek")
    (unmet,) = required({"azure-premium": {"PEEK-4": lacking}}, False, ["PEEK-4"])
    assert unmet == (Exit.INCONCLUSIVE, "PEEK-4 is required, but does not apply (the broker lacks peek)")
    two = {"azure-premium": {"PEEK-4": lacking}, "azure-flat": {"PEEK-4": PASS}}
    assert required(two, False, ["PEEK-4"]) == []
    idle = {**two, "azure-flat": {"PEEK-4": IDLE}}
    assert [why for _, why in required(idle, False, ["PEEK-4"])] == [
        "PEEK-4 is required, but was not exercised (azure-flat)"
    ]


def test_the_document_says_the_same() -> None:
    results = {"azure-premium": {"SEQ-1": BAD}}
    document = verdicts_document("a broker", results, True, [(Exit.INCONCLUSIVE, "besides")])
    code, words = conclusion(results, True, [(Exit.INCONCLUSIVE, "besides")])
    assert (document["exit"], document["conclusion"]) == (code, words)
    assert words.startswith(WORDS[Exit.VIOLATED])
    assert document["requirements"] == document["profiles"]["azure-premium"]
