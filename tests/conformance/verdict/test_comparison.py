"""Comparisons: names for columns, rules by how they differ, and what became of one broker's rules."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from partq.conformance.verdict import (
    Change,
    Column,
    Comparison,
    Exit,
    Finding,
    Group,
    Status,
    Verdict,
    compare,
    exit_code,
    letters,
)
from partq.conformance.verdict.columns import names
from partq.model.requirements import Level, catalogue

RULE, OTHER, THIRD = "ROUTE-2", "SEQ-1", "RCV-2"
"""Three that bind."""
MAY = next(id for id, row in catalogue().items() if row.level is Level.MAY)
SHOULD = next(id for id, row in catalogue().items() if row.level is Level.SHOULD)

PASS, IDLE = Verdict(Status.PASS, 3), Verdict(Status.NOT_EXERCISED)
ELSEWHERE = Verdict(Status.NOT_APPLICABLE)
OPEN = Verdict(Status.UNKNOWN, 3, reason="the judge gave up")
SILENT = (IDLE, ELSEWHERE)


def bad(id: str = RULE, key: str = "cause") -> Verdict:
    return Verdict(Status.VIOLATED, 3, (Finding(id, "title", (1,), "detail", "allowed", key),))


def one_of(*candidates: str) -> Verdict:
    return Verdict(Status.UNKNOWN, 3, reason="one of several", candidates=candidates)


def column(rows: Mapping[str, Verdict], broker: str = "b", profile: str = "p", source: str = "s") -> Column:
    """A column with these rows, all others passed."""
    return Column(source, broker, profile, {id: rows.get(id, PASS) for id in catalogue()})


def two_runs(first: Mapping[str, Verdict], last: Mapping[str, Verdict], strict: bool = False) -> Comparison:
    return compare([[column(first, source="first")], [column(last, source="last")]], strict)


def became(found: Comparison) -> dict[str, Change]:
    return {one.requirement: one.change for one in found.regressions[0].changes}


# --- names --------------------------------------------------------------------------------------------

CLASSIC = "rabbitmq://me:***@host/partq?partitions=4&type=classic"
QUORUM = "rabbitmq://me:***@host/partq?partitions=4&type=quorum"

NAMED = {
    "brokers": ([("a", "p", "x"), ("b", "p", "y")], ("a", "b")),
    "profiles of one broker": ([("a", "p", "x"), ("a", "q", "x")], ("p", "q")),
    "both": ([("a", "p", "x"), ("a", "q", "x"), ("b", "p", "y")], ("a · p", "a · q", "b · p")),
    "runs": ([("a", "p", "runs/x"), ("a", "p", "runs/y")], ("x", "y")),
    "runs under several profiles": (
        [("a", "p", "x"), ("a", "q", "x"), ("a", "p", "y"), ("a", "q", "y")],
        ("x · p", "x · q", "y · p", "y · q"),
    ),
    "folders of one name": ([("a", "p", "1/run"), ("a", "p", "2/run")], ("1/run · p", "2/run · p")),
    "nothing differs": ([("a", "p", "x"), ("a", "p", "x")], ("a · p · x #1", "a · p · x #2")),
    "URLs": (
        [(CLASSIC, "p", "x"), (QUORUM, "p", "y"), ("reference", "p", "z")],
        ("rabbitmq type=classic", "rabbitmq type=quorum", "reference"),
    ),
    "a URL alone": ([(CLASSIC, "p", "x"), ("reference", "p", "z")], ("rabbitmq", "reference")),
}


@pytest.mark.parametrize("case", NAMED)
def test_columns_have_the_shortest_names_that_differ(case: str) -> None:
    columns, expected = NAMED[case]
    assert names([column({}, *one) for one in columns]) == expected


def test_letters_never_end() -> None:
    assert [letters(n) for n in (0, 25, 26, 51, 52, 702)] == ["A", "Z", "AA", "AZ", "BA", "AAA"]


# --- rows ---------------------------------------------------------------------------------------------

GROUPED = {
    "one violates": ((PASS, bad()), Group.BY_SOME),
    "one may, with another rule": ((one_of(RULE, OTHER), PASS), Group.BY_SOME),
    "one violates, one is open": ((bad(), OPEN), Group.BY_SOME),
    "all violate": ((bad(), bad()), Group.BY_ALL),
    "all violate that it applies to": ((bad(), ELSEWHERE), Group.BY_ALL),
    "open in one": ((PASS, OPEN), Group.OPEN),
    "open in all": ((OPEN, OPEN), Group.OPEN),
    "exercised by one": ((PASS, IDLE), Group.UNEVEN),
    "all pass": ((PASS, PASS), Group.AGREED),
    "passes where it applies": ((ELSEWHERE, PASS), Group.AGREED),
    "exercised by none": ((IDLE, IDLE), Group.AGREED),
    "applies to none": ((ELSEWHERE, ELSEWHERE), Group.AGREED),
}


@pytest.mark.parametrize("case", GROUPED)
def test_rules_are_grouped_by_how_they_differ(case: str) -> None:
    cells, group = GROUPED[case]
    found = compare([[column({RULE: cell}, broker=f"b{n}")] for n, cell in enumerate(cells)])
    (row,) = [row for row in found.rows if row.requirement == RULE]
    assert (row.group, row.cells) == (group, cells)


def test_a_rule_that_applies_to_some_only_is_not_called_violated_by_all() -> None:
    assert Group.BY_ALL.words == "violated wherever it applies"


def test_what_differs_comes_first_and_no_rule_is_missing() -> None:
    rows = ({RULE: bad(), OTHER: OPEN}, {THIRD: IDLE}, {})
    found = compare([[column(one, broker=f"b{n}")] for n, one in enumerate(rows)])
    assert [row.requirement for row in found.rows[:3]] == [RULE, OTHER, THIRD]
    assert sorted(row.requirement for row in found.rows) == sorted(catalogue())


def test_a_comparison_of_brokers_is_no_verdict() -> None:
    found = compare([[column({})], [column({RULE: bad()}, broker="other")]])
    assert (found.code, found.regressions) == (Exit.CONFORMANT, ())
    assert found.conclusion == f"COMPARED: 2 columns, 1 of {len(catalogue())} rules differs; violated: {RULE}"


# --- two runs of one broker ---------------------------------------------------------------------------

BECAME = {
    "newly violated": ((PASS, bad()), Change.NEW),
    "violated when first exercised": ((IDLE, bad()), Change.NEW),
    "violated, open before": ((OPEN, bad()), Change.NEW),
    "violated as before": ((bad(), bad()), Change.STILL),
    "fixed": ((bad(), PASS), Change.FIXED),
    "not exercised again is not fixed": ((bad(), IDLE), Change.LOST),
    "not applicable any more is not fixed": ((bad(), ELSEWHERE), Change.LOST),
    "open is not fixed": ((bad(), OPEN), Change.OPENED),
    "left open": ((PASS, OPEN), Change.OPENED),
    "lost": ((PASS, IDLE), Change.LOST),
    "gained": ((IDLE, PASS), Change.GAINED),
    "decided": ((OPEN, PASS), Change.DECIDED),
    "no news": ((PASS, PASS), None),
    "no news of what is open": ((OPEN, OPEN), None),
    "no news of what was never exercised": (SILENT, None),
}


@pytest.mark.parametrize("case", BECAME)
def test_what_became_of_a_rule(case: str) -> None:
    (first, last), change = BECAME[case]
    assert became(two_runs({RULE: first}, {RULE: last})) == ({RULE: change} if change else {})


def test_one_of_several_may_be_what_was_violated_before() -> None:
    both = one_of(RULE, OTHER)
    ambiguous = {RULE: both, OTHER: both}
    assert became(two_runs({}, ambiguous)) == {RULE: Change.NEW, OTHER: Change.NEW}
    assert became(two_runs({RULE: bad()}, ambiguous)) == {RULE: Change.STILL, OTHER: Change.OPENED}
    assert became(two_runs(ambiguous, {RULE: bad()})) == {RULE: Change.STILL, OTHER: Change.DECIDED}
    assert became(two_runs(ambiguous, {})) == {RULE: Change.FIXED, OTHER: Change.FIXED}


ENDINGS = {
    "as before": ({}, {}, False, 0, "NOTHING NEWLY VIOLATED: both runs say the same"),
    "violated before": (
        {RULE: bad()},
        {RULE: bad(), OTHER: IDLE},
        False,
        0,
        "NOTHING NEWLY VIOLATED: 1 still violated; 1 no longer exercised",
    ),
    "a regression": ({RULE: bad()}, {OTHER: bad(OTHER)}, False, 1, f"REGRESSION: {OTHER} newly violated"),
    "one of two": (
        {},
        dict.fromkeys((RULE, OTHER), one_of(RULE, OTHER)),
        False,
        1,
        f"REGRESSION: newly {RULE} or {OTHER} violated",
    ),
    "one of two, of which one binds": (
        {},
        dict.fromkeys((RULE, MAY), one_of(RULE, MAY)),
        False,
        3,
        f"INCONCLUSIVE: newly {RULE} or {MAY} violated",
    ),
    "what does not bind": (
        {},
        {SHOULD: bad(SHOULD)},
        False,
        0,
        f"NOTHING NEWLY VIOLATED: newly violated, but no MUST: {SHOULD}",
    ),
    "what binds when strict": ({}, {SHOULD: bad(SHOULD)}, True, 1, f"REGRESSION: {SHOULD} newly violated"),
    "left open": ({}, {RULE: OPEN}, False, 3, f"INCONCLUSIVE: {RULE} undecided now"),
    "open before": ({RULE: OPEN}, {RULE: OPEN}, False, 0, "NOTHING NEWLY VIOLATED: both runs say the same"),
    "nothing exercised": (
        {},
        dict.fromkeys(catalogue(), IDLE),
        False,
        3,
        "INCONCLUSIVE: the last run exercised nothing",
    ),
    "a regression that is open besides": (
        {},
        {RULE: bad(), OTHER: OPEN},
        False,
        1,
        f"REGRESSION: {RULE} newly violated",
    ),
}


@pytest.mark.parametrize("case", ENDINGS)
def test_exit_code_and_conclusion_agree(case: str) -> None:
    first, last, strict, code, words = ENDINGS[case]
    found = two_runs(first, last, strict)
    assert (found.code, found.conclusion) == (code, words)


def test_a_run_that_ended_otherwise_than_its_verdicts_say_is_not_better_than_that() -> None:
    whole = column({})
    cut = Column(
        "last", "b", "p", whole.verdicts, Exit.INCONCLUSIVE, "INCONCLUSIVE: interrupted after 3 runs"
    )
    rejected = Column("last", "b", "p", whole.verdicts, Exit.VIOLATED, "NOT CONFORMANT: rejected")
    assert exit_code(whole.verdicts) == 0, "its verdicts alone look well"
    words = "the last run ended with INCONCLUSIVE: interrupted after 3 runs"
    assert compare([[whole], [cut]]).conclusion == f"INCONCLUSIVE: {words}"
    assert [compare([[first], [cut]]).code for first in (whole, cut)] == [3, 3]
    assert [compare([[first], [rejected]]).code for first in (whole, rejected)] == [1, 0]


def test_every_profile_of_both_runs_counts_and_those_of_one_are_named() -> None:
    first = [column({}, profile=name) for name in ("p", "q", "gone")]
    last = [column({RULE: bad()}, profile="q"), column({}, profile="p"), column({}, profile="new")]
    found = compare([first, last])
    assert [one.profile for one in found.regressions] == ["p", "q"]
    assert (found.code, found.dropped) == (Exit.VIOLATED, ("gone",))
    assert found.conclusion == f"REGRESSION: {RULE} newly violated (q); no longer run under gone"


OTHERWISE = {
    "brokers": [[column({})], [column({RULE: bad()}, broker="other")]],
    "profiles": [[column({})], [column({RULE: bad()}, profile="q")]],
    "one source": [[column({}), column({RULE: bad()}, profile="q")]],
    "three runs": [[column({})], [column({})], [column({RULE: bad()})]],
    "several brokers in a source": [[column({}), column({}, broker="c")], [column({RULE: bad()})]],
}


@pytest.mark.parametrize("case", OTHERWISE)
def test_only_two_runs_of_one_broker_under_one_profile_can_regress(case: str) -> None:
    found = compare(OTHERWISE[case])
    assert (found.code, found.regressions, found.dropped) == (0, (), ())
