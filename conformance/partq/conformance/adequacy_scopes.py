"""The scopes of the adequacy comparison: routing, delivery, peek, transactions, assignment."""

from __future__ import annotations

from typing import Final

from partq.model.profiles import SECOND

from .adequacy import STEP, BlindSpot, Scope, Slot

_DRAINED: Final = Slot(("", "env drained"), after=40 * SECOND)

ROUTING: Final = Scope(
    "routing",
    "azure-premium",
    "equal keys and keyless messages over two partitions, one of which goes down",
    (
        Slot(("p1 send m1 key=a",)),
        Slot(("", "env partition_down 1", "env partition_down 2")),
        Slot(
            (
                "p2 send m2 key=a",
                "p2 send m2 key=a -> error unavailable",
                "p2 send m2 key=a -> unknown timeout",
                "p2 send m2 key=b",
                "p2 send m2 session=a",
                "p2 send m2",
                "p2 send m2 -> error unavailable",
            ),
            overlaps=True,
        ),
        Slot(("", "env partition_up 1", "env partition_up 2"), overlaps=True),
        Slot(
            (
                "p1 receive 5 delete -> nothing",
                "p1 receive 5 delete -> m1#1.1",
                "p1 receive 5 delete -> m1#2.1",
                "p1 receive 5 delete -> m2#1.1",
                "p1 receive 5 delete -> m2#2.1",
                "p1 receive 5 delete -> m1#1.1, m2#1.2",
                "p1 receive 5 delete -> m1#1.1, m2#2.1",
                "p1 receive 5 delete -> m1#2.1, m2#1.1",
                "p1 receive 5 delete -> m1#2.1, m2#2.2",
                "p1 receive 5 delete -> m2#2.1, m1#2.2",
            ),
            overlaps=True,
        ),
        _DRAINED,
    ),
    (("partitions", 2),),
)

_SETTLED: Final = tuple(
    f"p1 {op} l1{outcome}"
    for op in ("complete", "abandon")
    for outcome in ("", " -> error lock_lost", " -> unknown timeout")
)

DELIVERY: Final = Scope(
    "delivery",
    "azure-flat",
    "two messages, two receivers, a settlement of either kind, redelivery",
    (
        Slot(("p1 send m1", "p1 send m1 -> unknown timeout")),
        Slot(("p1 send m2",)),
        Slot(
            (
                "p1 receive 1 -> nothing",
                "p1 receive 1 -> m1#1 lock=l1 count=0",
                "p1 receive 1 -> m2#2 lock=l1 count=0",
                "p1 receive 1 delete -> m1#1",
                "p1 receive 1 delete -> unknown timeout",
            )
        ),
        Slot(
            (
                "p2 receive 2 -> nothing",
                "p2 receive 2 -> m1#1 lock=l2 count=0",
                "p2 receive 2 -> m2#2 lock=l2 count=0",
                "p2 receive 2 -> m1#1 lock=l2 count=0, m2#2 lock=l3 count=0",
            ),
            overlaps=True,
        ),
        Slot(("", *_SETTLED), overlaps=True),
        Slot(
            (
                "p2 receive 2 delete -> nothing",
                "p2 receive 2 delete -> m1#1 count=0",
                "p2 receive 2 delete -> m1#1 count=1",
                "p2 receive 2 delete -> m2#2 count=0",
                "p2 receive 2 delete -> m1#1 count=1, m2#2 count=0",
                "p2 receive 2 delete -> m1#1 count=1, m2#2 count=1",
            ),
            overlaps=True,
        ),
        _DRAINED,
    ),
)

EXPIRY: Final = Scope(
    "expiry",
    "azure-premium",
    "a lock whose time passes, or nearly, in a partition behind caching front ends",
    (
        Slot(("p1 send m1 key=a",)),
        Slot(("p1 send m2 key=a",)),
        Slot(
            (
                "p1 receive 1 -> m1#1.1 lock=l1 count=0",
                "p1 receive 1 -> m2#1.2 lock=l1 count=0",
            )
        ),
        Slot(("", "p1 renew_lock l1", "p1 renew_lock l1 -> error lock_lost"), after=20 * SECOND),
        Slot(
            (
                "p2 receive 2 -> nothing",
                "p2 receive 2 -> m1#1.1 lock=l2 count=0",
                "p2 receive 2 -> m1#1.1 lock=l2 count=1",
                "p2 receive 2 -> m2#1.2 lock=l2 count=0",
                "p2 receive 2 -> m2#1.2 lock=l2 count=1",
            ),
            after=9 * SECOND,
        ),
        Slot(("", *_SETTLED), after=2 * SECOND),
        Slot(
            (
                "p2 receive 2 delete -> nothing",
                "p2 receive 2 delete -> m1#1.1 count=0",
                "p2 receive 2 delete -> m1#1.1 count=1",
                "p2 receive 2 delete -> m1#1.1 count=2",
                "p2 receive 2 delete -> m2#1.2 count=1",
                "p2 receive 2 delete -> m1#1.1 count=1, m2#1.2 count=1",
            ),
            overlaps=True,
        ),
        _DRAINED,
    ),
    (("partitions", 2),),
)

_PEEKED: Final = (
    "nothing",
    "m1#1.1",
    "m2#1.2",
    "m3#2.1",
    "m1#1.1, m2#1.2",
    "m1#1.1, m3#2.1",
    "m2#1.2, m3#2.1",
)

