"""What an operation with its answer is in the specification's words."""

import pytest

from partq.spec.exploration.module import Setting
from partq.spec.exploration.observed import Impossible, Known, candidates
from partq.spec.validation import NotFollowed, Operation, Sent, Shown

SETTING = Setting(
    words=frozenset({"partitioned", "numbers", "expiry", "caches"}),
    offered=frozenset({"abandon", "stale", "delete", "peek", "transaction", "outage"}),
    messages=(Sent("a", "k"), Sent("b", "k"), Sent("c")),
    clients=("p", "q"),
    first=1,
)


def did(op: str, client: str = "q", **more: object) -> Operation:
    return Operation(0, op, client, 0, 0, **more)  # type: ignore[arg-type]


def refused(op: str, error: str, **more: object) -> Operation:
    return did(op, outcome="error", error=error, **more)


def show(
    id: str, number: int = 1, tries: int | None = 0, lock: str | None = None, partition: int = 7
) -> Shown:
    return Shown(id, partition, partition, number, tries, lock)


def actions_of(operation: Operation, known: Known = Known()) -> list[str]:
    return [one.action for one in candidates(operation, SETTING, known)]


HOLDS = Known(partitions=(7,), tags={7: 7}, locks={"l1": (1, 1)}, latest={1: "l1"}, txn="t")
FORMER = Known(locks={"l1": (1, 1), "l2": (1, 2)}, latest={1: "l2"})


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (did("send", sent=(Sent("a", "k"),)), ["Send"]),
        (refused("send", "unavailable", sent=(Sent("a", "k"),)), ["SendFails"]),
        (refused("send", "invalid_operation", sent=(Sent("a", "k"),)), ["SendInvalid"]),
        (did("send", sent=(Sent("a", "k"),), txn="t"), ["TxnSend", "TxnSendLetPass"]),
        (did("receive"), ["ReceiveNothing"]),
        (did("receive", deletes=True, shown=(show("a"),)), ["ReceiveAndDelete"]),
        (did("peek", shown=(show("a"),)), ["Peek"]),
        (did("complete", locks=("l1",)), ["Complete"]),
        (refused("complete", "lock_lost", locks=("l1",)), ["CompleteRejected"]),
        (refused("complete", "timeout", locks=("l1",)), ["CompleteFails"]),
        (refused("commit", "not_found", txn="t"), ["CommitFails", "CommitRejected"]),
        (did("partition_down", partition=7), ["PartitionDown"]),
    ],
)
def test_what_an_answer_may_have_been(operation: Operation, expected: list[str]) -> None:
    assert actions_of(operation, HOLDS) == expected


def test_what_is_seen_of_a_delivery() -> None:
    (first, other) = candidates(did("receive", shown=(show("b", 5, 2, "l9"),)), SETTING, HOLDS)
    one, zero = {"#bigint": "1"}, {"#bigint": "0"}
    assert first.seen == {
        "seenBy": "c2",
        "seenMessages": {"#set": [{"#bigint": "2"}]},
        "seenCounts": {"#map": [[one, zero], [{"#bigint": "2"}, {"#bigint": "2"}], [{"#bigint": "3"}, zero]]},
        "seenPlaces": {"#map": [[one, zero], [{"#bigint": "2"}, one], [{"#bigint": "3"}, zero]]},
        "seenNumbers": {
            "#map": [[one, zero], [{"#bigint": "2"}, {"#bigint": "4"}], [{"#bigint": "3"}, zero]]
        },
        "seenTurn": one,
    }
    assert (first.known.locks["l9"], other.known.locks["l9"]) == ((2, 1), (2, 2))


def test_what_is_not_shown_is_not_assumed() -> None:
    shown = Shown("b", tries=None, lock="l9")
    (way, _) = candidates(did("receive", shown=(shown,)), SETTING._replace(first=None), Known())
    assert way.seen.keys() == {"seenBy", "seenMessages", "seenTurn"}


def test_a_lock_has_the_other_turn_than_the_one_before_it() -> None:
    ways = candidates(did("receive", shown=(show("a", lock="l2"),)), SETTING, HOLDS)
    assert [way.known.locks["l2"] for way in ways] == [(1, 2), (1, 1)]


def test_a_former_lock_has_a_turn_that_does_not_hold() -> None:
    turns = [
        candidates(did("complete", locks=(lock,)), SETTING, FORMER)[0].seen["seenTurn"]
        for lock in ("l2", "l1")
    ]
    assert turns == [{"#bigint": "2"}, {"#bigint": "1"}]


def test_a_settlement_refused_in_passing_tells_of_no_lock() -> None:
    (way,) = candidates(refused("abandon", "unavailable", locks=("l1",)), SETTING, HOLDS)
    assert way.seen.keys() == {"seenBy", "seenMessages"}


def test_a_partition_gets_the_next_number_when_it_is_named_first() -> None:
    (way,) = candidates(did("partition_down", partition=30), SETTING, HOLDS)
    assert way.known.partitions == (7, 30)
    assert way.seen == {"up": {"#map": [[{"#bigint": "1"}, True], [{"#bigint": "2"}, False]]}}


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        (did("peek", shown=(show("z"),)), "never sent"),
        (did("peek", shown=(show("a")._replace(altered=True),)), "not as it was sent"),
        (did("peek", shown=(show("a")._replace(tag=8),)), "partition bits"),
        (did("peek", shown=(show("a", partition=9)._replace(tag=7),)), "partition bits"),
        (refused("receive", "lock_lost"), "no answer of receive"),
        (refused("send", "not_found", sent=(Sent("a", "k"),)), "no answer of send"),
    ],
)
def test_what_no_step_shows(operation: Operation, why: str) -> None:
    with pytest.raises(Impossible, match=why):
        candidates(operation, SETTING, HOLDS)


def test_there_are_no_more_partitions_than_there_are() -> None:
    with pytest.raises(Impossible, match="partition 9 besides the 2"):
        candidates(did("peek", shown=(show("a", partition=9),)), SETTING, Known(partitions=(7, 8)))


@pytest.mark.parametrize(
    ("operation", "known", "why"),
    [
        (did("renew_lock", locks=("l1",)), HOLDS, "renew_lock"),
        (did("receive", outcome="unknown"), HOLDS, "unknown outcome"),
        (refused("send", "quota", sent=(Sent("a", "k"),)), HOLDS, "quota"),
        (did("receive", "r"), HOLDS, "r is not among the clients"),
        (did("receive", shown=(show("a"), show("b"))), HOLDS, "several messages"),
        (did("peek", since=(7, 1)), HOLDS, "from a number on"),
        (did("peek", shown=(show("a"), show("b"))), HOLDS, "more than 1"),
        (did("complete", locks=("l1", "l2")), FORMER, "several locks"),
        (did("complete", locks=("x",)), HOLDS, "no delivery shows"),
        (refused("complete", "timeout", locks=("l1",)), FORMER, "has ended"),
        (refused("begin", "timeout", txn="t"), Known(), "refusal to begin"),
        (did("begin", txn="u"), HOLDS, "a second transaction"),
        (did("commit", txn="u"), HOLDS, "no client began"),
        (did("abandon", locks=("l1",), txn="t"), HOLDS, "abandon in a transaction"),
        (did("complete", locks=("l1",), txn="t"), HOLDS._replace(ending=True), "has ended"),
    ],
)
def test_what_the_specification_does_not_say(operation: Operation, known: Known, why: str) -> None:
    with pytest.raises(NotFollowed, match=why):
        candidates(operation, SETTING, known)
