"""Programs whose clients send to a topic, receive from its subscriptions, and change their rules. Cases:
TOPIC-1 on the azure profiles, TOPIC-2 and TXN-6 on the partitioned ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from partq.conformance.mechanisms.topics.changing import (
    ADDS,
    REMOVES,
    RULES,
    annotated,
    coloured,
    delayed,
    look,
    ruled,
    ruled_together,
    some_outlet,
)
from partq.conformance.workload import phrases
from partq.conformance.workload.cases import steps as do
from partq.conformance.workload.cases.case import Cases, Steps
from partq.conformance.workload.cases.steps import AZURE, PARTITIONED, message
from partq.conformance.workload.phrases import Draft, Phrases, settlement
from partq.conformance.workload.program import Step
from partq.conformance.workload.weights import Theme, weighed
from partq.model.operations import DEAD_LETTER, DEAD_LETTERS, SUBSCRIPTION, TOPICS
from partq.model.profiles import DEFAULT_RULE, SECOND

_WINDOW: Final = 6 * SECOND
_DETECTING: Final[Mapping[str, Any]] = {"duplicate_detection": True, "duplicate_window": _WINDOW}


def _receive(draft: Draft, client: str, outlet: str, **args: Any) -> None:
    draft.add(client, "receive", entity=outlet, max=1 + draft.source.below(3), timeout=SECOND, **args)


def _settle(draft: Draft, client: str, outlet: str) -> None:
    first, op = draft.source.below(3), settlement(draft)
    draft.add(client, op, entity=outlet, pick=[first] if draft.chance(2) else [first, first + 1])


def _from_one(draft: Draft) -> None:
    """Received from a subscription, and mostly settled."""
    client, outlet = draft.client(), some_outlet(draft)
    _receive(draft, client, outlet)
    if draft.source.below(4):
        _settle(draft, client, outlet)


def _later(draft: Draft) -> None:
    """What a client holds of a subscription is settled, or renewed."""
    client, outlet = draft.client(), some_outlet(draft)
    if draft.chance(4):
        draft.add(client, "renew_lock", entity=outlet, pick=[0])
    else:
        _settle(draft, client, outlet)


def _each(draft: Draft) -> None:
    """One message, looked at, or received and completed, in each subscription in turn."""
    client = draft.client()
    phrases.send(draft)
    for outlet in draft.entity.outlets:
        if draft.chance(3):
            draft.add(client, "peek", entity=outlet, max=8, **{"from": "start"})
        else:
            _receive(draft, client, outlet)
            draft.add(client, "complete", entity=outlet, pick=[0])


def _outlasted(draft: Draft) -> None:
    """The lock on a copy runs out, while another copy is settled."""
    first, second = some_outlet(draft), some_outlet(draft)
    client = draft.client()
    _receive(draft, client, first)
    draft.wait(draft.entity.lock_duration // (1 + draft.source.below(2)) + SECOND)
    _receive(draft, client, second)
    _settle(draft, client, second)
    _settle(draft, client, first)


def _set_aside(draft: Draft) -> None:
    """A copy is dead-lettered, and mostly taken from the dead-letter queue of its subscription."""
    client, outlet = draft.client(), some_outlet(draft)
    _receive(draft, client, outlet)
    draft.add(client, DEAD_LETTER, entity=outlet, pick=[0])
    if draft.source.below(3):
        mode = {"mode": "receive_and_delete"} if draft.chance(2) else {}
        _receive(draft, draft.client(), outlet + DEAD_LETTERS, **mode)


def _outage(draft: Draft) -> None:
    """One of the topic's partitions is down, or two are, and some copies were seen before."""
    phrases.send_some(draft, 1, 3)
    look(draft)
    count = draft.entity.partitions
    down = dict.fromkeys(draft.source.below(count) for _ in range(1 + draft.source.below(2)))
    with draft.outage(*down):
        for _ in range(2 + draft.source.below(3)):
            (phrases.send, coloured, _from_one, _later, look)[draft.source.below(5)](draft)
    look(draft)