PEEK: Final = Scope(
    "peek",
    "azure-premium",
    "two peeks of one client over two partitions while a message comes and another goes",
    (
        Slot(("p1 send m1 key=a",)),
        Slot(("p1 send m2 key=a", "p1 send m2 key=a -> unknown timeout")),
        Slot(("p1 send m3 key=b",)),
        Slot(tuple(f"p2 peek 2 -> {answer}" for answer in _PEEKED), overlaps=True),
        Slot(
            (
                "",
                "p1 receive 1 -> m1#1.1 lock=l1",
                "p1 receive 1 delete -> m1#1.1",
                "p1 receive 1 delete -> unknown timeout",
            ),
            overlaps=True,
        ),
        Slot(
            tuple(
                f"p2 peek 2{start} -> {answer}"
                for start in ("", " from=1.1", " from=1.2")
                for answer in _PEEKED
            ),
            overlaps=True,
        ),
        Slot(("", "p2 peek 3 -> nothing", "p2 peek 3 -> m3#2.1")),
        Slot(("", "p1 receive 5 delete -> m2#1.2, m3#2.1")),
    ),
    (("partitions", 2),),
)

FLAT_PEEK: Final = Scope(
    "flat peek",
    "azure-flat",
    "peeks of a queue without partitions",
    (
        Slot(("p1 send m1",)),
        Slot(("p1 send m2", "p1 send m2 -> unknown timeout")),
        Slot(("p1 send m3",), overlaps=False),
        Slot(
            tuple(
                f"p2 peek 2 -> {a}"
                for a in (
                    "nothing",
                    "m1#1",
                    "m2#2",
                    "m1#1, m2#2",
                    "m1#1, m3#2",
                    "m1#1, m3#3",
                    "m1#1, m2#2, m3#3",
                )
            ),
            overlaps=True,
        ),
        Slot(
            (
                "",
                "p1 receive 1 -> m1#1 lock=l1",
                "p1 receive 1 delete -> m1#1",
                "p1 receive 1 delete -> unknown timeout",
            ),
            overlaps=True,
        ),
        Slot(
            tuple(
                f"p2 peek 2{s} -> {a}"
                for s in ("", " from=2")
                for a in ("nothing", "m1#1", "m2#2", "m3#3", "m2#2, m3#3", "m3#2")
            ),
            overlaps=True,
        ),
        Slot(("", "p2 peek 3 -> nothing", "p2 peek 3 -> m3#3", "p2 peek 3 -> m2#2, m3#3")),
    ),
)

TRANSACTIONS: Final = Scope(
    "transactions",
    "azure-premium",
    "one transaction that sends and settles, ended in each way, with a second client looking on",
    (
        Slot(("p1 send m0 key=a",)),
        Slot(("p1 receive 1 -> m0#1.1 lock=l0",)),
        Slot(("p1 begin t",)),
        Slot(("p1 send m1 key=a txn=t", "p1 send m1 txn=t", "p1 send m1 txn=t -> error invalid_operation")),
        Slot(
            (
                "",
                "p1 send m2 key=a txn=t",
                "p1 send m2 key=b txn=t",
                "p1 send m2 key=b txn=t -> error invalid_operation",
                "p1 complete l0 txn=t",
                "p1 abandon l0 txn=t",
            )
        ),
        Slot(
            (
                "p2 receive 5 delete -> nothing",
                "p2 receive 5 delete -> m1#1.2",
                "p2 receive 5 delete -> m0#1.1",
            )
        ),
        Slot(
            (
                "p1 commit t",
                "p1 commit t -> error unavailable",
                "p1 commit t -> unknown timeout",
                "p1 rollback t",
            ),
            overlaps=True,
        ),
        Slot(
            (
                "p2 receive 5 delete -> nothing",
                "p2 receive 5 delete -> m1#1.2",
                "p2 receive 5 delete -> m1#2.1",
                "p2 receive 5 delete -> m1#1.2, m2#1.3",
                "p2 receive 5 delete -> m2#1.3",
                "p2 receive 5 delete -> m2#2.1",
                "p2 receive 5 delete -> m0#1.1",
            ),
            overlaps=True,
        ),
        Slot(("", "p1 complete l0", "p1 complete l0 -> error lock_lost")),
        _DRAINED,
    ),
    (("partitions", 2),),
)

ASSIGNMENT: Final = Scope(
    "assignment",
    "solace",
    "two consumers of two partitions: who is assigned what, and who is delivered what",
    (
        Slot(("p1 send m1 key=a",)),
        Slot(("p1 bind f1",)),
        Slot(("env assignment 1 f1 ready",), after=5 * SECOND - STEP),
        Slot(("env assignment 2 f1 ready", "env assignment 2 f2 ready", "")),
        Slot(
            ("", "p2 bind f2", "p2 bind f2 partition=1", "p2 bind f2 partition=1 -> error invalid_operation")
        ),
        Slot(
            (
                "",
                "p1 receive 5 flow=f1 -> m1 lock=l1",
                "p2 receive 5 flow=f2 -> m1 lock=l1",
                "p1 receive 5 flow=f1 -> m1#1.1 lock=l1",
            ),
            overlaps=True,
        ),
        Slot(
            (
                "",
                "env assignment 2 f1 unassigned",
                "env assignment 1 f1 unassigned",
                "env assignment 1 f1 paused",
            ),
            after=5 * SECOND,
        ),
        Slot(("", "env assignment 2 f2 ready", "env assignment 1 f2 ready")),
        Slot(("", "p1 complete l1", "p1 complete l1 -> unknown timeout", "p1 unbind f1")),
        Slot(("", "p2 receive 5 flow=f2 -> m1 lock=l2", "p1 receive 5 flow=f1 -> m1 lock=l2"), overlaps=True),
    ),
    (("partitions", 2), ("skew", 1_000)),
)

SCOPES: Final = (ROUTING, DELIVERY, EXPIRY, PEEK, FLAT_PEEK, TRANSACTIONS, ASSIGNMENT)

BLIND_SPOTS: Final[tuple[BlindSpot, ...]] = ()
