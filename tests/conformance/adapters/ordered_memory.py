"""A live queue in memory that delivers each key in order and shows no numbers, and versions that do not: what
the profile `ordered-queue` is tested with, independent of the reference broker."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from itertools import count
from typing import Any, ClassVar

from partq.conformance.adapters import Broker, Client, Rejected, Shares
from partq.model.messages import Delivery, Message
from partq.model.profiles import SECOND, Entity


class Queue:
    """Rows are [message, lock, end of the lock, holder], in the order of acceptance. One lock guards all."""

    def __init__(self, lock_seconds: float) -> None:
        self.changed = threading.Condition()
        self.rows: list[list[Any]] = []
        self.lock_seconds = lock_seconds
        self.names = count(1)
        self.dead = False

    def check_alive(self) -> None:
        if self.dead:
            raise Rejected("unavailable")

    def put(self, message: Message) -> None:
        with self.changed:
            self.check_alive()
            self.store(message)
            self.changed.notify_all()

    def store(self, message: Message) -> None:
        self.rows.append([message, None, 0.0, ""])

    def take(self, limit: int, timeout: float, proc: str, delete: bool) -> list[tuple[Message, str]]:
        deadline = time.monotonic() + timeout
        with self.changed:
            self.check_alive()
            while not (rows := self.free(limit)) and (left := deadline - time.monotonic()) > 0:
                self.changed.wait(min(left, self.lock_seconds))
                self.check_alive()
            for row in rows:
                row[1:] = f"lock-{next(self.names)}", time.monotonic() + self.lock_seconds, proc
            if delete:
                self.rows = [row for row in self.rows if row not in rows]
            return self.answer([(row[0], row[1]) for row in rows])

    def answer(self, taken: list[tuple[Message, str]]) -> list[tuple[Message, str]]:
        return taken

    def free(self, limit: int) -> list[list[Any]]:
        """The oldest rows that are free, none of a key of which one is held."""
        self.release(lambda row: row[2] <= time.monotonic())
        held = {row[0].partition_key for row in self.rows if row[1] is not None} - {None}
        return [row for row in self.rows if row[1] is None and row[0].partition_key not in held][:limit]

    def release(self, ends: Any) -> None:
        for row in self.rows:
            if row[1] is not None and ends(row):
                row[1] = None

    def settle(self, locks: Sequence[str], delete: bool) -> None:
        with self.changed:
            self.check_alive()
            self.free(0)
            held = [row for row in self.rows if row[1] in locks]
            if len(held) < len(set(locks)):
                raise Rejected("lock_lost")
            for row in held:
                row[1] = None
            self.rows = [row for row in self.rows if not (delete and row in held)]
            self.changed.notify_all()

    def drop(self, ends: Any, dead: bool = False) -> None:
        with self.changed:
            self.dead = dead
            self.release(ends)
            self.changed.notify_all()


class MemoryClient(Client):
    def __init__(self, queue: Queue, proc: str) -> None:
        self.queue, self.proc = queue, proc

    def send(self, message: Message, *, txn: str | None = None, timeout: float = 60.0) -> None:
        self.queue.put(message)

    def receive(
        self, max_messages: int, *, mode: str = "peek_lock", timeout: float = 1.0
    ) -> Sequence[Delivery]:
        delete = mode == "receive_and_delete"
        taken = self.queue.take(max_messages, timeout, self.proc, delete)
        return [
            Delivery(
                message.id,
                message.body,
                lock=None if delete else lock,
                session_id=message.session_id,
                partition_key=message.partition_key,
                properties=message.properties,
            )
            for message, lock in taken
        ]

    def complete(self, locks: Sequence[str], *, txn: str | None = None) -> None:
        self.queue.settle(locks, delete=True)

    def abandon(self, locks: Sequence[str], *, txn: str | None = None) -> None:
        self.queue.settle(locks, delete=False)

    def disconnect(self, *, how: str = "socket") -> None:
        self.queue.drop(lambda row: row[3] == self.proc, dead=self.queue.dead)


class Memory(Broker):
    """Lawful."""

    profile = "ordered-queue"
    client_class = MemoryClient
    shares = Shares.NOTHING
    lock_duration = SECOND
    queue_class: ClassVar[type[Queue]] = Queue

    def open(self, entity: Entity) -> None:
        self.queue = self.queue_class(entity.lock_duration / SECOND)

    def connect(self, proc: str) -> Client:
        return MemoryClient(self.queue, proc)

    def inject(self, fault: str, args: dict[str, Any]) -> dict[str, Any]:
        """A kill loses every lock; what is stored stays."""
        if fault not in ("broker_kill", "broker_start"):
            raise Rejected("unsupported", fault)
        self.queue.drop(lambda row: True, dead=fault == "broker_kill")
        return args

    def is_empty(self) -> bool | None:
        return not self.queue.rows


class PairsTurned(Memory):
    """Each key's messages are stored as m1 m0 m3 m2."""

    class queue_class(Queue):
        def store(self, message: Message) -> None:
            super().store(message)
            same = [n for n, row in enumerate(self.rows) if row[0].partition_key == message.partition_key]
            if message.partition_key is not None and len(same) % 2 == 0 and self.rows[same[-2]][1] is None:
                a, b = same[-2:]
                self.rows[a], self.rows[b] = self.rows[b], self.rows[a]


class Backwards(Memory):
    """Each answer is in reverse order."""

    class queue_class(Queue):
        def answer(self, taken: list[tuple[Message, str]]) -> list[tuple[Message, str]]:
            return taken[::-1]


class Unblocked(Memory):
    """A held message does not keep the others of its key back."""

    class queue_class(Queue):
        def free(self, limit: int) -> list[list[Any]]:
            super().free(0)
            return [row for row in self.rows if row[1] is None][:limit]


class ToTheEnd(Memory):
    """What comes back goes to the end."""

    class queue_class(Queue):
        def release(self, ends: Any) -> None:
            back = [row for row in self.rows if row[1] is not None and ends(row)]
            super().release(ends)
            self.rows = [row for row in self.rows if row not in back] + back

        def settle(self, locks: Sequence[str], delete: bool) -> None:
            with self.changed:
                back = [row for row in self.rows if row[1] in locks]
                super().settle(locks, delete)
                if not delete:
                    self.rows = [row for row in self.rows if row not in back] + back


class Forgetful(Memory):
    """What was finished last comes back with a kill."""

    class queue_class(Queue):
        last: tuple[Message, ...] = ()

        def settle(self, locks: Sequence[str], delete: bool) -> None:
            held = tuple(row[0] for row in self.rows if row[1] in locks)
            super().settle(locks, delete)
            self.last = held if delete else self.last

        def drop(self, ends: Any, dead: bool = False) -> None:
            super().drop(ends, dead)
            if dead:
                self.rows[:0] = [[message, None, 0.0, ""] for message in self.last]
                self.last = ()
