"""Cases. Locks that end with their client's connection: ROUTE, RCV, REB-3 and ORD on the RabbitMQ profile."""

from __future__ import annotations

from typing import Final

from partq.conformance.workload.cases import steps as do
from partq.conformance.workload.cases.case import Cases, Steps
from partq.conformance.workload.cases.steps import leaving, message
from partq.conformance.workload.program import Step
from partq.model.profiles import SECOND

_RABBITMQ: Final = ("rabbitmq",)
_KEYS: Final = ("red", "green", "blue", "white", "black")
_MOMENT: Final = SECOND // 2
"""How long a receive waits that may find nothing, for another client is the active consumer."""


def _sends(first: int, last: int) -> tuple[Step, ...]:
    """Of each key the messages with these numbers."""
    return tuple(
        do.send(f"c{1 + n % 2}", message(f"{key}{n}", key)) for n in range(first, last) for key in _KEYS
    )


def _glance(proc: str, most: int = 20) -> Step:
    return Step(proc, "receive", {"max": most, "timeout": _MOMENT})


CASES: Final = Cases()


@CASES.case("connection-keys", _RABBITMQ, "ROUTE-1", "ROUTE-2", "RCV-1", "RCV-2", "RCV-7")
def _keys() -> Steps:
    """Messages of several keys, some of them finished."""
    return [*_sends(0, 3), do.receive("c1", 20), do.complete("c1", 0, 1), *_sends(3, 4)]


@CASES.case("connection-spread", _RABBITMQ, "ROUTE-4", concurrent=True)
def _spread() -> Steps:
    """Many messages without a key."""
    sends = [do.send(f"c{1 + n % 3}", message(f"m{n}")) for n in range(120)]
    return [*sends, *(_glance(proc, 120) for proc in ("c1", "c2", "c3"))]


@CASES.case("connection-handoffs", _RABBITMQ, "RCV-2", "RCV-6", "RCV-7", "REB-3")
def _handoffs() -> Steps:
    """Consumers leave in every way they can, and the next one takes over.
    Two consumers take turns in leaving; what one holds goes to the other."""
    for n in range(4):
        going, staying = ("c1", "c2") if n % 2 else ("c2", "c1")
        yield from _sends(n, n + 1)
        yield from [_glance(going), _glance(staying), _glance(going), _glance(staying)]
        yield from [
            do.complete(going),
            do.disconnect(going),
            _glance(staying),
            do.complete(staying, 0, 1),
            _glance(staying),
        ]


@CASES.case("connections-at-once", _RABBITMQ, "RCV-2", "REB-3", concurrent=True)
def _at_once() -> Steps:
    """Senders and consumers that come and go at the same time."""
    for n in range(8):
        yield from _sends(n, n + 1)
        for proc in ("c1", "c2", "c3"):
            yield from [
                _glance(proc, 5),
                do.complete(proc, 0, 1),
                do.abandon(proc),
                _glance(proc, 5),
                do.complete(proc),
            ]
        yield do.disconnect(f"c{1 + n % 3}")


@CASES.case("connection-leaving", _RABBITMQ, "RCV-1", "RCV-2", "REB-3")
def _left() -> Steps:
    """Consumers leave with one message or many unsettled, with a standby and without."""
    return leaving()


@CASES.case("connection-came-back", _RABBITMQ, "ORD-1", "ORD-3")
def _came_back() -> Steps:
    """A message is given back while later ones of its key wait.
    The first of four messages is given back twice, and then all are finished one by one."""
    turns = (
        step
        for end in (do.abandon, do.abandon, *(do.complete,) * 4)
        for step in (_glance("c1", 1), end("c1"))
    )
    return [*(do.send("c1", message(f"m{n}", "red")) for n in range(4)), *turns]


@CASES.case("connection-kill", _RABBITMQ, "ROUTE-1", "RCV-1", "RCV-2", "REB-3", concurrent=True)
def _kill() -> Steps:
    """The server is killed and started again, twice, in the middle of it all.
    The server is killed while messages are stored, locked, finished and on their way."""
    yield from [*_sends(0, 2), _glance("c1"), do.complete("c1", 0, 1), do.take("c1", 2)]
    for n in range(2, 4):
        kill, start = do.restart()
        yield from [*_sends(n, n + 1), kill, do.send("c3", message(f"lost{n}", "red")), start]
        yield from [_glance("c2"), _glance("c1"), do.complete("c2"), do.complete("c1"), _glance("c2")]
    yield from _sends(4, 5)
