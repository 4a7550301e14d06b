"""Programs with messages that have a time to live. In random ones it ends while they wait, are locked, set
aside or scheduled. Cases: RCV-15 on the azure profiles."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from partq.conformance.workload import phrases
from partq.conformance.workload.cases import steps as do
from partq.conformance.workload.cases.case import Cases, Steps
from partq.conformance.workload.cases.steps import AZURE, message
from partq.conformance.workload.phrases import Draft, Phrases, browse, settlement
from partq.conformance.workload.program import Step
from partq.conformance.workload.weights import Theme, weighed
from partq.model.messages import Message
from partq.model.profiles import SECOND

_SHORT: Final = 2 * SECOND
_LIVES: Final = (_SHORT, _SHORT, _SHORT, 10 * SECOND, 40 * SECOND, SECOND // 1_000, 0)
"""Times to live, ns."""


def _send(draft: Draft, client: str, ttl: int, txn: bool = False, **more: int) -> None:
    """One message or a few, all with that time to live."""
    key = draft.key() if txn else draft.some_key()
    count = 1 if draft.source.below(4) else 2
    messages = tuple(replace(draft.message(key), ttl=ttl) for _ in range(count))
    draft.send(client, *messages, **more, **({"txn": True} if txn else {}))


def _pass(draft: Draft, by: int) -> None:
    """Time passes until just before, or just after."""
    draft.wait(by + SECOND // (1, -2, 1_000)[draft.source.below(3)])


def _over(draft: Draft) -> None:
    """Its time ends before any receive; later messages are there."""
    _send(draft, draft.client(), _SHORT)
    if draft.chance(2):
        phrases.send(draft)
    _pass(draft, _SHORT)
    if draft.chance(2):
        browse(draft)
    draft.receive(draft.client(), 3)


def _held(draft: Draft) -> None:
    """Its time ends while it is locked: it is still settled, or its lock ends and it is gone."""
    client = draft.client()
    _send(draft, client, _SHORT)
    draft.receive(client, 3)
    _pass(draft, _SHORT)
    op = "renew_lock" if draft.chance(5) else "defer" if draft.chance(4) else settlement(draft)
    draft.add(client, op, pick=[draft.source.below(4)])
    draft.receive(draft.client(), 3)


def _left_alone(draft: Draft) -> None:
    """Its lock ends after its time."""
    client = draft.client()
    _send(draft, client, _SHORT)
    draft.receive(client, 2)
    draft.wait(draft.entity.lock_duration + SECOND)
    draft.add(client, "complete" if draft.chance(2) else "abandon", pick=[draft.source.below(4)])
    draft.receive(draft.client(), 3)


def _together(draft: Draft) -> None:
    """Sent in a transaction that takes its time."""
    client = draft.client()
    draft.add(client, "begin")
    _send(draft, client, _SHORT, txn=True)
    if draft.chance(2):
        _pass(draft, _SHORT)
    draft.add(client, "commit")
    if draft.chance(2):
        _pass(draft, _SHORT)
    draft.receive(draft.client(), 3)


def _scheduled(draft: Draft) -> None:
    """Scheduled for before the end of its time, or for after it."""
    _send(draft, draft.client(), (_SHORT, 10 * SECOND)[draft.source.below(2)], delay=5 * SECOND)
    draft.wait((3, 6, 9, 17)[draft.source.below(4)] * SECOND)
    draft.receive(draft.client(), 3)


PHRASES: Final[Phrases] = {
    "mortal": lambda draft: _send(draft, draft.client(), _LIVES[draft.source.below(len(_LIVES))]),
    "over": _over,
    "held": _held,
    "left_alone": _left_alone,
    "mortal_together": _together,
    "mortal_scheduled": _scheduled,
    "a_while": lambda draft: draft.wait(_SHORT),
}

THEME: Final = Theme(
    "expiry",
    rule="RCV-15",
    weights=weighed(
        "mortal 22, over 8, held 8, left_alone 3, mortal_together 3, mortal_scheduled 2, a_while 6, send 10, "
        "receive 16, take 3, complete 8, abandon 4, defer 2, by_number 3, peek 8, outage 2, front_end 1, "
        "kill 1"
    ),
)


_LIFE: Final = 5 * SECOND


def _of_short_life(id: str) -> Message:
    return replace(message(id, "a"), ttl=_LIFE)


CASES: Final = Cases()


@CASES.case("expired", AZURE, "RCV-15")
def _one_is_over() -> Steps:
    """A message is not delivered once its time to live has ended.
    One is received in time, one is over, and what was sent after it is there."""
    yield do.send("c1", _of_short_life("m1"))
    yield do.take("c2")
    yield do.send("c1", _of_short_life("m2"))
    yield do.send("c1", message("m3", "a"))
    yield do.pass_time(_LIFE + 2 * SECOND)
    yield do.peek("c2")
    yield do.take("c2", 5)
    yield do.take("c2", 5)
    yield do.peek("c2", start="start")


@CASES.case("expired-locked", AZURE, "RCV-15")
def _two_are_held() -> Steps:
    """A locked message is settled after its time to live; when its lock ends otherwise, it is over.
    Two are locked when their time ends: one is completed, one comes back, and is over. One was deferred."""
    yield do.send("c1", _of_short_life("m3"))
    yield do.receive("c1")
    yield do.settle("c1", "defer")
    yield do.send("c1", _of_short_life("m1"))
    yield do.send("c1", _of_short_life("m2"))
    yield do.receive("c2")
    yield do.receive("c2")
    yield do.pass_time(_LIFE + 2 * SECOND)
    yield do.complete("c2")
    yield do.abandon("c2")
    yield Step("c1", "receive_deferred", {"pick": [0]})
    yield do.receive("c2", 5)
    yield do.peek("c1")
