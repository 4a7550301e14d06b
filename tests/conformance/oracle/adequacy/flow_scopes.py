"""The scopes of flows: assignment, moves, handoffs, losses and standbys (see `scopes`)."""

from __future__ import annotations

from typing import Final

from adequacy.comparison import STEP, Scope, Slot, answers

from partq.model.profiles import SECOND

_TWO: Final = (("partitions", 2),)
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
            ),
            after=5 * SECOND,
        ),
        Slot(
            answers(
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
                *answers(
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
    "a second consumer comes and has a partition, with a message in it possibly",
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
    "one of two consumers goes, with a message possibly; what becomes of its partition",
    (
        Slot(("p1 send m1 key=a; p1 bind f1; p2 bind f2",)),
        Slot((_TWO_AT_WORK,), after=5 * SECOND),
        Slot(
            ("", "p1 receive 5 flow=f1 -> m1 lock=l1", "p2 receive 5 flow=f2 -> m1 lock=l1"),
            after=10 * SECOND,
        ),
        Slot(_leaves("env assignment 1 f1 unbound", _MOVED)),
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

FLOW_SCOPES: Final = (ASSIGNMENT, MOVE, HANDOFF, LOSS, STANDBY)
