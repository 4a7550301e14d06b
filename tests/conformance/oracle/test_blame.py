"""Whom blame names: the requirements whose waiver alone explains a rejected history."""

from __future__ import annotations

import pytest

from partq.conformance.history import History
from partq.conformance.history.notation import history
from partq.conformance.oracle.blame import REJECTING, blame
from partq.conformance.oracle.judge import Judged, Judgement, judge

NAMED: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "a settlement by a lock that is lost": (
        "azure-flat",
        "p send m1\np receive 1 -> m1#1 lock=l count=0\nenv advance 31s\np complete l",
        ("RCV-8",),
    ),
    "a message that no client sent": ("azure-flat", "p send m1\np receive 1 delete -> m2#1", ("RCV-1",)),
    "delivered to two clients": (
        "azure-flat",
        "p send m1\np receive 1 -> m1#1 lock=l count=0\nq receive 1 -> m1#1 lock=k count=0",
        ("RCV-6",),
    ),
    "delivered again after its deletion": (
        "azure-flat",
        "p send m1\np receive 1 delete -> m1#1\nq receive 1 delete -> m1#1",
        ("RCV-7",),
    ),
    "out of order, or lost": (
        "azure-flat",
        "p send m1\np send m2\np receive 1 delete -> m2#2",
        ("RCV-3", "RCV-2"),
    ),
    "more messages peeked than asked for": (
        "azure-flat",
        "p send m1\np send m2\np peek 1 -> m1#1, m2#2",
        ("PEEK-4",),
    ),
    "a peek that locks": ("azure-flat", "p send m1\np peek 1 -> m1#1 lock=l", ("PEEK-6",)),
}


@pytest.mark.parametrize("name", NAMED)
def test_named(name: str) -> None:
    profile, text, candidates = NAMED[name]
    said = blame(history(text, profile, partitions=1 if profile == "azure-flat" else 2))
    assert said.judgement.status is Judged.REJECTED and said.complete
    assert said.candidates == candidates
    assert said.violated == (candidates[0] if len(candidates) == 1 else None)


def test_the_special_requirement_comes_before_the_general() -> None:
    text = "p send m1 key=a\np send m2 key=a\nq receive 2 delete -> m1#1.1, m2#2.1"
    said = blame(history(text, "azure-premium", partitions=2))
    assert said.candidates[:2] == ("KEY-2", "ROUTE-2") and said.violated is None


