"""The scopes of the adequacy comparison: routing, delivery, peek, transactions, assignment.

Each is all histories of a few slots, right answers and wrong ones; what each is about stands in it. Besides
what is at stake a scope offers little that is wrong, so that a good part of its histories is allowed.
"""

from __future__ import annotations

from typing import Final

from partq.model.profiles import SECOND

from .adequacy import STEP, Scope, Slot

_DRAINED: Final = Slot(("", "env drained"), after=40 * SECOND)
_TWO: Final = (("partitions", 2),)


def _after(prefix: str, *answers: str) -> tuple[str, ...]:
    """One operation with each of these answers."""
    return tuple(f"{prefix} -> {answer}" for answer in answers)


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
            _after(
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
        Slot(_after("p1 receive 1", "m1#1 lock=l1 count=0", "m2#2 lock=l1 count=0")),
        Slot(
            _after(
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
            _after(
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
    "messages that are deleted as they are received, perhaps, by two receivers at once; a lock never given",
    (
        Slot(("p1 send m1", "p1 send m1 -> unknown timeout")),
        Slot(("p1 send m2", "p1 send m2 -> error unavailable")),
        Slot(
            (*_after("p1 receive 1 delete", "nothing", "m1#1", "m2#2", "unknown timeout"),),
            overlaps=False,
        ),
        Slot(
            _after("p2 receive 2 delete", "nothing", "m1#1", "m2#2", "m1#1, m2#2", "unknown timeout"),
            overlaps=True,
        ),
        Slot(("", "p1 complete l9", "p1 complete l9 -> error lock_lost"), overlaps=True),
        Slot(_after("p2 receive 2 delete", "nothing", "m1#1", "m2#2", "m1#1, m2#2"), overlaps=True),
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
        Slot(_after("p1 receive 1", "m1#1.1 lock=l1 count=0", "m2#1.2 lock=l1 count=0")),
        Slot(("", "p1 renew_lock l1", "p1 renew_lock l1 -> error lock_lost"), after=20 * SECOND),
        Slot(
            _after(
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
            _after(
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
            _after("p2 peek 2", "nothing", "m1#1.1", "m2#1.2", "m3#2.1", "m1#1.1, m2#1.2", "m1#1.1, m3#2.1"),
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
            _after("p2 peek 2", "nothing", "m1#1", "m2#2", "m1#1, m2#2", "m1#1, m3#3", "m1#1, m3#2"),
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
    "one transaction that sends and settles, all or nothing, a fault in between perhaps",
    (
        _BEGUN,
        Slot(("p1 send m1 key=a txn=t",)),
        Slot(("", "p1 send m2 key=a txn=t", "p1 complete l0 txn=t", "p1 abandon l0 txn=t")),
        Slot(("", "env partition_down 1; env partition_up 1", "env frontend_lost p1")),
        _ENDED,
        Slot(
            _after(
                "p2 receive 5 delete",
                "nothing",
                "m1#1.2",
                "m1#1.2, m2#1.3",
                "m2#1.3",
                "m0#1.1",
                "m0#1.1, m1#1.2",
            )
            + _after("p2 peek 5", "m0#1.1", "m0#1.1, m1#1.2"),
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

_LATE: Final = 1_000
_AT_REST: Final = Slot(("p3 send m9 key=b",), after=20 * SECOND)

_SENT: Final = "p1 send m1 key=a; p1 send m2 key=b"

ASSIGNMENT: Final = Scope(
    "assignment",
    "solace",
    "one consumer or two, bound before the first rebalance: who is assigned what, and delivered what",
    (
        Slot(
            (
                f"{_SENT}; p1 bind f1",
                f"{_SENT}; p1 bind f1 partition=1 -> error invalid_operation; p1 bind f1",
                f"{_SENT}; p1 bind f1 partition=1",
            )
        ),
        Slot(("", "p2 bind f2"), overlaps=True),
        Slot(("", "p1 receive 5 flow=f1 -> nothing", "p1 receive 5 flow=f1 -> m1 lock=l1")),
        Slot(
            (
                "env assignment 1 f1 ready; env assignment 2 f1 ready",
                "env assignment 1 f1 ready; env assignment 2 f2 ready",
                "env assignment 1 f1 ready",
            ),
            after=5 * SECOND,
        ),
        Slot(
            _after(
                "p1 receive 5 flow=f1",
                "nothing",
                "m1 lock=l2",
                "m1 lock=l2, m2 lock=l3",
                "m2#1.1 lock=l3",
            ),
        ),
        Slot(
            (
                "",
                *_after(
                    "p2 receive 5 flow=f2",
                    "nothing",
                    "m1 lock=l4",
                    "m2 lock=l5",
                    "m1 lock=l4, m2 lock=l5",
                ),
            ),
            overlaps=True,
        ),
        Slot(("", "p1 receive 5 flow=f1 -> m2 lock=l6"), overlaps=True),
        _AT_REST,
    ),
    _TWO,
    late=_LATE,
)

_ALL_AT_ONE: Final = Slot(("env assignment 1 f1 ready; env assignment 2 f1 ready",), after=5 * SECOND)
_SECOND: Final = Slot(("p2 bind f2",), after=10 * SECOND)
_MOVED: Final = "env assignment 1 f1 unassigned; env assignment 1 f2 ready"
_OTHER_MOVED: Final = "env assignment 2 f1 unassigned; env assignment 2 f2 ready"

MOVE: Final = Scope(
    "move",
    "solace",
    "a second consumer comes and has a partition, with a message in it perhaps",
    (
        Slot(("p1 send m1 key=a; p1 bind f1",)),
        _ALL_AT_ONE,
        _SECOND,
        Slot(
            (
                "",
                "p1 receive 5 flow=f1 -> m1 lock=l1",
                "p1 receive 5 flow=f1 -> m1 lock=l1; p1 complete l1",
                "p2 receive 5 flow=f2 -> m1 lock=l1",
            ),
            overlaps=True,
        ),
        Slot((_MOVED, _OTHER_MOVED, f"{_MOVED}; {_OTHER_MOVED}", ""), after=5 * SECOND - 3 * STEP),
        Slot(
            (
                "",
                "p1 receive 5 flow=f1 -> m1 lock=l2",
                "p1 receive 5 flow=f1 -> nothing",
                "p2 receive 5 flow=f2 -> m1 lock=l2",
                "p2 receive 5 flow=f2 -> m1 lock=l2; p2 complete l2",
            ),
            overlaps=True,
        ),
        Slot(
            (
                "",
                "p2 receive 5 flow=f2 -> m1 lock=l3",
                "p2 receive 5 flow=f2 -> nothing",
                "p1 receive 5 flow=f1 -> nothing",
                "p1 receive 5 flow=f1 -> m1 lock=l3",
            ),
            overlaps=True,
        ),
        _AT_REST,
    ),
    _TWO,
    late=_LATE,
)

HANDOFF: Final = Scope(
    "handoff",
    "solace",
    "a partition with an unsettled message is handed over from one consumer to another",
    (
        Slot(("p1 send m1 key=a; p1 bind f1",)),
        _ALL_AT_ONE,
        _SECOND,
        Slot(("p1 receive 5 flow=f1 -> m1 lock=l1", "")),
        Slot(("env assignment 1 f1 paused", "env assignment 2 f1 paused"), after=5 * SECOND - 2 * STEP),
        Slot(
            (
                "",
                "p1 complete l1",
                "p1 complete l1 -> unknown timeout",
                "p1 receive 5 flow=f1 -> m1 lock=l4",
            ),
        ),
        Slot((_MOVED, _OTHER_MOVED, f"env advance 3s; {_MOVED}", "env advance 3s")),
        Slot(
            (
                "",
                "p2 receive 5 flow=f2 -> m1 lock=l2",
                "p2 receive 5 flow=f2 -> nothing",
                "p1 complete l1",
                "p1 complete l1 -> error lock_lost",
            ),
        ),
        Slot(
            ("", "p2 receive 5 flow=f2 -> m1 lock=l3", "p2 complete l2", "p1 receive 5 flow=f1 -> nothing"),
            overlaps=True,
        ),
        _AT_REST,
    ),
    _TWO,
    late=_LATE,
)

_TWO_AT_WORK: Final = "env assignment 1 f1 ready; env assignment 2 f2 ready"


def _leaves(*events: str) -> tuple[str, ...]:
    """Every way in which the first consumer may go, with each of these events at once."""
    ways = ("p1 unbind f1", "p1 disconnect f1", "env connection_lost p1")
    return tuple(f"{way}; {event}" if event else way for way in ways for event in events)


LOSS: Final = Scope(
    "loss",
    "solace",
    "one of two consumers goes, with a message perhaps; what becomes of its partition",
    (
        Slot(("p1 send m1 key=a; p1 bind f1; p2 bind f2",)),
        Slot((_TWO_AT_WORK,), after=5 * SECOND),
        Slot(
            ("", "p1 receive 5 flow=f1 -> m1 lock=l1", "p2 receive 5 flow=f2 -> m1 lock=l1"),
            after=10 * SECOND,
        ),
        Slot(_leaves("env assignment 1 f1 unbound", _MOVED, "")),
        Slot(("", "p2 receive 5 flow=f2 -> m1 lock=l2", "p2 receive 5 flow=f2 -> nothing"), overlaps=True),
        Slot((_MOVED, ""), after=5 * SECOND - 2 * STEP),
        Slot(
            ("", "p2 receive 5 flow=f2 -> m1 lock=l3", "p2 receive 5 flow=f2 -> m1 lock=l3; p2 complete l3"),
        ),
        Slot(
            (
                "",
                "p2 receive 5 flow=f2 -> m1 lock=l4",
                "p2 receive 5 flow=f2 -> nothing",
                "p1 complete l1 -> error lock_lost",
            ),
            overlaps=True,
        ),
        _AT_REST,
    ),
    _TWO,
    late=_LATE,
)

STANDBY: Final = Scope(
    "standby",
    "solace",
    "one of two consumers goes while a third stands by",
    (
        Slot(("p1 send m1 key=a; p1 bind f1; p2 bind f2",)),
        Slot((_TWO_AT_WORK,), after=5 * SECOND),
        Slot(
            (
                "p3 bind f3",
                "p3 bind f3; p1 receive 5 flow=f1 -> m1 lock=l1",
                "p3 bind f3; p3 receive 5 flow=f3 -> m1 lock=l1",
            ),
            after=10 * SECOND,
        ),
        Slot(
            _leaves(
                "env assignment 1 f1 unassigned; env assignment 1 f3 ready",
                "env assignment 1 f1 unbound",
                _MOVED,
                "",
            ),
            after=10 * SECOND,
        ),
        Slot(
            (
                "",
                "p3 receive 5 flow=f3 -> m1 lock=l2",
                "p3 receive 5 flow=f3 -> nothing",
                "p2 receive 5 flow=f2 -> m1 lock=l2",
            ),
            overlaps=True,
        ),
        Slot(("", "p2 receive 5 flow=f2 -> nothing", "p3 complete l2 -> unknown timeout")),
        Slot(("", "p3 receive 5 flow=f3 -> m1 lock=l3", "p3 receive 5 flow=f3 -> nothing"), after=5 * SECOND),
        _AT_REST,
    ),
    _TWO,
    late=_LATE,
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
    ASSIGNMENT,
    MOVE,
    HANDOFF,
    LOSS,
    STANDBY,
)
