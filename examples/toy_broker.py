"""A broker of one's own, and the adapter that puts it to the test. In this folder:

    partq run toy_broker:Toy

`Queue` is the broker: a partitioned queue in memory, with locks that expire, and a limit of deliveries
after which a message is dropped. `ToyClient` and `Toy` are the adapter, which is all that has to be written
for a broker that exists already. docs/adapters.md explains.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from partq.conformance.adapters import Broker, Client, Rejected, Shares
from partq.model.messages import Delivery, Message
from partq.model.profiles import SECOND, Entity

ROUNDING = 1_000
"""ns that a time may lose in a float of seconds."""


class Queue:
    """The broker. Each row is [sequence number, message, lock, end of the lock, delivery count]."""

    def __init__(self, partitions: int, lock_seconds: float, limit: int) -> None:
        self.changed = threading.Condition()
        self.partitions: list[list[list[Any]]] = [[] for _ in range(partitions)]
        self.counters = [count((index << 48) + 1) for index in range(partitions)]
        self.lock_seconds, self.limit = lock_seconds, limit
        self.names = count(1)

    def put(self, key: str | None, message: Message) -> None:
        """Store one message, by its key or anywhere."""
        number = zlib.crc32(key.encode()) if key is not None else next(self.names)
        index = number % len(self.partitions)
        with self.changed:
            self.partitions[index].append([next(self.counters[index]), message, None, 0.0, 0])
            self.changed.notify_all()

    def lock(self, most: int, timeout: float) -> list[list[Any]]:
        """Lock up to so many messages, waiting for the first; answer copies of their rows."""
        deadline = time.monotonic() + timeout
        with self.changed:
            while not (rows := self._free(most)) and (left := deadline - time.monotonic()) > 0:
                self.changed.wait(min(left, self.lock_seconds))
            for row in rows:
                row[2:4] = f"lock-{next(self.names)}", time.monotonic() + self.lock_seconds
            return [list(row) for row in rows]

    def settle(self, locks: Sequence[str], delete: bool) -> str | None:
        """Delete or unlock the messages of these locks, all or none; what is wrong if it is none."""
        with self.changed:
            self._free(0)
            rows = [(part, row) for part in self.partitions for row in part if row[2] in locks]
            if len(rows) < len(set(locks)):
                return "lock_lost"
            if any(part is not rows[0][0] for part, _ in rows):
                return "invalid_operation"
            for part, row in rows:
                if delete:
                    part.remove(row)
                else:
                    row[2:] = None, 0.0, row[4] + 1
            self.changed.notify_all()
            return None

    def _free(self, most: int) -> list[list[Any]]:
        for row in (row for part in self.partitions for row in part):
            if row[2] is not None and row[3] <= time.monotonic():
                row[2:] = None, 0.0, row[4] + 1
        for part in self.partitions:
            part[:] = [row for row in part if row[2] is not None or row[4] < self.limit]
        return [row for part in self.partitions for row in part if row[2] is None][:most]


class ToyClient(Client):
    """The adapter's client: translates, and decides nothing."""

    def __init__(self, toy: Toy) -> None:
        self.toy = toy

    def send(self, message: Message, *, txn: str | None = None, timeout: float = 60.0) -> None:
        """Return once it is stored; `Rejected` if it is not."""
        if message.session_id and message.partition_key not in (None, message.session_id):
            raise Rejected("invalid_operation", "session ID and partition key differ")
        self.toy.queue.put(message.session_id or message.partition_key, message)

    def receive(
        self, max_messages: int, *, mode: str = "peek_lock", timeout: float = 1.0
    ) -> Sequence[Delivery]:
        """Lock messages and show all that the broker shows of them; times in the history's clock."""
        rows = self.toy.queue.lock(max_messages, timeout)
        if mode == "receive_and_delete":
            for row in rows:
                self.toy.queue.settle([row[2]], delete=True)
        return [self._shown(row, mode == "peek_lock") for row in rows]

    def complete(self, locks: Sequence[str], *, txn: str | None = None) -> None:
        """Delete what they lock."""
        self._settle(locks, delete=True)

    def abandon(self, locks: Sequence[str], *, txn: str | None = None) -> None:
        """Unlock."""
        self._settle(locks, delete=False)

    def _settle(self, locks: Sequence[str], delete: bool) -> None:
        if wrong := self.toy.queue.settle(locks, delete):
            raise Rejected(wrong)

    def _shown(self, row: list[Any], locked: bool) -> Delivery:
        seq, message, lock, ends, delivery_count = row
        return Delivery(
            id=message.id,
            body=message.body,
            seq=seq,
            delivery_count=delivery_count,
            lock=lock if locked else None,
            locked_until=self.toy.ahead + int(ends * SECOND) if locked else None,
            session_id=message.session_id,
            partition_key=message.partition_key,
            properties=message.properties,
        )


class Toy(Broker):
    """The adapter's broker: makes queues and clients. What it does not override the broker lacks."""

    profile = "azure-premium"
    client_class = ToyClient
    shares = Shares.NOTHING  # several may run at once: each has a queue and faults of its own
    lock_duration = SECOND  # in seeded programs and searches; the shorter, the sooner they end

    def open(self, entity: Entity) -> Entity:
        """A fresh queue. How far the history's clock is ahead of the broker's is found out here, once: by a
        look at the broker's between two at the history's, the best of ten. It is wrong by no more than lies
        between those two."""
        looks = [(self.now(), time.monotonic_ns(), self.now()) for _ in range(10)]
        before, theirs, after = min(looks, key=lambda look: look[2] - look[0])
        self.ahead, self.skew_ns = before - theirs, after - before + ROUNDING
        self.queue = Queue(entity.partitions, entity.lock_duration / SECOND, entity.max_delivery_count)
        # whatever was asked for: its counters begin at 1, and it stores what bears an ID that it has seen
        return replace(entity, seq_start=1, duplicate_detection=False)

    def connect(self, proc: str) -> Client:
        """A client; the name matters only to brokers that show it in their logs."""
        return self.client_class(self)

    def is_empty(self) -> bool | None:
        """Optional: saves the wait for locks to expire at the end of each program."""
        return not any(self.queue.partitions)