FIRST: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "a key moves at a start, though nothing was killed": (
        "azure-premium",
        "p send m1 key=a\nenv broker_start\np send m2 key=a\nq receive 2 delete -> m1#1.1, m2#2.1",
        ("ROUTE-1", "KEY-2", "ROUTE-2"),
    ),
    "refused in an outage elsewhere": (
        "azure-premium",
        "p send m1 key=a\nenv partition_down 2\np send m2 key=a -> error unavailable\n"
        "p send m3 key=a -> error unavailable\nenv partition_up 2\nq receive 2 delete -> m1#1.1",
        ("ROUTE-7",),
    ),
    "a valid renewal is refused for good": (
        "azure-flat",
        "p send m1\np receive 1 -> m1#1 lock=l count=0\np renew_lock l -> error invalid_operation",
        ("KEY-9", "RCV-6"),
    ),
    "refused for its two keys, and stored later": (
        "azure-premium",
        "p send m1 key=a session=b -> error invalid_operation\np send m2 key=c\n"
        "q receive 2 delete -> m2#1.1, m1#1.2",
        ("KEY-3", "RCV-1"),
    ),
    "refused in an outage, and stored after it": (
        "azure-premium",
        "env partition_down 1\nenv partition_down 2\np send m1 -> error unavailable\nenv partition_up 2\n"
        "env partition_up 1\nq receive 1 delete -> m1#1.1",
        ("ROUTE-8",),
    ),
    "waiting for its partition, and stored in another one after the outage": (
        "azure-premium",
        "p send m1 key=a @1-2\nenv partition_down 1 @3-4\np send m2 key=a @5-20\nenv partition_up 1 @6-7\n"
        "q receive 2 delete -> m1#1.1, m2#2.1 enqueued=19 @21-22",
        ("ROUTE-5",),
    ),
    "keys move at a start, after that has served": (
        "azure-premium",
        "p send m1 key=a @1-2\nenv broker_kill @3-4\nenv broker_start @5-20\np send m2 key=a @6-7\n"
        "p send m3 key=a @21-22\nq receive 3 delete -> m1#1.1, m2#1.2, m3#2.1 @23-24",
        ("ROUTE-1",),
    ),
    "another key's message is numbered after its transaction": (
        "azure-premium",
        "p begin t\np send m1 key=a txn=t\np send m2 key=b txn=t\np send m3 key=a txn=t\np commit t\n"
        "q receive 3 delete -> m1#1.1, m3#1.2, m2#1.3",
        ("TXN-2",),
    ),
    "a number is left out, far from the roll-over": (
        "azure-flat",
        "p send m1\np send m2\nq receive 2 delete -> m1#1, m2#5",
        ("SEQ-4", "SEQ-3"),
    ),
    "a locked message is hidden": (
        "azure-flat",
        "p send m1\np receive 1 -> m1#1 lock=l count=0\np peek 9 -> nothing\np complete l",
        ("PEEK-7", "PEEK-4"),
    ),
    "a walk ends early": (
        "azure-premium",
        "p send m1 key=a\np peek 9 -> m1#1.1\np send m2 key=b\np peek 9 -> nothing\n"
        "q receive 2 delete -> m1#1.1, m2#2.1",
        ("PEEK-5", "PEEK-4"),
    ),
    "a peek counts": (
        "azure-flat",
        "p send m1\np peek 9 -> m1#1 count=0\nq receive 1 delete -> m1#1 count=1",
        ("PEEK-6", "RCV-9"),
    ),
    "a lock is counted as soon as it begins, which a peek shows": (
        "azure-flat",
        "p send m1\nq receive 1 -> m1#1 lock=l count=0\np peek 1 -> m1#1 count=1\nq complete l",
        ("RCV-9",),
    ),
    "a lock ends early, which a peek shows": (
        "azure-flat",
        "p send m1\nq receive 1 -> m1#1 lock=l until=30s count=0\np peek 1 -> m1#1 count=1\n"
        "r receive 1 -> m1#1 lock=k until=30s count=1",
        ("RCV-6",),
    ),
    "dead-lettered after one delivery, or lost": (
        "azure-flat",
        "p send m1\nq receive 1 -> m1#1 lock=l count=0\nq abandon l\nenv drained",
        ("RCV-2", "RCV-9"),
    ),
    "dead-lettered after half as many deliveries as allowed, or lost": (
        "azure-flat",
        "p send m1\n"
        + "".join(f"q receive 1 -> m1#1 lock=l{n} count={n}\nq abandon l{n}\n" for n in range(5))
        + "env drained",
        ("RCV-9", "RCV-2"),
    ),
    "a peek leaves out what came back": (
        "azure-flat",
        "p send m1\np send m2\nq receive 1 -> m1#1 lock=l until=30s\nq abandon l\n"
        "q peek 9 from=0 -> m2#2\nq receive 2 delete -> m1#1 count=1, m2#2 count=0",
        ("PEEK-1", "PEEK-7"),
    ),
    "in another partition after an outage than a peek saw it in": (
        "azure-premium",
        "p send m1\nq peek 1 -> m1#1.1\nenv partition_down 1\nq receive 3 delete -> m1#2.1",
        ("SEQ-6", "PEEK-6"),
    ),
    "times against the numbers of sends that overlap": (
        "azure-flat",
        "p send m1 @1-20\nq send m2 @2-21\nq receive 2 delete -> m1#1 enqueued=15, m2#2 enqueued=5 @30-31",
        ("SEQ-7", "SEQ-3"),
    ),
    "a peek of unknown outcome counts": (
        "azure-flat",
        "p send m1\np peek 9 -> unknown\nq receive 1 delete -> m1#1 count=1",
        ("PEEK-6", "RCV-9"),
    ),
    "refused as busy, and stored": (
        "azure-flat",
        "p send m1 -> error timeout\nq receive 1 delete -> m1#1",
        ("RCV-1",),
    ),
    "a batch refused as busy, and stored in part": (
        "azure-premium",
        "p send_batch m1 key=a, m2 key=a -> error timeout\nq receive 1 delete -> m1#1.1\nenv drained",
        ("KEY-7", "RCV-1"),
    ),
    "refused in an outage as if it were invalid": (
        "azure-premium",
        "p send m1 key=a\nq receive 1 delete -> m1#1.1\nenv partition_down 1\n"
        "p send m2 key=a -> error invalid_operation",
        ("ROUTE-5", "KEY-9"),
    ),
    "refused in an outage for want of a key": (
        "azure-premium",
        "env partition_down 1\np send m1 -> error not_found",
        ("ROUTE-6", "KEY-9"),
    ),
    "refused in an outage, and stored elsewhere": (
        "azure-premium",
        "env partition_down 1\np send m1 -> error unavailable\nq receive 1 delete -> m1#2.1",
        ("ROUTE-6", "RCV-1"),
    ),
    "keyless sends fail as if keyed": (
        "azure-premium",
        "env partition_down 1\np send m1 -> error unavailable\np send m2 -> error unavailable",
        ("ROUTE-6", "KEY-5"),
    ),
    "a receive is refused for a quota": ("azure-flat", "q receive 1 -> error quota", ("KEY-9",)),
    "a settlement is refused for a quota": (
        "azure-flat",
        "p send m1\nq receive 1 -> m1#1 lock=l count=0\nq complete l -> error quota",
        ("KEY-9",),
    ),
    "a second key is refused, and enlisted": (
        "azure-premium",
        "p send m1 key=q\nq receive 1 delete -> m1#2.1\np begin t\np send m2 key=k txn=t\n"
        "p send m3 key=q txn=t -> error invalid_operation\np commit t\n"
        "q receive 2 delete -> m2#1.1, m3#2.2",
        ("TXN-2", "RCV-1"),
    ),
    "a send without a key is refused, and enlisted": (
        "azure-premium",
        "p begin t\np send m1 txn=t -> error invalid_operation\np commit t\nq receive 1 delete -> m1#1.1",
        ("TXN-1", "RCV-1"),
    ),
    "a send without a key is enlisted": (
        "azure-premium",
        "p begin t\np send m1 txn=t\np commit t\nq receive 1 delete -> m1#1.1",
        ("TXN-1", "KEY-5"),
    ),
    "a second partition is refused, and settled": (
        "azure-premium",
        "p send m1 key=a\np send m2 key=b\nq receive 2 -> m1#1.1 lock=l, m2#2.1 lock=k\nq begin t\n"
        "q complete l txn=t\nq complete k txn=t -> error invalid_operation\nq commit t\nenv drained",
        ("TXN-7", "RCV-2"),
    ),
    "two partitions in one settlement of a transaction": (
        "azure-premium",
        "p send m1 key=a\np send m2 key=b\nq receive 2 -> m1#1.1 lock=l, m2#2.1 lock=k\nq begin t\n"
        "q complete l k txn=t",
        ("RCV-14", "TXN-7"),
    ),
    "a lock that holds is refused in a transaction": (
        "azure-flat",
        "p send m1\nq receive 1 -> m1#1 lock=l count=0\nq begin t\nq complete l txn=t -> error lock_lost",
        ("RCV-6", "RCV-2"),
    ),
    "a lost lock settles in a transaction": (
        "azure-flat",
        "p send m1\nq receive 1 -> m1#1 lock=l count=0\nenv advance 31s\nq begin t\nq complete l txn=t",
        ("RCV-8",),
    ),
    "a settlement in a transaction ends the lock at once": (
        "azure-flat",
        "p send m1\nq receive 1 -> m1#1 lock=l count=0\nq begin t\nq complete l txn=t\n"
        "p receive 1 -> m1#1 lock=k count=0",
        ("TXN-5", "RCV-6"),
    ),
    "a commit stores in a partition that is down": (
        "azure-premium",
        "p send m1 key=a\nq receive 1 delete -> m1#1.1\nq begin t\nq send m2 key=a txn=t\n"
        "env partition_down 1\nq commit t\nenv partition_up 1\nq receive 1 delete -> m2#1.2",
        ("ROUTE-5", "TXN-5"),
    ),
    "a fault elsewhere ends a lock": (
        "azure-premium",
        "p send m1 key=a\nq receive 1 -> m1#1.1 lock=l count=0\nenv partition_down 2\n"
        "p receive 1 -> m1#1.1 lock=k count=0",
        ("ROUTE-7", "RCV-6"),
    ),
    "a fault elsewhere ends a transaction": (
        "azure-premium",
        "p send m1 key=a\nq receive 1 delete -> m1#1.1\nq begin t\nq send m2 key=a txn=t\n"
        "env partition_down 2\nq commit t -> error lock_lost",
        ("ROUTE-7", "KEY-9", "TXN-5"),
    ),
    "a fault elsewhere hides a message": (
        "azure-premium",
        "p send m1 key=a\nenv partition_down 2\nq peek 5 -> nothing\nenv partition_up 2\n"
        "q peek 5 from=0 -> m1#1.1",
        ("ROUTE-7", "PEEK-4"),
    ),
    "a key moves as a front end is lost": (
        "azure-premium",
        "p send m1 key=a\nenv frontend_lost p\np send m2 key=a\nq receive 2 delete -> m1#1.1, m2#2.1",
        ("ROUTE-1", "KEY-2", "ROUTE-2"),
    ),
    "a peek removes": ("azure-flat", "p send m1\np peek 1 -> m1#1\nenv drained", ("PEEK-6", "RCV-2")),
    "a peek renumbers": (
        "azure-flat",
        "p send m1\np peek 1 -> m1#1\nq peek 1 -> m1#2",
        ("SEQ-6", "PEEK-6"),
    ),
    "a renewal renumbers": (
        "azure-flat",
        "p send m1\nq receive 1 -> m1#1 lock=l count=0\nq renew_lock l -> m1#2\nq receive 1",
        ("SEQ-6",),
    ),
    "a renewal moves to another partition": (
        "azure-premium",
        "p send m1\nq receive 1 -> m1#1.1 lock=l count=0\nq renew_lock l -> m1#2.1",
        ("SEQ-6", "SEQ-2"),
    ),
    "abandoned to another partition": (
        "azure-premium",
        "p send m1\nq receive 1 -> m1#1.1 lock=l count=0\nq abandon l\nq receive 1 delete -> m1#2.1 count=1",
        ("SEQ-6", "SEQ-2"),
    ),
    "renumbered, and gone": (
        "azure-flat",
        "p send m1\nq receive 1 -> m1#1 lock=l count=0\nq abandon l\n"
        "q receive 1 delete -> m1#2 count=1\np send m2\nq receive 1 delete -> m2#3",
        ("SEQ-6",),
    ),
    "deleted, and delivered under another number": (
        "azure-flat",
        "p send m1\nq receive 1 delete -> m1#1\nq receive 1 delete -> m1#2",
        ("RCV-7",),
    ),
    "deleted, and delivered by another partition": (
        "azure-premium",
        "p send m1\nq receive 1 delete -> m1#1.1\nq receive 1 delete -> m1#2.1",
        ("RCV-7",),
    ),
    "completed, and delivered as if new": (
        "azure-flat",
        "p send m1\nq receive 1 -> m1#1 lock=l count=0\nq abandon l\n"
        "q receive 1 -> m1#1 lock=k count=1\nq complete k\nq receive 1 delete -> m1#1 count=0",
        ("RCV-7",),
    ),
    "locked in two partitions": (
        "azure-premium",
        "p send m1\nq receive 1 -> m1#1.1 lock=l count=0\nq receive 1 -> m1#2.1 lock=k count=0",
        ("RCV-6",),
    ),
    "of two partitions in one answer": (
        "azure-premium",
        "p send m1\nq receive 2 delete -> m1#1.1, m1#2.1",
        ("RCV-12",),
    ),
    "of two partitions in one peek": (
        "azure-premium",
        "p send m1\nq peek 2 -> m1#1.1, m1#2.1",
        ("RCV-12",),
    ),
    "dead-lettered after half the deliveries": (
        "azure-flat",
        "p send m1\n"
        + "".join(f"q receive 1 -> m1#1 lock=l{n} count={n}\nq abandon l{n}\n" for n in range(5))
        + "env drained",
        ("RCV-9", "RCV-2"),
    ),
    "keyed, and stored while no partition is up": (
        "azure-premium",
        "p send m1 key=a\nq receive 1 delete -> m1#1.1\nenv partition_down 1\nenv partition_down 2\n"
        "p send m2 key=a\nenv partition_up 1\nq receive 1 delete -> m2#1.2",
        ("ROUTE-8", "ROUTE-5"),
    ),
    "accepted while no partition is up, and dropped": (
        "azure-premium",
        "env partition_down 1\nenv partition_down 2\np send m1\nenv partition_up 1\n"
        "env partition_up 2\nenv drained",
        ("ROUTE-8",),
    ),
    "accepted while its partition is down, and dropped": (
        "azure-premium",
        "p send m1 key=a\nq receive 1 delete -> m1#1.1\nenv partition_down 1\np send m2 key=a\n"
        "env partition_up 1\nenv drained",
        ("ROUTE-5",),
    ),
    "two keys that conflict, accepted and dropped": (
        "azure-premium",
        "p send m1 key=a session=b\nenv drained",
        ("KEY-3",),
    ),
    "a batch of two keys in a transaction": (
        "azure-premium",
        "p send m1 key=q\nq receive 1 delete -> m1#2.1\np begin t\n"
        "p send_batch m2 key=k, m3 key=q txn=t\np commit t\nq receive 2 delete -> m2#1.1, m3#2.2",
        ("KEY-7",),
    ),
    "a second key is refused at the commit": (
        "azure-premium",
        "p send m1 key=q\np send m2 key=k\nq receive 2 delete -> m1#2.1, m2#1.1\np begin t\n"
        "p send m3 key=k txn=t\np send m4 key=q txn=t\np commit t -> error invalid_operation",
        ("TXN-2",),
    ),
    "a second key is accepted, and dropped": (
        "azure-premium",
        "p send m1 key=q\np send m2 key=k\nq receive 2 delete -> m1#2.1, m2#1.1\np begin t\n"
        "p send m3 key=k txn=t\np send m4 key=q txn=t\np commit t\nq receive 1 delete -> m3#1.2\n"
        "env drained",
        ("TXN-2", "TXN-5"),
    ),
    "a send without a key is accepted, and dropped": (
        "azure-premium",
        "p begin t\np send m1 txn=t\np commit t\nenv drained",
        ("TXN-1", "KEY-5"),
    ),
    "a second partition is refused at the commit": (
        "azure-premium",
        "p send m1 key=a\np send m2 key=b\nq receive 2 -> m1#1.1 lock=l, m2#2.1 lock=k\nq begin t\n"
        "q complete l txn=t\nq complete k txn=t\nq commit t -> error invalid_operation",
        ("TXN-7",),
    ),
    "a second partition is accepted, and not settled": (
        "azure-premium",
        "p send m1 key=a\np send m2 key=b\nq receive 2 -> m1#1.1 lock=l, m2#2.1 lock=k\nq begin t\n"
        "q complete l txn=t\nq complete k txn=t\nq commit t\nq complete k",
        ("TXN-7", "TXN-5"),
    ),
    "two partitions in one settlement, of which one is settled": (
        "azure-premium",
        "p send m1 key=a\np send m2 key=b\nq receive 2 -> m1#1.1 lock=l, m2#2.1 lock=k\n"
        "q complete l k\nq complete k",
        ("RCV-14",),
    ),
    "a commit gives back what it should complete": (
        "azure-flat",
        "p send m1\nq receive 1 -> m1#1 lock=l count=0\nq begin t\nq complete l txn=t\nq commit t\n"
        "q receive 1 -> m1#1 lock=k count=1",
        ("TXN-5", "RCV-7"),
    ),
    "stored by a transaction that is over, and refused": (
        "azure-flat",
        "p begin t\np commit t\np send m1 txn=t -> error not_found\nq receive 1 delete -> m1#1",
        ("TXN-10", "RCV-1"),
    ),
    "a peek ends a lock": (
        "azure-flat",
        "p send m1\nq receive 1 -> m1#1 lock=l count=0\np peek 1 -> m1#1 count=0\n"
        "q complete l -> error lock_lost",
        ("PEEK-6", "RCV-6"),
    ),
    "shown to hold longer than it may, and lost in time": (
        "azure-premium",
        "p send m1\nq receive 1 -> m1#1.1 lock=l until=60s count=0\nenv advance 31s\n"
        "q receive 1 delete -> m1#1.1 count=1",
        ("RCV-13",),
    ),
    "renewed for longer than it may be, and lost in time": (
        "azure-premium",
        "p send m1\nq receive 1 -> m1#1.1 lock=l until=30s count=0\n"
        "q renew_lock l -> m1#1.1 lock=l until=60s count=0\nenv advance 31s\n"
        "q receive 1 delete -> m1#1.1 count=1",
        ("RCV-13",),
    ),
    "two locks of three are lost, and the third is settled all the same": (
        "azure-flat",
        "p send m1\np send m2\np send m3\nq receive 2 -> m1#1 lock=l until=30s, m2#2 lock=k until=30s\n"
        "env advance 16s\nq receive 1 -> m3#3 lock=j until=46s\nenv advance 16s\n"
        "q complete l k j -> error lock_lost\nq receive 9 delete -> m1#1 count=1, m2#2 count=1\nenv drained",
        ("RCV-8", "RCV-2"),
    ),
    "a kill stores what an open transaction sent": (
        "azure-flat",
        "p begin t @1-2\np send m1 txn=t @3-4\nenv broker_kill @5-6\nenv broker_start @7-8\n"
        "p rollback t -> error not_found @9-10\nq receive 1 delete -> m1#1 enqueued=5 @11-12",
        ("TXN-5",),
    ),
    "a peek counts a locked message, which is then abandoned": (
        "azure-flat",
        "p send m1\nq receive 1 -> m1#1 lock=l count=0\np peek 1 -> m1#1 count=0\nq abandon l\n"
        "q receive 1 delete -> m1#1 count=2",
        ("PEEK-6", "RCV-9"),
    ),
    "completed by a lost lock, said to be": (
        "azure-flat",
        "p send m1\np receive 1 -> m1#1 lock=l count=0\nenv broker_kill\nenv broker_start\n"
        "p complete l\nq receive 1 delete -> m1#1 count=0",
        ("RCV-8", "RCV-7"),
    ),
}


