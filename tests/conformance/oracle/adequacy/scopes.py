"""The scopes of the adequacy comparison: routing, delivery, peek, transactions, assignment.

Each is all histories of a few slots, right answers and wrong ones; what each is about stands in it. Besides
what is at stake a scope offers little that is wrong, so that a good part of its histories is allowed.
"""

from __future__ import annotations

from typing import Final

from adequacy.comparison import Scope, Slot, answers
from adequacy.flow_scopes import FLOW_SCOPES

from partq.model.profiles import SECOND

_DRAINED: Final = Slot(("", "env drained"), after=40 * SECOND)
_TWO: Final = (("partitions", 2),)


ROUTING: Final = Scope(
    "routing",
    "azure-premium",
    "equal keys and keyless messages over two partitions, one of which goes down and comes up",
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
                "p2 send m2 timeout=10s -> error unavailable",
            ),
            overlaps=True,
        ),
        Slot(("", "env partition_up 1", "env partition_up 2"), overlaps=True),
        Slot(("", "p2 send m3 key=a", "p2 send m3 key=a -> error unavailable")),
        Slot(
            answers(
                "p1 receive 5 delete",
                "nothing",
                "m1#1.1",
                "m1#2.1",
                "m2#1.1",
                "m2#2.1",
                "m1#1.1, m2#1.2",
                "m1#1.1, m2#2.1",
                "m1#2.1, m2#1.1",
                "m1#2.1, m2#2.2",
                "m2#2.1, m1#2.2",
            ),
            overlaps=True,
        ),
        _DRAINED,
    ),
    _TWO,
)

_SETTLED: Final = tuple(
    f"p1 {op} l1{outcome}"
    for op in ("complete", "abandon")
    for outcome in ("", " -> error lock_lost", " -> unknown timeout")
)

DELIVERY: Final = Scope(
    "delivery",
    "azure-flat",
    "two messages, two receivers, a lock that is settled or renewed, once or twice, redelivery",
    (
        Slot(("p1 send m1", "p1 send m1 -> unknown timeout")),
        Slot(("p1 send m2",)),
        Slot(answers("p1 receive 1", "m1#1 lock=l1 count=0", "m2#2 lock=l1 count=0")),
        Slot(
            answers(
                "p2 receive 2",
                "nothing",
                "m1#1 lock=l2 count=0",
                "m2#2 lock=l2 count=0",
                "m1#1 lock=l2 count=0, m2#2 lock=l3 count=0",
            ),
            overlaps=True,
        ),
        Slot(("", "p1 renew_lock l1", *_SETTLED), overlaps=True),
        Slot(
            answers(
                "p2 receive 2 delete",
                "nothing",
                "m1#1 count=0",
                "m1#1 count=1",
                "m2#2 count=0",
                "m1#1 count=1, m2#2 count=0",
            ),
            overlaps=True,
        ),
        Slot(("", "p1 complete l1", "p1 complete l1 -> error lock_lost")),
    ),
)

DELETION: Final = Scope(
    "deletion",
    "azure-flat",
    "messages that are deleted as they are received, possibly, by two receivers at once; a lock never given",
    (
        Slot(("p1 send m1", "p1 send m1 -> unknown timeout")),
        Slot(("p1 send m2", "p1 send m2 -> error unavailable")),
        Slot(
            (*answers("p1 receive 1 delete", "nothing", "m1#1", "m2#2", "unknown timeout"),),
            overlaps=False,
        ),
        Slot(
            answers("p2 receive 2 delete", "nothing", "m1#1", "m2#2", "m1#1, m2#2", "unknown timeout"),
            overlaps=True,
        ),
        Slot(("", "p1 complete l9", "p1 complete l9 -> error lock_lost"), overlaps=True),
        Slot(answers("p2 receive 2 delete", "nothing", "m1#1", "m2#2", "m1#1, m2#2"), overlaps=True),
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
        Slot(answers("p1 receive 1", "m1#1.1 lock=l1 count=0", "m2#1.2 lock=l1 count=0")),
        Slot(("", "p1 renew_lock l1", "p1 renew_lock l1 -> error lock_lost"), after=20 * SECOND),
        Slot(
            answers(
                "p2 receive 2",
                "nothing",
                "m1#1.1 lock=l2 count=0",
                "m1#1.1 lock=l2 count=1",
                "m2#1.2 lock=l2 count=0",
                "m2#1.2 lock=l2 count=1",
            ),
            after=9 * SECOND,
        ),
        Slot(("", *_SETTLED), after=2 * SECOND),
        Slot(
            answers(
                "p2 receive 2 delete",
                "nothing",
                "m1#1.1 count=0",
                "m1#1.1 count=1",
                "m1#1.1 count=2",
                "m2#1.2 count=1",
                "m1#1.1 count=1, m2#1.2 count=1",
            ),
            overlaps=True,
        ),
        _DRAINED,
    ),
    _TWO,
)

