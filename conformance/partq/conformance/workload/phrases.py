"""What programs are written in: a `Draft`, and *phrases*, short runs of steps that make sense together.

Phrases of consumers that bind are in `flow_phrases.py`; how often each is written is `generator.py`'s. None
knows what a broker should answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from partq.conformance.workload.program import Step
from partq.model.messages import JMS_KEY, SOLACE_KEY, KeyRule, Message
from partq.model.operations import ENV
from partq.model.profiles import SECOND, Entity, Profile

WEARING: Final = 5
"""Deliveries that fail in a row: more than some entities allow."""


class Source(Protocol):
    """Where choices come from."""

    def below(self, n: int) -> int:
        """A whole number from 0 to n-1."""


@dataclass(slots=True)
class Draft:
    """A program while it is being written."""

    family: Profile
    entity: Entity
    source: Source
    keys: tuple[str, ...]
    clients: tuple[str, ...]
    steps: list[Step] = field(default_factory=list)
    messages: int = 0

    def chance(self, one_in: int) -> bool:
        return self.source.below(one_in) == 0

    def client(self) -> str:
        return self.clients[self.source.below(len(self.clients))]

    def add(self, proc: str, op: str, /, **args: Any) -> None:
        self.steps.append(Step(proc, op, args))

    def send(self, proc: str, *messages: Message, **args: Any) -> None:
        """Send one message, or several as a batch."""
        self.add(proc, "send" if len(messages) == 1 else "send_batch", messages=messages, **args)

    def receive(self, proc: str, limit: int = 1, **args: Any) -> None:
        """Lock up to so many messages."""
        self.add(proc, "receive", max=limit, timeout=SECOND, **args)

    def take(self, proc: str, limit: int) -> None:
        """Receive and delete up to so many messages."""
        self.add(proc, "receive", max=limit, mode="receive_and_delete", timeout=SECOND)

    def wait(self, ns: int) -> None:
        """Time passes."""
        self.add(ENV, "advance", by=ns)

    @contextmanager
    def outage(self, *indexes: int) -> Iterator[None]:
        """These partitions are down meanwhile."""
        for index in indexes:
            self.add(ENV, "partition_down", index=index)
        yield
        for index in indexes:
            self.add(ENV, "partition_up", index=index)

    @contextmanager
    def transaction(self, client: str, undone: int) -> Iterator[None]:
        """A transaction of the client goes on meanwhile; of so many one is rolled back, others committed."""
        self.add(client, "begin")
        yield
        self.add(client, "rollback" if self.chance(undone) else "commit")

    def two(self) -> tuple[str, str]:
        """Two clients."""
        first = self.source.below(len(self.clients))
        other = first + 1 + self.source.below(len(self.clients) - 1)
        return self.clients[first], self.clients[other % len(self.clients)]

    def key(self) -> str:
        return self.keys[self.source.below(len(self.keys))]

    def message(self, key: str | None) -> Message:
        """A fresh message of that key, which travels in one of the ways the family knows."""
        self.messages += 1
        name = f"m{self.messages}"
        body = f"body of {name}" if self.source.below(8) else _BODIES[self.source.below(len(_BODIES))]
        if key is None:
            message = Message(name, body)
        else:
            message = _WAYS[self.family.key_rule][self.source.below(4)](name, body, key)
        if self.source.below(8) or message.properties:
            return message
        return replace(message, properties=_PROPERTIES[self.source.below(len(_PROPERTIES))])

    def some_key(self) -> str | None:
        """A key, or in a quarter of cases none."""
        return self.key() if self.source.below(4) else None


Phrase = Callable[[Draft], None]
Phrases = Mapping[str, Phrase]
"""Phrases by their names, of which themes weigh some."""

_BODIES: Final = ("", "ünï¢ødé ✓", "<b>&amp;</b>", "x" * 300, "line\nbreak\ttab", '{"json": [1, 2]}')

_PROPERTIES: Final = ((("colour", "Red"),), (("colour", "blue"), ("empty", "")), (("ünï", "✓"),))
"""User properties that are no keys."""

_WAYS: Final[Mapping[KeyRule, tuple[Callable[[str, str, str], Message], ...]]] = {
    KeyRule.SERVICE_BUS: (
        lambda name, body, key: Message(name, body, session_id=key),
        lambda name, body, key: Message(name, body, partition_key=key),
        lambda name, body, key: Message(name, body, partition_key=key),
        lambda name, body, key: Message(name, body, session_id=key, partition_key=key),
    ),
    KeyRule.PARTITION_KEY: (lambda name, body, key: Message(name, body, partition_key=key),) * 4,
    KeyRule.USER_PROPERTY: (
        lambda name, body, key: Message(name, body, properties=((SOLACE_KEY, key),)),
        lambda name, body, key: Message(name, body, properties=((SOLACE_KEY, key),)),
        lambda name, body, key: Message(name, body, properties=((JMS_KEY, key),)),
        lambda name, body, key: Message(
            name, body, partition_key=f"not-{name}", properties=(("other", name), (SOLACE_KEY, key))
        ),
    ),
}


def send(draft: Draft) -> None:
    draft.send(draft.client(), draft.message(draft.some_key()))


def send_some(draft: Draft, least: int, spread: int) -> None:
    """At least so many messages, and fewer than ``spread`` more."""
    for _ in range(least + draft.source.below(spread)):
        send(draft)


def send_alike(draft: Draft, key: str | None, least: int, spread: int) -> None:
    """The same of one key, or of none, by any clients."""
    for _ in range(least + draft.source.below(spread)):
        draft.send(draft.client(), draft.message(key))


def send_batch(draft: Draft, key: str | None, least: int, spread: int) -> None:
    """The same in one request."""
    batch = [draft.message(key) for _ in range(least + draft.source.below(spread))]
    draft.send(draft.client(), *batch)


def restart(draft: Draft) -> None:
    """The broker is killed and started."""
    draft.add(ENV, "broker_kill")
    draft.add(ENV, "broker_start")


def send_in(draft: Draft, client: str, key: str | None) -> None:
    """A message in the client's transaction, or, once in six times, a batch of two."""
    count = 1 if draft.source.below(6) else 2
    draft.send(client, *(draft.message(key) for _ in range(count)), txn=True)


