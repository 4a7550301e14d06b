"""A front end: it takes clients' requests, finds partitions for them, and gathers their answers.

Several front ends share the partitions. A receive asks every partition; the first answer goes to the
client, further answers stay here, locked, for whoever asks next. Partitions do what `partition.py` says;
the rules of requests are in `rules.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from .clock import HOP, Steps
from .core import Core
from .errors import Refused
from .freedoms import taken
from .management import Managing
from .network import Connection
from .partition import Partition
from .store import Stored
from .topics import Ruling
from .transactions import Transaction

MOST_PREFETCHED: Final = 3
"""The limit of messages fetched beyond those requested."""


class Peek(NamedTuple):
    """A request to peek at up to ``limit`` messages from a number on, or (None) from the client's cursors on.
    ``shown``: the answer so far."""

    connection: Connection
    limit: int
    number: int | None
    shown: list[Any]


class FrontEnd(Managing, Ruling):
    """One of the broker's front ends. ``dead_letters``: the same of the dead-letter queue."""

    def __init__(self, broker: Core, turn: int) -> None:
        super().__init__(broker, turn)
        self.cache: list[tuple[str, Stored]] = []
        self.dead_letters: FrontEnd | None = None

    def forget(self) -> None:
        """The front end is lost, with everything it keeps."""
        if self.cache and taken(self.broker.free.give_back, self.clock.random):
            self.give_back()
        self.cache.clear()
        if self.dead_letters is not None:
            self.dead_letters.forget()

    def give_back(self) -> None:
        """End the locks of the cache; that counts, or does not."""
        counted = taken(self.broker.free.count_lost_locks, self.clock.random)
        for token, stored in self.cache:
            partition = stored.partition
            if partition.up and partition.holds(stored, token, self.clock.now):
                (partition.abandon if counted else partition.release)(stored)
        self.broker.ring()

    def resume(self) -> None:
        """The broker was started again."""

    def parted(self, connection: Connection) -> None:
        """A client's connection has ended; its locks stay, or end with it."""
        self.broker.sessions.part(connection.proc)
        if self.broker.config.connection_ends_locks:
            for token in connection.locks:
                stored = self.broker.locks.get(token)
                if stored is not None:
                    stored.partition.release(stored)
            connection.locks.clear()
            self.broker.ring()

    def disconnect(self, connection: Connection) -> Steps[None]:
        """The client's connection ends."""
        yield HOP
        self.parted(connection)
        yield HOP

    # Receiving.

    def receive(
        self, connection: Connection, most: int, delete: bool, timeout: int, name: str | None = None
    ) -> Steps[list[Any]]:
        """Up to ``most`` messages, waiting up to ``timeout`` ns for the first."""
        deadline = self.clock.now + timeout
        yield HOP
        broker = self.broker
        if taken(broker.free.answer_nothing, self.clock.random):
            yield deadline
            return []
        broker.check_alive()
        broker.check_queue("messages are received where they come to", self.dead_letters is None)
        if broker.config.requires_session and self.dead_letters is not None:
            raise Refused("invalid_operation", "messages are received in a session")
        if not all(partition.up for partition in self.partitions) and taken(
            broker.free.refuse_receive, self.clock.random
        ):
            raise broker.outage("a partition is down")
        most = broker.fewer(most, broker.free.answer_short)
        while True:
            found = self.cached(most, delete) if self.cache else None
            if not found:
                found = yield from self.ask(most, delete)
            if found or self.clock.now >= deadline:
                connection.locks.extend(shown.lock for shown in found if not delete)
                yield HOP
                return found
            yield from self.wait(deadline)

    def wait(self, deadline: int) -> Steps[None]:
        """Wait until messages may have arrived, or for the deadline."""
        try:
            yield self.broker.await_message(self.partitions, deadline)
        finally:
            self.broker.stop_waiting()

    def cached(self, most: int, delete: bool) -> list[Any]:
        """Messages fetched for an earlier receive and still locked."""
        now = self.clock.now
        shown: list[Any] = []
        kept: list[tuple[str, Stored]] = []
        for token, stored in self.cache:
            partition = stored.partition
            if not partition.holds(stored, token, now) or self.broker.lifetimes.is_stale(stored, now):
                continue
            if len(shown) >= most or (delete and not partition.up):
                kept.append((token, stored))
            elif delete:
                partition.complete(stored)
                shown.append(self.broker.show(stored, None))
            else:
                shown.append(self.broker.show(stored, token))
        self.cache = kept
        return shown

    def ask(self, most: int, delete: bool) -> Steps[list[Any]]:
        """Ask all partitions; the first answer with messages is used."""
        now = self.clock.now
        asked = [partition for partition in self.partitions if partition.up and partition.has_free(now)]
        if not asked:
            return []
        yield HOP
        random, now = self.clock.random, self.clock.now
        shown: list[Any] = []
        while asked:
            pick = int(random() * len(asked)) if len(asked) > 1 else 0
            partition = asked.pop(pick)
            if not partition.up or not partition.has_free(now):
                continue
            if not shown:
                shown = self.deliver(partition, most, delete)
                self.prefetch(partition)
            elif random() < self.broker.config.eagerness:
                self.keep_answer(partition, most, delete, shown)
        return shown

    def keep_answer(self, partition: Partition, most: int, delete: bool, shown: list[Any]) -> None:
        """A further answer fills the room that the first one left, or stays in the cache."""
        room = most - len(shown)
        if room and self.clock.random() < 0.5:
            self.broker.join(shown, self.deliver(partition, room, delete))
        elif self.broker.config.caches:
            self.fetch(partition, most)

    def prefetch(self, partition: Partition) -> None:
        """Fetch a few messages more than were asked for."""
        broker, random = self.broker, self.clock.random
        if broker.config.partitioned and broker.config.caches and taken(broker.free.prefetch, random):
            self.fetch(partition, 1 + int(random() * MOST_PREFETCHED))

    def fetch(self, partition: Partition, most: int) -> None:
        """Lock messages, and keep them in the cache."""
        until = self.clock.now + self.broker.config.lock_duration
        for stored in partition.heads(most):
            token = self.broker.token()
            partition.lock(stored, token, until)
            self.cache.append((token, stored))

    def deliver(self, partition: Partition, most: int, delete: bool) -> list[Any]:
        """Hand the partition's oldest messages to the client."""
        return [self.hand_out(partition, stored, delete) for stored in partition.heads(most)]

    # Peeking.

    def peek(self, connection: Connection, most: int, number: int | None) -> Steps[list[Any]]:
        """The oldest messages of a partition from a number on, or from this client's cursors on."""
        yield HOP
        self.broker.check_alive()
        self.broker.check_queue("messages are peeked at where they come to", self.dead_letters is None)
        return (yield from self.gather(Peek(connection, most, number, [])))

    def gather(self, peek: Peek) -> Steps[list[Any]]:
        """Add the messages of one partition after the other, until the answer is full."""
        broker, waiting, random = self.broker, self.running(), self.clock.random
        if not waiting:
            raise Refused("unavailable", "no partition is up")
        peek = Peek(
            peek.connection, broker.fewer(peek.limit, broker.free.peek_short), peek.number, peek.shown
        )
        yield HOP
        while waiting and len(peek.shown) < peek.limit:
            pick = int(random() * len(waiting)) if len(waiting) > 1 else 0
            partition = waiting.pop(pick)
            if peek.shown and random() < 0.7:
                break
            if partition.up:
                broker.join(peek.shown, self.browse(peek, partition))
        yield HOP
        return peek.shown

    def browse(self, peek: Peek, partition: Partition) -> list[Any]:
        """What the answer shows of one partition; the client's cursor moves behind it."""
        self.broker.lifetimes.sweep(partition.main)
        connection = peek.connection
        cursors = connection.cursors if partition is partition.main else connection.dead_cursors
        if peek.number is None:
            first = cursors.get(partition.name, 0)
        else:
            first = self.broker.place(partition, peek.number)
        found = self.page(peek, partition, first)
        if peek.number is None and found:
            cursors[partition.name] = self.cursor_after(found)
        return self.display(peek, found)

    def page(self, peek: Peek, partition: Partition, first: int) -> list[Stored]:
        """The partition's oldest messages from a place on, as far as count and size allow."""
        room = min(peek.limit, self.broker.config.peek_cap or peek.limit) - len(peek.shown)
        size = self.broker.config.peek_bytes
        found: list[Stored] = []
        for stored in partition.visible(first):
            size -= len(stored.content.body)
            if len(found) >= room or (size < 0 and (found or peek.shown)):
                break
            found.append(stored)
        return found

    def cursor_after(self, found: Sequence[Stored]) -> int:
        """The place at which a walk continues after these messages."""
        return found[-1].order + 1

    def display(self, peek: Peek, found: Sequence[Stored]) -> list[Any]:
        """What a peek shows of these messages."""
        return [self.view(stored) for stored in found]

    def view(self, stored: Stored) -> Any:
        """What a peek shows of one message."""
        return self.broker.show(stored, None, self.state_of(stored))

    def state_of(self, stored: Stored) -> str:
        """What a peek says of a message; a locked one is active (PEEK-7)."""
        if stored.is_scheduled():
            return "scheduled"
        return "deferred" if stored.deferred else "active"

    # Transactions.

    def begin(self, name: str) -> Steps[None]:
        """Open a transaction."""
        yield HOP
        broker = self.broker
        broker.check_alive()
        broker.end_idle()
        if name in broker.transactions:
            raise Refused("invalid_operation", "a transaction of that name is open")
        early = taken(broker.free.number_early, self.clock.random)
        broker.transactions[name] = Transaction(name, early, self.clock.now, self.clock.now)
        yield HOP

    def commit(self, name: str) -> Steps[None]:
        """Commit a transaction. If this raises `Refused` nothing was done, and the transaction is over."""
        yield from self.arrive(lambda: self.commit(name))
        since = self.clock.now
        txn = yield from self.end(name)
        try:
            self.carry_out(txn, since)
        except Refused:
            if txn.partition is not None:
                txn.partition.lead(())
            self.undo(txn)
            raise
        self.broker.ring()
        yield HOP

    def carry_out(self, txn: Transaction, since: int) -> None:
        """Apply everything kept in a transaction. If this raises `Refused` nothing was done."""
        broker, random = self.broker, self.clock.random
        lags = taken(broker.free.commit_lag, random) and not txn.schedules()
        broker.check_busy(broker.free.busy_commit)
        for partition in txn.partitions():
            broker.check_up(partition)
        if taken(broker.free.commit_settled, random):
            txn.drop_completed()
        txn.cancels = broker.timetable.still_cancelled(txn.cancels)
        if broker.copies is not None and txn.partition is not None:
            broker.accept(txn.partition, txn.sends, since)
            return
        broker.stamp(txn.partition, len(txn.sends), since)
        sent = len(txn.contents())
        txn.commit(self.clock.now, lags)
        if txn.partition is not None:
            broker.pass_on(txn.partition, sent)
        if lags:
            broker.show_later(txn)

    def rollback(self, name: str) -> Steps[None]:
        """Discard a transaction."""
        yield from self.arrive(lambda: self.rollback(name))
        self.roll_back((yield from self.end(name)))
        yield HOP

    def roll_back(self, txn: Transaction) -> None:
        """A client's rollback."""
        self.undo(txn)

    def end(self, name: str) -> Steps[Transaction]:
        """End and return the open transaction of that name. Raises `Refused`."""
        broker = self.broker
        broker.check_alive()
        txn = broker.transaction(name)
        yield HOP
        broker.check_open(txn)
        del broker.transactions[name]
        return txn
