"""Receiving and settling: good histories, bad ones with the one rule that owns them, freedoms and limits.

The line of a table: a history in the terse notation, and what the suite has to say of it.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from inspections import assert_open, assert_owned, inspected, violated
from msgspec import structs

from partq.conformance.history.notation import history
from partq.conformance.screens.assess import inspect
from partq.conformance.screens.delivery.delivery import SCREEN
from partq.conformance.screens.registry import ALL

FLAT = "azure-flat"
STANDARD = "azure-standard"
SOLACE = "solace"

GOOD: dict[str, tuple[str, str, dict[str, int]]] = {
    "sent, received, completed": (
        FLAT,
        "p1 send m1\np1 receive 1 -> m1#1 lock=l1 count=0\np1 complete l1\np2 receive 1 -> nothing",
        {"RCV-1": 1, "RCV-7": 1},
    ),
    "all that was sent comes back as it was": (
        STANDARD,
        """
        p1 send m1 key=a body="two words" prop.x=1
        p1 receive 1 -> m1#3.1 key=a body="two words" prop.x=1
        """,
        {"RCV-1": 1},
    ),
    "what the broker does not show is not missing": (
        STANDARD,
        "p1 send m1 key=a prop.x=1\np1 receive 1 -> m1#3.1",
        {"RCV-1": 1},
    ),
    "a session ID is shown as the partition key too": (
        STANDARD,
        "p1 send m1 session=s\np1 receive 1 -> m1#3.1 session=s key=s",
        {"RCV-1": 1},
    ),
    "an unknown send may have happened": (
        FLAT,
        "p1 send m1 -> unknown timeout\np1 receive 1 -> m1#1",
        {"RCV-1": 1},
    ),
    "an ID sent twice may be either message": (
        FLAT,
        "p1 send m1 body=a\np1 send m1 body=b\np1 receive 2 -> m1#1 body=b, m1#2 body=a",
        {"RCV-1": 2},
    ),
    "abandoned and counted": (
        FLAT,
        """
        p1 send m1
        p1 receive 1 -> m1#1 lock=l1 count=0
        p1 abandon l1
        p2 receive 1 -> m1#1 lock=l2 count=1
        """,
        {"RCV-9": 1},
    ),
    "expired and counted": (
        FLAT,
        """
        p1 send m1
        p1 receive 1 -> m1#1 lock=l1 count=0
        env advance 31s
        p2 receive 1 -> m1#1 lock=l2 count=1
        p1 complete l1 -> error lock_lost
        """,
        {"RCV-8": 1, "RCV-9": 1},
    ),
    "a front end fetched it, and let the lock run out": (
        STANDARD,
        "p1 send m1 key=a\nenv advance 31s\np1 receive 1 -> m1#3.1 lock=l1 count=1",
        {},
    ),
    "a receive of unknown outcome locked it": (
        FLAT,
        """
        p1 send m1
        p1 receive 1 -> unknown connection_lost
        env advance 31s
        p1 receive 1 -> m1#1 lock=l1 count=1
        """,
        {},
    ),
    "a fault ends a lock, counted or not": (
        STANDARD,
        """
        p1 send m1 key=a
        p1 send m2 key=a
        p1 receive 2 -> m1#3.1 lock=l1 count=0 until=30s, m2#3.2 lock=l2 count=0 until=30s
        env partition_down 3
        env partition_up 3
        p2 receive 2 -> m1#3.1 lock=l3 count=0, m2#3.2 lock=l4 count=1
        """,
        {},
    ),
    "two receives at a time, one abandoned: which was first is not known": (
        FLAT,
        """
        p1 receive 1 ...
        p2 receive 1 ...
        p3 send m1
        p2 -> m1#1 lock=l1 count=0
        p2 abandon l1
        p1 -> m1#1 lock=l2 count=1
        """,
        {},
    ),
    "a renewed lock lasts longer": (
        FLAT,
        """
        p1 send m1
        p1 receive 1 -> m1#1 lock=l1 until=30s
        env advance 20s
        p1 renew_lock l1 -> m1#1 lock=l1 until=50s
        env advance 20s
        p1 complete l1
        """,
        {"RCV-8": 0},
    ),
    "a renewal of unknown outcome may have worked": (
        FLAT,
        """
        p1 send m1
        p1 receive 1 -> m1#1 lock=l1 until=30s
        env advance 20s
        p1 renew_lock l1 -> unknown timeout
        env advance 20s
        p1 complete l1
        """,
        {"RCV-8": 0},
    ),
    "others receive while locks hold": (
        FLAT,
        """
        p1 send m1
        p1 send m2
        p1 receive 1 -> m1#1 lock=l1 until=30s
        p2 receive 5 -> m2#2 lock=l2 until=30s
        """,
        {"RCV-6": 1, "RCV-3": 1},
    ),
    "a later message overtakes a locked one": (
        STANDARD,
        """
        p1 send m1 key=a
        p1 send m2 key=a
        p2 receive 1 -> m2#3.2 until=30s @10-11
        p1 receive 1 -> m1#3.1 until=20s @5s-6s
        """,
        {"RCV-3": 0},
    ),
    "an older one that was delivered before is free": (
        FLAT,
        """
        p1 send m1
        p1 send m2
        p1 receive 1 -> m1#1 lock=l1 count=0
        p2 receive 1 -> m2#2 lock=l2 count=0
        p1 abandon l1
        p1 receive 1 -> m1#1 lock=l3 count=1
        """,
        {"RCV-3": 1},
    ),
    "numbers across the roll-over": (
        STANDARD,
        """
        p1 send m1 key=a
        p1 send m2 key=a
        p1 receive 1 -> m1#3.max count=0 until=35s @5s-6s
        p1 receive 1 -> m2#3.0 count=0 until=40s @10s-11s
        """,
        {"RCV-3": 1},
    ),
    "received all at the end": (
        FLAT,
        """
        p1 send m1
        p1 send m2
        p1 receive 1 -> m1#1 lock=l1
        p1 complete l1
        p1 receive 9 delete -> m2#2
        p1 receive 9 delete -> nothing
        env drained
        """,
        {"RCV-2": 2, "RCV-7": 2},
    ),
    "what was never accepted can't be lost": (
        FLAT,
        """
        p1 send m1 -> error quota
        p1 send m2 -> unknown timeout
        p1 begin t1
        p1 send m3 txn=t1
        p1 rollback t1
        p1 receive 9 delete -> nothing
        env drained
        """,
        {},
    ),
    "a deletion of unknown outcome may happen at any time after its call": (
        FLAT,
        """
        p2 receive 1 delete -> unknown timeout
        p1 send m1
        p1 receive 9 delete -> nothing
        env drained
        """,
        {},
    ),
    "overtaken, as a lock that nobody saw may end by an earlier fault at any time": (
        FLAT,
        """
        p1 send m1
        p1 send m2
        p2 receive 1 -> unknown timeout
        env broker_kill
        env broker_start
        p1 receive 1 -> m2#2 count=0
        p1 receive 1 -> m1#1 count=0
        """,
        {},
    ),
    "a deletion that shows a lock": (
        FLAT,
        """
        p1 send m1
        p1 receive 1 delete -> m1#1 lock=l1 until=30s
        env advance 40s
        env drained
        """,
        {"RCV-2": 1},
    ),
    "deletions of unknown outcome took two": (
        FLAT,
        """
        p1 send m1
        p1 send m2
        p1 send m3
        p2 receive 2 delete -> unknown timeout
        p1 receive 9 delete -> m3#3
        env drained
        """,
        {"RCV-2": 3},
    ),
    "a completion of unknown outcome worked": (
        FLAT,
        """
        p1 send m1
        p1 receive 1 -> m1#1 lock=l1 until=30s
        p1 complete l1 -> unknown timeout
        env advance 40s
        p1 receive 9 delete -> nothing
        env drained
        """,
        {},
    ),
    "settling within one partition": (
        STANDARD,
        """
        p1 send m1 key=a
        p1 send m2 key=a
        p1 receive 2 -> m1#3.1 lock=l1 until=30s, m2#3.2 lock=l2 until=30s
        p1 complete l1 l2
        """,
        {"RCV-14": 0},
    ),
    "settling across partitions is refused": (
        STANDARD,
        """
        p1 send m1 key=a
        p1 send m2 key=b
        p1 receive 2 -> m1#3.1 lock=l1 until=30s, m2#4.1 lock=l2 until=30s
        p1 complete l1 l2 -> error invalid_operation
        """,
        {"RCV-14": 1},
    ),
    "without partitions any locks settle together": (
        FLAT,
        """
        p1 send m1
        p1 send m2
        p1 receive 2 -> m1#1 lock=l1, m2#2 lock=l2
        p1 complete l1 l2
        """,
        {},
    ),
    "a transaction gives its lock back": (
        FLAT,
        """
        p1 send m1
        p1 receive 1 -> m1#1 lock=l1 until=30s
        p1 begin t1
        p1 complete l1 txn=t1
        p1 complete l1 -> error invalid_operation
        p1 rollback t1
        p1 complete l1
        """,
        {},
    ),
    "a lost flow gives its messages back": (
        SOLACE,
        """
        env assignment 0 f1 ready
        p1 send m1
        p1 receive 1 flow=f1 -> m1 lock=l1
        p1 disconnect f1
        env assignment 0 f1 unassigned
        env assignment 0 f2 ready
        p2 receive 1 flow=f2 -> m1 lock=l2 redelivered=yes
        """,
        {},
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_good(name: str) -> None:
    profile, text, exercised = GOOD[name]
    inspection = inspected(text, profile)
    assert not {
        rule: findings for rule, findings in inspection.findings.items() if rule in SCREEN.requirements
    }
    assert not set(inspection.open) & set(SCREEN.requirements)
    assert {rule: inspection.exercised.get(rule, 0) for rule in exercised} == exercised


FREE: dict[str, tuple[str, str, str]] = {
    "across partitions any order": (
        "RCV-4",
        STANDARD,
        "p1 send m1 key=a\np1 send m2 key=b\np1 receive 1 -> m2#4.1\np1 receive 1 -> m1#3.1",
    ),
    "nothing, though a message is there": (
        "RCV-5",
        STANDARD,
        "p1 send m1 key=a\np1 receive 1 -> nothing\np1 receive 1 -> m1#3.1",
    ),
    "fewer than asked for": (
        "RCV-5",
        STANDARD,
        "p1 send m1 key=a\np1 send m2 key=b\np1 receive 2 -> m2#4.1\np1 receive 2 -> m1#3.1",
    ),
    "two consumers complete 2, 3, 1": (
        "RCV-11",
        FLAT,
        """
        p1 send_batch m1, m2, m3
        p1 receive 1 -> m1#1 lock=l1
        p2 receive 2 -> m2#2 lock=l2, m3#3 lock=l3
        p2 complete l2
        p2 complete l3
        p1 complete l1
        """,
    ),
    "the lock's clock ran before the delivery": (
        "RCV-13",
        STANDARD,
        "p1 send m1 key=a @1-2\np1 receive 1 -> m1#3.1 lock=l1 until=31s @20s-21s",
    ),
}


@pytest.mark.parametrize("name", FREE)
def test_a_freedom_is_counted_and_never_flagged(name: str) -> None:
    rule, profile, text = FREE[name]
    inspection = inspected(text, profile)
    assert not inspection.findings
    assert inspection.exercised[rule] >= 1


BAD: dict[str, tuple[str, str, str]] = {
    "a message that nobody sent": (
        "RCV-1",
        FLAT,
        "p1 send m1\np1 receive 2 -> m1#1, ghost#2",
    ),
    "a phantom in a peek": ("RCV-1", FLAT, "p1 send m1\np1 peek 1 -> ghost#2"),
    "a rejected message": ("RCV-1", FLAT, "p1 send m1 -> error quota\np1 receive 1 -> m1#1"),
    "a message before it was sent": (
        "RCV-1",
        FLAT,
        "p1 receive 1 -> m1#1\np1 send m1",
    ),
    "another body": ("RCV-1", FLAT, "p1 send m1 body=a\np1 receive 1 -> m1#1 body=b"),
    "another property": (
        "RCV-1",
        SOLACE,
        "p1 send m1 prop.x=1\np1 receive 1 -> m1 prop.x=2",
    ),
    "a property dropped": (
        "RCV-1",
        SOLACE,
        "p1 send m1 prop.x=1\np1 send m2 prop.x=1\np1 receive 2 -> m1, m2 prop.x=1",
    ),
    "another session": (
        "RCV-1",
        STANDARD,
        "p1 send m1 session=a\np1 receive 1 -> m1#3.1 session=b",
    ),
    "none of the messages of that ID": (
        "RCV-1",
        FLAT,
        "p1 send m1 body=a\np1 send m1 body=b\np1 receive 1 -> m1#1 body=c",
    ),
    "lost unseen": ("RCV-2", FLAT, "p1 send m1\np1 receive 9 delete -> nothing\nenv drained"),
    "lost after a peek": (
        "RCV-2",
        FLAT,
        "p1 send m1\np1 peek 1 -> m1#1\np1 receive 9 delete -> nothing\nenv drained",
    ),
    "lost after an abandon": (
        "RCV-2",
        FLAT,
        """
        p1 send m1
        p1 receive 1 -> m1#1 lock=l1 count=0 until=30s
        p1 abandon l1
        env advance 40s
        p1 receive 9 delete -> nothing
        env drained
        """,
    ),
    "lost with its lock": (
        "RCV-2",
        FLAT,
        """
        p1 send m1
        p1 receive 1 -> m1#1 lock=l1 count=0 until=30s
        env advance 40s
        p1 receive 9 delete -> nothing
        env drained
        """,
    ),
    "lost with a flow": (
        "RCV-2",
        SOLACE,
        """
        p1 send m1
        p1 receive 1 flow=f1 -> m1 lock=l1
        p1 disconnect f1
        p2 receive 9 delete -> nothing
        env drained
        """,
    ),
    "more lost than deletions of unknown outcome explain": (
        "RCV-2",
        FLAT,
        """
        p1 send m1
        p1 send m2
        p2 receive 1 delete -> unknown timeout
        p1 receive 9 delete -> nothing
        env drained
        """,
    ),
    "a lost lock settles in a transaction that is rolled back": (
        "RCV-8",
        FLAT,
        """
        p1 send m1
        p1 receive 1 -> m1#1 lock=l1 until=20s
        env advance 30s
        p1 begin t
        p1 abandon l1 txn=t
        p1 rollback t
        """,
    ),
    "a lock is renewed that nobody was given": (
        "RCV-8",
        FLAT,
        """
        p1 send m1
        p1 receive 1 -> unknown timeout
        p1 renew_lock l1
        """,
    ),
    "a lock that holds is refused as not found": (
        "RCV-6",
        FLAT,
        """
        p1 send m1
        p1 receive 1 -> m1#1 lock=l1 until=20s
        p1 complete l1 -> error not_found
        """,
    ),
    "more lost than a deletion of unknown outcome can have taken": (
        "RCV-2",
        FLAT,
        """
        p2 receive 1 delete -> unknown timeout
        p1 send m1
        p1 send m2
        p1 receive 9 delete -> nothing
        env drained
        """,
    ),
    "seen, though its send is unknown, and lost": (
        "RCV-2",
        FLAT,
        """
        p1 send m1 -> unknown timeout
        p1 peek 1 -> m1#1
        p1 receive 9 delete -> nothing
        env drained
        """,
    ),
    "newest first": (
        "RCV-3",
        FLAT,
        "p1 send m1\np1 send m2\np1 receive 1 -> m2#2\np1 receive 1 -> m1#1",
    ),
    "newest first, sent at once": (
        "RCV-3",
        FLAT,
        "p1 send_batch m1, m2\np1 receive 1 -> m2#2\np1 receive 1 -> m1#1",
    ),
    "newest first, over the roll-over": (
        "RCV-3",
        STANDARD,
        """
        p1 send m1 key=a
        p1 send m2 key=a
        p1 receive 1 -> m2#3.0 count=0 until=30s
        p1 receive 1 -> m1#3.max count=0 until=40s @10s-11s
        """,
    ),
    "overtaken before the lock shown can have begun": (
        "RCV-3",
        STANDARD,
        """
        p1 send m1 key=a
        p1 send m2 key=a
        p1 receive 1 -> m2#3.2 count=0 until=30s
        p1 receive 1 -> m1#3.1 count=0 until=40s @10s-11s
        """,
    ),
    "locked and delivered to another": (
        "RCV-6",
        FLAT,
        """
        p1 send m1
        p1 receive 1 -> m1#1 lock=l1 until=30s
        p2 receive 1 -> m1#1 lock=l2 until=30s
        """,
    ),
    "locked, though its lock is not shown, and delivered to another": (
        "RCV-6",
        FLAT,
        "p1 send m1\np1 receive 1 -> m1#1\np2 receive 1 -> m1#1 lock=l2 until=30s",
    ),
    "counted higher than two locks at a time explain": (
        "RCV-9",
        FLAT,
        """
        p1 send m1
        p1 receive 1 -> m1#1 lock=l1 until=30s @10-30
        p2 receive 1 -> m1#1 lock=l2 until=30s count=1 @20-50
        p1 abandon l1 @31-32
        p2 abandon l2 @60-61
        p2 receive 1 -> m1#1 lock=l3 until=30s count=3 @70-80
        """,
    ),
    "locked and deleted by another": (
        "RCV-6",
        FLAT,
        "p1 send m1\np1 receive 1 -> m1#1 lock=l1 until=30s\np2 receive 1 delete -> m1#1",
    ),
    "two locks at a time, given at a time": (
        "RCV-6",
        FLAT,
        """
        p1 send m1
        p1 receive 1 ...
        p2 receive 1 -> m1#1 lock=l2 until=30s
        p1 -> m1#1 lock=l1 until=30s
        """,
    ),
    "a renewal forgotten": (
        "RCV-6",
        FLAT,
        """
        p1 send m1
        p1 receive 1 -> m1#1 lock=l1 until=30s
        env advance 20s
        p1 renew_lock l1 -> m1#1 lock=l1 until=50s
        env advance 20s
        p2 receive 1 -> m1#1 lock=l2 count=1
        """,
    ),
    "an unacknowledged message delivered twice": (
        "RCV-6",
        "rabbitmq",
        "p1 send m1\np1 receive 1 -> m1 lock=l1\nenv advance 60s\np2 receive 1 -> m1 lock=l2",
    ),
    "a lock that holds is refused": (
        "RCV-6",
        FLAT,
        "p1 send m1\np1 receive 1 -> m1#1 lock=l1 until=30s\np2 complete l1 -> error lock_lost",
    ),
    "a lock that holds is not renewed": (
        "RCV-6",
        FLAT,
        "p1 send m1\np1 receive 1 -> m1#1 lock=l1 until=30s\np1 renew_lock l1 -> error lock_lost",
    ),
    "delivered after completion": (
        "RCV-7",
        FLAT,
        "p1 send m1\np1 receive 1 -> m1#1 lock=l1\np1 complete l1\np1 receive 1 -> m1#1 lock=l2",
    ),
    "delivered after deletion": (
        "RCV-7",
        FLAT,
        "p1 send m1\np1 receive 1 delete -> m1#1\np1 receive 1 -> m1#1 lock=l2",
    ),
    "deleted by two at a time": (
        "RCV-7",
        FLAT,
        "p1 send m1\np1 receive 1 delete ...\np2 receive 1 delete -> m1#1\np1 -> m1#1",
    ),
    "a kill undoes a completion": (
        "RCV-7",
        STANDARD,
        """
        p1 send m1 key=a
        p1 receive 1 -> m1#3.1 lock=l1 until=30s
        p1 complete l1
        env broker_kill
        env broker_start
        p1 receive 1 -> m1#3.1 lock=l2
        """,
    ),
    "completed twice": (
        "RCV-8",
        FLAT,
        "p1 send m1\np1 receive 1 -> m1#1 lock=l1\np1 complete l1\np1 complete l1",
    ),
    "completed after its lock ran out": (
        "RCV-8",
        FLAT,
        "p1 send m1\np1 receive 1 -> m1#1 lock=l1 until=30s\nenv advance 31s\np1 complete l1",
    ),
    "completed after its lock, not shown, ran out": (
        "RCV-8",
        STANDARD,
        "p1 send m1 key=a\np1 receive 1 -> m1#3.1 lock=l1\nenv advance 31s\np1 complete l1",
    ),
    "renewed after its lock ran out": (
        "RCV-8",
        FLAT,
        "p1 send m1\np1 receive 1 -> m1#1 lock=l1 until=30s\nenv advance 31s\np1 renew_lock l1",
    ),
    "settled by a lost lock, without effect": (
        "RCV-8",
        FLAT,
        """
        p1 send m1
        p1 receive 1 -> m1#1 lock=l1 until=30s
        env advance 31s
        p1 complete l1
        p1 receive 1 -> m1#1 lock=l2 count=1
        """,
    ),
    "refused and done": (
        "RCV-8",
        FLAT,
        """
        p1 send m1
        p1 send m2
        p1 receive 2 -> m1#1 lock=l1 count=0 until=30s, m2#2 lock=l2 count=0 until=30s
        env advance 31s
        p1 complete l1 -> error lock_lost
        p1 receive 9 delete -> m2#2 count=1
        env drained
        """,
    ),
    "an abandon not counted": (
        "RCV-9",
        FLAT,
        """
        p1 send m1
        p1 receive 1 -> m1#1 lock=l1 count=0
        p1 abandon l1
        p1 receive 1 -> m1#1 lock=l2 count=0
        """,
    ),
    "an expiry not counted": (
        "RCV-9",
        STANDARD,
        """
        p1 send m1 key=a
        p1 receive 1 -> m1#3.1 lock=l1 count=0 until=30s
        env advance 31s
        p1 receive 1 -> m1#3.1 lock=l2 count=0
        """,
    ),
    "an expiry not counted, as the broker was killed afterwards": (
        "RCV-9",
        STANDARD,
        """
        p1 send m1 key=a
        p1 receive 1 -> m1#3.1 lock=l1 count=0 until=30s
        env advance 31s
        env broker_kill
        env broker_start
        p1 receive 1 -> m1#3.1 lock=l2 count=0
        """,
    ),
    "an abandon counted twice": (
        "RCV-9",
        STANDARD,
        """
        p1 send m1 key=a
        p1 receive 1 -> m1#3.1 lock=l1 count=0 until=30s
        p1 abandon l1
        p1 receive 1 -> m1#3.1 lock=l2 count=2
        """,
    ),
    "a count from the start": ("RCV-9", FLAT, "p1 send m1\np1 receive 1 -> m1#1 count=1"),
    "more than asked for": (
        "RCV-12",
        STANDARD,
        "p1 send m1 key=a\np1 send m2 key=b\np1 receive 1 -> m1#3.1, m2#4.1",
    ),
    "a message twice in one answer": (
        "RCV-12",
        STANDARD,
        "p1 send m1 key=a\np1 receive 2 -> m1#3.1 lock=l1 until=30s, m1#3.1 lock=l2 until=30s",
    ),
    "one partition's locks refused": (
        "RCV-12",
        STANDARD,
        """
        p1 send m1 key=a
        p1 send m2 key=a
        p1 receive 2 -> m1#3.1 lock=l1 until=30s, m2#3.2 lock=l2 until=30s
        p1 complete l1 l2 -> error invalid_operation
        """,
    ),
    "a key out of order, numbers not shown": (
        "RCV-12",
        STANDARD,
        """
        p1 send m1 key=a
        p1 send m2 key=a
        p1 receive 1 -> m2 count=0 until=30s
        p1 receive 1 -> m1 count=0 until=40s @10s-11s
        """,
    ),
    "a lock longer than its duration": (
        "RCV-13",
        STANDARD,
        "p1 send m1 key=a\np1 receive 1 -> m1#3.1 lock=l1 until=31s @10-11",
    ),
    "a renewal longer than the duration": (
        "RCV-13",
        STANDARD,
        """
        p1 send m1 key=a
        p1 receive 1 -> m1#3.1 lock=l1 until=30s
        p1 renew_lock l1 -> m1#3.1 until=60s
        """,
    ),
    "settled across partitions": (
        "RCV-14",
        STANDARD,
        """
        p1 send m1 key=a
        p1 send m2 key=b
        p1 receive 2 -> m1#3.1 lock=l1 until=30s, m2#4.1 lock=l2 until=30s
        p1 complete l1 l2
        """,
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad(name: str) -> None:
    rule, profile, text = BAD[name]
    assert_owned(inspected(text, profile), rule)


OPEN: dict[str, tuple[str, str, str]] = {
    "missing, after a lost lock's completion of unknown outcome": (
        "RCV-2",
        FLAT,
        """
        p1 send m1
        p1 receive 1 -> m1#1 lock=l1 count=0 until=30s
        env advance 31s
        p1 complete l1 -> unknown connection_lost
        env drained
        """,
    ),
    "the second delivery overlaps the completion": (
        "RCV-7",
        FLAT,
        """
        p1 send m1
        p1 receive 1 -> m1#1 lock=l1 until=30s
        p1 complete l1 ...
        p2 receive 1 -> m1#1 lock=l2 count=0
        p1 -> ok
        """,
    ),
    "deleted and locked at a time": (
        "RCV-7",
        FLAT,
        """
        p1 send m1
        p1 receive 1 delete ...
        p2 receive 1 -> m1#1 lock=l2 until=30s
        p1 -> m1#1
        """,
    ),
    "a fault may have ended the lock that completed": (
        "RCV-7",
        STANDARD,
        """
        p1 send m1 key=a
        p1 receive 1 -> m1#3.1 lock=l1 until=30s
        env partition_down 3
        env partition_up 3
        p1 complete l1
        p2 receive 1 -> m1#3.1 lock=l2
        """,
    ),
    "a peek may have raised the count": (
        "RCV-9",
        FLAT,
        """
        p1 send m1
        p1 receive 1 -> m1#1 lock=l1 count=0
        p1 peek 1 -> m1#1 count=0
        p1 abandon l1
        p1 receive 1 -> m1#1 lock=l2 count=2
        """,
    ),
    "lost, or removed by a refused settlement": (
        "RCV-2",
        FLAT,
        """
        p1 send m1
        p1 receive 1 -> m1#1 lock=l1 count=0 until=30s
        env advance 31s
        p1 complete l1 -> error lock_lost
        p1 receive 9 delete -> nothing
        env drained
        """,
    ),
    "lost, or removed by a refused settlement; of another the later delivery was called for first": (
        "RCV-2",
        FLAT,
        """
        p1 send m1
        p1 receive 1 -> m1#1 lock=l1 count=0 until=30s
        env advance 31s
        p1 complete l1 -> error lock_lost
        p1 send m2
        p2 receive 1 delete ...
        p1 receive 1 -> m2#2 lock=l2 count=0
        p1 abandon l2
        p2 -> m2#2 count=1
        env drained
        """,
    ),
    "overtaken, or a front end's lock was not counted": (
        "RCV-3",
        STANDARD,
        """
        p1 send m1 key=a
        p1 send m2 key=a
        p1 receive 1 -> m2#3.2 count=0 until=30s
        p1 receive 1 -> m1#3.1 count=0 until=95s @70s-71s
        """,
    ),
}


@pytest.mark.parametrize("name", OPEN)
def test_what_has_two_explanations_is_left_open(name: str) -> None:
    rule, profile, text = OPEN[name]
    assert_open(inspected(text, profile), rule)


def test_a_lock_that_is_not_shown_may_be_the_one_that_is_settled() -> None:
    text = "p1 send m1\np1 receive 1 -> m1#1\np1 abandon l1\np2 receive 1 -> m1#1 lock=l2 count=1"
    assert violated(text, FLAT) <= {"RCV-8"}
    assert "RCV-6" not in inspected(text, FLAT).candidates


def test_of_two_locks_at_a_time_either_may_be_counted_last() -> None:
    text = """
        p1 send m1
        p1 receive 1 -> m1#1 lock=l1 until=30s @10-30
        p2 receive 1 -> m1#1 lock=l2 until=30s count=1 @20-50
        p3 abandon l1 @31-32
        p2 abandon l2 @60-61
        p2 receive 1 -> m1#1 lock=l3 until=30s count=2 @70-80
        """
    assert not inspected(text, FLAT).candidates
    assert not violated(text, FLAT)


def test_a_settlement_of_no_locks_says_nothing() -> None:
    read = history("p1 send m1\np1 complete l1 -> error lock_lost", FLAT)
    records = (read.records[0], structs.replace(read.records[1], args={"locks": ()}))
    inspection = inspect(replace(read, records=records), ALL)
    assert not inspection.findings and not inspection.open


def test_skew_is_allowed_in_every_comparison_with_the_brokers_clock() -> None:
    late = "p1 send m1 key=a\np1 receive 1 -> m1#3.1 lock=l1 until=31s @10-11"
    assert violated(late, STANDARD) == {"RCV-13"}
    assert violated(late, STANDARD, skew=10**9) == set()
    stale = "p1 send m1\np1 receive 1 -> m1#1 lock=l1 until=30s\nenv advance 31s\np1 complete l1"
    assert violated(stale, FLAT, skew=2 * 10**9) == set()


def test_a_kill_may_undo_settlements_where_the_profile_says_so() -> None:
    text = """
        p1 send m1
        p1 receive 1 -> m1 lock=l1
        p1 complete l1
        {between}
        p1 receive 1 -> m1 lock=l2
        """
    kill = "env broker_kill\nenv broker_start"
    assert violated(text.format(between=kill), "rabbitmq") == set()
    assert violated(text.format(between=""), "rabbitmq") == {"RCV-7"}
    late = text.format(between="").replace("p1 complete", f"{kill}\np1 complete")
    assert violated(late, "rabbitmq") == set() or "RCV-7" in inspected(late, "rabbitmq").open


def test_findings_of_one_cause_are_limited() -> None:
    sends = "\n".join(f"p1 send m{n}" for n in range(100))
    inspection = inspected(f"{sends}\np1 receive 9 delete -> nothing\nenv drained", FLAT)
    assert len(inspection.findings["RCV-2"]) == 20
    assert inspection.exercised["RCV-2"] == 100


def test_the_screen_is_in_the_suite() -> None:
    assert SCREEN in ALL
    assert SCREEN.blind_spots


IN_TURN = """
    p1 send m1 key=a @0-1ms
    p1 send m2 key=a @2ms-3ms
    p2 receive 1 -> m{first} count=0 until=30001ms @{times}
    p3 receive 1 -> m{second} count=0 until=30100ms @100ms-101ms
    """


@pytest.mark.parametrize(
    ("times", "skew", "told"),
    [("4ms-5ms", 0, 1), ("4ms-5ms", 50, 1), ("4ms-5ms", 99, 0), ("4ms-102ms", 0, 0), ("1ms-2500us", 0, 0)],
    ids=["apart", "apart by more than the skew", "by less", "at the same time", "before it was sent"],
)
def test_the_order_is_put_to_the_test_where_the_other_way_round_it_is_wrong(
    times: str, skew: int, told: int
) -> None:
    right = inspected(IN_TURN.format(first="1#3.1", second="2#3.2", times=times), skew=skew * 10**6)
    assert right.exercised.get("RCV-3", 0) == told and not right.findings
    if times == "4ms-5ms":
        wrong = IN_TURN.format(first="2#3.2", second="1#3.1", times=times)
        assert violated(wrong, skew=skew * 10**6) == ({"RCV-3"} if told else set())


@pytest.mark.parametrize(("skew", "told"), [(29, 1), (30, 0)])
def test_an_end_is_put_to_the_test_where_twice_the_duration_is_too_long(skew: int, told: int) -> None:
    receive = "p1 send m1 @0-1\np1 receive 1 -> m1#3.1 lock=l1 until=30s @2-3"
    history = f"{receive}\np1 renew_lock l1 -> m1 until=31s @2s-3s"
    assert inspected(history, skew=skew * 10**9).exercised.get("RCV-13", 0) == 2 * told


GIVEN_BACK = "p1 send m1\n" + "".join(
    f"{{}}p1 receive 1 -> m1#1 lock=l{count} count={count}\np1 abandon l{count}\n" for count in range(4)
)


def test_no_count_goes_beyond_the_maximum() -> None:
    plain, peeking = (GIVEN_BACK.replace("{}", more) for more in ("", "p1 peek 1 from=0 -> m1#1\n"))
    assert violated(plain, FLAT, max_delivery_count=3) == set()
    inspection = inspected(plain, FLAT, max_delivery_count=2)
    assert_owned(inspection, "RCV-9")
    assert "at most 2" in inspection.findings["RCV-9"][0].allowed
    assert violated(plain, SOLACE, max_delivery_count=2) == set()
    assert_open(inspected(peeking, FLAT, max_delivery_count=2), "RCV-9", "PEEK-6")


@pytest.mark.parametrize(
    ("sent", "found"),
    [("m2 key=a", {"RCV-6"}), ("m2", set()), ("m2 key=a session=b", set())],
)
def test_what_had_to_be_refused_may_have_ended_the_transaction(sent: str, found: set[str]) -> None:
    """The refusal may come late; until then nobody knows that the transaction is none any more."""
    text = f"""
        p send m1 key=a
        p receive 1 -> m1#1.1 key=a lock=l count=0
        p begin t
        p send {sent} txn=t
        p complete l txn=t -> error not_found
    """
    assert violated(text, "azure-premium") == found


@pytest.mark.parametrize(
    ("settlement", "binding"),
    [
        ("p1 abandon l1 -> ok @33s-33.1s", False),
        ("p1 complete l1 -> unknown timeout @33s-33.1s", False),
        ("p1 abandon l1 -> ok @31.9s-32.2s", False),
        ("p1 abandon l1 -> error lock_lost @33s-33.1s", True),
        ("p1 abandon l1 -> ok @2s-2.1s", True),
    ],
)
def test_where_lost_locks_may_settle_they_end_those_of_others(settlement: str, binding: bool) -> None:
    text = f"""
        p1 send m1 key=a @0s-0.1s
        p1 receive 1 -> m1 key=a lock=l1 @1s-1.1s
        p2 receive 1 -> m1 key=a lock=l2 @32s-32.1s
        {settlement}
        p3 receive 1 -> m1 key=a lock=l3 @34s-34.1s
        """
    assert violated(text, "partitioned-queue") == ({"RCV-6"} if binding else set())


def test_where_lost_locks_may_settle_they_prolong_those_of_others() -> None:
    text = """
        p1 send m1 key=a @0s-0.1s
        p1 receive 1 -> m1 key=a lock=l1 @1s-1.1s
        p2 receive 1 -> m1 key=a lock=l2 @32s-32.1s
        p1 renew_lock l1 -> ok @50s-50.1s
        p3 receive 1 -> nothing @70s-70.1s
        """
    assert violated(text, "partitioned-queue") == set()