def browse(draft: Draft, client: str | None = None) -> None:
    """Peek at the first few messages."""
    draft.add(client or draft.client(), "peek", max=8, **{"from": "start"})


def settlement(draft: Draft) -> str:
    """How messages are settled: completed, or now and then abandoned."""
    return "complete" if draft.source.below(3) else "abandon"


def _conflict(draft: Draft) -> None:
    draft.messages += 1
    message = Message(f"m{draft.messages}", "two keys", session_id=draft.key(), partition_key="other")
    draft.send(draft.client(), message)


def _batch(draft: Draft) -> None:
    key = draft.some_key()
    messages = [draft.message(key) for _ in range(2 + draft.source.below(3))]
    if draft.chance(4):
        messages.append(draft.message(f"{draft.key()}-too"))
    draft.send(draft.client(), *messages)


def _burst(draft: Draft) -> None:
    """Several sends of one key, or keyless: enough to distinguish a rule from chance."""
    send_alike(draft, draft.some_key(), 3, 4)


def _receive(draft: Draft) -> None:
    draft.receive(draft.client(), (1, 1, 2, 5, 20)[draft.source.below(5)])


def _take(draft: Draft) -> None:
    most = 1 + draft.source.below(3)
    draft.take(draft.client(), most)


def settling(op: str) -> Phrase:
    """A phrase that settles one message or two."""

    def phrase(draft: Draft) -> None:
        first = draft.source.below(6)
        pick = [first] if draft.source.below(4) else [first, first + 1]
        draft.add(draft.client(), op, pick=pick)

    return phrase


def _settle_all(draft: Draft) -> None:
    client = draft.client()
    for _ in range(3):
        draft.add(client, "complete", pick=list(range(20)))
        draft.receive(client, 20)


def _stale(draft: Draft) -> None:
    op = ("complete", "abandon", "renew_lock")[draft.source.below(3)]
    draft.add(draft.client(), op, pick=[draft.source.below(6)], stale=True)


def _keep(draft: Draft) -> None:
    """A lock is renewed half-way, and its first duration passes."""
    client, half = draft.client(), draft.entity.lock_duration // 2
    send(draft)
    draft.receive(client)
    draft.wait(half)
    draft.add(client, "renew_lock", pick=[draft.source.below(2)])
    draft.wait(half + SECOND)
    _receive(draft)


def _late(draft: Draft) -> None:
    """A settlement comes when its lock has run out."""
    client = draft.client()
    send(draft)
    draft.receive(client, 1 + draft.source.below(2))
    draft.wait(draft.entity.lock_duration + SECOND)
    draft.add(client, "complete" if draft.chance(2) else "abandon", pick=[0])


