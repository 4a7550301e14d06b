"""What exercises the rules that only the judge decides, and that it counts only where the judge accepts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from inspections import inspected

from partq.conformance.evaluation import decision
from partq.conformance.evaluation.decision import EVERY, NONE, Exactness, check_history
from partq.conformance.history.notation import history
from partq.conformance.oracle.judge import OVER_BUDGET, Judged, Judgement
from partq.conformance.oracle.long_histories import AtLength
from partq.conformance.screens.exercised import EXERCISED, SCREEN
from partq.conformance.screens.registry import ALL
from partq.conformance.verdict import Status, Verdict
from partq.model import clauses
from partq.model.requirements import Level, catalogue

TWO = "p1 send m1 key=a\np1 send m2 key=b\n"

COUNTED = {
    "each partition of an answer": (f"{TWO}p2 peek 2 from=0 -> m1#3.1, m2#4.1", {"PEEK-2": 2, "PEEK-3": 1}),
    "an answer that shows something": (f"{TWO}p2 peek 2 -> nothing\np2 peek 2 -> m1#3.1", {"PEEK-4": 1}),
    "a walk that goes on": (
        f"{TWO}p2 peek 1 -> m1#3.1\np3 peek 1 -> m1#3.1\np2 peek 1 from=0 -> m1#3.1\np2 peek 1 -> m2#4.1",
        {"PEEK-5": 1},
    ),
    "each message shown": (f"{TWO}p2 peek 2 from=0 -> m1#3.1, m2#4.1", {"PEEK-6": 2}),
    "a message that a client holds": (
        f"{TWO}p3 receive 1 -> m1#3.1 lock=l until=99s\np2 peek 2 from=0 -> m1#3.1, m2#4.1",
        {"PEEK-7": 1},
    ),
}


@pytest.mark.parametrize("what", COUNTED)
def test_what_is_counted(what: str) -> None:
    text, counts = COUNTED[what]
    exercised = inspected(text, "azure-premium").exercised
    assert {rule: exercised.get(rule, 0) for rule in counts} == counts


LAWFUL = """
p1 send m1
p1 send m2
p3 receive 1 -> m1#1 lock=l count=0
p2 peek 2 -> m1#1, m2#2
p3 complete l
p9 receive 9 delete -> m2#2
env drained
"""
"""PEEK-7, which no screen looks for, is exercised once."""


def verdict_of(text: str, exact: Exactness, rule: str = "PEEK-7") -> Verdict:
    return check_history(history(text, "azure-flat"), exact)[rule]


def test_where_the_judge_accepts_it_is_exercised_and_passes() -> None:
    verdict = verdict_of(LAWFUL, EVERY)
    assert (verdict.status, verdict.exercised) == (Status.PASS, 1)


def test_where_it_was_not_asked_nobody_has_looked() -> None:
    assert verdict_of(LAWFUL, NONE).status is Status.NOT_EXERCISED
    assert verdict_of(LAWFUL, NONE, "PEEK-1").status is Status.PASS, "a screen has"


@pytest.mark.parametrize(
    ("exact", "status"), [(EVERY, Status.UNKNOWN), (replace(EVERY, allowance=100), Status.NOT_EXERCISED)]
)
def test_where_it_gives_up_nothing_passes(
    exact: Exactness, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a history that is judged for itself the rule is undecided; of one of many it does not count."""
    gave_up = AtLength(Judgement(Judged.UNKNOWN, reason="no answer", kind=OVER_BUDGET))
    monkeypatch.setattr(decision, "judge_any", lambda *_: gave_up)
    assert verdict_of(LAWFUL, replace(exact, again=0)).status is status


def test_where_it_rejects_the_rule_is_not_said_to_hold() -> None:
    broken = LAWFUL.replace("peek 2 -> m1#1, m2#2", "peek 1 -> m1#1, m2#2")
    assert verdict_of(broken, EVERY, "PEEK-4").status is Status.VIOLATED
    assert verdict_of(broken, EVERY).status is Status.NOT_EXERCISED


NOT_YET = {"REB-16"}
"""Rules that the model enforces and of which nothing says yet how often they were exercised."""


def test_every_rule_of_the_model_is_counted_by_the_table_or_a_screen() -> None:
    counted = {rule for screen in ALL for rule in screen.requirements}
    binding = {rule for rule in clauses.covered() if catalogue()[rule].level is Level.MUST}
    assert binding - counted == NOT_YET


def test_the_table_is_in_the_suite_and_finds_nothing() -> None:
    assert SCREEN in ALL and SCREEN.requirements == tuple(EXERCISED)
