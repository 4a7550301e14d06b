"""The drain as steps: driven here by a table of answers, without any broker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from partq.conformance.execution.drain import DrainPlan, StepResult, drain, play, repairs
from partq.conformance.workload.program import Step
from partq.model.messages import Delivery
from partq.model.operations import DRAINER, ENV
from partq.model.profiles import SECOND, Entity, profile

OK = StepResult("ok")
AZURE = DrainPlan(profile("azure-premium"), Entity(lock_duration=7), frozenset(), ("a", "b"), sent=9)
SOLACE = replace(AZURE, profile=profile("solace"), entity=Entity(rebalance_delay=5, max_handoff=3))
RABBIT = replace(AZURE, profile=profile("rabbitmq"))


def one(name: str) -> StepResult:
    return StepResult("ok", None, (Delivery(name, lock=f"lock-{name}"),))


def played(
    plan: DrainPlan,
    answers: Callable[[Step], StepResult | None] = lambda step: OK,
    receives: tuple[StepResult | None, ...] = (),
) -> tuple[bool, list[Step]]:
    """The drain's value and steps; receives are answered in turn, then with nothing."""
    steps: list[Step] = []
    left = list(receives)

    def perform(step: Step) -> StepResult | None:
        steps.append(step)
        if step.op == "receive" and left:
            return left.pop(0)
        return answers(step)

    return play(drain(plan), perform), steps


def ops(steps: list[Step]) -> list[tuple[str, str]]:
    return [(step.proc, step.op) for step in steps]


def refusing(
    op: str, did: StepResult | None = StepResult("unknown", "hang")
) -> Callable[[Step], StepResult | None]:
    return lambda step: did if step.op == op else OK


def test_an_empty_queue_is_received_and_peeked_until_that_is_sure() -> None:
    empty, steps = played(AZURE)
    assert empty
    assert ops(steps) == [
        ("a", "rollback"),
        ("b", "rollback"),
        (ENV, "advance"),
        (DRAINER, "receive"),
        (DRAINER, "receive"),
        (DRAINER, "receive"),
        (DRAINER, "peek"),
    ]
    assert steps[2].args == {"by": 8}, "a lock's whole duration and a little more"
    assert steps[-1].args["from"] == "start"


def test_what_was_found_makes_it_look_again_after_the_locks_of_front_ends_ended() -> None:
    empty, steps = played(AZURE, receives=(one("m1"), OK, one("m2")))
    assert empty
    assert [step.op for step in steps].count("advance") == 2
    assert [step.op for step in steps].count("receive") == 6 + 3


def test_faults_are_repaired_first() -> None:
    down = Step(ENV, "partition_down", {"index": 3})
    empty, steps = played(replace(AZURE, faults=(down, Step(ENV, "broker_kill"))))
    assert empty
    assert steps[:2] == [Step(ENV, "broker_start"), Step(ENV, "partition_up", {"index": 3})]


@pytest.mark.parametrize(
    ("faults", "left"),
    [
        ((), []),
        (("down 1", "up 1"), []),
        (("down 1", "down 2", "down 1", "up 1"), ["up 2"]),
        (("kill", "start", "kill"), ["start"]),
        (("kill", "start"), []),
    ],
)
def test_only_what_is_still_broken_is_repaired(faults: tuple[str, ...], left: list[str]) -> None:
    known = {"kill": Step(ENV, "broker_kill"), "start": Step(ENV, "broker_start")}
    for index in (1, 2):
        known[f"down {index}"] = Step(ENV, "partition_down", {"index": index})
        known[f"up {index}"] = Step(ENV, "partition_up", {"index": index})
    assert repairs(known[fault] for fault in faults) == tuple(known[repair] for repair in left)


@pytest.mark.parametrize("op", ["advance", "receive", "peek"])
def test_what_could_not_be_done_leaves_it_open(op: str) -> None:
    assert not played(AZURE, refusing(op))[0]


def test_a_broker_that_does_not_come_up_leaves_it_open() -> None:
    plan = replace(AZURE, faults=(Step(ENV, "broker_kill"),))
    empty, steps = played(plan, refusing("broker_start"))
    assert not empty
    assert ops(steps) == [(ENV, "broker_start")] * 3


def test_a_peek_that_shows_a_message_no_receive_gets_leaves_it_open() -> None:
    assert not played(AZURE, refusing("peek", one("m")))[0]


def test_a_peek_is_left_out_where_the_broker_lacks_it() -> None:
    empty, steps = played(replace(AZURE, lacks=frozenset({"peek"})), refusing("peek"))
    assert empty
    assert "peek" not in [step.op for step in steps]


def test_without_a_peek_what_is_deferred_may_be_left() -> None:
    plan = replace(AZURE, lacks=frozenset({"peek"}), sets_aside=True)
    assert not played(plan)[0]


