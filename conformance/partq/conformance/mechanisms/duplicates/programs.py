"""Programs that send messages again under their IDs, with bodies of their own, and messages without an ID.
Cases: DUP, KEY-4 and KEY-6 on the azure profiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from partq.conformance.workload.cases import steps as do
from partq.conformance.workload.cases.case import Cases, Steps
from partq.conformance.workload.cases.steps import AZURE, PARTITIONED, message
from partq.conformance.workload.phrases import Draft, Phrases, browse
from partq.conformance.workload.program import Step
from partq.conformance.workload.weights import Theme, weighed
from partq.model.messages import Message
from partq.model.profiles import SECOND

_WINDOW: Final = 6 * SECOND
"""How long message IDs count, in random programs and in cases."""

_DETECTING: Final[Mapping[str, Any]] = {"duplicate_detection": True, "duplicate_window": _WINDOW}


def _again(draft: Draft, one: Message) -> Message:
    """Another message of that ID, or of a new one where IDs mean nothing; now and then of another key."""
    draft.messages += 1
    copy = replace(one, body=f"copy {draft.messages} of {one.id}")
    if not draft.entity.ids_count or one.without_id:
        copy = replace(copy, id=f"m{draft.messages}")
    keyed = draft.family.partitioned and not copy.properties and draft.chance(8)
    return replace(copy, session_id=None, partition_key=draft.some_key()) if keyed else copy


def _sent(draft: Draft) -> Message:
    """One of the last messages, or a fresh one."""
    sent = [m for step in draft.steps[-12:] for m in step.args.get("messages", ())]
    last = sent[-5:]
    return last[draft.source.below(len(last))] if last else draft.message(draft.some_key())


def _twice(draft: Draft) -> None:
    """A message, some time, and the same ID again."""
    one = draft.message(draft.some_key())
    draft.send(draft.client(), one)
    if draft.chance(2):
        draft.receive(draft.client(), 3)
    _pass(draft)
    draft.send(draft.client(), _again(draft, one))
    if draft.chance(2):
        browse(draft)


def _pass(draft: Draft) -> None:
    """Hardly any time, a part of the window, about all of it, or more."""
    part = (1, 2 * SECOND, _WINDOW - SECOND, _WINDOW, _WINDOW + SECOND // 1_000, _WINDOW + 2 * SECOND)
    draft.wait(part[draft.source.below(len(part))])


def _in_a_batch(draft: Draft) -> None:
    """A batch with an ID that was sent, or twice with one of its own; where IDs count, and in capitals."""
    one = _sent(draft) if draft.chance(2) else draft.message(draft.key())
    copy = replace(_again(draft, one), session_id=one.session_id, partition_key=one.partition_key)
    other = replace(draft.message(None), session_id=one.session_id, partition_key=one.partition_key)
    if draft.entity.ids_count and not one.without_id:
        other = replace(other, id=one.id.upper())
    several = (copy, other) if draft.chance(2) else (other, copy, _again(draft, other))
    draft.send(draft.client(), *several)


def _in_a_transaction(draft: Draft) -> None:
    """An ID that was sent, or is sent meanwhile, in a transaction; or twice in it."""
    client = draft.client()
    one = _sent(draft) if draft.chance(2) else draft.message(draft.some_key())
    with draft.transaction(client, undone=3):
        draft.send(client, _again(draft, one), txn=True)
        way = draft.source.below(4)
        if way == 0:
            draft.send(client, _again(draft, one), txn=True)
        elif way == 1:
            draft.send(draft.client(), _again(draft, one))
        elif way == 2:
            _pass(draft)
    draft.send(draft.client(), _again(draft, one))
    browse(draft)


def _scheduled(draft: Draft) -> None:
    """Scheduled, and sent again meanwhile; or the other way round."""
    one = draft.message(draft.some_key())
    first, later = ({"delay": 2 * SECOND}, {}) if draft.chance(2) else ({}, {"delay": 2 * SECOND})
    draft.send(draft.client(), one, **first)
    _pass(draft)
    draft.send(draft.client(), _again(draft, one), **later)
    draft.wait(3 * SECOND)


def _without_id(draft: Draft, key: str | None) -> Message:
    return replace(draft.message(key), without_id=True)


def _without_ids(draft: Draft) -> None:
    """One or a few messages of one key without IDs, apart or in a batch, now or later."""
    key, client, way = draft.some_key(), draft.client(), draft.source.below(4)
    several = [_without_id(draft, key) for _ in range(1 + draft.source.below(3))]
    later = {"delay": 2 * SECOND} if way == 1 else {}
    if way == 0 and len(several) > 1:
        draft.send(client, *several)
        return
    for one in several:
        draft.send(client, one, **later)


def _without_ids_together(draft: Draft) -> None:
    """Messages without IDs in a transaction, and others of their key outside of it."""
    client, key = draft.client(), draft.some_key()
    with draft.transaction(client, undone=4):
        for _ in range(1 + draft.source.below(2)):
            draft.send(client, _without_id(draft, key), txn=True)
        if draft.chance(2):
            draft.send(draft.client(), _without_id(draft, key))
    browse(draft)


PHRASES: Final[Phrases] = {
    "without_ids": _without_ids,
    "without_ids_together": _without_ids_together,
    "repeat": lambda draft: draft.send(draft.client(), _again(draft, _sent(draft))),
    "twice": _twice,
    "copies_in_a_batch": _in_a_batch,
    "copies_together": _in_a_transaction,
    "copies_scheduled": _scheduled,
    "a_window": _pass,
}

THEME: Final = Theme(
    "duplicates",
    rule="DUP-1",
    weights=weighed(
        "repeat 14, twice 8, copies_in_a_batch 5, copies_together 5, copies_scheduled 3, a_window 4, send 8, "
        "receive 14, take 3, complete 8, abandon 3, peek 8, outage 2, front_end 1, kill 1"
    ),
    settings=_DETECTING,
)


def _copy(id: str, nth: int, key: str | None = "a") -> Message:
    return message(id, key, body=f"copy {nth} of {id}")


CASES: Final = Cases()


@CASES.case("duplicates", AZURE, "DUP-1", **_DETECTING)
def _one_is_kept() -> Steps:
    """Within the window one message of an ID is kept, whatever became of it.
    Sent again while it is there, while it is locked, and when it is gone. An ID in capitals is another."""
    yield do.send("c1", message("m1", "a"))
    yield do.send("c1", message("M1", "a"))
    yield do.send("c2", _copy("m1", 2))
    yield do.receive("c3")
    yield do.send("c1", _copy("m1", 3))
    yield do.complete("c3")
    yield do.send("c1", _copy("m1", 4), message("m2", "a"))
    yield do.peek("c3", start="start")
    yield do.take("c3", 5)


@CASES.case("duplicates-new", AZURE, "DUP-2", **_DETECTING)
def _new_after_the_window() -> Steps:
    """After the window a message ID is new.
    The same ID after its window, while the first message is there still, and once more then."""
    yield do.send("c1", message("m1", "a"))
    yield do.pass_time(_WINDOW + 2 * SECOND)
    yield do.send("c1", _copy("m1", 2))
    yield do.send("c1", _copy("m1", 3))
    yield do.peek("c3", start="start")
    yield do.take("c3", 5)


@CASES.case("duplicates-restart", AZURE, "DUP-1", **_DETECTING)
def _through_a_restart() -> Steps:
    """Message IDs are remembered through a restart."""
    yield do.send("c1", message("m1", "a"))
    yield from do.restart()
    yield do.send("c1", _copy("m1", 2))
    yield do.peek("c3", start="start")
    yield do.take("c3", 5)


@CASES.case("duplicates-scheduled", AZURE, "DUP-1", **_DETECTING)
def _scheduled_and_active() -> Steps:
    """Scheduled and active messages are duplicates of each other.
    A scheduled message has a later one dropped, and an active one a scheduled one."""
    yield Step("c1", "send", {"messages": (message("m1", "a"),), "delay": 2 * SECOND})
    yield do.send("c1", _copy("m1", 2))
    yield do.send("c1", message("m2", "a"))
    yield Step("c1", "send", {"messages": (_copy("m2", 2),), "delay": 2 * SECOND})
    yield do.peek("c3", start="start")
    yield do.pass_time(5 * SECOND)
    yield do.peek("c3", start="start")
    yield do.take("c3", 5)


@CASES.case("duplicates-transaction", AZURE, "DUP-1", **_DETECTING)
def _in_transactions() -> Steps:
    """What a transaction committed is remembered, what it rolled back is not."""
    yield from do.transaction("c1", do.send("c1", message("m1", "a")), end=do.rollback)
    yield do.send("c1", _copy("m1", 2))
    yield from do.transaction("c1", do.send("c1", message("m2", "a")))
    yield do.send("c1", _copy("m2", 2))
    yield do.peek("c3", start="start")
    yield do.take("c3", 5)


@CASES.case("duplicates-keys", PARTITIONED, "DUP-1", **_DETECTING)
def _scope() -> Steps:
    """One ID under two keys is two messages."""
    yield do.send("c1", message("m1", "a"))
    yield do.send("c1", _copy("m1", 2, "b"))
    yield do.send("c1", _copy("m1", 3, "a"))
    yield do.peek("c3", start="start")
    yield do.take("c3", 5)
    yield do.take("c3", 5)


@CASES.case("message-id-assigned", PARTITIONED, "KEY-6", **_DETECTING)
def _assigned() -> Steps:
    """Messages that are sent without an ID get IDs of their own.
    Of one key and of none, in a transaction and outside: none is dropped, and the ID stays."""
    for n, key in enumerate(("a", "a", None, None), 1):
        yield do.send("c1", replace(message(f"m{n}", key), without_id=True))
    yield from do.transaction("c1", do.send("c1", replace(message("m5"), without_id=True)))
    yield do.peek("c3", start="start")
    yield do.receive("c2", 5)
    yield do.abandon("c2", 0)
    yield from [do.take("c3", 5) for _ in range(5)]


@CASES.case("message-id-key", PARTITIONED, "KEY-4", **_DETECTING)
def _id_is_the_key() -> Steps:
    """With duplicate detection the message ID is the key where no other is.
    Without another key the ID is the key: in a transaction, and for one partition for ever."""
    yield from do.transaction("c1", do.send("c1", message("m1")))
    yield from [
        step
        for n in range(2, 6)
        for step in (do.pass_time(_WINDOW + SECOND), do.send("c1", _copy("m1", n, None)))
    ]
    yield do.peek("c3", start="start")
    yield from [do.take("c3", 5) for _ in range(3)]