PHRASES: Final[Phrases] = {
    "topic_outage": _outage,
    "send_coloured": coloured,
    "ruled": ruled,
    "ruled_together": ruled_together,
    "annotated": annotated,
    "delayed": delayed,
    "receive_copy": _from_one,
    "take_copy": lambda draft: _receive(draft, draft.client(), some_outlet(draft), mode="receive_and_delete"),
    "settle_copy": _later,
    "look_at_copies": look,
    "each_copy": _each,
    "copy_outlasted": _outlasted,
    "copy_set_aside": _set_aside,
}

THEME: Final = Theme(
    "topics",
    rule="TOPIC-1",
    weights=weighed(
        "send 14, send_coloured 14, batch 6, receive_copy 22, take_copy 6, settle_copy 10, "
        "look_at_copies 10, each_copy 8, copy_outlasted 3, "
        "ruled 8, ruled_together 3, annotated 2, topic_outage 2, repeat 4, copies_in_a_batch 1, "
        "a_window 1, delayed 3, advance 3, front_end 1, kill 1, mortal 1"
    ),
    settings={"duplicate_window": _WINDOW},
    choices={"subscriptions": RULES, "duplicate_detection": (False, False, True)},
    needs=TOPICS,
    one_in=12,
)


def _of(name: str, step: Step) -> Step:
    """The step on that subscription."""
    return do.asking(step, {"entity": SUBSCRIPTION + name})


CASES: Final = Cases()


def _painted(id: str, **properties: str) -> Step:
    return do.send("c1", replace(message(id, "k"), properties=tuple(properties.items())))


@CASES.case("topic-copies", AZURE, "TOPIC-1", subscriptions=(("left", "true"), ("right", "true")))
def _both() -> Steps:
    """Each subscription gets a copy of its own, which another one's settlement leaves alone.
    One copy is completed, one abandoned and received again; of one both are deleted."""
    yield do.send("c1", message("m1", "a"))
    yield do.send("c1", message("m2", "b"), message("m3", "b"))
    yield _of("left", do.receive("c1", 3))
    yield _of("left", do.complete("c1", 0))
    yield _of("right", do.peek("c2"))
    yield _of("right", do.receive("c2", 3))
    yield _of("right", do.receive("c2", 3))
    yield _of("right", do.abandon("c2", 0))
    yield _of("right", do.take("c2", 3))
    yield _of("left", do.take("c1", 3))
    yield _of("left", do.peek("c1", start="start"))
    yield _of("right", do.peek("c2", start="start"))


@CASES.case(
    "topic-rules",
    AZURE,
    "TOPIC-1",
    subscriptions=(
        *(("all", "true"), ("none", "false"), ("keyed", "partition_key=a"), ("second", "id=m2")),
        ("blue", "prop.colour=blue"),
    ),
)
def _by_rules() -> Steps:
    """A subscription gets what its rule matches, and nothing else."""
    yield do.send("c1", message("m1", "a"))
    yield do.send("c1", message("m2", "b"))
    yield do.send("c1", message("m3", session="a"))
    yield do.send("c1", replace(message("m4"), properties=(("colour", "blue"),)))
    for name in ("none", "keyed", "second", "blue", "all"):
        yield _of(name, do.peek("c2"))
        yield _of(name, do.take("c2", 4))
        yield _of(name, do.take("c2", 4))


@CASES.case(
    "topic-filters",
    AZURE,
    "TOPIC-1",
    subscriptions=(
        ("denied", "sql:NOT colour = 'Red'"),
        ("joined", "sql:colour = 'blue' OR colour = 'Red' AND size IS NOT NULL"),
        ("listed", "sql:COLOUR IN ('green', 'blue')"),
        ("patterns", "sql:share LIKE '5_!%' ESCAPE '!'"),
        ("system", "sql:(sys.MessageId <> 'm1' OR 2 < 1) AND NOT EXISTS(user.[size])"),
    ),
)
def _by_filters() -> Steps:
    """A subscription gets what its SQL filter is true of: not that of which it is false, or unknown."""
    sent: tuple[dict[str, str], ...] = (
        {"colour": "Red"},
        {"colour": "blue"},
        {"colour": "Red", "size": "large"},
        {},
        {"share": "50%"},
        {"share": "500"},
    )
    for n, properties in enumerate(sent, start=1):
        yield do.send("c1", replace(message(f"m{n}", "k"), properties=tuple(properties.items())))
    for name in ("denied", "joined", "listed", "patterns", "system"):
        yield _of(name, do.peek("c2"))
        yield _of(name, do.take("c2", 6))
        yield _of(name, do.take("c2", 6))