@pytest.mark.parametrize("name", FIRST)
def test_named_first(name: str) -> None:
    profile, text, first = FIRST[name]
    said = blame(history(text, profile, partitions=1 if profile == "azure-flat" else 2))
    assert said.complete and said.candidates[: len(first)] == first


ALL_F = "p bind f\nenv advance 5s\nenv assignment 1 f ready\nenv assignment 2 f ready\n"
F_AND_G = f"{ALL_F}q bind g\nenv advance 5s\nenv assignment 1 f unassigned\nenv assignment 1 g ready\n"

OF_FLOWS: dict[str, tuple[str, tuple[str, ...]]] = {
    "to a flow that is gone": (
        f"{ALL_F}s send m1 key=a\np unbind f\np receive 1 flow=f -> m1",
        ("REB-2",),
    ),
    "to a flow that never was": (f"{ALL_F}s send m1 key=a\nq receive 1 flow=g -> m1", ("REB-2",)),
    "marked as redelivered, and new": (
        f"{ALL_F}s send m1 key=a\np receive 1 flow=f -> m1 lock=l redelivered=yes",
        ("REB-3", "RCV-1", "RCV-7"),
    ),
    "at two flows from the first": (
        "p bind f\nq bind g\nenv advance 5s\nenv assignment 1 f ready\nenv assignment 1 g ready\n"
        "env assignment 2 g ready",
        ("REB-1",),
    ),
    "at a second flow out of the blue": (f"{F_AND_G}env assignment 2 g ready", ("REB-1",)),
    "the new flow starts before the handoff ends": (
        f"{ALL_F}s send m1 key=a\ns send m2 key=a\np receive 1 flow=f -> m1 lock=l\nq bind g\n"
        "env advance 5s\nenv assignment 1 f paused\nq receive 1 flow=g -> m2 lock=k",
        ("REB-14",),
    ),
    "the new flow is ready before the handoff ends, and the old one settles": (
        f"{ALL_F}s send m1 key=a\ns send m2 key=a\np receive 1 flow=f -> m1 lock=l\nq bind g\n"
        "env advance 5s\nenv assignment 1 f paused\nenv advance 50ms\nenv assignment 1 f unassigned\n"
        "env assignment 1 g ready\nq receive 1 flow=g -> m2 lock=k\np complete l",
        ("REB-14",),
    ),
    "a useful flow stands by": (
        f"p bind f\nq bind g\n{ALL_F.removeprefix('p bind f')}env advance 50s\ns send m1 key=a",
        ("REB-4", "REB-12"),
    ),
    "nobody has it after the delay": (
        f"{F_AND_G}q unbind g\nenv assignment 1 g unbound\nenv advance 5s\n"
        "env assignment 1 g unassigned\nenv advance 20s\ns send m1 key=a",
        ("REB-11", "REB-7", "REB-13"),
    ),
    "one of two lost partitions is left to nobody": (
        f"{F_AND_G}q unbind g\nenv assignment 1 g unbound\np unbind f\nenv assignment 2 f unbound\n"
        "q bind h\nenv advance 5s\nenv assignment 2 f unassigned\nenv assignment 2 h ready\n"
        "env advance 20s\ns send m1 key=a",
        ("REB-11", "REB-13"),
    ),
    "a new flow is told of, and the end of the old one is not": (
        f"{ALL_F}p unbind f\nenv assignment 1 f unbound\nenv assignment 2 f unbound\nq bind g\n"
        "env advance 5s\nenv assignment 1 g ready\nenv assignment 2 g ready\nenv advance 20s\n"
        "s send m1 key=a",
        ("REB-1",),
    ),
    "a client that comes back late is left out": (
        f"{F_AND_G}q unbind g\nenv assignment 1 g unbound\nenv advance 5s\n"
        "env assignment 1 g unassigned\nenv assignment 1 f ready\nq bind h\nenv advance 50s\n"
        "s send m1 key=a",
        ("REB-10", "REB-4"),
    ),
    "a client that comes back early is left out": (
        f"{F_AND_G}q unbind g\nenv assignment 1 g unbound\nq bind h\nenv advance 5s\n"
        "env assignment 1 g unassigned\nenv assignment 1 f ready\nenv advance 50s\ns send m1 key=a",
        ("REB-9", "REB-4"),
    ),
    "a standby waits, and nothing is told": (
        f"{F_AND_G}r bind h\nq unbind g\nenv advance 5s\nenv assignment 1 g unassigned\n"
        "env assignment 1 h ready",
        ("REB-6",),
    ),
    "another flow than the standby takes over": (
        f"{F_AND_G}r bind h\nq unbind g\nenv assignment 1 g unassigned\nenv assignment 1 f ready\n"
        "env advance 20s\ns send m1 key=a",
        ("REB-6",),
    ),
    "the delay ends early": (
        f"{F_AND_G}q unbind g\nenv assignment 1 g unbound\nenv advance 2s\n"
        "env assignment 1 g unassigned\nenv assignment 1 f ready",
        ("REB-7",),
    ),
    "a partition that nobody knows is shown": (
        f"{ALL_F}s send m1 key=a\np receive 1 flow=f -> m1 partition=7",
        ("REB-15",),
    ),
    "a partition too many": (f"{ALL_F}env assignment 3 f ready", ("REB-13",)),
    "browsed": (f"{ALL_F}s send m1 key=a\ns peek 1 -> m1", ("REB-16",)),
}


