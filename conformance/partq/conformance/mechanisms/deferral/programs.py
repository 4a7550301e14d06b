"""Programs with deferred messages. In random ones they are deferred in time or late, passed by others,
requested by number. Cases: RCV-10 on the azure profiles. A drain receives the remaining ones by number."""

from __future__ import annotations

from typing import Final

from partq.conformance.execution.drain import Leftover, Taking
from partq.conformance.workload import phrases
from partq.conformance.workload.cases import steps as do
from partq.conformance.workload.cases.case import Cases, Steps
from partq.conformance.workload.cases.steps import AZURE, message
from partq.conformance.workload.phrases import Draft, Phrases, browse
from partq.conformance.workload.program import Step
from partq.conformance.workload.weights import Theme, weighed
from partq.model.messages import DEFERRED
from partq.model.operations import DRAINER
from partq.model.profiles import SECOND


def _ask(draft: Draft, client: str) -> None:
    """Ask for one number, or for two, which may be of two partitions; of messages deferred, or seen."""
    first = draft.source.below(20)
    pick = [first] if draft.source.below(3) else [first, first + 1 + draft.source.below(2)]
    draft.add(client, "receive_deferred", pick=pick, **({"seen": True} if draft.chance(6) else {}))


def _settle_some(draft: Draft, client: str) -> None:
    op = ("complete", "complete", "abandon", "defer", "renew_lock")[draft.source.below(5)]
    draft.add(client, op, pick=[draft.source.below(4)])


def _set_aside(draft: Draft) -> None:
    """Set aside, passed by others, shown, and taken up again."""
    client = draft.client()
    draft.receive(client, 1 + draft.source.below(3))
    draft.add(client, "defer", pick=[draft.source.below(3)])
    if draft.chance(2):
        phrases.send(draft)
    draft.receive(draft.client(), 3)
    if draft.chance(2):
        browse(draft)
    _ask(draft, client)
    _settle_some(draft, client)


def _found(draft: Draft) -> None:
    """A client receives the messages that its peek shows as deferred."""
    client = draft.client()
    browse(draft, client)
    draft.add(client, "receive_deferred", peeked=True)
    _settle_some(draft, client)


def _late(draft: Draft) -> None:
    """Set aside when the lock has ended, or just before."""
    client = draft.client()
    draft.receive(client)
    draft.wait(draft.entity.lock_duration - SECOND // (1, 1_000)[draft.source.below(2)])
    draft.add(client, "defer", pick=[draft.source.below(3)])
    draft.receive(draft.client(), 2)


def _outlasted(draft: Draft) -> None:
    """The lock on a deferred message runs out."""
    client = draft.client()
    _ask(draft, client)
    draft.wait(draft.entity.lock_duration + SECOND)
    _ask(draft, client)
    _settle_some(draft, client)


def _together(draft: Draft) -> None:
    """Deferred in a transaction, which is committed or not, while another client asks for it."""
    client = draft.client()
    draft.receive(client, 2)
    with draft.transaction(client, undone=3):
        draft.add(client, "defer", pick=[draft.source.below(4)], txn=True)
        if draft.chance(2):
            draft.add(client, "complete", pick=[draft.source.below(4)], txn=True)
        if draft.chance(2):
            browse(draft)
    _ask(draft, client)


PHRASES: Final[Phrases] = {
    "defer": phrases.settling("defer"),
    "by_number": lambda draft: _ask(draft, draft.client()),
    "set_aside": _set_aside,
    "found": _found,
    "defer_late": _late,
    "outlasted": _outlasted,
    "deferred_together": _together,
}

THEME: Final = Theme(
    "deferral",
    rule="RCV-10",
    weights=weighed(
        "defer 10, by_number 10, set_aside 8, found 4, defer_late 3, outlasted 4, deferred_together 4, "
        "send 22, receive 16, complete 8, abandon 4, stale 2, peek 6, advance 3, outage 2, front_end 1, "
        "kill 1"
    ),
)


_DEFERS: Final = do.settle("c1", "defer")


def _receive_deferred(*pick: int) -> Step:
    return Step("c1", "receive_deferred", {"pick": list(pick)})


CASES: Final = Cases()


@CASES.case("deferred", AZURE, "RCV-10", "RCV-3")
def _by_its_number() -> Steps:
    """A deferred message is passed by others, and received by its number alone."""
    yield from (do.send("c1", message(f"m{n}", "a")) for n in (1, 2))
    yield do.receive("c1")
    yield _DEFERS
    yield do.receive("c2", 5)
    yield do.complete("c2")
    yield do.receive("c2", 5)
    yield do.peek("c2")
    yield _receive_deferred(0)
    yield _receive_deferred(0)
    yield do.complete("c1")
    yield _receive_deferred(0)
    yield do.peek("c2", start="start")


@CASES.case("deferred-across", AZURE, "RCV-10")
def _across() -> Steps:
    """Numbers of different partitions in one call are refused.
    Messages of many keys are deferred, and asked for two at a time."""
    sends = [do.send("c1", message(f"m{n}", f"k{n}")) for n in range(8)]
    takes = [step for _ in range(8) for step in (do.receive("c1"), _DEFERS)]
    pairs = [_receive_deferred(n, n + 1) for n in range(7)]
    return [*sends, *takes, *pairs, do.peek("c2")]


@CASES.case("deferred-lock", AZURE, "RCV-10", "RCV-9")
def _set_aside_again() -> Steps:
    """When a lock on a deferred message ends, it is deferred still, and its count is one higher.
    A lock on a deferred message is abandoned, runs out, and falls with the broker."""
    down, up = do.restart()
    again = _receive_deferred(0)
    yield do.send("c1", message("m1", "a"))
    yield do.receive("c1")
    yield _DEFERS
    yield again
    yield do.abandon("c1")
    yield do.receive("c2")
    yield again
    yield do.pass_time()
    yield do.receive("c2")
    yield again
    yield down
    yield up
    yield do.peek("c2")
    yield do.pass_time()
    yield again
    yield do.complete("c1", 0, 1)


@CASES.case("deferred-transaction", AZURE, "RCV-10")
def _in_a_transaction() -> Steps:
    """A message is deferred at the commit of the transaction, or not at all."""
    yield do.send("c1", message("m1", "a"))
    yield do.receive("c1")
    yield from do.transaction("c1", _DEFERS, end=do.rollback)
    yield do.peek("c2")
    yield from do.transaction("c1", _DEFERS)
    yield do.peek("c2", start="start")
    yield _receive_deferred(0)
    yield do.complete("c1")


def take() -> Taking:
    """Receive the messages that the last peek showed as deferred, partition by partition."""
    found = set[str]()
    while (did := (yield Step(DRAINER, "receive_deferred", {"peeked": True}))) is not None:
        found.update(message.id for message in did.messages)
        if did.messages:  # the last locks: before them stand those of a settlement that was refused
            yield do.complete(DRAINER, *range(-len(did.messages), 0))
    return found


LEFTOVERS: Final = (Leftover(DEFERRED, take),)
