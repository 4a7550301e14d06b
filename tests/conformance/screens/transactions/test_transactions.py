"""Transactions: good histories, and bad ones with the one rule that owns them."""

from __future__ import annotations

import pytest
from inspections import assert_open, assert_owned, inspected, violated

from partq.conformance.facts.index import facts_of
from partq.conformance.history.notation import history
from partq.conformance.screens.attribution import missing_ids

TWO_KEYS = (
    "p1 send h1 key=a\np1 send h2 key=b\np1 receive 2 -> h1#3.1 lock=l1 until=25s, h2#4.1 lock=l2 until=25s\n"
)
"""Key a lives in partition 3, key b in 4; a message of each is locked."""

ONE = "p1 send h1 key=a\np1 receive 1 -> h1#3.1 lock=l1 until=25s\n"
"""One message, locked for 25 s."""

SENT = "p1 begin t\np1 send m1 key=a txn=t\np1 send m2 key=a txn=t\n"
"""Two sends in an open transaction."""

COMPLETED = ONE + "p1 begin t\np1 complete l1 txn=t\n"
"""A completion in an open transaction."""

OUTLIVED = """
    p3 send o1 key=z
    p3 receive 1 -> o1#5.1 lock=o until=25s
    env advance 40s
    p3 receive 1 delete -> o1#5.1 count=1
    """
"""A message that came back when its lock had run out."""

