"""The smallest program that still shows a finding, by whichever question is cheap enough."""

from __future__ import annotations

import pytest
from canned_broker import Canned, Split

from partq.conformance.adapters.mutants import open_mutant
from partq.conformance.evaluation import shrinking
from partq.conformance.evaluation.decision import NONE, Decider
from partq.conformance.evaluation.endings import unreceivable
from partq.conformance.evaluation.shrinking import exercises, shown, shows_again, smallest
from partq.conformance.execution.runner import run
from partq.conformance.screens.assess import inspect
from partq.conformance.screens.attribution import MISDELIVERY
from partq.conformance.verdict import Finding
from partq.conformance.workload.cases.table import ALL_CASES
from partq.conformance.workload.generator import generate, trace_seed
from partq.conformance.workload.program import Program, Step
from partq.model.messages import Message

PROGRAM = Program(
    "azure-premium",
    tuple(Step("c1", "send", {"messages": (Message(f"m{n}", "x" * 100),)}) for n in range(3)),
    sequential=True,
)

BACK = ALL_CASES["back-before-the-delay-ends"]


def of(requirement: str, key: str) -> Finding:
    return Finding(requirement, "", (), "", "", key)


def test_another_cause_of_the_same_rule_is_not_the_finding() -> None:
    history = run(open_mutant("long-bodies-cut"), PROGRAM)
    assert shown(history, of("RCV-1", "RCV-1/altered body")) is not None
    assert shown(history, of("RCV-1", "RCV-1/phantom")) is None
    assert shown(history, of("RCV-1", "RCV-1/phantom"), same_cause=False) is not None
    assert shown(run(Canned(), PROGRAM), of("ROUTE-2", "ROUTE-2/"), same_cause=False) is None
    assert shown(run(Split(), PROGRAM), of("ROUTE-2", "ROUTE-2/"), same_cause=False) is not None


def test_a_finding_of_the_screens_is_shrunk_without_the_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = open_mutant("long-bodies-cut")
    (finding,) = inspect(run(broker, PROGRAM)).findings["RCV-1"][:1]
    monkeypatch.setattr(shrinking, "judge", None)
    assert len(smallest(broker, PROGRAM, finding).steps) == 1


@pytest.mark.parametrize(
    ("mutant", "rule", "trace"), [("numbers-skipped", "SEQ-4", 0), ("two-keys-in-transaction", "TXN-2", 29)]
)
def test_the_smallest_program_still_tells_a_mended_broker(mutant: str, rule: str, trace: int) -> None:
    """Two sends show a gap, but without one nothing says that they were in one partition."""
    broker, program = open_mutant(mutant), generate("azure-premium", trace_seed(7, trace))
    (finding,) = Decider().decide(run(broker, program)).findings[rule][:1]
    small = smallest(broker, program, finding)
    assert len(small.steps) <= 5
    assert exercises(rule, small)


def test_what_the_program_itself_does_not_exercise_is_shrunk_all_the_same() -> None:
    program = PROGRAM.with_steps(PROGRAM.steps[:1])
    assert not exercises("REB-1", program)
    assert shrinking.exercising("REB-1", PROGRAM)(program)


def test_what_screens_leave_between_rules_is_shrunk_by_them(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = open_mutant("single-unacknowledged-not-awaited")
    program = generate("solace", 52, length=14)
    ((finding,),) = Decider(NONE).decide(run(broker, program)).findings.values()
    assert finding.candidates == ("REB-14", *MISDELIVERY)
    monkeypatch.setattr(shrinking, "judge", None)
    small = smallest(broker, program, finding)
    assert len(small.steps) <= 8 < len(program.steps)
    assert finding.candidates in inspect(run(broker, small)).candidates.values()


def test_a_drain_that_never_ends_is_shrunk_by_that() -> None:
    """Where the judge gave up when it was found, that is all that was found."""
    broker, program = open_mutant("second-orphans-forgotten"), BACK.build("solace")
    finding = unreceivable(run(broker, program))
    assert finding is not None and finding.key == "REB-11/never drained"
    assert shows_again(run(broker, program), finding)
    assert len(smallest(broker, program, finding).steps) <= 6 < len(program.steps)


def test_what_no_screen_suspects_is_shrunk_by_the_judge() -> None:
    """Peeks that count a lock before its message comes again: screens do not look at that count."""
    broker = open_mutant("lock-counted-in-peeks")
    for seed in range(200):
        program = generate("azure-premium", seed, length=14)
        history = run(broker, program)
        found = Decider().decide(history).findings
        if found and not inspect(history).findings:
            break
    ((finding, *_), *_) = found.values()
    small = smallest(broker, program, finding)
    assert len(small.steps) < len(program.steps) // 3
    assert shown(run(broker, small), finding, same_cause=False) is not None


def test_where_the_cheap_question_leads_astray_every_candidate_is_decided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker = open_mutant("long-bodies-cut")
    (finding,) = Decider().decide(run(broker, PROGRAM)).findings["RCV-1"][:1]
    monkeypatch.setattr(shrinking, "_suspected", lambda finding, key, history: True)
    small = smallest(broker, PROGRAM, finding)
    assert len(small.steps) == 1 and shown(run(broker, small), finding) is not None
