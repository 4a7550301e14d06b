"""Queues of any vendor, and order domains: KEY-2, KEY-9, ROUTE, RCV and ORD. Phrases, of several messages of
one key, one of them in flight, given back, or left by its consumer; and cases."""

from __future__ import annotations

from typing import Final

from partq.conformance.workload.cases import steps as do
from partq.conformance.workload.cases.case import Cases, Steps
from partq.conformance.workload.cases.steps import leaving, message, sends
from partq.conformance.workload.phrases import Draft, Phrases
from partq.model.profiles import SECOND


def _of_one_key(draft: Draft) -> tuple[str, str]:
    """A few messages of one key, and two clients."""
    key, sender = draft.key(), draft.client()
    for _ in range(3 + draft.source.below(3)):
        draft.send(sender, draft.message(key))
    return draft.two()


def _one_by_one(draft: Draft) -> None:
    """One client holds a message while another asks; then it completes it, and the other asks again."""
    holder, other = _of_one_key(draft)
    draft.receive(holder)
    draft.receive(other, 5)
    draft.add(holder, "complete", pick=[0])
    draft.receive(other, 5)


def _handed_back(draft: Draft) -> None:
    """A message, or two, come back while later ones wait."""
    holder, other = _of_one_key(draft)
    draft.receive(holder, 1 + draft.source.below(2))
    if draft.chance(2):
        draft.add(holder, "abandon", pick=[draft.source.below(2)])
    else:
        draft.wait(draft.entity.lock_duration + SECOND)
    draft.receive(other)
    draft.receive(holder, 5)


def _leaving(draft: Draft) -> None:
    """A consumer leaves with some of what it got settled, with a standby that waits or without."""
    going, staying = _of_one_key(draft)
    if draft.chance(2):
        draft.receive(staying)
    draft.receive(going, (1, 2, 20)[draft.source.below(3)])
    if draft.chance(2):
        draft.add(going, "complete", pick=[0])
    draft.add(going, "disconnect")
    draft.receive(staying, (1, 20)[draft.source.below(2)])
    if draft.chance(2):
        draft.receive(going, 20)


PHRASES: Final[Phrases] = {"one_by_one": _one_by_one, "handed_back": _handed_back, "leaving": _leaving}

_QUEUES: Final = ("partitioned-queue", "ordered-queue")
_KEYS: Final = ("red", "green", "blue", "white", "black")


CASES: Final = Cases()


@CASES.case("queue-keys", _QUEUES, "KEY-2", "KEY-9", "ROUTE-1", "ROUTE-2", "RCV-1", "RCV-2", "RCV-7")
def _keys() -> Steps:
    """Messages of several keys and one without, received and finished."""
    ends = (step for _ in range(6) for step in (do.receive("c1", 20), do.complete("c1", *range(20))))
    others = (do.send("c2", message(f"{key}-too", key)) for key in _KEYS)
    return [*sends(0, 4, *_KEYS), *others, do.send("c2", message("m")), *ends]


@CASES.case("queue-locks", _QUEUES, "RCV-2", "RCV-6")
def _locks() -> Steps:
    """A message is held until its lock ends, and then received by another client."""
    held = (*sends(0, 1, "red"), do.receive("c1"), do.receive("c2"), do.pass_time(), do.receive("c2"))
    return [*held, do.complete("c2"), do.receive("c1")]


@CASES.case("queue-restart", _QUEUES, "ROUTE-1", "RCV-1", "RCV-2", "RCV-7")
def _restart() -> Steps:
    """The broker is killed and started: nothing is lost, and nothing finished comes again."""
    ends = (step for _ in range(4) for step in (do.receive("c1", 20), do.complete("c1", *range(20))))
    before = (*sends(0, 3, *_KEYS), do.receive("c1", 5), do.complete("c1", *range(5)), do.receive("c2", 2))
    return [*before, *do.restart(), *sends(3, 4, *_KEYS), do.pass_time(), *ends]


@CASES.case("key-in-order", _QUEUES, "RCV-7", "ORD-1")
def _in_order() -> Steps:
    """Eight messages of one key, received one by one."""
    ends = (step for _ in range(8) for step in (do.receive("c2", 1), do.complete("c2", 0)))
    return [*sends(0, 8, "red"), *ends]


@CASES.case("one-in-flight", _QUEUES, "RCV-6", "ORD-2")
def _in_flight() -> Steps:
    """A client asks while another holds a message of the only key."""
    turns = (
        step
        for holder, other in (("c1", "c2"), ("c2", "c1"))
        for step in (do.receive(holder), do.receive(other, 5), do.complete(holder, 0))
    )
    return [*sends(0, 4, "red"), *turns, do.receive("c1"), do.complete("c1")]


@CASES.case("came-back", _QUEUES, "RCV-2", "ORD-3")
def _came_back() -> Steps:
    """A message is abandoned, and its lock ends, while later ones of its key wait."""
    yield from sends(0, 4, "red")
    yield from (do.receive("c1"), do.abandon("c1"), do.receive("c2"), do.pass_time(), do.receive("c1"))
    yield from (step for _ in range(4) for step in (do.complete("c1", 0), do.receive("c1")))


@CASES.case("queue-leaving", _QUEUES, "RCV-1", "RCV-2")
def _left() -> Steps:
    """Consumers leave with messages unsettled; others, that wait or come later, get them."""
    return leaving()
