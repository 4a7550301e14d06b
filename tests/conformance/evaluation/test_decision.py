"""One path to a verdict: what the judge accepts is no violation, what it rejects is one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from partq.conformance.evaluation import decision
from partq.conformance.evaluation.decision import (
    ALIKE,
    EACH,
    EVERY,
    NONE,
    SUITE,
    Decider,
    Decision,
    Exactness,
    check_history,
)
from partq.conformance.facts.index import Facts
from partq.conformance.history import History
from partq.conformance.history.notation import history
from partq.conformance.oracle.blame import Blame, blame
from partq.conformance.oracle.judge import Judged, Judgement
from partq.conformance.screens.protocol import Report, Screen
from partq.conformance.screens.registry import ALL
from partq.conformance.verdict import Status

LAWFUL = history("p send m1\np receive 1 delete -> m1#1", "azure-flat")
LOST_LOCK = history(
    "p send m1\np receive 1 -> m1#1 lock=l count=0\nenv advance 31s\np complete l", "azure-flat"
)
UNCLEAR = history("p send m1\np send m2\np receive 1 delete -> m2#2", "azure-flat")


def crying(facts: Facts) -> Report:
    report = Report()
    report.find("RCV-3", "wolf", "It is wrong", (facts.records[0],), "really", "nothing")
    return report


def crash(facts: Facts) -> Report:
    raise RuntimeError("a defect")


def decide(
    history: History, exact: Exactness = EVERY, number: int = 0, screens: tuple[Screen, ...] = ALL
) -> Decision:
    return Decider(exact, screens).decide(history, number)


WOLF: tuple[Screen, ...] = (replace(ALL[0], check=crying), *ALL[1:])


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


def test_a_rejection_is_a_violation_that_no_screen_saw() -> None:
    said = decide(LOST_LOCK, screens=())
    assert said.violated == ["RCV-8"]
    (finding,) = said.findings["RCV-8"]
    assert finding.witness[-1] == 3 and "complete l" in finding.detail and "settling." in finding.detail


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
    said = [thrifty.decide(OUT_OF_ORDER) for _ in range(ALIKE + 1)]
    assert [one.judged for one in said] == [{"rejected": 1}] * ALIKE + [{"as before": 1}]
    assert said[-1].violated == said[0].violated == ["RCV-3"]


def test_a_screen_tells_which_where_blame_gave_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blame knows that RCV-2 explains it, and does not know of RCV-3; a screen sees RCV-3 alone."""
    unsure = Blame(Judgement(Judged.REJECTED), ("RCV-2",), ("RCV-2", "RCV-3"), open=("RCV-3",))
    monkeypatch.setattr(decision, "blame", lambda *args, **more: unsure)
    assert decide(OUT_OF_ORDER).violated == ["RCV-3"]
    monkeypatch.setattr(decision, "blame", lambda *args, **more: replace(unsure, open=()))
    (finding,) = (found for several in decide(OUT_OF_ORDER).findings.values() for found in several)
    assert finding.requirement == "RCV-2"


def test_a_rejection_that_blame_does_not_explain_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    gave_up = Blame(Judgement(Judged.UNKNOWN, reason="no answer after 9 nodes"))
    monkeypatch.setattr(decision, "blame", lambda *args, **more: gave_up)
    said = decide(LOST_LOCK, screens=())
    assert not said.findings and "RCV-8" in said.candidates["RCV-8"]
    assert "not known: no answer after 9 nodes" in said.open["RCV-8"]
    assert "REB-1" not in said.open, "it does not bind the profile"


def test_a_long_operation_does_not_fill_the_sentence() -> None:
    body = "x" * 1000
    text = f"p send m1 body={body}\np receive 1 -> m1#1 lock=l count=0 body={body}\np send m2 body={body} "
    (finding,) = decide(history(text + "-> error invalid_operation", "azure-flat"), screens=()).findings[
        "KEY-9"
    ]
    assert "send m2 body=xxx" in finding.detail and len(finding.detail) < 500


def counted(monkeypatch: pytest.MonkeyPatch) -> list[History]:
    """The histories that blame is asked about from now on."""
    asked: list[History] = []

    def counting(history: History, *args: object, **more: object) -> Blame:
        asked.append(history)
        return blame(history)

    monkeypatch.setattr(decision, "blame", counting)
    return asked


def test_in_a_suite_all_are_judged_and_what_is_alike_is_blamed_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, decider = counted(monkeypatch), Decider(SUITE)
    said = [decider.decide(OUT_OF_ORDER, number) for number in range(ALIKE + 5)]
    assert len(asked) == ALIKE
    assert all(one.judged == {"rejected": 1} and one.violated == ["RCV-3"] for one in said)


def test_what_is_said_again_has_its_own_history_as_evidence() -> None:
    decider = Decider(SUITE)
    for number in range(ALIKE):
        decider.decide(OUT_OF_ORDER, number)
    later = history(
        "p peek 1\np send m7\np send m8\nq receive 1 delete -> m8#2\nq receive 1 delete -> m7#1", "azure-flat"
    )
    (finding,) = decider.decide(later, ALIKE).findings["RCV-3"]
    assert "m8" in finding.detail and max(finding.witness) == 4


def test_beyond_the_allowance_a_rejection_is_one_rule_or_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """No screen sees it, and blame is not asked again: which rule is violated is not known."""
    asked, decider = counted(monkeypatch), Decider(replace(SUITE, allowance=0), screens=())
    assert decider.decide(LOST_LOCK).violated == ["RCV-8"]
    decider.left = 0
    said = decider.decide(LOST_LOCK, 1)
    assert len(asked) == 1
    assert not said.findings and said.candidates == {"RCV-8": ("RCV-8",)}
    assert "too many histories were rejected" in said.open["RCV-8"]


def test_once_a_rule_was_blamed_the_judge_takes_less(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[int | None] = []

    def limited(history: History, seconds: float, nodes: int | None = None) -> Judgement:
        limits.append(nodes)
        return Judgement(Judged.ACCEPTED)

    monkeypatch.setattr(decision, "judge", limited)
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