_REMOVED: Final = (
    "",
    "p1 receive 1 -> m1#1.1 lock=l1",
    "p1 receive 1 delete -> m1#1.1",
    "p1 receive 1 delete -> unknown timeout",
)

PEEK: Final = Scope(
    "peek",
    "azure-premium",
    "two peeks of one client over two partitions while a message comes and another goes",
    (
        Slot(("p1 send m1 key=a",)),
        Slot(("p1 send m2 key=a", "p1 send m2 key=a -> unknown timeout")),
        Slot(("p1 send m3 key=b",)),
        Slot(
            answers("p2 peek 2", "nothing", "m1#1.1", "m2#1.2", "m3#2.1", "m1#1.1, m2#1.2", "m1#1.1, m3#2.1"),
            overlaps=True,
        ),
        Slot(_REMOVED, overlaps=True),
        Slot(
            tuple(
                f"p2 peek 2{start} -> {answer}"
                for start in ("", " from=1.2", " from=2.1")
                for answer in ("nothing", "m1#1.1", "m2#1.2", "m3#2.1", "m2#1.2, m3#2.1")
            ),
            overlaps=True,
        ),
        Slot(
            (
                "",
                "p1 receive 5 delete -> m2#1.2, m3#2.1",
                "p1 receive 5 delete -> m1#1.1, m2#1.2, m3#2.1",
            )
        ),
    ),
    _TWO,
)

FLAT_PEEK: Final = Scope(
    "flat peek",
    "azure-flat",
    "peeks of a queue without partitions",
    (
        Slot(("p1 send m1",)),
        Slot(("p1 send m2", "p1 send m2 -> unknown timeout")),
        Slot(("p1 send m3",)),
        Slot(
            answers("p2 peek 2", "nothing", "m1#1", "m2#2", "m1#1, m2#2", "m1#1, m3#3", "m1#1, m3#2"),
            overlaps=True,
        ),
        Slot(tuple(text.replace("#1.1", "#1") for text in _REMOVED), overlaps=True),
        Slot(
            tuple(
                f"p2 peek 2{start} -> {answer}"
                for start in ("", " from=2")
                for answer in ("nothing", "m1#1", "m2#2", "m3#3", "m2#2, m3#3")
            ),
            overlaps=True,
        ),
        Slot(("", "p1 receive 5 delete -> m2#2, m3#3", "p1 receive 5 delete -> m1#1, m2#2, m3#3")),
    ),
)

_BEGUN: Final = Slot(("p1 send m0 key=a; p1 receive 1 -> m0#1.1 lock=l0; p1 begin t",))
_ENDED: Final = Slot(
    ("p1 commit t", "p1 commit t -> error unavailable", "p1 commit t -> unknown timeout", "p1 rollback t"),
    overlaps=True,
)

TRANSACTIONS: Final = Scope(
    "transactions",
    "azure-premium",
    "one transaction that sends and settles, all or nothing, a fault in between possibly",
    (
        _BEGUN,
        Slot(("p1 send m1 key=a txn=t",)),
        Slot(("", "p1 send m2 key=a txn=t", "p1 complete l0 txn=t", "p1 abandon l0 txn=t")),
        Slot(("", "env partition_down 1; env partition_up 1", "env frontend_lost p1")),
        _ENDED,
        Slot(
            answers(
                "p2 receive 5 delete",
                "nothing",
                "m1#1.2",
                "m1#1.2, m2#1.3",
                "m2#1.3",
                "m0#1.1",
                "m0#1.1, m1#1.2",
            )
            + answers("p2 peek 5", "m0#1.1", "m0#1.1, m1#1.2"),
            overlaps=True,
        ),
        Slot(("", "p1 complete l0", "p1 complete l0 -> error lock_lost"), overlaps=True),
        _DRAINED,
    ),
    _TWO,
)

