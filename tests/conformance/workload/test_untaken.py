"""Which steps of a program were not taken, read off a history of it."""

from __future__ import annotations

import pytest

from partq.conformance.adapters.reference import Reference
from partq.conformance.execution.runner import run
from partq.conformance.history import History
from partq.conformance.history.notation import history
from partq.conformance.workload.cases.steps import asking
from partq.conformance.workload.generator import generate
from partq.conformance.workload.program import Program, Step
from partq.conformance.workload.untaken import untaken
from partq.model.messages import Message

SEND = Step("c1", "send", {"messages": (Message("m1"),)})
RECEIVE = Step("c1", "receive", {"max": 1})
REFERENCES = ("azure-standard", "azure-premium", "azure-flat", "solace")
COMPLETE = Step("c1", "complete", {"pick": [0]})
DOWN = Step("env", "partition_down", {"index": 0})
UP = Step("env", "partition_up", {"index": 0})


def reasons(text: str, *steps: Step, profile: str = "azure-premium") -> dict[int, str]:
    return untaken(Program(profile, steps), history(text, profile))


def test_all_steps_of_a_whole_run_were_taken() -> None:
    text = """
        c1 send m1
        c1 receive 1     -> m1#0.0 lock=l
        env partition_down 7
        c1 complete l
        """
    assert reasons(text, SEND, RECEIVE, DOWN, COMPLETE) == {}


def test_a_step_that_found_nothing_to_do_says_what_was_missing() -> None:
    steps = (Step("c1", "commit"), COMPLETE, SEND, COMPLETE, Step("c1", "peek", {"max": 1, "from": 0}))
    assert reasons("c1 send m1", *steps) == {
        0: "it had no such transaction",
        1: "it held no such lock or transaction",
        3: "it held no such lock or transaction",
        4: "it had seen no number to begin at",
    }


def test_of_equal_steps_that_one_was_taken_for_which_there_was_something_to_do() -> None:
    text = "c1 receive 1 -> m1#0.0 lock=l\nc1 complete l"
    assert list(reasons(text, COMPLETE, RECEIVE, COMPLETE, COMPLETE)) == [0, 3]


def test_what_comes_after_a_call_that_hung_was_not_reached() -> None:
    assert reasons("c1 send m1 ...", SEND, RECEIVE) == {1: "the run did not come to it"}


def test_what_the_broker_lacks_was_not_taken_whether_it_was_asked_or_not() -> None:
    recorded = history("c1 peek 3 -> error unsupported\nc1 send m1", "azure-premium", lacks=("peek",))
    peek = Step("c1", "peek", {"max": 3})
    for told in (recorded, History(recorded.header, recorded.records[1:])):
        why = untaken(Program("azure-premium", (peek, SEND)), told)
        assert why == {0: "the broker does not offer it"}


def test_a_fault_that_did_not_strike_is_told_from_one_that_did() -> None:
    advance = Step("env", "advance", {"by": 5})
    assert reasons("env advance 5ns\nenv assignment 0 f ready", DOWN, advance) == {
        0: "the fault did not strike"
    }


def test_a_lock_of_the_dead_letter_queue_is_none_of_the_queue_s() -> None:
    text = "c1 receive 1 dead -> m1#0.0 lock=l\nc1 complete l"
    taken = [asking(step, {"entity": "dead_letter"}) for step in (RECEIVE, COMPLETE)]
    assert list(reasons(text, RECEIVE, COMPLETE)) == [1]
    assert list(reasons(text, taken[0], COMPLETE, taken[1])) == [1]


def test_a_further_flow_that_was_not_to_be_had_is_told_from_one_bound_again() -> None:
    steps = (
        Step("c1", "bind"),
        Step("c1", "bind"),
        Step("c1", "bind", {"another": True}),
        Step("c1", "bind", {"again": True}),
    )
    text = "c1 bind f1\nc1 bind f1"
    assert reasons(text, *steps, profile="solace") == dict.fromkeys((1, 2), "it was bound already")
    assert list(reasons("c1 bind f1\nc1 bind f2", *steps, profile="solace")) == [1, 3]


@pytest.mark.parametrize("name", REFERENCES)
def test_a_run_of_the_reference_reaches_every_step_and_each_taken_one_has_its_record(name: str) -> None:
    for seed in range(20):
        program = generate(name, seed)
        told = run(Reference(name), program)
        idle = untaken(program, told)
        assert "the run did not come to it" not in idle.values()
        assert "the fault did not strike" not in idle.values()
        for proc in program.procs:
            taken = [step.op for n, step in enumerate(program.steps) if step.proc == proc and n not in idle]
            recorded = [r.op for r in told.records if r.proc == proc and r.error != "unsupported"]
            assert recorded[: len(taken)] == taken
