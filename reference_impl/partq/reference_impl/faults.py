"""Faults: what they destroy, and what they must not.

Locks, caches, cursors and open transactions are volatile, messages never are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .clock import HOP, Steps
from .partition import Partition

if TYPE_CHECKING:
    from .broker import Broker


class Faults:
    """The ways to break one broker. Each is a coroutine, so that it strikes amid everything else."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    def partition_down(self, index: int) -> Steps[int]:
        """Take a partition away; gives its name."""
        partition = self.broker.partitions[index % len(self.broker.partitions)]
        yield HOP
        partition.up = False
        if self.broker.config.forgets_locks:
            self.drop_locks(partition)
        yield HOP
        return partition.name

    def partition_up(self, index: int) -> Steps[int]:
        """Bring it back; gives its name."""
        partition = self.broker.partitions[index % len(self.broker.partitions)]
        yield HOP
        partition.up = True
        self.broker.ring()
        yield HOP
        return partition.name

    def frontend_lost(self, proc: str) -> Steps[None]:
        """Lose the front end of a client: everything on its way through it, and its cache's content until
        the locks expire. Its clients go on with the next one."""
        yield HOP
        broker = self.broker
        ends = {connection.end for connection in broker.connections if connection.proc == proc}
        for end in ends:
            broker.front_ends[end].forget()
            for connection in broker.connections:
                if connection.end == end:
                    connection.cut()
                    connection.end = (end + 1) % len(broker.front_ends)
        yield HOP

    def broker_kill(self) -> Steps[None]:
        """Kill all of it. Operations in flight are lost on the way, done or not."""
        yield HOP
        broker = self.broker
        broker.alive = False
        for connection in broker.connections:
            connection.cut()
        for front_end in broker.front_ends:
            front_end.forget()
        broker.transactions.clear()
        for partition in broker.partitions:
            self.drop_locks(partition)
        yield HOP

    def broker_start(self) -> Steps[None]:
        """Start it again, on what was stored."""
        yield HOP
        self.broker.alive = True
        self.broker.ring()
        yield HOP

    def drop_locks(self, partition: Partition) -> None:
        """End every lock: those whose time was over have counted, the others do not."""
        partition.expire(self.broker.clock.now)
        partition.recover()
