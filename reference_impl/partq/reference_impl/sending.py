"""How a front end handles sends: the partition, refusals, and late effects.

What it does with everything else is in `frontend.py`; the rules of requests are in `rules.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from .clock import HOP, Steps
from .core import Core
from .errors import Refused, Unsure
from .freedoms import taken
from .partition import Partition
from .store import Content, Holder, Ticket
from .transactions import Transaction

SERVER_TIMEOUT: Final = 15_000_000_000
"""ns until a front end gives up on a partition that is down."""

MOST_DELAY: Final = 3_000_000_000
"""ns within which a request may still arrive after its client has left."""


class Send(NamedTuple):
    """A request to store messages. ``key``: the one that they share, None where they have none; ``txn``: the
    transaction that it is part of; ``timeout``: how long its client waits, ns; ``since``: when it arrived."""

    contents: Sequence[Content]
    key: str | None
    txn: Transaction | None
    timeout: int
    since: int


class Sending:
    """A front end's sending side."""

    def __init__(self, broker: Core, turn: int) -> None:
        self.broker = broker
        self.clock = broker.clock
        self.partitions = broker.partitions
        self.turn = turn

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        """Store all messages or none. ``timeout``: how long the client will wait, in ns."""
        contents = self.broker.library.completed(contents)
        yield from self.arrive(lambda: self.send(contents, txn, timeout))
        self.broker.check_alive()
        send = Send(contents, self.admit(contents, txn), None, timeout, self.clock.now)
        if txn is None:
            yield from self.store(send)
        else:
            transaction = self.transaction(txn)
            send = send._replace(txn=transaction)
            yield from self.in_transaction(transaction, self.enlist(transaction, send))

    def admit(self, contents: Sequence[Content], txn: str | None) -> str | None:
        """The one key of a request, None without. Raises `Refused` where it cannot be taken."""
        return self.broker.rules.common_key(contents if txn is not None else self.decisive(contents))

    def store(self, send: Send) -> Steps[None]:
        """Store messages that are sent outside of a transaction."""
        partition = self.next_partition() if send.key is None else self.home(send.key, send)
        yield HOP
        if not partition.up:
            self.burn(partition, send.contents)
            partition = yield from self.reroute(send) if send.key is None else self.give_up(send)
        contents = self.in_any_order(send.contents)
        if contents is not send.contents:
            send = send._replace(contents=contents)
        keyless_batch = send.key is None and len(send.contents) > 1
        if keyless_batch and taken(self.broker.free.split_batch, self.clock.random):
            self.scatter(send)
        else:
            self.put(send, partition)
        yield HOP

    def arrive(self, again: Callable[[], Steps[None]]) -> Steps[None]:
        """Wait for a request to arrive. It may take effect though its client was cut off meanwhile."""
        try:
            yield HOP
        except Unsure:
            if taken(self.broker.free.late_effect, self.clock.random):
                self.clock.spawn(self._later(again))
            raise

    def _later(self, again: Callable[[], Steps[None]]) -> Steps[None]:
        """Carry out the request after a while, without an answer."""
        yield self.clock.now + int(MOST_DELAY * self.clock.random())
        with suppress(Refused):
            yield from again()

    def decisive(self, contents: Sequence[Content]) -> Sequence[Content]:
        """The messages of a batch whose keys must agree; whether keyless ones must is a freedom."""
        if len(contents) < 2 or not taken(self.broker.free.ride_along, self.clock.random):
            return contents
        key_of = self.broker.rules.key_of
        return [content for content in contents if key_of(content) is not None] or contents

    def in_any_order(self, contents: Sequence[Content]) -> Sequence[Content]:
        """The messages of one request in the order of their numbers."""
        random = self.clock.random
        if len(contents) < 2 or not taken(self.broker.free.shuffle_batch, random):
            return contents
        return sorted(contents, key=lambda _: random())

    def burn(self, partition: Holder, contents: Sequence[Content]) -> None:
        """Use up numbers, possibly, for messages that are not stored in this partition after all."""
        if taken(self.broker.free.burn_numbers, self.clock.random):
            partition.burn(len(contents))

    def put(self, send: Send, partition: Partition) -> None:
        """Store messages in the partition found for them."""
        self.broker.accept(partition, send.contents, send.since)

    def scatter(self, send: Send) -> None:
        """Store a keyless batch, each message in whatever partition is up."""
        running = self.running()
        for content in send.contents:
            self.put(send._replace(contents=(content,)), running[int(self.clock.random() * len(running))])

    def running(self) -> list[Partition]:
        """The partitions that are up."""
        return [partition for partition in self.partitions if partition.up]

    def home(self, key: str, send: Send) -> Partition:
        """The partition of that key, which depends on nothing else."""
        return self.broker.partition_for(key)

    def next_partition(self) -> Partition:
        """The next partition, in turn, for keyless messages."""
        self.turn = (self.turn + 1) % len(self.partitions)
        return self.partitions[self.turn]

    def give_up(self, send: Send) -> Steps[Partition]:
        """The one partition that a request needs is down: refuse at once, or after waiting for it."""
        clock = self.clock
        if clock.random() < 0.7:
            raise self.broker.outage("the partition of this key is down")
        if send.timeout <= SERVER_TIMEOUT:
            yield clock.now + send.timeout
            raise Unsure("timeout", "the partition of this key is down")
        yield clock.now + SERVER_TIMEOUT
        raise Refused("timeout", "the partition of this key is down")

    def reroute(self, send: Send) -> Steps[Partition]:
        """The chosen partition is down: after the server's timeout choose another. A client that does not
        wait so long never learns whether that came in time."""
        impatient = send.timeout <= SERVER_TIMEOUT
        yield self.clock.now + min(send.timeout, SERVER_TIMEOUT)
        running = self.running()
        if not running:
            raise self.broker.outage("no partition is up")
        partition = running[int(self.clock.random() * len(running))]
        if impatient:
            if taken(self.broker.free.late_effect, self.clock.random):
                self.clock.spawn(self._store_later(send.contents, SERVER_TIMEOUT - send.timeout))
            elif self.clock.random() < 0.5:
                self.broker.accept(partition, send.contents)
            raise Unsure("timeout", "the client's time ended first")
        return partition

    def _store_later(self, contents: Sequence[Content], delay: int) -> Steps[None]:
        """The client has given up; the front end has not."""
        yield self.clock.now + delay
        running = self.running()
        if running and self.broker.alive:
            self.broker.accept(running[int(self.clock.random() * len(running))], contents)

    def transaction(self, name: str) -> Transaction:
        """The open transaction of that name. Raises `Refused`."""
        return self.broker.transaction(name)

    def in_transaction(self, txn: Transaction, steps: Steps[None]) -> Steps[None]:
        """Run a step in a transaction, which a refusal may roll back."""
        try:
            yield from steps
        except Refused:
            if taken(self.broker.free.abort_refused, self.clock.random):
                self.broker.transactions.pop(txn.name, None)
                self.undo(txn)
            raise

    def undo(self, txn: Transaction) -> None:
        """Discard everything done in a transaction."""
        if txn.partition is not None:
            self.burn(txn.partition, txn.sends)
        txn.rollback()

    def elsewhere(self) -> bool:
        """Whether a transaction may send to one partition and settle in another."""
        return self.broker.config.partitioned and taken(self.broker.free.settle_elsewhere, self.clock.random)

    def enlist(self, txn: Transaction, send: Send) -> Steps[None]:
        """Keep the messages sent in a transaction for its commit."""
        key, contents = send.key, send.contents
        partition = self.partition_in(txn, send)
        yield HOP
        self.broker.check_open(txn)
        self.broker.check_up(partition)
        self.broker.limits.check_room(txn, contents)
        txn.partition = partition
        if txn.key is None:
            txn.key = key
        if any(isinstance(content, Ticket) for content in contents):
            txn.number(self.clock.now)
        if txn.numbers_early and self.broker.copies is None:
            self.broker.stamp(partition, len(contents), send.since)
            txn.reserve(contents, self.clock.now)
        else:
            txn.sends.extend(contents)
        yield HOP

    def partition_in(self, txn: Transaction, send: Send) -> Holder:
        """Where a transaction stores what is sent in it. Raises `Refused` where it has another partition."""
        if not self.joins(txn, send):
            self.broker.rules.admit_send(txn, send.key)
        partition = txn.place if send.key is None else self.home(send.key, send)
        if partition is None:
            partition = self.next_partition()
        if txn.partition is not None:
            fits = partition is txn.partition
        else:
            fits = txn.settles_in in (None, partition) or (not txn.cancels and self.elsewhere())
        if not fits:
            raise Refused("invalid_operation", "a transaction has one partition")
        return partition

    def joins(self, txn: Transaction, send: Send) -> bool:
        """Whether a second key is accepted in the transaction: if it lives in the partition of the first one,
        and no two sessions come together."""
        key = send.key
        if key is None or txn.key is None or key == txn.key or not self.broker.config.partitioned:
            return False
        sessions = {one.session_id for one in (*txn.contents(), *send.contents)} - {None}
        here = len(sessions) < 2 and self.home(key, send) is txn.partition
        return here and taken(self.broker.free.second_key, self.clock.random)

    # Scheduling.

    def schedule(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[list[Any]]:
        """Send messages that bear their times; gives their numbers."""
        broker = self.broker
        broker.check_has("SCH-1")
        tickets = [Ticket.of(content) for content in contents]
        if any(ticket.scheduled_at is None for ticket in tickets):
            raise Refused("invalid_operation", "a message is scheduled for a time")
        yield from self.send(tickets, txn, timeout)
        return [broker.config.view(ticket.id, None, ticket.number) for ticket in tickets]

    def cancel(self, number: int, txn: str | None) -> Steps[None]:
        """Delete the message that is scheduled under that number."""
        yield from self.arrive(lambda: self.cancel(number, txn))
        broker = self.broker
        broker.check_has("SCH-1")
        broker.check_alive()
        if txn is None:
            yield from self._cancel(number, None)
            return
        transaction = broker.transaction(txn)
        yield from self.in_transaction(transaction, self._cancel(number, transaction))

    def _cancel(self, number: int, txn: Transaction | None) -> Steps[None]:
        broker = self.broker
        partition = broker.partition_of(number)
        yield HOP
        broker.check_up(partition)
        stored = broker.timetable.find(partition, number)
        if txn is None:
            yield from broker.timetable.cancel(stored)
        else:
            broker.check_open(txn)
            broker.rules.admit_settlement(txn, (stored,))
            txn.cancel(stored)
        yield HOP
