"""Faults: what they destroy, and what they must not.

Locks, caches, cursors, flows and open transactions are volatile (some brokers keep them), messages never are.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from .clock import HOP, Steps
from .core import Core
from .freedoms import taken
from .partition import Partition

LINK: Final = ("connection_lost", "unavailable")
"""The error of an operation whose connection was lost."""


class Faults:
    """The ways to break one broker. Each is a coroutine, so that it strikes amid everything else."""

    def __init__(self, broker: Core) -> None:
        self.broker = broker

    def partition_down(self, index: int) -> Steps[int]:
        """Take a partition away; gives its name."""
        partition = self.broker.partitions[index % len(self.broker.partitions)]
        yield HOP
        self.take_down(partition)
        yield HOP
        return partition.name

    def take_down(self, partition: Partition) -> None:
        """Let it fail; what it knows beyond its store may be lost."""
        self.set_up(partition, False)
        if self.takes(self.broker.free.lose_locks):
            self.drop_locks(partition)
        if self.takes(self.broker.free.lose_transactions):
            self.drop_transactions(partition)
        for faults, own in self.beneath(partition):
            faults.take_down(own)

    def partition_up(self, index: int) -> Steps[int]:
        """Bring it back; gives its name."""
        partition = self.broker.partitions[index % len(self.broker.partitions)]
        yield HOP
        self.bring_up(partition)
        yield HOP
        return partition.name

    def bring_up(self, partition: Partition) -> None:
        """Let it serve again, on what was stored."""
        self.set_up(partition, True)
        for faults, own in self.beneath(partition):
            faults.bring_up(own)
        self.resume()
        self.broker.ring()

    def beneath(self, partition: Partition) -> Iterator[tuple[Faults, Partition]]:
        """Of each subscription its faults, and the partition that fails with this one. Queues of a chain fail
        apart."""
        place, copies = self.broker.partitions.index(partition) - self.shift, self.broker.copies
        for queue in copies.queues.values() if copies is not None else ():
            yield queue.faults, queue.partitions[place]

    @cached_property
    def shift(self) -> int:
        """How far from its place in the topic the partition of a subscription is that fails with it."""
        return int(taken(self.broker.free.fail_apart, self.broker.clock.random))

    def set_up(self, partition: Partition, up: bool) -> None:
        """Let a partition serve or not, its dead letters with it."""
        partition.up = up
        if partition.dead_letters is not None:
            partition.dead_letters.up = up

    def frontend_lost(self, proc: str) -> Steps[None]:
        """Lose the front end of a client: everything on its way through it, and its cache's content until
        the locks expire. Its clients go on with the next one."""
        yield HOP
        self.lose_front_end(proc)
        yield HOP

    def lose_front_end(self, proc: str) -> None:
        """Lose it at once, those of subscriptions with it."""
        broker = self.broker
        ends = {connection.end for connection in broker.connections if connection.proc == proc}
        for end in ends:
            broker.front_ends[end].forget()
            for connection in broker.connections:
                if connection.end == end:
                    connection.cut(self.takes(broker.free.keep_cursors))
                    broker.sessions.part(connection.proc)
                    if connection.proc == proc and self.takes(broker.free.break_link):
                        connection.broken = LINK[int(broker.clock.random() * len(LINK))]
                    connection.end = (end + 1) % len(broker.front_ends)
        for queue in broker.subscriptions.values():
            queue.faults.lose_front_end(proc)

    def broker_kill(self) -> Steps[None]:
        """Kill all of it. Operations in flight are lost on the way, done or not."""
        yield HOP
        self.kill()
        yield HOP

    def kill(self) -> None:
        """Lose all volatile state."""
        broker = self.broker
        broker.alive = False
        for connection in broker.connections:
            connection.cut(self.takes(broker.free.keep_cursors))
        for front_end in broker.front_ends:
            front_end.forget()
        if not self.takes(broker.free.keep_transactions):
            self.drop_transactions()
        for partition in broker.partitions:
            if not self.takes(broker.free.keep_locks):
                self.drop_locks(partition)
        for queue in broker.subscriptions.values():
            queue.faults.kill()

    def broker_start(self) -> Steps[None]:
        """Start the broker again, with the stored messages."""
        yield HOP
        self.start()
        yield HOP

    def start(self) -> None:
        """Serve again."""
        self.broker.alive = True
        for front_end in self.broker.front_ends:
            front_end.resume()
        for queue in self.broker.subscriptions.values():
            queue.faults.start()
        self.resume()
        self.broker.ring()

    def resume(self) -> None:
        """What waits in the stores goes on."""
        self.broker.timetable.resume()
        if self.broker.relay is not None:
            self.broker.relay.resume()

    def takes(self, freedom: float) -> bool:
        """Whether the broker uses that freedom now."""
        return taken(freedom, self.broker.clock.random)

    def drop_locks(self, partition: Partition) -> None:
        """End every lock: those whose time was over have counted, the others count, or do not."""
        self.broker.sessions.drop(partition)
        partition.expire(self.broker.clock.now)
        partition.recover(self.takes(self.broker.free.count_lost_locks))
        if partition.dead_letters is not None:
            partition.dead_letters.recover()

    def drop_transactions(self, partition: Partition | None = None) -> None:
        """Roll back the open transactions of that partition, or all of them."""
        transactions = self.broker.transactions
        for name, txn in list(transactions.items()):
            if partition is None or partition in (txn.partition, txn.settles_in):
                txn.rollback()
                del transactions[name]