@CASES.case(
    "topic-transactions",
    AZURE,
    "TOPIC-1",
    subscriptions=(("all", "true"), ("second", "id=m2"), ("none", "false")),
)
def _sent_in_transactions() -> Steps:
    """What is sent in a transaction is copied when it commits, and not when it is rolled back."""
    yield do.begin("c1")
    yield do.send("c1", message("m1", "k"), txn=True)
    yield do.send("c1", message("m2", "k"), message("m3", "k"), txn=True)
    yield _of("all", do.peek("c2"))
    yield do.commit("c1")
    yield from do.transaction("c1", do.send("c1", message("m4", "k")), end=do.rollback)
    for name in ("second", "all", "none"):
        yield _of(name, do.take("c2", 4))
        yield _of(name, do.take("c2", 4))


@CASES.case("topic-restart", AZURE, "TOPIC-1", subscriptions=(("left", "true"), ("right", "true")))
def _restarted() -> Steps:
    """Copies outlast the broker, each as it was left."""
    yield do.send("c1", message("m1", "a"))
    yield do.send("c1", message("m2", "a"))
    yield _of("left", do.take("c1"))
    yield from do.restart()
    yield do.pass_time()
    yield _of("right", do.peek("c2", start="start"))
    yield _of("left", do.peek("c2", start="start"))
    yield _of("right", do.take("c2", 2))
    yield _of("right", do.take("c2", 2))
    yield _of("left", do.take("c2", 2))


@CASES.case(
    "topic-duplicates",
    AZURE,
    "TOPIC-1",
    subscriptions=(("all", "true"), ("blue", "prop.colour=blue")),
    **_DETECTING,
)
def _sent_twice() -> Steps:
    """A duplicate is dropped before rules are asked: also where only it, and not the first one, matches.
    After the window its ID is new."""
    yield _painted("m1", colour="red")
    yield do.send("c2", replace(message("m1", "k", body="again"), properties=(("colour", "blue"),)))
    yield _painted("m2", colour="blue")
    for name in ("all", "blue"):
        yield _of(name, do.peek("c2"))
    yield do.pass_time(_WINDOW + 2 * SECOND)
    yield do.send("c2", replace(message("m1", "k", body="once more"), properties=(("colour", "blue"),)))
    for name in ("all", "blue"):
        yield from (_of(name, do.take("c2", 4)) for _ in range(3))


@CASES.case("topic-scheduled", PARTITIONED, "TOPIC-1", subscriptions=(("a", "true"), ("b", "true")))
def _scheduled() -> Steps:
    """What is scheduled in a topic is copied when its time has come, by the rules of that time."""
    yield do.schedule("c1", message("m1", "k"), delay=10 * SECOND)
    yield do.asking(do.send("c1", message("m2", "k")), {"delay": 10 * SECOND})
    yield _of("a", do.peek("c2"))
    yield _add("r", "id=m2", action="SET colour = 'red'")
    yield _remove(DEFAULT_RULE)
    yield do.pass_time(12 * SECOND)
    for name in ("a", "b"):
        yield from (_of(name, do.take("c2", 4)) for _ in range(3))


@CASES.case("topic-outage", PARTITIONED, "TOPIC-1", subscriptions=(("left", "true"), ("right", "true")))
def _amid_an_outage() -> Steps:
    """Copies outlast the outage of partitions of their topic as they were left. Others come amid it."""
    for n, key in enumerate("abcdef", start=1):
        yield do.send("c1", message(f"m{n}", key))
    yield _of("left", do.take("c1", 2))
    yield from (_of("right", do.receive("c2", 7)) for _ in range(6))
    yield from map(do.down, (0, 5, 10))
    yield do.send("c1", message("m7"))
    yield _of("right", do.peek("c2", start="start"))
    yield from map(do.up, (5, 0, 10))
    yield do.pass_time()
    for name in ("left", "right"):
        yield from (_of(name, do.take("c2", 7)) for _ in range(6))
        yield _of(name, do.peek("c2", start="start"))