@pytest.mark.parametrize("name", OF_FLOWS)
def test_of_flows(name: str) -> None:
    text, first = OF_FLOWS[name]
    said = blame(history(text, "solace", partitions=2))
    assert said.complete and said.candidates[: len(first)] == first


SPLIT = "p send m1 key=a\np send m2 key=a\nq receive 2 delete -> m1#1.1, m2#2.1"
ASTRAY: dict[str, tuple[str, tuple[str, ...]]] = {
    "nothing more": ("", ("KEY-2", "ROUTE-2", "ROUTE-1")),
    "sessions come apart, too": (
        "\np send m3 session=b\np send m4 session=b\nq receive 2 delete -> m3#1.2, m4#2.2",
        ("ROUTE-2", "ROUTE-1", "KEY-2"),
    ),
}


@pytest.mark.parametrize("name", ASTRAY)
def test_what_does_not_explain_the_whole_comes_last(name: str) -> None:
    more, candidates = ASTRAY[name]
    cut, whole = (history(text, "azure-premium", partitions=2) for text in (SPLIT, SPLIT + more))
    said = blame(cut, whole=whole)
    assert said.candidates == candidates and said.violated is None


TO_TWO_FLOWS = (
    f"{F_AND_G}s send m1 {{0}}\ns send m2 {{0}}\np receive 1 flow=f -> m1 lock=l\n"
    "q receive 1 flow=g -> m2 lock=k"
)


