"""Programs with messages dead-lettered by their holder or after too many deliveries: phrases, the theme, and
directed cases (RCV-9, and RCV-2 and RCV-6 in the dead-letter queue, on the azure profiles)."""

from __future__ import annotations

from typing import Any, Final

from partq.conformance.workload import phrases
from partq.conformance.workload.cases import steps as do
from partq.conformance.workload.cases.case import Cases, Steps
from partq.conformance.workload.cases.steps import AZURE, message
from partq.conformance.workload.phrases import Draft, Phrases
from partq.conformance.workload.program import Step
from partq.conformance.workload.weights import Theme, weighed
from partq.model.operations import DEAD_LETTER
from partq.model.profiles import SECOND

_REASONS: Final = ("poison", "poison", "spoilt")


def _dead_letter(draft: Draft, client: str, *pick: int, **more: Any) -> None:
    """Dead-letter a message, mostly with a reason."""
    reason = {} if draft.chance(5) else {"reason": _REASONS[draft.source.below(len(_REASONS))]}
    draft.add(client, DEAD_LETTER, pick=list(pick), **reason, **more)


def _look(draft: Draft) -> None:
    client = draft.client()
    place = ("start", "start", "cursor")[draft.source.below(3)]
    draft.add(client, "peek", max=(1, 8, 8)[draft.source.below(3)], entity=DEAD_LETTER, **{"from": place})


def _receive_dead(draft: Draft, client: str) -> None:
    mode = {"mode": "receive_and_delete"} if draft.chance(5) else {}
    most = 1 + draft.source.below(3)
    draft.receive(client, most, entity=DEAD_LETTER, **mode)


def _settle_dead(draft: Draft, client: str) -> None:
    op = ("complete", "complete", "abandon", "abandon", "renew_lock")[draft.source.below(5)]
    draft.add(client, op, pick=[draft.source.below(3)], entity=DEAD_LETTER)


def _set_aside(draft: Draft) -> None:
    first = draft.source.below(6)
    _dead_letter(draft, draft.client(), *([first] if draft.source.below(4) else [first, first + 1]))


def _take(draft: Draft) -> None:
    """A dead letter is received, and mostly settled."""
    client = draft.client()
    _receive_dead(draft, client)
    if draft.source.below(4):
        _settle_dead(draft, client)


def _buried(draft: Draft) -> None:
    """Dead-lettered, shown, and received in the dead-letter queue, by two clients."""
    client = draft.client()
    draft.receive(client, 1 + draft.source.below(3))
    _dead_letter(draft, client, 0, 1)
    if draft.chance(2):
        _look(draft)
    _receive_dead(draft, client)
    if draft.chance(2):
        _receive_dead(draft, draft.client())
    _settle_dead(draft, client)
    _look(draft)


def _worn_out(draft: Draft) -> None:
    """Delivered as often as the entity allows, and looked for in both queues."""
    client = draft.client()
    for _ in range(min(draft.entity.max_delivery_count, 4)):
        draft.receive(client, 2)
        draft.add(client, "abandon", pick=[0, 1])
    draft.receive(draft.client(), 2)
    _look(draft)


def _outlasted(draft: Draft) -> None:
    """The lock on a dead letter runs out."""
    client = draft.client()
    _receive_dead(draft, client)
    draft.wait(draft.entity.lock_duration + SECOND)
    _receive_dead(draft, draft.client())
    _settle_dead(draft, client)
    _look(draft)


def _survives(draft: Draft) -> None:
    """Dead letters outlast the broker."""
    client = draft.client()
    _dead_letter(draft, client, draft.source.below(3))
    _receive_dead(draft, client)
    phrases.restart(draft)
    _look(draft)


def _together(draft: Draft) -> None:
    """Dead-lettered in a transaction, which is committed or not."""
    client = draft.client()
    phrases.send(draft)
    draft.receive(client)
    draft.add(client, "begin")
    _dead_letter(draft, client, draft.source.below(3), txn=True)
    if draft.chance(2):
        _look(draft)
    draft.add(client, "commit" if draft.chance(2) else "rollback")
    _look(draft)