@CASES.case(
    "topic-dead-letters",
    AZURE,
    "TOPIC-1",
    subscriptions=(("left", "true"), ("right", "true")),
    max_delivery_count=1,
)
def _worn_out() -> Steps:
    """A copy that wears out comes to the dead-letter queue of its subscription, and the others stay."""
    dead = "left" + DEAD_LETTERS
    yield do.send("c1", message("m1", "a"))
    yield _of("left", do.receive("c1"))
    yield _of("left", do.abandon("c1", 0))
    yield _of("left", do.receive("c1"))
    yield _of(dead, do.peek("c2"))
    yield _of(dead, do.receive("c2"))
    yield _of(dead, do.complete("c2", 0))
    yield _of("right", do.take("c1"))
    yield _of("right" + DEAD_LETTERS, do.peek("c2"))


def _add(name: str, rule: str, proc: str = "c1", **action: str) -> Step:
    return _of("a", Step(proc, ADDS, {"rule": {"name": name, "filter": rule, **action}}))


def _remove(name: str, proc: str = "c1", **more: Any) -> Step:
    return _of("a", Step(proc, REMOVES, {"rule": {"name": name}, **more}))


@CASES.case("topic-rules-change", PARTITIONED, "TOPIC-2", subscriptions=(("a", "false"), ("b", "true")))
def _changed() -> Steps:
    """A rule that is added matches what is sent from then on, and one that is removed does not."""
    yield do.send("c1", message("m1", "k"))
    yield _add("keyed", "partition_key=k")
    yield do.send("c1", message("m2", "k"))
    yield do.send("c1", message("m3", "other"))
    yield _add("all", "true")
    yield do.send("c1", message("m4", "other"))
    yield _remove("all")
    yield _remove(DEFAULT_RULE)
    yield do.send("c1", message("m5", "other"))
    yield do.send("c1", message("m6", "k"))
    yield _remove("keyed")
    yield do.send("c1", message("m7", "k"))
    for name in ("a", "b"):
        yield from (_of(name, do.take("c2", 7)) for _ in range(3))
        yield _of(name, do.peek("c2", start="start"))


@CASES.case("topic-actions", PARTITIONED, "TOPIC-1", subscriptions=(("a", "false"), ("b", "true")))
def _by_actions() -> Steps:
    """Each rule with an action that matches makes a copy of its own, in which it changes user properties.
    Of the others all that match make one copy together."""
    yield _add("blue", "prop.colour=blue")
    yield _add("sets", "prop.size=small", action="SET size = 'large'; SET user.seen = 'yes'")
    yield _add("removes", "prop.shape=round", action="REMOVE shape")
    yield _painted("m1", colour="blue")
    yield _painted("m2", size="small")
    yield _painted("m3", shape="round", colour="red")
    yield _painted("m4", size="small", colour="blue", shape="round")
    yield _painted("m5", colour="red")
    yield _of("a", do.peek("c2"))
    yield _of("a", do.receive("c2", 6))
    yield _of("a", do.complete("c2", 0))
    yield _of("a", do.abandon("c2", 1))
    yield _remove("sets")
    yield _remove("blue")
    yield _painted("m6", size="small", colour="blue", shape="round")
    for name in ("a", "b"):
        yield from (_of(name, do.take("c2", 7)) for _ in range(3))
        yield _of(name, do.peek("c2", start="start"))


@CASES.case("topic-rules-in-transaction", PARTITIONED, "TXN-6", subscriptions=(("a", "true"),))
def _in_transaction() -> Steps:
    """A change of rules in a transaction is refused, and changes nothing."""
    yield from do.transaction("c1", _add("none", "false"), _remove(DEFAULT_RULE), end=do.rollback)
    yield do.send("c1", message("m1", "k"))
    yield from do.transaction("c1", _remove(DEFAULT_RULE))
    yield do.send("c1", message("m2", "k"))
    yield from (_of("a", do.take("c2", 2)) for _ in range(2))