def test_what_a_peek_shows_as_deferred_is_received_by_number_until_none_is_left() -> None:
    peeks = [StepResult("ok", None, (Delivery("m", seq=1, state="deferred"),)), OK, OK]
    by_number: list[StepResult | None] = [one("m"), None]

    def answers(step: Step) -> StepResult | None:
        return {"peek": peeks, "receive_deferred": by_number}.get(step.op, [OK]).pop(0)

    empty, steps = played(replace(AZURE, sets_aside=True), answers)
    assert empty
    taken = [step for step in steps if step.op in ("receive_deferred", "complete")]
    assert [(step.op, step.args) for step in taken] == [
        ("receive_deferred", {"peeked": True}),
        ("complete", {"pick": [-1]}),
        ("receive_deferred", {"peeked": True}),
    ]


def test_a_broker_that_is_not_empty_is_peeked_where_messages_may_be_set_aside() -> None:
    said = iter((False, True))
    plan = replace(AZURE, is_empty=lambda: next(said, True), sets_aside=True)
    assert played(plan)[0]


def test_receive_and_complete_where_there_is_no_receive_and_delete() -> None:
    unsupported = StepResult("error", "unsupported")
    empty, steps = played(AZURE, receives=(unsupported, one("m")))
    assert empty
    receives = [step for step in steps if step.op == "receive"]
    assert receives[1].args["mode"] == "peek_lock"
    assert [step.args for step in steps if step.op == "complete"] == [{"pick": [0]}]


def test_a_broker_that_never_runs_dry_is_given_up() -> None:
    empty, steps = played(AZURE, refusing("receive", one("again")))
    assert not empty
    assert len(steps) < 100


def advances(receives: tuple[StepResult | None, ...], **settings: Any) -> int:
    """How often a drain waits for locks, where the broker never says that it is empty."""
    plan = replace(AZURE, quiet=1, is_empty=lambda: False, **settings)
    empty, steps = played(plan, receives=receives)
    assert not empty
    return [step.op for step in steps].count("advance")


def test_only_rounds_in_a_row_that_show_nothing_new_are_in_vain() -> None:
    assert advances(()) == 7, "the first round waits for nothing"
    assert advances((), rounds=12) == 11
    slowly = (*[OK] * 6, one("m1"), OK, *[OK] * 6, one("m2"), OK)
    assert advances(slowly) == 6 + 1 + 6 + 1 + 7, "each new message begins the count anew"
    assert advances((one("m1"), OK) * 20) == 8, "the same again is nothing new"


def test_it_ends_sooner_where_only_what_had_gone_comes_again() -> None:
    again, gone = (one("m1"), OK), {"all_gone": lambda: True}
    assert advances(again * 20, **gone) == 2
    assert advances((*again, OK, OK, *again * 20), **gone) == 4, "rounds without anything say nothing"
    assert advances((*again * 2, one("m2"), OK, *again * 20), **gone) == 3
    assert advances((), **gone) == 7, "the broker may say later that it is empty"
    left = iter([False, False, False])
    assert advances(again * 20, all_gone=lambda: next(left, True)) == 5, "something that is left may come"


def test_flows_leave_and_the_drainer_takes_over_after_delay_and_handoff() -> None:
    empty, steps = played(SOLACE)
    assert empty
    assert ops(steps)[:6] == [
        ("a", "rollback"),
        ("a", "unbind"),
        ("b", "rollback"),
        ("b", "unbind"),
        (DRAINER, "bind"),
        (ENV, "advance"),
    ]
    assert steps[5].args == {"by": 9}


def test_a_flow_that_is_lost_with_its_connection_is_bound_again() -> None:
    empty, steps = played(SOLACE, receives=(StepResult("error", "connection_lost"), one("m1")))
    assert empty
    drainer = [step.op for step in steps if step.proc == DRAINER]
    assert drainer[:5] == ["bind", "receive", "disconnect", "bind", "receive"]


def test_a_flow_that_may_still_be_bound_leaves_it_open() -> None:
    def answers(step: Step) -> StepResult | None:
        return StepResult("unknown", "hang") if step.proc == "a" else OK

    assert not played(SOLACE, answers)[0]


def test_locks_that_do_not_expire_end_with_their_connection() -> None:
    empty, steps = played(RABBIT)
    assert empty
    assert ("a", "disconnect") in ops(steps)
    assert ("b", "disconnect") in ops(steps)
    assert "advance" not in [step.op for step in steps], "there is nothing to wait for"


def test_the_broker_s_word_saves_the_wait_and_ends_the_search() -> None:
    empty, steps = played(replace(AZURE, entity=Entity(lock_duration=30 * SECOND), is_empty=lambda: True))
    assert empty
    assert {step.op for step in steps} == {"rollback", "receive"}


def test_the_broker_s_no_is_believed() -> None:
    assert not played(replace(AZURE, is_empty=lambda: False))[0]
