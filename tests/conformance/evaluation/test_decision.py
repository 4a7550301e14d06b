"""One path to a verdict: what the judge accepts is no violation, what it rejects is one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from corpus import corpus
from partq.conformance.evaluation import decision
from partq.conformance.evaluation.decision import (
    BROKEN,
    CONFIRMATIONS,
    EACH,
    EVERY,
    NONE,
    SUITE,
    UNSUSPECTED,
    Decider,
    Decision,
    Exactness,
    check_history,
)
from partq.conformance.facts.index import Facts
from partq.conformance.history import History
from partq.conformance.history.notation import history
from partq.conformance.oracle import long_histories
from partq.conformance.oracle.blame import Blame, blame
from partq.conformance.oracle.judge import NOT_MODELLED, OVER_BUDGET, Judged, Judgement, judge
from partq.conformance.oracle.long_histories import AtLength
from partq.conformance.oracle.reading import Reading
from partq.conformance.screens.protocol import Report, Screen
from partq.conformance.screens.registry import ALL
from partq.conformance.verdict import Exit, Status, conclusion, entries_for, match

LAWFUL = history("p send m1\np receive 1 delete -> m1#1", "azure-flat")
LOST_LOCK = history(
    "p send m1\np receive 1 -> m1#1 lock=l count=0\nenv advance 31s\np complete l", "azure-flat"
)
IN_ORDER = history(
    "p send m1\np send m2\np receive 1 delete -> m1#1\np receive 1 delete -> m2#2", "azure-flat"
)
UNCLEAR = history("p send m1\np send m2\np receive 1 delete -> m2#2", "azure-flat")


def test_what_screens_leave_between_rules_has_a_witness() -> None:
    said = decide(UNCLEAR, NONE, screens=(*ALL[:3], replace(ALL[3], check=unsure), *ALL[4:]))
    assert said.candidates == dict.fromkeys(("RCV-2", "RCV-3"), ("RCV-3", "RCV-2"))
    ((finding,),) = said.findings.values()
    assert (finding.candidates, finding.witness) == (("RCV-3", "RCV-2"), (0, 1, 2))
    assert not said.violated
    more = history("p send m1\np send m2\np send m3\np receive 9 delete -> m2#2, m3#3", "azure-flat")
    said = decide(more, NONE, screens=(*ALL[:3], replace(ALL[3], check=unsure), *ALL[4:]))
    assert next(iter(said.findings.values()))[0].witness == (0, 1, 3), "m3 is not in question"


def unsure(facts: Facts) -> Report:
    report = Report()
    if facts.received:
        report.ambiguous(("RCV-3", "RCV-2"), "'m2' was delivered, 'm1' never: out of order, or lost")
    return report


def crying(facts: Facts) -> Report:
    report = Report()
    report.find("RCV-3", "wolf", (facts.records[0],), "really")
    return report


def crash(facts: Facts) -> Report:
    raise RuntimeError("a defect")


def decide(
    history: History, exact: Exactness = EVERY, number: int = 0, screens: tuple[Screen, ...] = ALL
) -> Decision:
    return Decider(exact, screens).decide(history, number)


WOLF: tuple[Screen, ...] = (*ALL[:3], replace(ALL[3], check=crying), *ALL[4:])


def test_the_candidates_come_in_the_order_that_the_whole_history_leaves() -> None:
    text = (
        "p send m1 key=a\np send m2 key=a\nq receive 2 delete -> m1#1.1, m2#2.1\n"
        "p send m3 session=b\np send m4 session=b\nq receive 2 delete -> m3#1.2, m4#2.2"
    )
    said = decide(history(text, "azure-premium", partitions=2), screens=())
    assert said.candidates["ROUTE-2"] == ("ROUTE-2", "ROUTE-1", "KEY-2")


def test_a_screen_that_suspects_what_is_allowed_is_overruled() -> None:
    said = decide(LAWFUL, screens=WOLF)
    assert not said.findings and said.overruled == {"RCV-3": 1} and said.judged == {"accepted": 1}
    assert decide(LAWFUL, NONE, screens=WOLF).violated == ["RCV-3"]


def test_where_the_judge_does_not_decide_the_suspects_stand() -> None:
    said = decide(LAWFUL, Exactness(seconds=0), screens=WOLF)
    assert said.violated == ["RCV-3"] and said.undecided == {"over the budget": 1}


def test_where_the_judge_gave_up_what_only_it_could_find_is_undecided() -> None:
    """The screens find nothing; numbers are unique, as a screen knows by itself."""
    verdicts, judging = Decider(Exactness(nodes=-10)).check(IN_ORDER)
    assert verdicts["RCV-3"].status is verdicts["SEQ-3"].status is Status.UNKNOWN
    assert "of 4 operations explained" in verdicts["RCV-3"].reason
    assert verdicts["SEQ-1"].status is Status.PASS and verdicts["TXN-5"].status is Status.NOT_EXERCISED
    assert judging == (0, 0, 0, 1, verdicts["RCV-3"].reason)
    assert conclusion({"azure-flat": verdicts}, strict=False)[0] == Exit.INCONCLUSIVE


def test_screens_suffice_where_that_is_said() -> None:
    verdicts, judging = Decider(Exactness(share=0, nodes=-10)).check(IN_ORDER)
    assert verdicts["RCV-3"].status is Status.PASS and judging.not_asked == 1
    given_up = Decider(Exactness(share=0, nodes=-10), WOLF).check(IN_ORDER)
    assert given_up.judging.undecided == 1
    assert given_up.verdicts["RCV-3"].status is Status.VIOLATED
    assert Status.UNKNOWN not in {verdict.status for verdict in given_up.verdicts.values()}


def test_suspects_beyond_the_allowance_are_undecided() -> None:
    said = Decider(THRIFTY, WOLF, left=-1000).decide(LAWFUL)
    assert not said.broken and said.open == {"RCV-3": "too many suspects: really"}
    assert said.judging.not_asked == 1


def test_one_of_several_beyond_the_allowance_is_suspected_of_a_broker_with_flows() -> None:
    """What a lost lock's settlement, which is lawful there, may explain is the judge's to refute."""
    given = corpus()["rebalancing/bad: a lost flow's partition, or another's"]
    (several,) = given.one_of
    assert {*decide(given.history, NONE).candidates.values()} == {several}
    verdicts, judging = Decider(THRIFTY, left=-1000).check(given.history)
    suspected = {id: verdict for id, verdict in verdicts.items() if verdict.status is Status.UNKNOWN}
    assert suspected.keys() == {*several} and judging.not_asked == 1
    assert not any(verdict.findings or verdict.candidates for verdict in suspected.values())
    assert conclusion({"solace": verdicts}, strict=True)[0] == Exit.INCONCLUSIVE


def test_a_rejection_is_a_violation_that_no_screen_saw() -> None:
    said = decide(LOST_LOCK, screens=())
    assert said.violated == ["RCV-8"]
    (finding,) = said.findings["RCV-8"]
    assert finding.witness == (0, 1, 3) and "its lock on m1, given at 1, had been lost" in finding.detail


def test_what_is_violated_was_exercised_whoever_saw_it() -> None:
    verdict = check_history(LOST_LOCK)["RCV-8"]
    assert (verdict.status, verdict.exercised) == (Status.VIOLATED, 1)
    unseen = tuple(replace(screen, check=lambda facts: Report()) for screen in ALL)
    verdict = check_history(LOST_LOCK, screens=unseen)["RCV-8"]
    assert (verdict.status, verdict.exercised) == (Status.VIOLATED, 1)


def test_several_candidates_are_one_finding_and_all_of_them_unknown() -> None:
    verdicts = check_history(UNCLEAR)
    assert {id for id, v in verdicts.items() if v.candidates} == {"RCV-3", "RCV-2"}
    assert verdicts["RCV-3"].status is Status.UNKNOWN
    assert [f.candidates for v in verdicts.values() for f in v.findings] == [("RCV-3", "RCV-2")]


@pytest.mark.parametrize(("number", "asked"), [(0, True), (9, True), (10, False), (109, True)])
def test_the_judge_has_its_share_by_number(number: int, asked: bool) -> None:
    said = decide(LAWFUL, Exactness(share=10), number)
    assert said.judged == ({"accepted": 1} if asked else {"not asked": 1})


def test_what_a_screen_suspects_is_judged_whatever_the_share() -> None:
    assert decide(LAWFUL, Exactness(share=0), 5, WOLF).judged == {"accepted": 1}


def test_a_screen_that_crashes_leaves_its_requirements_open() -> None:
    broken = (replace(ALL[0], check=crash), *ALL[1:])
    said = decide(LAWFUL, EVERY, screens=broken)
    assert said.judged == {"accepted": 1}
    assert (
        check_history(history("p send m1 key=a", "azure-premium"), EVERY, broken)["ROUTE-1"].status
        is Status.UNKNOWN
    )


OUT_OF_ORDER = history(
    "p send m1\np send m2\nq receive 1 delete -> m2#2\nq receive 1 delete -> m1#1", "azure-flat"
)
THRIFTY = Exactness(share=0, nodes=1000, allowance=10)


def test_suspects_are_judged_as_long_as_the_allowance_lasts() -> None:
    poor = Decider(THRIFTY, left=-10)
    assert [poor.decide(OUT_OF_ORDER).judged for _ in range(2)] == [{"too many suspects": 1}, {"rejected": 1}]
    assert poor.decide(OUT_OF_ORDER).judged == {"too many suspects": 1}, "what blame took has to be made good"


def test_the_share_is_judged_whatever_was_spent() -> None:
    poor = Decider(replace(THRIFTY, share=1), left=-1000)
    assert [poor.decide(OUT_OF_ORDER, number).judged for number in (0, 1)] == [
        {"rejected": 1},
        {"too many suspects": 1},
    ]


def test_what_blame_said_alike_is_said_again() -> None:
    thrifty = Decider(THRIFTY)
    said = [thrifty.decide(OUT_OF_ORDER) for _ in range(CONFIRMATIONS + 1)]
    assert [one.judged for one in said] == [{"rejected": 1}] * CONFIRMATIONS + [{"as before": 1}]
    assert said[-1].violated == said[0].violated == ["RCV-3"]


def test_a_screen_tells_which_where_blame_gave_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blame knows that RCV-2 explains it, and does not know of RCV-3; a screen sees RCV-3 alone."""
    unsure = Blame(
        Judgement(Judged.REJECTED), ("RCV-2",), ("RCV-2", "RCV-3"), open=("RCV-3",), level=("RCV-2", "RCV-3")
    )
    monkeypatch.setattr(decision, "blame_shortest", lambda reading, *_: (reading.history, unsure))
    assert decide(OUT_OF_ORDER).violated == ["RCV-3"]
    sure = replace(unsure, open=(), level=())
    monkeypatch.setattr(decision, "blame_shortest", lambda reading, *_: (reading.history, sure))
    (finding,) = (found for several in decide(OUT_OF_ORDER).findings.values() for found in several)
    assert finding.requirement == "RCV-2"