ISOLATION: Final = Scope(
    "isolation",
    "azure-premium",
    "what may be in a transaction, with a second client looking on before its end and after",
    (
        _BEGUN,
        Slot(("p1 send m1 key=a txn=t", "p1 send m1 txn=t", "p1 send m1 txn=t -> error invalid_operation")),
        Slot(
            (
                "",
                "p1 send m2 key=b txn=t",
                "p1 send m2 key=b txn=t -> error invalid_operation",
                "p1 complete l0 txn=t",
            )
        ),
        Slot(
            (
                "",
                "p2 receive 5 delete -> nothing",
                "p2 receive 5 delete -> m1#1.2",
                "p2 peek 5 -> m0#1.1",
                "p2 peek 5 -> m0#1.1, m1#1.2",
            ),
            overlaps=True,
        ),
        _ENDED,
        Slot(
            (
                "p2 receive 5 delete -> nothing",
                "p2 receive 5 delete -> m1#1.2",
                "p2 receive 5 delete -> m1#1.2, m2#1.3",
                "p2 receive 5 delete -> m2#2.1",
                "p2 peek 5 from=0.0 -> m1#1.2",
            ),
            overlaps=True,
        ),
    ),
    _TWO,
)

ANSWERS: Final = Scope(
    "answers",
    "azure-flat",
    "what one answer of a queue without partitions may hold, locked and deleted",
    (
        Slot(("p1 send m1", "p1 send m1 -> unknown timeout")),
        Slot(("p1 send m2",)),
        Slot(
            (
                *answers(
                    "p2 receive 2",
                    "nothing",
                    "m1#1 lock=l1 count=0",
                    "m1#1 lock=l1 count=0, m1#1 lock=l2 count=0",
                    "m1#1 lock=l1 count=0, m2#2 lock=l2 count=0",
                ),
                "p2 receive 1 -> m1#1 lock=l1 count=0, m2#2 lock=l2 count=0",
            ),
            overlaps=True,
        ),
        Slot(("", "p2 abandon l1", "p2 complete l1", "p2 complete l1 -> error lock_lost"), overlaps=True),
        Slot(
            answers(
                "p1 receive 3 delete",
                "nothing",
                "m1#1 count=1",
                "m2#2 count=0",
                "m1#1 count=0, m2#2 count=0",
                "m2#2 count=0, m2#2 count=0",
            ),
            overlaps=True,
        ),
    ),
)

TIMES: Final = Scope(
    "times",
    "azure-flat",
    "enqueued times along the numbers, with a clock that may be wrong by 20 ns",
    (
        Slot(("p1 send m1",)),
        Slot(("p2 send m2",), overlaps=True),
        Slot(
            tuple(
                f"p1 receive 2 delete -> {first}#1 enqueued={a}, {second}#2 enqueued={b}"
                for first, second in (("m1", "m2"), ("m2", "m1"))
                for a in (79, 80, 170, 171, 320, 340)
                for b in (279, 280, 281, 299, 370)
            ),
        ),
    ),
    (("skew", 20),),
)

_REFUSED: Final = ("", " -> error unavailable", " -> unknown timeout")

OUTAGE: Final = Scope(
    "outage",
    "azure-premium",
    "settlements in one partition, and keyless sends, while the other is down",
    (
        Slot(("p1 send m1 key=a; p1 send m2 key=a; p1 receive 2 -> m1#1.1 lock=l1, m2#1.2 lock=l2",)),
        Slot(("", "env partition_down 2")),
        Slot(tuple(f"p1 complete l1{end}" for end in _REFUSED), overlaps=True),
        Slot(tuple(f"p2 complete l2{end}" for end in _REFUSED), overlaps=True),
        Slot((*(f"p1 send m3{end}" for end in _REFUSED), "p1 send m3 timeout=1s -> error timeout")),
        Slot(("", "env partition_up 2"), overlaps=True),
    ),
    _TWO,
)

SCOPES: Final = (
    ROUTING,
    DELIVERY,
    DELETION,
    EXPIRY,
    PEEK,
    FLAT_PEEK,
    TRANSACTIONS,
    ISOLATION,
    ANSWERS,
    TIMES,
    OUTAGE,
    *FLOW_SCOPES,
)