GOOD = {
    "sends, committed": (
        SENT + "p1 commit t\np1 receive 2 -> m1#3.1, m2#3.2\nenv drained",
        {"TXN-5": 2},
    ),
    "sends, committed, seen while the commit is under way": (
        SENT + "p1 commit t ...\np2 peek 2 -> m1#3.1\np1 -> ok\np2 receive 2 -> m1#3.1, m2#3.2",
        {"TXN-5": 2},
    ),
    "sends, committed, of unknown outcome and seen": (
        SENT + "p1 commit t -> unknown timeout\np1 receive 2 -> m1#3.1, m2#3.2\nenv drained",
        {"TXN-5": 0},
    ),
    "sends, committed, of unknown outcome and not seen": (
        SENT + "p1 commit t -> unknown timeout\nenv drained",
        {"TXN-5": 0},
    ),
    "sends, rolled back": (SENT + "p1 rollback t\nenv drained", {"TXN-5": 2}),
    "sends, of which one was rejected": (
        "p1 begin t\np1 send m1 key=a txn=t\np1 send m2 key=a txn=t -> error unavailable\np1 commit t\n"
        "p1 receive 1 -> m1#3.1\nenv drained",
        {"TXN-5": 1},
    ),
    "a commit rejected": (SENT + "p1 commit t -> error lock_lost\nenv drained", {"TXN-5": 2}),
    "never ended": (SENT + "env drained", {"TXN-5": 0}),
    "a rollback refused by a busy broker": (
        COMPLETED + "p1 rollback t -> error unavailable\np1 complete l1 -> error invalid_operation",
        {"TXN-5": 0},
    ),
    "a send of unknown outcome in it may be missing": (
        "p1 begin t\np1 send m1 key=a txn=t\np1 send m2 key=a txn=t -> unknown timeout\np1 commit t\n"
        "p1 receive 1 -> m1#3.1\nenv drained",
        {"TXN-5": 1},
    ),
    "a send without key, refused at the commit": (
        "p1 begin t\np1 send m1 txn=t\np1 commit t -> error invalid_operation\np1 receive 1 -> nothing",
        {},
    ),
    "a send without key, refused": (
        "p1 begin t\np1 send m1 txn=t -> error invalid_operation",
        {"TXN-1": 1},
    ),
    "a second key, refused": (
        TWO_KEYS + "p1 begin t\np1 send m1 key=a txn=t\np1 send m2 key=b txn=t -> error invalid_operation",
        {"TXN-2": 1},
    ),
    "a second key of the same partition, accepted": (
        "p1 send h1 key=a\np1 send h2 key=b\np1 receive 2 -> h1#3.1, h2#3.2\n"
        "p1 begin t\np1 send m1 key=a txn=t\np1 send m2 key=b txn=t",
        {"TXN-2": 0},
    ),
    "a second key of the same partition, refused": (
        "p1 send h1 key=a\np1 send h2 key=b\np1 receive 2 -> h1#3.1, h2#3.2\n"
        "p1 begin t\np1 send m1 key=a txn=t\np1 send m2 key=b txn=t -> error invalid_operation",
        {"TXN-2": 0},
    ),
    "a second key of a partition that is not known": (
        ONE + "p1 begin t\np1 send m1 key=a txn=t\np1 send m2 key=b txn=t",
        {"TXN-2": 0},
    ),
    "a key after one of unknown outcome": (
        TWO_KEYS + "p1 begin t\np1 send m1 key=a txn=t -> unknown timeout\np1 send m2 key=b txn=t",
        {"TXN-2": 0},
    ),
    "settlements in a second partition, refused": (
        TWO_KEYS + "p1 begin t\np1 complete l1 txn=t\np1 complete l2 txn=t -> error invalid_operation",
        {"TXN-7": 1},
    ),
    "one settlement of two partitions, refused": (
        TWO_KEYS + "p1 begin t\np1 complete l1 l2 txn=t -> error invalid_operation",
        {},
    ),
    "settlements in a second partition, in another transaction": (
        TWO_KEYS
        + "p1 begin t\np1 complete l1 txn=t\np1 commit t\np1 begin u\np1 complete l2 txn=u\np1 commit u",
        {"TXN-7": 0},
    ),
    "a completion, committed": (COMPLETED + "p1 commit t\nenv drained", {"TXN-5": 1}),
    "a completion, rolled back, and done again": (
        COMPLETED + "p1 rollback t\np1 complete l1\nenv drained",
        {"TXN-5": 1},
    ),
    "a completion, rolled back, and the message back": (
        COMPLETED + "p1 rollback t\nenv advance 60s\np1 receive 1 -> h1#3.1 count=1\nenv drained",
        {"TXN-5": 1},
    ),
    "a completion never committed, and the message back": (
        COMPLETED + "env advance 60s\np1 receive 1 -> h1#3.1 count=1\nenv drained",
        {"TXN-5": 1},
    ),
    "the lock may expire before the commit": (
        COMPLETED + "env advance 60s\np2 receive 1 -> h1#3.1 lock=l3 until=80s count=1\n"
        "p1 commit t -> error lock_lost",
        {},
    ),
    "a rollback of unknown outcome may not have given the lock back": (
        COMPLETED + "p1 rollback t -> unknown connection_lost\np1 complete l1 -> error invalid_operation",
        {},
    ),
    "a rollback that lost its connection may not have given the lock back yet": (
        COMPLETED + "p1 rollback t -> error connection_lost\np1 complete l1 -> error invalid_operation",
        {},
    ),
    "the lock may expire before the rollback": (
        COMPLETED + "env advance 60s\np1 rollback t\np1 complete l1 -> error lock_lost",
        {},
    ),
    "a fault may end the lock": (
        COMPLETED + "env partition_down 3\nenv partition_up 3\np2 receive 1 -> h1#3.1 lock=l3\n"
        "p1 rollback t\np1 complete l1 -> error lock_lost",
        {},
    ),
    "an abandon, committed": (
        ONE + "p1 begin t\np1 abandon l1 txn=t\np1 commit t\np2 receive 1 -> h1#3.1 count=1",
        {},
    ),
    "a receive that overlaps the commit": (
        COMPLETED + "p1 commit t @100-110\np2 receive 1 -> h1#3.1 lock=l3 @105-120",
        {"TXN-5": 0},
    ),
}

TXN = ("TXN-1", "TXN-2", "TXN-5", "TXN-7")


@pytest.mark.parametrize("name", GOOD)
def test_good(name: str) -> None:
    text, exercised = GOOD[name]
    inspection = inspected(text)
    assert not {rule for rule in inspection.findings if rule.startswith(("TXN", "KEY", "ROUTE", "SEQ"))}
    assert {rule: inspection.exercised.get(rule, 0) for rule in exercised} == exercised


