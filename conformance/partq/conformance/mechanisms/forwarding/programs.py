"""Programs whose clients send to a queue that forwards, and receive from the last one. Their phrases are
those of topics, which ask whatever gets an entity's messages. Cases: FWD on the partitioned profiles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from partq.conformance.workload import phrases
from partq.conformance.workload.cases import steps as do
from partq.conformance.workload.cases.case import Cases, Steps
from partq.conformance.workload.cases.steps import PARTITIONED, message
from partq.conformance.workload.phrases import Draft, Phrases
from partq.conformance.workload.program import Step
from partq.conformance.workload.weights import Theme, weighed
from partq.model.operations import DEAD_LETTERS, FORWARDS_TO, SUBSCRIPTION, TOPICS
from partq.model.profiles import SECOND


def _held_up(draft: Draft) -> None:
    """A partition of the first queue is down, while messages are sent."""
    with draft.outage(draft.source.below(draft.entity.partitions)):
        phrases.send_some(draft, 1, 4)
        if draft.chance(2):
            draft.wait(SECOND)


def _last(draft: Draft) -> str:
    """The queue to which all is forwarded."""
    return (*draft.entity.outlets, FORWARDS_TO + "a")[0]


def _together(draft: Draft) -> None:
    """Messages of one key are sent in a transaction, and looked for before it ends, and after that."""
    client, key, last = draft.client(), draft.key(), _last(draft)
    with draft.transaction(client, undone=3):
        for _ in range(1 + draft.source.below(3)):
            draft.send(client, draft.message(key), txn=True)
        if draft.chance(2):
            draft.add(draft.client(), "peek", entity=last, max=8, **{"from": "start"})
    draft.add(draft.client(), "peek", entity=last, max=8, **{"from": "start"})


def _in_session(draft: Draft) -> None:
    """A session is accepted where messages come to, received from, and mostly given back."""
    client, where = draft.client(), {"entity": _last(draft)}
    named = {"session_id": draft.key()} if draft.chance(2) else {}
    draft.add(client, "accept_session", timeout=SECOND, **named, **where)
    for _ in range(1 + draft.source.below(2)):
        limit = 1 + draft.source.below(3)
        draft.add(client, "receive_session", session=0, max=limit, timeout=SECOND, **where)
        if draft.source.below(3):
            draft.add(client, phrases.settlement(draft), pick=[0], **where)
    if draft.chance(5):
        draft.wait(draft.entity.lock_duration + SECOND)
    if draft.source.below(3):
        draft.add(client, "close_session", session=0, **where)


PHRASES: Final[Phrases] = {
    "held_up": _held_up,
    "forwarded_together": _together,
    "forwarded_session": _in_session,
}

THEME: Final = Theme(
    "forwarding",
    rule="FWD-1",
    weights=weighed(
        "send 24, batch 8, burst 4, receive_copy 22, take_copy 8, settle_copy 10, look_at_copies 12, "
        "each_copy 8, copy_outlasted 2, advance 6, front_end 1, kill 2, held_up 3, later 2, cancel 1, "
        "mortal 3, forwarded_together 8, peek 2, receive 2, repeat 6, "
        "copies_in_a_batch 2, copies_scheduled 1, a_window 2"
    ),
    settings={"duplicate_window": 6 * SECOND},
    choices={
        "forward_to": (("a",), ("a:1", "b"), ("a", "b:1"), ("a", "b", "c", "d"), ("a", "b:1", *"cde")),
        "duplicate_detection": (False, False, True),
    },
    needs=TOPICS,
    one_in=12,
)


def _at(name: str, step: Step) -> Step:
    """The step on that queue of the chain."""
    return do.asking(step, {"entity": FORWARDS_TO + name})


CASES: Final = Cases()


@CASES.case("forward-keys", PARTITIONED, "FWD-1", forward_to=("next",))
def _keys() -> Steps:
    """What is forwarded arrives, with equal keys in one partition.
    Some comes at once, and is completed; some later, and is deleted."""
    for n, key in enumerate(("a", "b", "a", "c", "a", "b", "d"), start=1):
        yield do.send("c1", message(f"m{n}", key))
    yield do.send("c1", message("m8", session="a"))
    yield do.send("c1", message("m9", "a"), message("m10", "a"))
    yield do.pass_time()
    yield _at("next", do.receive("c2", 4))
    yield _at("next", do.complete("c2", 0))
    yield _at("next", do.peek("c2", start="start"))
    yield from (_at("next", do.take("c2", 10)) for _ in range(4))


@CASES.case("forward-through-one", PARTITIONED, "FWD-1", forward_to=("single:1", "last"))
def _through_one() -> Steps:
    """Behind a queue that is not partitioned equal keys come to one partition, too."""
    for n, key in enumerate(("a", "b", "a", "c", "a", "b"), start=1):
        yield do.send("c1", message(f"m{n}", key))
    yield do.pass_time()
    yield _at("last", do.peek("c2", start="start"))
    yield from (_at("last", do.take("c2", 6)) for _ in range(4))


@CASES.case("forward-too-far", PARTITIONED, "FWD-2", forward_to=("2nd", "3rd", "4th", "5th", "last"))
def _too_far() -> Steps:
    """What would be forwarded five times is in the dead-letter queue, and says why.
    It is looked for where it would come to, and where it had to stay."""
    for n, key in enumerate(("a", "b", "a"), start=1):
        yield do.send("c1", message(f"m{n}", key))
    yield do.pass_time()
    yield _at("last", do.peek("c2"))
    yield _at("last", do.take("c2", 3))
    yield _at("5th" + DEAD_LETTERS, do.peek("c2"))
    yield from (_at("5th" + DEAD_LETTERS, do.take("c2", 3)) for _ in range(3))


@CASES.case("forward-far", PARTITIONED, "FWD-1", forward_to=("second", "third", "fourth", "last"))
def _far() -> Steps:
    """The same over as many hops as there may be."""
    for n, key in enumerate(("a", "b", "a", "c", "a"), start=1):
        yield do.send("c1", message(f"m{n}", key))
    yield do.pass_time()
    yield _at("last", do.peek("c2"))
    yield do.send("c1", message("m6", "a"))
    yield from do.restart()
    yield do.pass_time()
    yield from (_at("last", do.take("c2", 6)) for _ in range(4))


@CASES.case(
    "forward-copies",
    PARTITIONED,
    "FWD-1",
    subscriptions=(("all", "true"), ("red", "prop.colour=red")),
    forward_to=(SUBSCRIPTION + "red", "single:1", "last"),
)
def _copies() -> Steps:
    """A subscription forwards what its rule matches, with its keys; another one keeps its own."""
    red = (("colour", "red"),)
    for n, key in enumerate(("a", "b", "a", "c", "a", "b"), start=1):
        yield do.send("c1", replace(message(f"m{n}", key), properties=red if n != 2 else ()))
    yield do.send("c1", *(replace(message(name, "b"), properties=red) for name in ("m7", "m8")))
    yield do.pass_time()
    yield _at("last", do.peek("c2", start="start"))
    yield do.asking(do.take("c2", 8), {"entity": SUBSCRIPTION + "all"})
    yield from (_at("last", do.take("c2", 8)) for _ in range(4))


@CASES.case("forward-transactions", PARTITIONED, "FWD-1", forward_to=("next",))
def _in_transactions() -> Steps:
    """What is sent in a transaction is forwarded when it commits, and not when it is rolled back."""
    yield do.begin("c1")
    yield do.send("c1", message("m1", "k"), txn=True)
    yield do.send("c1", message("m2", "k"), message("m3", "k"), txn=True)
    yield do.pass_time()
    yield _at("next", do.peek("c2", start="start"))
    yield do.commit("c1")
    yield from do.transaction("c1", do.send("c1", message("m4", "k")), end=do.rollback)
    yield do.pass_time()
    yield _at("next", do.peek("c2", start="start"))
    yield from (_at("next", do.take("c2", 4)) for _ in range(3))


@CASES.case(
    "forward-duplicates",
    PARTITIONED,
    "FWD-1",
    forward_to=("next",),
    duplicate_detection=True,
    duplicate_window=6 * SECOND,
)
def _of_one_id() -> Steps:
    """A message ID that is sent again is forwarded once within the window, and again after it."""
    yield do.send("c1", message("m1", "k", body="first"))
    yield do.send("c1", message("m1", "k", body="second"))
    yield do.send("c1", message("m2", body="first"))
    yield do.pass_time(5 * SECOND)
    yield _at("next", do.take("c2", 4))
    yield do.send("c1", message("m2", body="second"))
    yield do.pass_time(10 * SECOND)
    yield do.send("c1", message("m1", "k", body="third"))
    yield do.pass_time(5 * SECOND)
    yield from (_at("next", do.take("c2", 4)) for _ in range(3))


def _held(op: str, proc: str, **args: Any) -> Step:
    return _at("next", Step(proc, op, args))


@CASES.case("forward-sessions", PARTITIONED, "FWD-1", "SES-1", forward_to=("next",), requires_session=True)
def _sessions() -> Steps:
    """Messages of a session are accepted, and received, where they come to."""
    for n, session in enumerate(("s", "t", "s", "s"), start=1):
        yield do.send("c1", message(f"m{n}", session=session))
    yield do.pass_time()
    yield _at("next", do.peek("c2", start="start"))
    for client, session in (("c2", "s"), ("c1", "t")):
        yield _held("accept_session", client, session_id=session, timeout=SECOND)
        yield _held("receive_session", client, named=session, max=3, timeout=SECOND)
    yield _held("accept_session", "c3", session_id="s", timeout=SECOND)
    yield _at("next", do.complete("c2"))
    yield _held("close_session", "c2", named="s")
    yield _at("next", do.complete("c1"))
