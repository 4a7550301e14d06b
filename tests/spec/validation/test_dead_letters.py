"""Recorded histories that look into the dead-letter queue, followed by TLC (RCV-9)."""

import pytest
from recordings import abandon, check_told_apart, complete, did, receive, recording, send, show
from test_tlc import needs_tlc

from partq.spec.validation import NotFollowed, Operation, Recording, Shown, Status, trace_of, validate

EXCEEDED = "MaxDeliveryCountExceeded"
SENT = send("a"), send("b"), receive(show("a", 1, lock="x"), show("b", 2, lock="y"))
DRAINED = did("drained", "env", dead=True)
EMPTIED = did("drained", "env")
WORN = abandon("x"), complete("y")
TAKEN_UNSEEN = did("receive", "c4", limit=1, deletes=True, outcome="unknown")


def dead(op: str, *shown: Shown, **more: object) -> Operation:
    """What a client asks of the dead-letter queue."""
    return did(op, "c3", shown=shown, dead=True, **({"limit": 5} | more))


def bury(lock: str, reason: str | None = "poison", **more: object) -> Operation:
    return did("dead_letter", "c2", locks=(lock,), reason=reason, **more)


def letter(id: str, number: int, reason: str | None = "poison", lock: str | None = None) -> Shown:
    return Shown(id, 7, 7, number, None, lock, reason=reason)


def looked(*operations: Operation, maximum: int = 10) -> Recording:
    """Two messages that c2 holds, then more."""
    return recording(*SENT, *operations)._replace(maximum=maximum)


PEEK = dead("peek", letter("a", 1))
TAKEN = dead("receive", letter("a", 1, lock="d"))
IN_TRANSACTION = did("begin", "c2", txn="t"), bury("x", txn="t")
LAWFUL = (
    looked(bury("x"), PEEK, TAKEN, dead("complete", locks=("d",)), dead("peek", since=(0, 0)), DRAINED),
    looked(bury("x"), dead("peek"), dead("receive"), PEEK),  # it comes there later
    looked(bury("x"), dead("peek", letter("a", 40))),  # under another number
    looked(bury("x", None), dead("peek", letter("a", 1, "other"))),  # a reason that is not recorded
    looked(bury("x"), TAKEN, dead("receive", letter("a", 1, lock="e"))),  # the first lock ran out
    looked(bury("x"), TAKEN, dead("abandon", locks=("d",)), dead("renew_lock", locks=("d",), outcome="error",
        error="lock_lost")),
    looked(bury("x"), TAKEN, dead("complete", locks=("d",), outcome="unknown"), DRAINED),
    looked(bury("x"), dead("receive", deletes=True, outcome="unknown"), DRAINED),
    looked(bury("x", outcome="unknown"), PEEK),
    looked(abandon("x"), dead("peek", letter("a", 1, EXCEEDED)), maximum=1),
    looked(abandon("x"), DRAINED, maximum=1),  # when it goes there no answer shows
    looked(*WORN, DRAINED, EMPTIED, maximum=1),  # it may have come there since
    looked(*WORN, TAKEN_UNSEEN, EMPTIED, DRAINED, maximum=1),
    looked(*WORN, EMPTIED, dead("receive", letter("a", 1, EXCEEDED), deletes=True), DRAINED, maximum=1),
    looked(*IN_TRANSACTION, dead("peek"), did("commit", "c2", txn="t"), PEEK),
    looked(*IN_TRANSACTION, did("rollback", "c2", txn="t"), complete("x"), dead("peek"), DRAINED),
)  # fmt: skip
WRONG = (
    looked(bury("x"), dead("peek", letter("a", 1, "other"))),  # no such reason
    looked(bury("x"), dead("peek", letter("a", 1, EXCEEDED))),  # the other reason
    looked(bury("x"), PEEK, dead("peek", letter("a", 2), since=(0, 0))),  # two numbers
    looked(bury("x"), bury("y"), PEEK, dead("receive", letter("b", 1))),  # one number of two
    looked(bury("x"), did("peek", "c4", limit=5, shown=(show("a", 1),))),  # it is there still
    looked(bury("x"), receive(show("a", 1, 1, "z"))),  # delivered after its death
    looked(bury("x"), PEEK, dead("peek", since=(0, 0))),  # shown, and not shown again
    looked(bury("x"), bury("y"), TAKEN, dead("peek", letter("b", 2), since=(0, 0))),  # the older left out
    looked(bury("x"), DRAINED),  # lost on its way
    looked(*WORN, EMPTIED, DRAINED, maximum=1),  # in neither queue
    looked(bury("x"), TAKEN, dead("complete", locks=("d",)), PEEK),  # consumed, and shown
    looked(bury("x"), TAKEN, dead("receive", letter("a", 1, lock="e")), dead("complete", locks=("d",))),
    looked(PEEK),  # no holder moved it
    looked(dead("peek", letter("a", 1, EXCEEDED))),  # nor was it delivered so often
    looked(*IN_TRANSACTION, did("rollback", "c2", txn="t"), PEEK),
    looked(*IN_TRANSACTION, PEEK, did("commit", "c2", txn="t")),
)


def test_dead_letters_are_where_and_why_they_are_dead() -> None:
    check_told_apart(LAWFUL, WRONG)


BURIED_TWICE = looked(bury("x"), TAKEN, bury("d"))
OF_BOTH = looked(bury("x"), TAKEN, dead("complete", locks=("d", "y")))
UNSEEN = looked(bury("x"), dead("peek", outcome="unknown"))


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (BURIED_TWICE, "dead-lettered"),
        (OF_BOTH, "both queues"),
        (UNSEEN, "unknown outcome"),
        (looked(bury("x"), PEEK, dead("receive", Shown("a"))), "without its place"),
        (looked(bury("x"), PEEK)._replace(rules=frozenset()), "no rule"),
    ],
)
def test_what_is_not_said_of_dead_letters_is_not_followed(one: Recording, reason: str) -> None:
    with pytest.raises(NotFollowed, match=reason):
        trace_of(one)


def test_as_many_locks_run_out_unseen_as_there_was_time_for() -> None:
    needs_tlc()
    gone = recording(send("a"), receive(show("a", 1, lock="x")), did("drained", "env"))._replace(maximum=3)
    found = validate([gone, gone._replace(unseen=3)])

    assert [one.status for one in found] == [Status.REJECTED, Status.ACCEPTED]