@pytest.mark.parametrize(
    ("key", "candidates"),
    [("prop.JMSXGroupID=a", ("KEY-8", "ROUTE-2")), ("key=a", ("ROUTE-2", "KEY-8"))],
)
def test_key_8_comes_first_where_the_key_is_not_in_the_first_place(
    key: str, candidates: tuple[str, ...]
) -> None:
    said = blame(history(TO_TWO_FLOWS.format(key), "solace", partitions=2))
    assert tuple(id for id in said.candidates if id in candidates) == candidates


def test_a_key_that_moved_speaks_for_route_1_only_after_a_fault() -> None:
    sent = "p send m1 key=a\n{}p send m2 key=a\nq receive 2 delete -> m1#1.1, m2#2.1"
    for fault, first in (("", "KEY-2"), ("env partition_down 2\nenv partition_up 2\n", "ROUTE-1")):
        said = blame(history(sent.format(fault), "azure-premium", partitions=2))
        assert said.candidates[0] == first and "ROUTE-1" in said.candidates


def test_what_messages_that_complied_contradict_comes_after_what_they_do_not() -> None:
    text = "p send m1 session=a\np send m2 session=a\np send m3 key=a\nq receive 3 -> m1#1.1, m2#1.2, m3#2.1"
    said = blame(history(text, "azure-premium", partitions=2))
    assert said.candidates == ("KEY-2", "ROUTE-2", "ROUTE-1", "KEY-1")


