"""Recorded histories, followed by TLC through the specification."""

import pytest

from partq.spec.toolbox import ToolMissing, java, tlc_jar
from partq.spec.validation import (
    NotFollowed,
    Operation,
    Recording,
    Sent,
    Shown,
    Status,
    prefix,
    trace_of,
    validate,
)

WORDS = frozenset({"partitioned", "numbers", "expiry", "caches"})


def needs_tlc() -> None:
    """Skip where there is no TLC."""
    try:
        java(), tlc_jar()
    except ToolMissing as error:
        pytest.skip(str(error))


def recording(*operations: Operation, partitions: int = 2) -> Recording:
    """One after the other, each between two instants of its own, unless it says which."""
    timed = [
        one if one.call else one._replace(call=10 * n, ret=None if one.outcome == "unknown" else 10 * n + 5)
        for n, one in enumerate(operations, 1)
    ]
    return Recording(WORDS, partitions, tuple(one._replace(record=n) for n, one in enumerate(timed)))


def did(op: str, client: str = "c1", **more: object) -> Operation:
    return Operation(0, op, client, 0, 0, **more)  # type: ignore[arg-type]


def send(id: str, key: str | None = "k", outcome: str = "ok") -> Operation:
    return did("send", sent=(Sent(id, key),), outcome=outcome)


def show(id: str, number: int, tries: int = 0, lock: str | None = None, partition: int = 7) -> Shown:
    return Shown(id, partition, partition, number, tries, lock)


def receive(*shown: Shown, deletes: bool = False) -> Operation:
    return did("receive", "c2", shown=shown, limit=5, deletes=deletes)


def complete(lock: str, **more: object) -> Operation:
    return did("complete", "c2", locks=(lock,), **more)


LAWFUL = recording(
    send("a"),
    send("b"),
    receive(show("a", 1, lock="x"), show("b", 2, lock="y")),
    complete("x"),
    complete("y"),
)
TWICE = recording(
    send("a"),
    receive(show("a", 1, lock="x")),
    complete("x"),
    send("b"),
    receive(show("a", 1, 1, "y")),
    complete("y"),
)
UNKNOWN_SEND = recording(
    send("a", outcome="unknown"), send("b"), receive(show("b", 1, lock="x"), show("a", 2, lock="y"))
)
UNKNOWN_END = recording(
    send("a"), receive(show("a", 1, lock="x")), complete("x", outcome="unknown"),
    complete("x", outcome="error", error="lock_lost"),
    did("peek", "c2", limit=5),
)  # fmt: skip
OVERTAKEN = recording(send("a"), send("b"), receive(show("b", 2, 1, "x")), receive(show("a", 1, 0, "y")))
TWO_PLACES = recording(
    send("a"), send("b"), receive(show("a", 1, lock="x")), receive(show("b", 1, lock="y", partition=8))
)


def test_histories_of_one_batch_are_told_apart() -> None:
    needs_tlc()
    found = validate([LAWFUL, TWICE, UNKNOWN_SEND, UNKNOWN_END, OVERTAKEN, TWO_PLACES])

    assert [one.status for one in found] == [
        Status.ACCEPTED, Status.REJECTED, Status.ACCEPTED, Status.ACCEPTED, Status.ACCEPTED, Status.REJECTED,
    ]  # fmt: skip
    assert (found[1].record, found[1].explained) == (4, 4)  # the second delivery of a completed message
    assert (found[5].record, found[5].explained) == (3, 3)  # equal keys in two partitions


def test_an_operation_that_is_not_specified_is_not_followed() -> None:
    found = validate([recording(send("a"), did("schedule"))])

    assert found[0].status is Status.NOT_FOLLOWED
    assert found[0].reason == "the specification has no operation schedule"


def test_two_transactions_at_a_time_are_not_followed() -> None:
    begins = did("begin", txn="t"), did("begin", txn="u"), did("commit", txn="t"), did("commit", txn="u")
    with pytest.raises(NotFollowed, match="two transactions at a time"):
        trace_of(recording(*begins))


def test_a_count_that_falls_is_impossible() -> None:
    peeks = (
        did("peek", "c2", limit=5, shown=(show("a", 1, 1),)),
        did("peek", "c2", limit=5, shown=(show("a", 1),)),
    )
    trace = trace_of(recording(send("a"), receive(show("a", 1, lock="x")), *peeks))

    assert [step.op for step in trace.steps] == ["send", "receive", "peek", "impossible"]


def test_a_history_is_given_up_at_the_limit_of_states() -> None:
    needs_tlc()
    found = validate([LAWFUL], states=2)

    assert found[0].status is Status.UNKNOWN
    assert "states" in found[0].reason


def test_a_fault_in_the_specification_rejects_a_lawful_history() -> None:
    needs_tlc()
    found = validate([LAWFUL], overrides={"Advance": "BugAdvanceByTwo"})

    assert found[0].status is Status.REJECTED


def test_a_prefix_leaves_open_what_had_not_returned() -> None:
    cut = prefix(LAWFUL, 30)

    assert [one.outcome for one in cut.operations] == ["ok", "ok", "unknown"]
    assert cut.operations[-1].shown == ()


def test_steps_of_one_instant_stand_together() -> None:
    trace = trace_of(LAWFUL)

    assert [step.op for step in trace.steps] == ["send", "send", "receive", "receive", "complete", "complete"]
    assert (trace.steps[2].then, trace.steps[3].then) == (4, 0)
    assert trace.order == [1, 2, 3, 5, 6]