PHRASES: Final[Phrases] = {
    "dead_letter": _set_aside,
    "look_at_dead": _look,
    "take_dead": _take,
    "buried": _buried,
    "worn_out": _worn_out,
    "dead_outlasted": _outlasted,
    "dead_survives": _survives,
    "dead_together": _together,
}

THEME: Final = Theme(
    "deadletters",
    rule="RCV-9",
    weights=weighed(
        "dead_letter 8, look_at_dead 5, take_dead 8, buried 8, worn_out 4, dead_outlasted 3, "
        "dead_survives 2, dead_together 4, mortal 3, a_while 2, send 24, receive 14, complete 5, abandon 5, "
        "stale 2, peek 4, advance 2, outage 2, front_end 1"
    ),
    wears=True,
)
"""Messages moved to the dead-letter queue, and handled there."""


_SET_ASIDE: Final = do.asking(do.settle("c1", DEAD_LETTER), {"reason": _REASONS[0]})
"""A client dead-letters the message of its first lock."""


def _dead(step: Step) -> Step:
    """The step on the dead-letter queue: a receive or peek of it, or a settlement of a lock given there."""
    return do.asking(step, {"entity": DEAD_LETTER})


CASES: Final = Cases()


@CASES.case("dead-lettered", AZURE, "RCV-2")
def _by_its_holder() -> Steps:
    """A message that its holder dead-letters moves to the dead-letter queue with the reason.
    Dead-lettered for a reason, passed by a later message, received and completed as a dead letter."""
    yield from (do.send("c1", message(f"m{n}", "a")) for n in (1, 2))
    yield do.receive("c1")
    yield _SET_ASIDE
    yield do.receive("c2", 5)
    yield do.complete("c2")
    yield _dead(do.peek("c2"))
    yield _dead(do.receive("c1"))
    yield _dead(do.complete("c1"))
    yield _dead(do.peek("c2", start="start"))


@CASES.case("dead-letter-worn-out", AZURE, "RCV-9")
def _too_often() -> Steps:
    """A message that was delivered too often is in the dead-letter queue, and says so.
    Abandoned as often as the entity allows, and once more."""
    tries = [step for _ in range(11) for step in (do.receive("c1"), do.abandon("c1"))]
    return [
        do.send("c1", message("m1", "a")),
        *tries,
        do.receive("c2"),
        _dead(do.peek("c2")),
        _dead(do.receive("c2")),
    ]


@CASES.case("dead-letter-lock", AZURE, "RCV-2")
def _locked() -> Steps:
    """A lock holds in the dead-letter queue, too, and nothing there is lost when it ends.
    A lock on a dead letter is abandoned, runs out, and falls with the broker; the letter stays."""
    down, up = do.restart()
    again = _dead(do.receive("c1"))
    yield do.send("c1", message("m1", "a"))
    yield do.receive("c1")
    yield _SET_ASIDE
    yield again
    yield _dead(do.receive("c2"))
    yield _dead(do.abandon("c1"))
    yield again
    yield do.pass_time()
    yield again
    yield down
    yield up
    yield _dead(do.peek("c2"))
    yield do.pass_time()
    yield again
    yield _dead(do.complete("c1"))


@CASES.case("dead-letter-transaction", AZURE, "TXN-5")
def _in_transaction() -> Steps:
    """A message is dead-lettered at the commit of the transaction, or not at all."""
    yield do.send("c1", message("m1", "a"))
    yield do.receive("c1")
    yield from do.transaction("c1", _SET_ASIDE, end=do.rollback)
    yield _dead(do.peek("c2"))
    yield from do.transaction("c1", _SET_ASIDE)
    yield _dead(do.peek("c2", start="start"))
    yield _dead(do.receive("c1"))
    yield _dead(do.complete("c1"))