def test_a_lawful_history_is_not_blamed() -> None:
    said = blame(history("p send m1\np receive 1 delete -> m1#1", "azure-flat"))
    assert said.judgement.status is Judged.ACCEPTED
    assert not said.candidates and not said.complete and said.violated is None


def test_two_violations_are_a_pair() -> None:
    text = (
        "p send m1\np receive 1 -> m1#1 lock=l count=0\nq receive 1 -> m1#1 lock=k count=0\n"
        "p send m2\np receive 1 delete -> m2#2\nq receive 1 delete -> m2#2"
    )
    said = blame(history(text, "azure-flat"))
    assert said.candidates == () and set(said.pairs[0]) == {"RCV-6", "RCV-7"}


def test_without_time_the_candidates_are_a_lower_bound() -> None:
    said = blame(history("p send m1\np receive 1 delete -> m2#1", "azure-flat"), seconds=0)
    assert said.violated == "RCV-1"  # no search is needed
    sends = "\n".join(f"c{n} send m{n} @{n + 1}-50" for n in range(8))
    said = blame(history(f"{sends}\nq receive 9 delete -> m0#99 @60-61", "azure-flat"), seconds=0)
    assert not said.complete and said.violated is None


def test_a_more_special_requirement_whose_search_gave_up_is_asked_about_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    profile, text, _ = FIRST["dead-lettered after half as many deliveries as allowed, or lost"]
    budgets: dict[frozenset[str], list[int | None]] = {}

    def stingy(history: History, seconds: float, late: int, waived: frozenset[str], nodes: int) -> Judgement:
        budgets.setdefault(waived, []).append(nodes)
        gives_up = waived == {"RCV-9"} and nodes < REJECTING * 1_000
        return Judgement(Judged.UNKNOWN) if gives_up else judge(history, seconds, late, waived, nodes)

    monkeypatch.setattr("partq.conformance.oracle.blame.judge", stingy)
    said = blame(history(text, profile), nodes=1_000)
    assert said.candidates == ("RCV-9", "RCV-2") and said.complete
    assert budgets[frozenset({"RCV-9"})] == [1_000, REJECTING * 1_000]
    assert budgets[frozenset({"RCV-2"})] == [1_000]


def test_what_was_consulted_before_the_search_gave_up_is_waived(monkeypatch: pytest.MonkeyPatch) -> None:
    profile, text, candidates = FIRST["dead-lettered after half as many deliveries as allowed, or lost"]

    def forgetful(
        history: History,
        seconds: float,
        late: int = 0,
        waived: frozenset[str] = frozenset(),
        nodes: int | None = None,
    ) -> Judgement:
        said = judge(history, seconds, late, waived, nodes)
        return Judgement(Judged.UNKNOWN) if "nothing" in {*waived} else said

    monkeypatch.setattr("partq.conformance.oracle.blame.judge", forgetful)
    said = blame(history(text, profile))
    assert said.judgement.status is Judged.REJECTED and said.candidates == candidates
    assert not said.complete and {"KEY-9", "TXN-10"} <= {*said.open}