STORED_ELSEWHERE = "p send m1 key=a\nq receive 1 delete -> m1#1.1\n" + "".join(
    f"env partition_down 1\np send m{n} key=a\nenv partition_up 1\nq receive 1 delete -> m{n}#2.{n - 1}\n"
    for n in (2, 3)
)


REFUSED_AND_DONE = """p send m1
p send m2
q receive 2 -> m1#1 lock=l1 count=0, m2#2 lock=l2 count=0
q complete l1
q abandon l2 l1 -> error lock_lost
p receive 1 -> m2#2 lock=l3 count=1
"""

OUTRANKED = {
    "ROUTE-5": ("ROUTE-2", history(STORED_ELSEWHERE, "azure-premium", partitions=2)),
    "ROUTE-1": ("ROUTE-2", corpus()["routing/bad: a key moves as a front end is lost"].history),
    "TXN-8": ("ROUTE-2", corpus()["routing/bad: too little speaks for the transaction"].history),
    "RCV-9": ("RCV-2", corpus()["delivery/bad: ten deliveries are too many"].history),
    "RCV-8": ("RCV-6", history(REFUSED_AND_DONE, "azure-flat")),
}
"""What blame puts first -> what a screen finds, and where."""


@pytest.mark.parametrize("rule", OUTRANKED)
def test_a_screen_overrules_no_rank_of_blame(rule: str) -> None:
    """Such as keyed sends stored elsewhere while their partition is down: ROUTE-5 comes before ROUTE-2, which
    a screen finds violated as the key is in two partitions."""
    by_screen, given = OUTRANKED[rule]
    assert by_screen in decide(given, NONE).findings
    (finding,) = (found for several in decide(given).findings.values() for found in several)
    assert finding.requirements[0] == rule and by_screen in finding.requirements


