"""Defects to plant in any adapter: classes put before its client or broker, one for each mechanism.

What is done wrong depends on the message alone, so that a defect shows itself in every run.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from partq.conformance.adapters import Broker, Client, Rejected
from partq.model.family import Entity
from partq.model.messages import Delivery, Message


def chosen(message: str) -> bool:
    """One message of four."""
    return zlib.crc32(message.encode()) % 4 == 0


class Loses(Client):
    """Says that it has sent what it has not."""

    def send(self, message: Message, **options: Any) -> None:
        if not chosen(message.id):
            super().send(message, **options)


class LosesKeyless(Client):
    """The same of messages without a key."""

    def send(self, message: Message, **options: Any) -> None:
        if message.session_id or message.partition_key:
            super().send(message, **options)


class Duplicates(Client):
    """Sends twice."""

    def send(self, message: Message, **options: Any) -> None:
        super().send(message, **options)
        if chosen(message.id):
            super().send(message, **options)


class Delays(Client):
    """Stores a message after the next one, though it said before that it had."""

    late: Message | None = None

    def send(self, message: Message, **options: Any) -> None:
        late, self.late = self.late, None
        if late is None and chosen(message.id):
            self.late = message
            return
        super().send(message, **options)
        if late is not None:
            super().send(late, **options)

    def close(self) -> None:
        if self.late is not None:
            super().send(self.late)
        super().close()


class Denies(Client):
    """Says that it has not sent what it has."""

    def send(self, message: Message, **options: Any) -> None:
        super().send(message, **options)
        if chosen(message.id):
            raise Rejected("unavailable")


class Refuses(Client):
    """Refuses a valid message."""

    def send(self, message: Message, **options: Any) -> None:
        if chosen(message.id):
            raise Rejected("invalid_operation")
        super().send(message, **options)


class Garbles(Client):
    """Sends another body."""

    def send(self, message: Message, **options: Any) -> None:
        super().send(replace(message, body="hm") if chosen(message.id) else message, **options)


class Rekeys(Client):
    """Shows another key than was sent. One left out would be no defect: a broker need not show all
    (docs/history.md)."""

    def receive(self, max_messages: int, **options: Any) -> Sequence[Delivery]:
        return [
            one._replace(**{key: f"not {own}" for key in KEYS if (own := getattr(one, key)) is not None})
            for one in super().receive(max_messages, **options)
        ]


KEYS = ("session_id", "partition_key")


class Scatters(Client):
    """Sends messages of a key to several partitions."""

    def route(self, message: Message) -> Any:
        return super().route(replace(message, session_id=None, partition_key=message.id))  # type: ignore[misc]


class ScattersSome(Scatters):
    """The same of one message of four."""

    def route(self, message: Message) -> Any:
        return (super() if chosen(message.body) else super(Scatters, self)).route(message)  # type: ignore[misc]


class Reverses(Client):
    """Answers the newest first."""

    def receive(self, max_messages: int, **options: Any) -> Sequence[Delivery]:
        return super().receive(max_messages, **options)[::-1]


class Swaps(Client):
    """Answers the second first."""

    def receive(self, max_messages: int, **options: Any) -> Sequence[Delivery]:
        first, second, *others = (*super().receive(max_messages, **options), None, None)
        return [one for one in (second, first, *others) if one is not None]


class Expires(Client):
    """Deletes a message whose lock has ended."""

    def receive(self, max_messages: int, **options: Any) -> Sequence[Delivery]:
        found = super().receive(max_messages, **options)
        again = [one for one in found if one.redelivered or one.delivery_count]
        for one in again:
            if one.lock is not None:
                super().complete([one.lock])
        return [one for one in found if one not in again]


class Forgets(Client):
    """Says that it has completed what it has not."""

    def complete(self, locks: Sequence[str], **options: Any) -> None:
        pass


class ForgetsSome(Client):
    """The same of one message of four."""

    forgotten: tuple[str | None, ...] = ()

    def receive(self, max_messages: int, **options: Any) -> Sequence[Delivery]:
        found = super().receive(max_messages, **options)
        self.forgotten += tuple(one.lock for one in found if chosen(one.id))
        return found

    def complete(self, locks: Sequence[str], **options: Any) -> None:
        if set(locks).isdisjoint(self.forgotten):
            super().complete(locks, **options)


class CompletesFirst(Client):
    """Completes the first of several."""

    def complete(self, locks: Sequence[str], **options: Any) -> None:
        super().complete(locks[:1], **options)


class CompletesAll(Client):
    """Completes all that this client was given."""

    given: tuple[str, ...] = ()

    def receive(self, max_messages: int, **options: Any) -> Sequence[Delivery]:
        found = super().receive(max_messages, **options)
        self.given += tuple(one.lock for one in found if one.lock is not None)
        return found

    def complete(self, locks: Sequence[str], **options: Any) -> None:
        super().complete(locks, **options)
        for lock in set(self.given).difference(locks):
            with suppress(Rejected):
                super().complete([lock], **options)


class AbandonCompletes(Client):
    """Deletes what is given back."""

    def abandon(self, locks: Sequence[str], **options: Any) -> None:
        super().complete(locks, **options)


class Unlocks(Broker):
    """Locks messages for a part of the time that it states."""

    part = 5

    def open(self, entity: Entity) -> Entity | None:
        answer = super().open(replace(entity, lock_duration=entity.lock_duration // self.part))
        return replace(answer or entity, lock_duration=entity.lock_duration)


class NeverLocks(Unlocks):
    """Locks messages for no time at all."""

    part = 1_000


class LosesAtStart(Broker):
    """Loses a message when it is started again."""

    def inject(self, fault: str, args: Mapping[str, Any]) -> dict[str, Any]:
        answer = super().inject(fault, dict(args))
        if fault == "broker_start":
            self.recover()
        return answer

    def recover(self) -> None:
        client = self.connect("recovery")
        client.receive(1, mode="receive_and_delete")
        client.close()


class RestoresAtStart(LosesAtStart):
    """Has the message that was delivered first again when it is started again."""

    first: Delivery | None = None

    def open(self, entity: Entity) -> Entity | None:
        self.first = None
        return super().open(entity)

    def connect(self, proc: str) -> Client:
        client = super().connect(proc)
        receive = client.receive

        def noted(max_messages: int, **options: Any) -> Sequence[Delivery]:
            found = receive(max_messages, **options)
            self.first = self.first or next(iter(found), None)
            return found

        client.receive = noted  # type: ignore[method-assign]
        return client

    def recover(self) -> None:
        if (first := self.first) is not None:
            message = Message(first.id, first.body, first.session_id, first.partition_key, first.properties)
            client = super().connect("recovery")
            client.send(message)
            client.close()


def planted(defect: type[Client] | type[Broker], broker: type[Broker]) -> type[Broker]:
    """The broker with the defect."""
    name = f"{defect.__name__}{broker.__name__}"
    if issubclass(defect, Broker):
        return type(name, (defect, broker), {})
    return type(name, (broker,), {"client_class": type(name, (defect, broker.client_class), {})})
