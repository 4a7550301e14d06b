"""The adapter by which partq drives our broker. TODO: replace `Queue`, and what calls it, by your client.

partq run --case queue-keys   # one case: seconds
partq run                     # all of them
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Sequence
from itertools import count

from partq.conformance.adapters import Broker, Client, Rejected, Shares
from partq.model.messages import Delivery, Message
from partq.model.profiles import Entity


class Queue:
    """TODO: your broker. This one, in memory, is here so that the files run as they are."""

    def __init__(self, partitions: int) -> None:
        self.partitions: list[list[Message]] = [[] for _ in range(partitions)]
        self.changed = threading.Condition()
        self.turns = count()

    def put(self, key: str | None, message: Message) -> None:
        """Store a message: equal keys in one partition, messages without a key in turns."""
        with self.changed:
            number = next(self.turns) if key is None else zlib.crc32(key.encode())
            self.partitions[number % len(self.partitions)].append(message)
            self.changed.notify_all()

    def take(self, limit: int, timeout: float) -> list[tuple[int, Message]]:
        """Remove up to `limit` messages of one partition, waiting for the first; with its number."""
        with self.changed:
            self.changed.wait_for(lambda: any(self.partitions), timeout)
            index = next((n for n, there in enumerate(self.partitions) if there), 0)
            partition = self.partitions[index]
            taken, partition[:] = partition[:limit], partition[limit:]
            return [(index, message) for message in taken]

    def size(self) -> int:
        """How many messages are stored."""
        with self.changed:
            return sum(map(len, self.partitions))


class MyClient(Client):
    """One client. TODO: peek-lock, transactions, peek …: what is not overridden the broker lacks, and rules
    that need it read *not applicable*."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue

    def send(self, message: Message, *, txn: str | None = None, timeout: float = 60.0) -> None:
        """Return once the broker has accepted it; `Rejected`: it did not; `Indefinite`: it may have."""
        if txn is not None:
            raise Rejected("unsupported")
        self.queue.put(message.partition_key, message)

    def receive(
        self, max_messages: int, *, mode: str = "peek_lock", timeout: float = 1.0
    ) -> Sequence[Delivery]:
        """Show all that the broker shows of a message: what is left out cannot be checked."""
        if mode != "receive_and_delete":
            raise Rejected("unsupported")
        return [
            Delivery(
                id=message.id,
                partition=partition,
                body=message.body,
                session_id=message.session_id,
                partition_key=message.partition_key,
            )
            for partition, message in self.queue.take(max_messages, timeout)
        ]


class MyBroker(Broker):
    """A fresh queue for each program, and clients of it."""

    client_class = MyClient
    profile = "partitioned-queue"  # TODO: what yours promises beyond that (partq profile new)
    shares = Shares.NOTHING  # several programs at once: each has a queue of its own

    def open(self, entity: Entity) -> Entity:
        """TODO: make a fresh, empty queue; raise `Unreachable("one line")` if there is no broker. Answers
        the queue's settings where they are not those asked for."""
        self.queue = Queue(entity.partitions)
        return entity

    def connect(self, proc: str) -> Client:
        """A connection of its own for each client."""
        return MyClient(self.queue)

    def is_empty(self) -> bool:
        """Locked messages count, too. None if your broker cannot tell: then a run takes longer."""
        return self.queue.size() == 0