def test_a_rejection_that_blame_does_not_explain_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    gave_up = Blame(Judgement(Judged.UNKNOWN, reason="no answer after 9 nodes"))
    monkeypatch.setattr(decision, "blame_shortest", lambda reading, *_: (reading.history, gave_up))
    said = decide(LOST_LOCK, screens=())
    assert not said.findings and "RCV-8" in said.candidates["RCV-8"]
    assert "not known: no answer after 9 nodes" in said.open["RCV-8"]
    assert "REB-1" not in said.open, "it does not bind the profile"


def test_what_is_too_hard_to_reject_for_blame_is_blamed_with_more_of_the_history(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The shortest prefix that the judge rejects may take it many more nodes than the whole."""
    length = len(OUT_OF_ORDER)

    def hasty(asked: History | Reading, *args: Any, **more: Any) -> Judgement:
        short = len(Reading.of(asked).history) < length
        return Judgement(Judged.UNKNOWN) if short else judge(asked, *args, **more)

    monkeypatch.setattr("partq.conformance.oracle.blame.judge", hasty)
    assert decide(OUT_OF_ORDER, screens=()).violated == ["RCV-3"]


def test_a_long_operation_does_not_fill_the_sentence() -> None:
    sends = "\n".join(f"p send m{n}" for n in range(50))
    text = f"{sends}\np receive 50 delete -> {', '.join(f'm{n}#{n + 1}' for n in range(49))}, m99#50"
    (finding,) = decide(history(text, "azure-flat"), screens=()).findings["RCV-1"]
    assert "cannot have returned m0, m1, m2 and 47 more" in finding.detail and len(finding.detail) < 200


def counted(monkeypatch: pytest.MonkeyPatch) -> list[History]:
    """The histories that blame is asked about from now on."""
    asked: list[History] = []

    def counting(reading: Reading, *args: object) -> tuple[History, Blame]:
        asked.append(reading.history)
        return reading.history, blame(reading)

    monkeypatch.setattr(decision, "blame_shortest", counting)
    return asked


def test_in_a_suite_all_are_judged_and_what_is_alike_is_blamed_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, decider = counted(monkeypatch), Decider(SUITE)
    said = [decider.decide(OUT_OF_ORDER, number) for number in range(CONFIRMATIONS + 5)]
    assert len(asked) == CONFIRMATIONS
    assert all(one.judged == {"rejected": 1} and one.violated == ["RCV-3"] for one in said)


def test_what_is_said_again_has_its_own_history_as_evidence() -> None:
    decider = Decider(SUITE)
    for number in range(CONFIRMATIONS):
        decider.decide(OUT_OF_ORDER, number)
    later = history(
        "p peek 1\np send m7\np send m8\nq receive 1 delete -> m8#2\nq receive 1 delete -> m7#1", "azure-flat"
    )
    (finding,) = decider.decide(later, CONFIRMATIONS).findings["RCV-3"]
    assert "m8" in finding.detail and max(finding.witness) == 4


def test_beyond_the_allowance_a_rejection_is_one_rule_or_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """No screen sees it, and blame is not asked again: which rule is violated is not known."""
    asked, decider = counted(monkeypatch), Decider(replace(SUITE, allowance=0), screens=())
    assert decider.decide(LOST_LOCK).violated == ["RCV-8"]
    decider.left = 0
    said = decider.decide(LOST_LOCK, 1)
    assert len(asked) == 1
    assert not said.findings and said.candidates == {"RCV-8": ("RCV-8",)}
    assert said.open["RCV-8"].startswith("The complete at ")
    assert "Too many histories were rejected to ask of each" in said.open["RCV-8"]


def test_once_a_rule_was_blamed_the_judge_takes_less(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[int | None] = []

    def limited(history: History, seconds: float, nodes: int | None = None) -> Judgement:
        limits.append(nodes)
        return Judgement(Judged.ACCEPTED)

    _instead_of_the_judge(monkeypatch, limited)
    decider = Decider(SUITE)
    decider.decide(LAWFUL)
    decider.blamed = "RCV-8"
    decider.decide(LAWFUL, 1)
    assert limits == [nodes + EACH * len(LAWFUL) for nodes in (SUITE.nodes, SUITE.after) if nodes]


def test_a_long_history_has_as_many_nodes_more() -> None:
    """A straight way through it is longer than what the nodes alone allow."""
    pairs = "\n".join(f"p send m{n}\np receive 1 delete -> m{n}#{n}" for n in range(1, 101))
    tight = Exactness(nodes=1)
    assert decide(history(pairs, "azure-flat"), tight).judged == {"accepted": 1}


KILLED = """
p send m1
q receive 1 -> m1#1 lock=l count=0
q complete l
env broker_kill
env broker_start
drain receive 1 delete -> m1#1
"""
UNTOUCHED = KILLED.replace("env broker_kill\nenv broker_start\n", "")


@pytest.mark.parametrize("exact", [EVERY, NONE])
def test_what_is_known_after_a_kill_is_new_without_one(exact: Exactness) -> None:
    """A completed message that is delivered again: a weakness that a team knows of where the broker is
    killed, and nowhere else, whether a screen or the judge finds it."""
    found = {text: check_history(history(text, "azure-flat"), exact) for text in (KILLED, UNTOUCHED)}
    assert {verdicts["RCV-7"].status for verdicts in found.values()} == {Status.VIOLATED}
    for sometimes in (False, True):
        entries = entries_for(match({"azure-flat": found[KILLED]}, ()).new, "known", sometimes)
        assert [entry.conditions for entry in entries] == [("after broker_kill",)]
        assert not match({"azure-flat": found[KILLED]}, entries).new
        assert match({"azure-flat": found[UNTOUCHED]}, entries).new


@pytest.mark.parametrize("exact", [EVERY, NONE])
@pytest.mark.parametrize(
    ("fault", "after"),
    [
        ("env broker_kill\nenv broker_start\n", (3,)),
        ("env partition_down 0\nenv partition_up 0\n", (3,)),
        ("q disconnect\nenv frontend_lost\n", (3, 4)),
        ("", ()),
    ],
)
def test_a_witness_names_the_faults_between_its_operations(
    fault: str, after: tuple[int, ...], exact: Exactness
) -> None:
    text = KILLED.replace("env broker_kill\nenv broker_start\n", fault)
    (finding,) = check_history(history(text, "azure-flat"), exact)["RCV-7"].findings
    assert {2, *after} <= {*finding.witness}
    later = history(f"{text}env broker_kill\nenv broker_start\n", "azure-flat")
    assert check_history(later, exact)["RCV-7"].findings[0].witness == finding.witness


@pytest.mark.parametrize("exact", [EVERY, NONE], ids=["judge", "screens"])
def test_a_witness_of_what_came_again_after_a_kill_is_what_tells(exact: Exactness) -> None:
    text = (
        "p send m0\np send m1\np receive 2 -> m0 partition=0 lock=l0, m1 partition=0 lock=l1\n"
        "p complete l0 l1\np send m2\n"
        "env broker_kill\nenv broker_start\np receive 1 -> m2 lock=l2\np receive 1 -> m0 lock=l3"
    )
    (finding,) = check_history(history(text, "partitioned-queue"), exact)["RCV-7"].findings
    assert finding.witness == (0, 2, 3, 5, 8)


LOOKING = Exactness(nodes=10, again=1_000, more=5, allowance=1_000)


def _instead_of_the_judge(monkeypatch: pytest.MonkeyPatch, says: Callable[..., Judgement]) -> None:
    monkeypatch.setattr(decision, "judge", says)
    monkeypatch.setattr(long_histories, "judge", says)


def _looks(monkeypatch: pytest.MonkeyPatch, status: Judged, kind: str = "") -> list[tuple[bool, int]]:
    """The judge gives up at first, and says this at a second look. What it was asked, each time with how many
    nodes, and whether again."""
    asked: list[tuple[bool, int]] = []

    def judge(history: History, seconds: float, nodes: int, again: bool = False) -> Judgement:
        asked.append((again, nodes))
        said = (status, kind) if again else (Judged.UNKNOWN, OVER_BUDGET)
        return Judgement(said[0], reason="no answer", kind=said[1], visited=nodes)

    _instead_of_the_judge(monkeypatch, judge)
    return asked


def test_where_the_judge_gave_up_it_looks_again_with_more_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _looks(monkeypatch, Judged.ACCEPTED)
    said = decide(LAWFUL, LOOKING, screens=WOLF)
    assert asked == [(False, 10 + EACH * len(LAWFUL)), (True, 1_000)]
    assert (said.judged, said.again, said.undecided) == ({"accepted": 1}, {"accepted": 1}, {})
    assert not said.violated and said.overruled == {"RCV-3": 1}


def test_what_second_looks_cost_together_is_limited_and_each_history_adds_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = _looks(monkeypatch, Judged.UNKNOWN, OVER_BUDGET)
    decider = Decider(LOOKING, WOLF)
    said = [decider.decide(LAWFUL, number) for number in range(3)]
    assert [nodes for again, nodes in asked if again] == [1_000, 10, 5]
    assert all(one.undecided == {OVER_BUDGET: 1} and one.why == "no answer" for one in said)
    decider.blamed = "RCV-3"
    decider.spare = 1_000
    decider.decide(LAWFUL)
    assert asked[-1] == (True, 1_000 // BROKEN)
    decide(LAWFUL, LOOKING)
    assert asked[-1] == (True, 1_000 // UNSUSPECTED)


def test_a_history_that_is_judged_for_itself_gets_the_whole_second_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing suspects it, and what the judge does not decide is undecided."""
    asked = _looks(monkeypatch, Judged.UNKNOWN, OVER_BUDGET)
    decide(LAWFUL, replace(LOOKING, allowance=None))
    assert asked[-1] == (True, 1_000)


def test_a_long_history_that_stays_undecided_is_told_of_as_its_excerpts_were_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = _looks(monkeypatch, Judged.UNKNOWN, OVER_BUDGET)
    monkeypatch.setattr(decision, "SHORT", 1)
    excerpts = AtLength(Judgement(Judged.UNKNOWN, reason="9 of 9 messages", kind=OVER_BUDGET))
    monkeypatch.setattr(decision, "judge_any", lambda *_: excerpts)
    assert (decide(LAWFUL, LOOKING).why, asked) == ("9 of 9 messages", [(True, 1_000 // UNSUSPECTED)])
    monkeypatch.setattr(decision, "RETRIED", 1)
    assert (decide(LAWFUL, LOOKING).again, len(asked)) == ({}, 1), "too long for a second look"


def test_what_is_not_modelled_gets_no_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def judge(history: History, *_: float, **__: int) -> Judgement:
        asked.append("once")
        return Judgement(Judged.UNKNOWN, kind=NOT_MODELLED)

    _instead_of_the_judge(monkeypatch, judge)
    assert decide(LAWFUL, LOOKING).undecided == {NOT_MODELLED: 1}
    assert asked == ["once"]


def test_what_a_screen_leaves_open_is_judged_though_suspects_have_cost_too_much() -> None:
    """What it finds violated is not: that stands."""
    exact = replace(LOOKING, share=0, allowance=0)
    unsure = (*ALL[:3], replace(ALL[3], check=unsure_of_a_rule), *ALL[4:])
    for screens, judged in ((unsure, {"accepted": 1}), (WOLF, {"too many suspects": 1})):
        decider = Decider(exact, screens, left=0)
        assert decider.decide(LAWFUL).judged == judged


def unsure_of_a_rule(facts: Facts) -> Report:
    return Report(open={"RCV-3": "who knows"})