BAD = {
    "visible before the commit": (SENT + "p2 peek 1 -> m1#3.1\np1 commit t", "TXN-5"),
    "received before the commit": (SENT + "p2 receive 2 -> m1#3.1, m2#3.2\np1 commit t", "TXN-5"),
    "visible and never ended": (SENT + "p2 receive 2 -> m1#3.1", "TXN-5"),
    "visible after the rollback": (SENT + "p1 rollback t\np2 receive 2 -> m1#3.1", "TXN-5"),
    "visible though the commit was rejected": (
        SENT + "p1 commit t -> error lock_lost\np2 receive 2 -> m1#3.1, m2#3.2",
        "TXN-5",
    ),
    "of unknown outcome and visible before the commit": (
        "p1 begin t\np1 send m1 key=a txn=t -> unknown timeout\np2 peek 1 -> m1#3.1\np1 commit t",
        "TXN-5",
    ),
    "committed in part": (SENT + "p1 commit t\np2 receive 2 -> m1#3.1\nenv drained", "TXN-5"),
    "committed and nothing there": (SENT + "p1 commit t\nenv drained", "TXN-5"),
    "of unknown outcome and in part": (
        SENT + "p1 commit t -> unknown timeout\np2 receive 2 -> m2#3.1\nenv drained",
        "TXN-5",
    ),
    "a completion that took effect before the commit": (
        OUTLIVED + COMPLETED.replace("25s", "65s") + "p1 rollback t\nenv drained",
        "TXN-5",
    ),
    "a completion never committed that took effect": (
        OUTLIVED + COMPLETED.replace("25s", "65s") + "env drained",
        "TXN-5",
    ),
    "the lock lost with the rollback": (
        COMPLETED + "p1 rollback t\np1 complete l1 -> error lock_lost",
        "TXN-5",
    ),
    "the lock still taken after the rollback": (
        COMPLETED + "p1 rollback t\np1 complete l1 -> error invalid_operation",
        "TXN-5",
    ),
    "an abandon that took effect before the commit": (
        ONE + "p1 begin t\np1 abandon l1 txn=t\np2 receive 1 -> h1#3.1 lock=l3 until=25s\np1 commit t",
        "TXN-5",
    ),
    "a committed completion undone": (
        COMPLETED + "p1 commit t\nenv advance 60s\np2 receive 1 -> h1#3.1 lock=l3",
        "TXN-5",
    ),
    "a committed completion undone, as a peek shows": (
        COMPLETED + "p1 commit t\np2 peek 1 -> h1#3.1",
        "TXN-5",
    ),
    "a completion undone whose commit shows by its sends": (
        COMPLETED + "p1 send m1 key=a txn=t\np1 commit t -> unknown timeout\np2 peek 1 -> m1#3.2\n"
        "env advance 60s\np2 receive 1 -> h1#3.1 lock=l3",
        "TXN-5",
    ),
    "a send without key": ("p1 begin t\np1 send m1 txn=t\np1 commit t", "TXN-1"),
    "a batch without keys": ("p1 begin t\np1 send_batch m1, m2 txn=t\np1 commit t", "TXN-1"),
    "a batch of which one has no key": (
        "p1 begin t\np1 send_batch m1 key=a, m2 txn=t\np1 commit t",
        "TXN-1",
    ),
    "a send without key, refused and stored": (
        "p1 begin t\np1 send m1 txn=t -> error invalid_operation\np1 commit t\np1 receive 1 -> m1#3.1",
        "TXN-1",
    ),
    "a send without key, unknown and stored": (
        "p1 begin t\np1 send m1 txn=t -> unknown timeout\np1 commit t\np1 receive 1 -> m1#3.1",
        "TXN-1",
    ),
    "a second key": (TWO_KEYS + "p1 begin t\np1 send m1 key=a txn=t\np1 send m2 key=b txn=t", "TXN-2"),
    "a second key, refused and stored": (
        "p1 begin t\np1 send m1 key=a txn=t\np1 send m2 key=b txn=t -> error invalid_operation\np1 commit t\n"
        "p1 receive 2 -> m1#3.1, m2#4.1",
        "TXN-2",
    ),
    "a second key, stored at once": (
        "p1 begin t\np1 send m1 key=a txn=t\np1 send m2 key=b txn=t\np2 peek 1 -> m2#4.1\np1 rollback t",
        "TXN-2",
    ),
    "a second key of the same partition, visible before the commit": (
        "p1 send h1 key=a\np1 send h2 key=b\np1 receive 2 -> h1#3.1, h2#3.2\np1 begin t\n"
        "p1 send m1 key=a txn=t\np1 send m2 key=b txn=t\np2 peek 1 -> m2#3.3\np1 rollback t",
        "TXN-5",
    ),
    "a second partition": (
        TWO_KEYS + "p1 begin t\np1 complete l1 txn=t\np1 complete l2 txn=t\np1 commit t",
        "TXN-7",
    ),
    "a second partition, abandoned": (
        TWO_KEYS + "p1 begin t\np1 complete l1 txn=t\np1 abandon l2 txn=t\np1 commit t",
        "TXN-7",
    ),
    "two partitions in one settlement": (
        TWO_KEYS + "p1 begin t\np1 complete l1 l2 txn=t\np1 commit t",
        "TXN-7",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad(name: str) -> None:
    text, rule = BAD[name]
    assert_owned(inspected(text), rule, most_witnesses=5)


LEFT_OPEN = {
    "in part, of unknown outcome, and a kill: the commit did not do all, or the kill lost some": (
        SENT + "p1 commit t -> unknown connection_lost\nenv broker_kill\nenv broker_start\n"
        "p2 receive 9 -> m1#3.1\nenv drained",
        {"TXN-5", "RCV-2"},
    ),
    "completed, of unknown outcome, seen by its sends, and a kill before": (
        COMPLETED + "p1 send m1 key=a txn=t\np1 commit t -> unknown connection_lost\nenv broker_kill\n"
        "env broker_start\np2 peek 1 -> m1#3.2\np2 receive 1 -> h1#3.1 lock=l3",
        {"TXN-5", "RCV-7"},
    ),
    "gone after a rollback: the completion took effect, or messages are lost as locks end": (
        COMPLETED + "p1 rollback t\nenv drained",
        {"TXN-5", "RCV-2"},
    ),
    "delivered again after a rollback: that did the abandon, or the lock ended": (
        ONE + "p1 begin t\np1 abandon l1 txn=t\np1 rollback t\np2 receive 1 -> h1#3.1 lock=l3 until=25s",
        {"TXN-5", "RCV-6"},
    ),
    "a lock that settles after the commit: that did not do it, or lost locks settle": (
        COMPLETED + "p1 commit t\np1 complete l1",
        {"TXN-5", "RCV-8"},
    ),
    "back after a commit and a kill: the commit did not do it, or the kill undid it": (
        COMPLETED + "p1 commit t\nenv broker_kill\nenv broker_start\np2 receive 1 -> h1#3.1 lock=l3",
        {"TXN-5", "RCV-7"},
    ),
}


@pytest.mark.parametrize("name", LEFT_OPEN)
def test_what_may_be_somebody_elses_is_open(name: str) -> None:
    text, rules = LEFT_OPEN[name]
    assert_open(inspected(text), *rules)


def test_a_message_locked_for_a_transaction_and_delivered_to_another() -> None:
    text = COMPLETED + "p2 receive 1 -> h1#3.1 lock=l3 until=25s\np1 commit t"
    assert violated(text) == {"RCV-6"}


def test_without_partitions_keys_and_partitions_are_free() -> None:
    text = (
        "p1 send h1\np1 send h2\np1 receive 2 -> h1#1 lock=l1, h2#2 lock=l2\np1 begin t\n"
        "p1 send m1 txn=t\np1 send m2 key=a txn=t\np1 send m3 key=b txn=t\np1 complete l1 txn=t\n"
        "p1 complete l2 txn=t\np1 commit t\np1 receive 9 -> m1#3, m2#4, m3#5\nenv drained"
    )
    assert violated(text, "azure-flat") == set()


def test_all_or_nothing_holds_without_partitions_too() -> None:
    assert violated("p1 begin t\np1 send m1 txn=t\np2 peek 1 -> m1#1\np1 commit t", "azure-flat") == {"TXN-5"}
    held = "p1 send h1\np1 receive 1 -> h1#1 lock=l1\np1 begin t\np1 complete l1 txn=t\np1 rollback t\n"
    assert violated(held + "p1 complete l1 -> error lock_lost", "azure-flat") == {"TXN-5"}


def test_a_fault_may_have_lost_what_was_committed() -> None:
    text = SENT + "p1 commit t\np1 receive 1 -> m1#3.1\nFAULT\nenv drained"
    assert "TXN-5" not in violated(text.replace("FAULT", "env broker_kill\nenv broker_start"))
    assert "TXN-5" not in violated(text.replace("FAULT", "env partition_down 3\nenv partition_up 3"))
    assert violated(text.replace("FAULT", "env partition_down 4\nenv partition_up 4")) == {"TXN-5"}


def test_who_owns_what_is_missing() -> None:
    def owners(text: str) -> dict[str, str]:
        (facts,) = facts_of(history(text))
        return dict(missing_ids(facts))

    batch = "p1 send_batch b1 key=a, b2 key=a\n"
    lost = SENT + "p1 commit t\n" + batch + "p1 receive 9 -> b1#3.1\nenv drained"
    assert owners(lost) == {"b2": "KEY-7", "m1": "TXN-5", "m2": "TXN-5"}
    assert owners(lost.replace("env drained", "")) == {}
    assert owners("p1 send x key=a\n" + lost) == {}


OVER = "p1 begin t\np1 send m1 txn=t\np1 commit t\n"


@pytest.mark.parametrize("after", ["send m2 txn=t", "commit t", "rollback t"])
def test_nothing_succeeds_in_a_transaction_that_is_over(after: str) -> None:
    assert violated(f"{OVER}p1 {after}", "azure-flat") == {"TXN-10"}
    refused = inspected(f"{OVER}p1 {after} -> error not_found", "azure-flat")
    assert not refused.findings and refused.exercised["TXN-10"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "p1 begin t\np1 send m1 txn=t\np1 commit t -> error unavailable\np1 commit t",
        "p1 begin t\np1 commit t @3-9\np2 rollback t @4-8",
        OVER + "p1 begin t\np1 send m2 txn=t\np1 commit t",
    ],
)
def test_what_may_not_be_over_yet_or_is_begun_again_is_free(text: str) -> None:
    assert "TXN-10" not in violated(text, "azure-flat")


TOLD = {
    "committed in part": (
        SENT + "p1 commit t\np2 receive 2 -> m1#3.1\nenv drained",
        "'m2' was committed and never seen, also not in the drain; of the same transaction 'm1' was seen",
    ),
    "not at all": (
        SENT + "p1 commit t\np1 send m3 key=a\np2 receive 2 -> m3#3.1\nenv drained",
        "'m1', 'm2' were committed and never seen, also not in the drain",
    ),
    "before the commit": (
        SENT + "p2 peek 2 -> m1#3.1 @40-1500000000\np1 commit t @1500000001-1500000002",
        "'m1', sent in transaction 't', was seen by 1.5 s; its commit was called at 1.500000001 s",
    ),
    "after a rollback": (
        SENT + "p1 rollback t @40-41\np2 receive 2 -> m1#3.1 @42-57",
        "'m1', sent in transaction 't', which was not committed, was seen by 57 ns",
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_became_of_the_sends_is_told(name: str) -> None:
    text, detail = TOLD[name]
    assert [finding.detail for finding in inspected(text).findings["TXN-5"]] == [detail]
