"""The adapter by which partq drives our broker. TODO: replace `Queue`, and what calls it, by your client.

partq run --case queue-keys   # one case: seconds
partq run                     # all of them
"""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Sequence
from itertools import count

from partq.conformance.adapters import Broker, Client, Rejected, Shares
from partq.model.messages import Delivery, Message
from partq.model.profiles import SECOND, Entity


class Stored:
    """A message in its partition. It is locked by `lock` until then."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self.lock = ""
        self.until = 0.0


class Queue:
    """TODO: your broker. This one, in memory, is here so that the files run as they are."""

    def __init__(self, partitions: int, lock_seconds: float) -> None:
        self.partitions: list[list[Stored]] = [[] for _ in range(partitions)]
        self.lock_seconds = lock_seconds
        self.changed = threading.Condition()
        self.turns, self.locks = count(), count(1)

    def put(self, key: str | None, message: Message) -> None:
        """Store a message: equal keys in one partition, messages without a key in turns."""
        with self.changed:
            number = next(self.turns) if key is None else zlib.crc32(key.encode())
            self.partitions[number % len(self.partitions)].append(Stored(message))
            self.changed.notify_all()

    def take(self, limit: int, timeout: float, delete: bool) -> list[tuple[int, Stored]]:
        """Lock or remove up to `limit` messages, waiting for the first; each with its partition's number."""
        end = time.monotonic() + timeout
        with self.changed:
            while not (free := self._free()[:limit]) and (left := end - time.monotonic()) > 0:
                self.changed.wait(min(left, 0.05))  # a lock may end meanwhile
            for index, stored in free:
                stored.lock = f"lock-{next(self.locks)}"
                stored.until = time.monotonic() + self.lock_seconds
                if delete:
                    self.partitions[index].remove(stored)
            return free

    def settle(self, locks: Sequence[str], remove: bool) -> bool:
        """Remove the messages under these locks, or give them back; False if one of the locks has ended."""
        with self.changed:
            now = time.monotonic()
            held = {s.lock: (part, s) for part in self.partitions for s in part if s.until > now}
            if not held.keys() >= {*locks}:
                return False
            for part, stored in map(held.__getitem__, dict.fromkeys(locks)):
                stored.until = 0.0
                if remove:
                    part.remove(stored)
            self.changed.notify_all()
            return True

    def size(self) -> int:
        """How many messages are stored, locked ones included."""
        with self.changed:
            return sum(map(len, self.partitions))

    def _free(self) -> list[tuple[int, Stored]]:
        now = time.monotonic()
        return [
            (n, stored) for n, part in enumerate(self.partitions) for stored in part if stored.until <= now
        ]


class MyClient(Client):
    """One client. TODO: transactions, peek …: what is not overridden the broker lacks, and rules that need it
    read *not applicable*."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue

    def send(self, message: Message, *, txn: str | None = None, timeout: float = 60.0) -> None:
        """Return once the broker has accepted it; `Rejected`: it did not; `Indefinite`: it may have."""
        if txn is not None:
            raise Rejected("unsupported")
        self.queue.put(message.partition_key, message)

    def receive(
        self, max_messages: int, *, mode: str = "peek_lock", timeout: float = 1.0, entity: str | None = None
    ) -> Sequence[Delivery]:
        """Show all that the broker shows of a message: what is left out cannot be checked. TODO: raise
        `Rejected("unsupported")` for a mode that it does not have."""
        delete = mode == "receive_and_delete"
        return [
            Delivery(
                id=stored.message.id,
                partition=partition,
                body=stored.message.body,
                session_id=stored.message.session_id,
                partition_key=stored.message.partition_key,
                lock=None if delete else stored.lock,
            )
            for partition, stored in self.queue.take(max_messages, timeout, delete)
        ]

    def complete(self, locks: Sequence[str], *, txn: str | None = None) -> None:
        """Finish the messages under these locks."""
        self._settle(locks, txn, remove=True)

    def abandon(self, locks: Sequence[str], *, txn: str | None = None) -> None:
        """Give them back."""
        self._settle(locks, txn, remove=False)

    def _settle(self, locks: Sequence[str], txn: str | None, *, remove: bool) -> None:
        if txn is not None:
            raise Rejected("unsupported")
        if not self.queue.settle(locks, remove):
            raise Rejected("lock_lost")


class MyBroker(Broker):
    """A fresh queue for each program, and clients of it."""

    client_class = MyClient
    profile = "partitioned-queue"  # TODO: what yours promises beyond that (partq profile new)
    shares = Shares.NOTHING  # several programs at once: each has a queue of its own
    lock_duration = SECOND  # the shortest that it can do: programs wait for locks to end

    def open(self, entity: Entity) -> Entity:
        """TODO: make a fresh, empty queue; raise `Unreachable("one line")` if there is no broker. Answers
        the queue's settings where they are not those asked for."""
        self.queue = Queue(entity.partitions, entity.lock_duration / SECOND)
        return entity

    def connect(self, proc: str) -> Client:
        """A connection of its own for each client."""
        return MyClient(self.queue)

    def is_empty(self) -> bool:
        """Locked messages count, too. None if your broker cannot tell: then a run takes longer."""
        return self.queue.size() == 0
