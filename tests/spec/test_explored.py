"""What the explorer is given, and what an operation with its answer is in the specification's words."""

import pytest

from partq.spec import explored
from partq.spec.explored import Impossible, Known, Setting, candidates, root, sources
from partq.spec.labels import actions
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


# The module


def test_every_action_that_is_explored_is_one_of_next() -> None:
    named = {name for names in explored._ACTIONS.values() for name in names} | explored.OWN.keys()
    assert named == explored._NEEDS.keys()
    assert named <= {action.name for action in actions()}
    assert explored.LAST_CHANCE.keys() <= named


def test_an_action_is_left_out_where_nobody_asks_for_it() -> None:
    text = root(SETTING._replace(offered=frozenset({"stale"}), words=frozenset({"partitioned"})))
    assert r"\/ Do_Receive :: (\E x0 \in Clients, x1 \in Messages : Receive(x0, x1)) /\ Observed" in text
    assert "Do_Peek" not in text
    assert "Do_Commit" not in text
    assert "Do_Expire" not in text


def test_constants_are_the_settings() -> None:
    text = root(SETTING._replace(messages=(Sent("a", 'a "key"'), Sent("b"), Sent("c", "x", True))))
    assert (
        'OVERRIDE_KeyOf == [ m \\in 1 .. 3 |-> CASE m = 1 -> "k1" [] m = 2 -> "-" [] m = 3 -> "k2" ]' in text
    )
    assert "OVERRIDE_TwoKeys == {3}" in text
    assert 'OVERRIDE_Clients == {"c1", "c2"}' in text
    assert 'OVERRIDE_Alphabet == {"abandon", "delete", "outage", "peek", "stale", "transaction"}' in text


def test_the_server_is_given_every_module_that_the_root_needs() -> None:
    names = [text.split(" MODULE ")[1].split()[0] for text in sources(SETTING)]
    assert names[0] == "Explored"
    assert len(names) == len(set(names))
    assert {"PartitionedQueue", "Catalogue", "ClientHistory", "Delivery"} <= set(names)


# Operations


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
        (did("commit", txn="u"), HOLDS, "nobody began"),
        (did("abandon", locks=("l1",), txn="t"), HOLDS, "abandon in a transaction"),
        (did("complete", locks=("l1",), txn="t"), HOLDS._replace(ending=True), "has ended"),
    ],
)
def test_what_the_specification_does_not_say(operation: Operation, known: Known, why: str) -> None:
    with pytest.raises(NotFollowed, match=why):
        candidates(operation, SETTING, known)
