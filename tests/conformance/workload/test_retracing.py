"""A part of a history as a program: the steps do the same again, and the witness brings what it needs."""

from __future__ import annotations

import pytest

from partq.conformance.adapters.reference import Reference
from partq.conformance.execution.runner import run
from partq.conformance.history.notation import history
from partq.conformance.workload.generator import generate
from partq.conformance.workload.program import Program, Step
from partq.conformance.workload.retracing import guesses, with_locks
from partq.model.operations import DRAINER
from partq.model.profiles import SECOND, profile

TEXT = """
p send m1
p send m2
q receive 1 -> m1#1 lock=l1 count=0
q receive 1 -> m2#2 lock=l2 count=0
env advance 6s
q complete l2
q complete l1
env broker_kill
env broker_start
drain receive 9 delete -> m1#1
"""
FLAT = Program("azure-flat", (), profile("azure-flat").default_entity)


def steps(witness: tuple[int, ...], text: str = TEXT) -> list[list[str]]:
    found = guesses(FLAT, history(text, "azure-flat"), witness)
    return [[f"{step.proc} {step.op}" for step in guess.steps] for guess in found]


def test_the_witness_brings_what_it_needs() -> None:
    first, waiting, *_ = steps((6, 7, 9))
    assert first == ["p send", "q receive", "q complete", "env broker_kill", "env broker_start"]
    assert waiting == [*first[:2], "env advance", *first[2:]]


def test_what_concerns_the_same_messages_comes_next() -> None:
    assert steps((0,))[0] == ["p send"]
    assert ["p send", "q receive", "q complete"] in steps((0,))
    assert len({len(guess) for guess in steps((6, 9))}) == len(steps((6, 9))), "no guess twice"


def test_of_an_answer_only_what_the_witness_sends_is_needed() -> None:
    text = (
        "p send m1\np send m2\nq receive 9 -> m1#1 lock=l1 count=0, m2#2 lock=l2 count=0\nq complete l2\n"
        "drain receive 9 delete -> m1#1, m2#2"
    )
    first = next(guesses(FLAT, history(text, "azure-flat"), (1, 2, 3, 4)))
    assert [f"{step.proc} {step.op}" for step in first.steps] == ["p send", "q receive", "q complete"]
    assert first.steps[-1].args == {"pick": [0]}


def test_a_receive_that_waited_for_its_message_comes_after_the_send() -> None:
    text = "q receive 1 -> m1#1 lock=l1 count=0 @1-4\np send m1 @2-3\nq complete l1 @5-6"
    assert steps((0, 1, 2), text)[0] == ["p send", "q receive", "q complete"]


def test_locks_are_named_as_their_holder_knows_them() -> None:
    (whole,) = (
        guess for guess in guesses(FLAT, history(TEXT, "azure-flat"), (5, 6)) if len(guess.steps) == 6
    )
    settled = [dict(step.args) for step in whole.steps if step.op == "complete"]
    assert settled == [{"pick": [1]}, {"pick": [0]}]
    late = "p send m1\nq receive 1 -> m1#1 lock=l count=0\nq complete l\nq complete l -> error lock_lost"
    again = next(guesses(FLAT, history(late, "azure-flat"), (2, 3)))
    assert again.steps[-1] == Step("q", "complete", {"pick": [0], "stale": True})


@pytest.mark.parametrize("name", ["azure-standard", "azure-premium", "azure-flat", "solace"])
def test_whatever_was_recorded_can_be_run_again(name: str) -> None:
    for seed in range(12):
        broker = Reference(name)
        program = generate(name, seed, length=12)
        seen = run(broker, program)
        for witness in ((), (len(seen) // 2,), tuple(r.i for r in seen.records if r.proc != DRAINER)):
            for guess in guesses(program, seen, witness):
                assert run(broker, guess).records


def test_locks_and_waits_become_shorter_in_proportion() -> None:
    program = FLAT.with_steps((Step("env", "advance", {"by": 6 * SECOND}), Step("p", "begin")))
    short = with_locks(program, program.entity.lock_duration // 10)
    assert short.entity.lock_duration == program.entity.lock_duration // 10
    assert [dict(step.args) for step in short.steps] == [{"by": 6 * SECOND // 10}, {}]