def _peek(draft: Draft) -> None:
    start = ("cursor", "cursor", "start", draft.source.below(50))[draft.source.below(4)]
    draft.add(draft.client(), "peek", max=(1, 3, 10, 100)[draft.source.below(4)], **{"from": start})


def _past_the_end(draft: Draft) -> None:
    """A peek from a number on at which there may be nothing any more."""
    client = draft.client()
    send(draft)
    draft.take(client, 20)
    draft.add(client, "peek", max=5, **{"from": draft.source.below(50)})


def _walk(draft: Draft) -> None:
    client = draft.client()
    for _ in range(3 + draft.source.below(6)):
        draft.add(client, "peek", max=3)


def _transaction(draft: Draft) -> None:
    client, key = draft.client(), draft.key()
    with draft.transaction(client, undone=3):
        for _ in range(1 + draft.source.below(3)):
            odd = draft.source.below(12)
            send_in(draft, client, None if odd == 0 else draft.key() if odd == 1 else key)
        if draft.chance(4):
            draft.add(client, "complete", pick=[draft.source.below(6)], txn=True)
        if draft.chance(5):
            _receive(draft)


def _settle_transaction(draft: Draft) -> None:
    client = draft.client()
    for _ in range(2 * draft.source.below(2)):
        draft.send(draft.client(), draft.message(None))
        draft.receive(client)
    draft.receive(client, 1 + draft.source.below(4))
    draft.add(client, "begin")
    for _ in range(1 + draft.source.below(2)):
        op = "complete" if draft.source.below(4) else "abandon"
        draft.add(client, op, pick=[draft.source.below(4)], txn=True)
    rolled_back = draft.chance(2)
    draft.add(client, "rollback" if rolled_back else "commit")
    if rolled_back and draft.chance(2):
        draft.add(client, "complete", pick=[draft.source.below(4)])


def _advance(draft: Draft) -> None:
    entity = draft.entity
    lengths = (SECOND, 2 * SECOND, entity.lock_duration // 2, entity.lock_duration + SECOND)
    if draft.family.flows:
        lengths = (SECOND, 2 * SECOND, entity.rebalance_delay + SECOND, entity.max_handoff + SECOND)
    draft.wait(lengths[draft.source.below(4)])


def _outage(draft: Draft) -> None:
    with draft.outage(draft.source.below(draft.entity.partitions)):
        for _ in range(1 + draft.source.below(4)):
            (send, send, _receive, _batch)[draft.source.below(4)](draft)


def _blackout(draft: Draft) -> None:
    with draft.outage(*range(draft.entity.partitions)):
        send(draft)


def _cut_off(draft: Draft) -> None:
    """A front end is lost that may have fetched more than it was asked for."""
    client = draft.client()
    send_some(draft, 2, 4)
    draft.receive(client)
    draft.add(ENV, "frontend_lost", proc=client)


def _cut_short(draft: Draft) -> None:
    """A front end is lost through which a batch is on its way."""
    client, key = draft.client(), draft.some_key()
    messages = tuple(draft.message(key) for _ in range(2 + draft.source.below(3)))
    draft.send(client, *messages)
    draft.add(ENV, "frontend_lost", proc=client)


def _wear_out(draft: Draft) -> None:
    """A message is received and given back, again and again."""
    client = draft.client()
    send(draft)
    for _ in range(WEARING):
        draft.receive(client)
        draft.add(client, "abandon", pick=[0])


def _kill(draft: Draft) -> None:
    draft.add(ENV, "broker_kill")
    if draft.chance(2):
        send(draft)
    draft.add(ENV, "broker_start")


PHRASES: Final[Phrases] = {
    "send": send,
    "conflict": _conflict,
    "batch": _batch,
    "burst": _burst,
    "keep": _keep,
    "cut_off": _cut_off,
    "cut_short": _cut_short,
    "late": _late,
    "receive": _receive,
    "take": _take,
    "complete": settling("complete"),
    "abandon": settling("abandon"),
    "wear_out": _wear_out,
    "settle_all": _settle_all,
    "stale": _stale,
    "renew": lambda draft: draft.add(draft.client(), "renew_lock", pick=[draft.source.below(6)]),
    "peek": _peek,
    "past_the_end": _past_the_end,
    "walk": _walk,
    "transaction": _transaction,
    "settle_transaction": _settle_transaction,
    "advance": _advance,
    "outage": _outage,
    "blackout": _blackout,
    "front_end": lambda draft: draft.add(ENV, "frontend_lost", proc=draft.client()),
    "kill": _kill,
}
