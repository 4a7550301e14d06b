"""A few undecided histories of many: which rules pass, and what is said of it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from partq.conformance.screens.assess import take_in
from partq.conformance.screens.protocol import Report
from partq.conformance.screens.registry import ALL
from partq.conformance.verdict import (
    OPEN,
    BadShare,
    Entry,
    Exit,
    Inspection,
    Kind,
    Status,
    Verdict,
    Verdicts,
    conclusion,
    from_plain,
    match,
    merge,
    plain,
    share_of,
    tolerated,
    verdicts_of,
)

PROFILE = "azure-premium"
RULE = "SEQ-1"


def history(
    times: int = 1, open: str = "", candidates: tuple[str, ...] = (), crashed: bool = False
) -> Verdicts:
    """The verdicts of a history that exercises the rule so often, and leaves it open for that reason."""
    said = Report({RULE: times}, open={RULE: open} if open else {}, crashed=crashed)
    if candidates:
        said.ambiguous(candidates, open)
        said.settle(frozenset())
    inspection = Inspection()
    take_in(inspection, said)
    return verdicts_of(inspection, PROFILE, ALL)


def of(*verdicts: Verdicts, share: str = OPEN) -> Verdict:
    """All of them together, a thousand histories that hold besides."""
    return tolerated(merge([*verdicts, *[history()] * 1_000]), share_of(share))[RULE]


def test_one_of_a_thousand_is_few() -> None:
    found = of(history(open="too much"))
    assert (found.status, found.openness) == (Status.PASS, "1 of 1,001 traces undecided")
    assert found.reason == "too much"
    assert of(history(open="too much"), share="0").status is Status.UNKNOWN


def test_two_are_too_many_and_a_larger_share_covers_them() -> None:
    two = [history(open="too much")] * 2
    assert of(*two).status is Status.UNKNOWN
    assert of(*two, share="0.2%").status is Status.PASS


@pytest.mark.parametrize(("others", "status"), [(98, Status.UNKNOWN), (99, Status.PASS)])
def test_a_single_one_is_few_of_a_hundred(others: int, status: Status) -> None:
    results = merge([history(open="too much"), *[history()] * others])
    assert tolerated(results, share_of(OPEN))[RULE].status is status
    assert tolerated(results, share_of("0"))[RULE].status is Status.UNKNOWN


def test_the_share_is_of_the_histories_that_exercised_the_rule() -> None:
    idle = [history(times=0)] * 1_000
    found = tolerated(merge([history(open="too much"), *[history()] * 10, *idle]), share_of(OPEN))[RULE]
    assert (found.status, found.openness) == (Status.UNKNOWN, "1 of 11 traces undecided")


def test_what_no_history_exercised_does_not_pass() -> None:
    found = tolerated(merge([history(times=0, open="too much"), history(times=0)]), share_of("100%"))[RULE]
    assert found.status is Status.UNKNOWN


@pytest.mark.parametrize(
    "wrong",
    [history(open="one of them", candidates=(RULE, "SEQ-3")), history(open="KeyError: 1", crashed=True)],
    ids=["one of several rules is violated", "a screen crashed"],
)
def test_no_share_outweighs_a_rejection_or_a_crash(wrong: Verdicts) -> None:
    for histories in ([wrong], [wrong, history(open="too much")], [history(open="too much"), wrong]):
        found = of(*histories, share="50%")
        assert (found.status, found.undecided) == (Status.UNKNOWN, 0)


def test_nor_does_it_once_another_of_the_several_is_violated_for_certain() -> None:
    several = history(open="one of them", candidates=(RULE, "SEQ-3"))
    certain = {**history(), "SEQ-3": Verdict(Status.VIOLATED, 1, found={"k": 1})}
    found = tolerated(merge([several, certain, *[history()] * 1_000]), share_of("50%"))[RULE]
    assert (found.status, found.candidates, found.undecided) == (Status.UNKNOWN, (), 0)


def test_profiles_are_merged_after_it_and_the_worst_stands() -> None:
    few, many = of(history(open="x")), of(*[history(open="x")] * 9)
    total = merge([{RULE: few}, {RULE: many}])[RULE]
    assert (total.status, total.undecided, total.traces) == (Status.UNKNOWN, 10, 2_010)


def test_the_document_has_both_numbers_and_those_of_before_are_read() -> None:
    rows = plain({RULE: of(history(open="too much"))})
    assert (rows[RULE]["traces"], rows[RULE]["undecided"]) == (1_001, 1)
    assert plain(from_plain(rows)) == rows
    old = {RULE: {k: v for k, v in rows[RULE].items() if k not in ("traces", "undecided")}}
    assert from_plain(old)[RULE].undecided == 0


def test_the_conclusion_names_them_and_the_exit_code_is_0() -> None:
    few = {RULE: of(history(open="too much"))}
    said = "CONFORMANT: the one binding rule that is checked held; SEQ-1: 1 of 1,001 traces undecided"
    assert conclusion({PROFILE: few}, False) == (Exit.CONFORMANT, said)
    both = {PROFILE: few, "azure-flat": {RULE: Verdict(Status.PASS, 1)}}
    assert conclusion(both, False)[1].endswith("SEQ-1: 1 of 1,001 traces undecided (azure-premium)")
    many = {id: Verdict(Status.PASS, 9, traces=n, undecided=1) for n, id in enumerate(_MUST, 2_000)}
    said = conclusion({PROFILE: many}, False)[1]
    assert said.endswith("SEQ-5: 1 of 2,002 traces undecided; 2 more rules likewise")


_MUST = ("SEQ-1", "SEQ-3", "SEQ-5", "RCV-1", "RCV-2")


def test_a_baseline_of_open_rules_does_not_take_it_for_decided() -> None:
    entry = Entry(Kind.OPEN, (RULE,), "known", PROFILE)
    few = match({PROFILE: {RULE: of(history(open="too much"))}}, [entry])
    held = match({PROFILE: {RULE: of()}}, [entry])
    assert (few.gone, [one.entry for one in held.gone]) == ((), [entry])


@pytest.mark.parametrize(("word", "share"), [("0", 0), ("0%", 0), ("0.1%", Fraction(1, 1_000)), ("100%", 1)])
def test_shares(word: str, share: Fraction) -> None:
    assert share_of(word) == share


@pytest.mark.parametrize("word", ["", "1", "0.1", "101%", "-1%", "1e1%", "٣%", "1%\n", "nan%"])
def test_no_shares(word: str) -> None:
    with pytest.raises(BadShare, match=r"is no share such as 0\.1%, nor 0"):
        share_of(word)
