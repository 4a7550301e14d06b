"""What the parts of a broker share: partitions, locks, open transactions, and tasks that wait for messages.

How requests are served is in the front ends, what breaks in `faults.py`; `broker.py` puts the parts together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, Protocol

from .clock import Clock, Steps, Task
from .errors import Refused
from .expiry import Lifetimes
from .forwarding import Relay
from .freedoms import taken
from .network import Connection
from .partition import Partition
from .rules import Rules
from .scheduling import Timetable
from .settings import Config
from .store import Content, Holder, Stored
from .topics import Copies
from .transactions import Transaction

PASSING: Final = ("unavailable", "timeout", "internal")
"""The errors that pass by themselves."""

MOST_LAG: Final = 2_000_000_000
"""ns within which the messages of a commit become visible."""


def route(key: str, salt: int, partitions: int) -> int:
    """The index of a key's partition: a hash that is the same in every process."""
    digest = blake2b(key.encode(), digest_size=8, key=salt.to_bytes(8)).digest()
    return int.from_bytes(digest) % partitions


class Volatile(Protocol):
    """A front end as a fault sees it: messages that it holds locked, by token, and can lose."""

    cache: list[tuple[str, Stored]]

    def forget(self) -> None:
        """The front end is lost, with everything it keeps."""

    def resume(self) -> None:
        """The broker was started again."""


class Core:
    """One queue, as its parts see it. ``locks``: every locked message by its lock's token. Of a topic, or of
    a queue that forwards (``relay``), ``subscriptions``: the queues beneath by name; they share its locks,
    whose names its ``issuer`` gives, and have ``filters``, and ``actions``, by their rules' names."""

    timetable: Timetable
    lifetimes: Lifetimes
    sessions: Any
    accounts: Any
    limits: Any
    namespace: Any
    library: Any

    def __init__(self, config: Config, clock: Clock, rules: Rules, locks: dict[str, Stored]) -> None:
        self.config = config
        self.free = config.freedoms
        self.counts_late = taken(self.free.count_late, clock.random)
        self.clock = clock
        self.rules = rules
        self.partitions: list[Partition] = []
        self.locks = locks
        self.alive = True
        self.lagging = 0
        self.transactions: dict[str, Transaction] = {}
        self.connections: list[Connection] = []
        self.front_ends: Sequence[Volatile] = ()
        self.subscriptions: Mapping[str, Any] = {}
        self.copies: Copies | None = None
        self.relay: Relay | None = None
        self.issuer: Core = self
        self.filters: dict[str, str] = {}
        self.actions: dict[str, str] = {}
        self._tokens = 0
        self._homes: dict[str, Partition] = {}
        self._waiting: dict[Task, None] = {}

    def check_alive(self) -> None:
        """Raises `Refused` while the broker is down, or where it is too busy for this operation."""
        if not self.alive:
            raise Refused("unavailable", "the broker is down")
        if self.free.busy:
            self.check_busy(self.free.busy)

    def check_busy(self, chance: float) -> None:
        """With that chance, and while nothing is down, raises a `Refused` that passes."""
        random = self.clock.random
        if taken(chance, random) and all(partition.up for partition in self.partitions):
            raise Refused(PASSING[int(random() * len(PASSING))], "the broker is busy")

    def check_up(self, partition: Holder) -> None:
        """Raises `Refused` while the partition is down."""
        if not partition.up:
            raise self.outage("the partition is down")

    def outage(self, detail: str) -> Refused:
        """What is said of an operation that a partition's fault prevents."""
        random = self.clock.random
        kinds = PASSING if taken(self.free.internal_errors, random) else PASSING[:1]
        return Refused(kinds[int(random() * len(kinds))] if len(kinds) > 1 else kinds[0], detail)

    def check_queue(self, detail: str, relays: bool = False) -> None:
        """Raises `Refused` where this is a topic, or forwards, unless what ``relays`` may be asked, too."""
        if self.copies is not None or (self.relay is not None and not relays):
            raise Refused("invalid_operation", detail)

    def check_has(self, rule: str) -> None:
        """Raises `Refused` where this queue has not what that rule is about."""
        if not self.config.has(rule):
            raise Refused("unsupported", "this queue has no such operation")

    def partition_of(self, number: int) -> Partition:
        """The partition whose number it is. Raises `Refused`."""
        name = number >> self.config.counter_bits if self.config.partitioned else None
        for partition in self.partitions:
            if name in (None, partition.name):
                return partition
        raise Refused("not_found", "no partition has that number")

    def partition_for(self, key: str) -> Partition:
        """The partition map: equal keys always map to one partition."""
        home = self._homes.get(key)
        if home is None:
            home = self.partitions[route(key, self.config.salt, len(self.partitions))]
            self._homes[key] = home
        return home

    def forget_homes(self) -> None:
        """Compute the partition map anew when it is asked for."""
        self._homes.clear()

    def accept(self, partition: Holder, contents: Sequence[Content], since: int | None = None) -> None:
        """Store messages, and wake the tasks that wait for some. ``since``: when the broker received them."""
        contents = partition.fresh(contents, self.clock.now)
        if not contents:
            return
        if self.copies is not None:
            if waiting := [one for one in contents if one.scheduled_at is not None]:
                partition.accept(waiting, self.clock.now)
            self.copy(partition, [one for one in contents if one.scheduled_at is None], since)
            return
        if since is not None:
            self.stamp(partition, len(contents), since)
        partition.accept(contents, self.clock.now)
        self.pass_on(partition, len(contents))
        if self._waiting:
            self.ring()

    def copy(self, partition: Holder, contents: Sequence[Content], since: int | None) -> None:
        """Copy messages to the subscriptions of this topic."""
        place = next(n for n, one in enumerate(self.partitions) if one is partition)
        if self.copies is not None and contents:
            self.copies.deliver(place, contents, since)

    def pass_on(self, partition: Holder, messages: int) -> None:
        """So many messages came to the partition: a queue that forwards is to forward them, and a topic whose
        message was activated to copy it."""
        if self.copies is not None:
            own = next(one for one in self.partitions if one is partition)
            for stored in list(own.store.live())[-messages:]:
                partition.complete(stored)
                self.copy(partition, [self.copies.activated(stored.content)], None)
        if self.relay is not None:
            self.relay.follow(partition, messages)

    def stamp(self, partition: Holder | None, number: int, since: int) -> None:
        """Let so many messages that the partition stores now each have an enqueued time of its own, ``since``
        then."""
        random, now = self.clock.random, self.clock.now
        if partition is not None and number and taken(self.free.stamp_apart, random):
            span = now - min(now, max(since, partition.latest))
            partition.lead(sorted((int(random() * (span + 1)) for _ in range(number)), reverse=True))

    def join(self, shown: list[Any], more: Sequence[Any]) -> None:
        """Add another partition's messages to an answer: behind those in it, or among them."""
        random = self.clock.random
        if not shown or not taken(self.free.interleave, random):
            shown.extend(more)
            return
        place = 0
        for message in more:
            place += int(random() * (len(shown) - place + 1))
            shown.insert(place, message)
            place += 1

    def fewer(self, most: int, freedom: float) -> int:
        """The limit of messages in an answer to a request for this many."""
        random = self.clock.random
        return 1 + int(random() * most) if most > 1 and taken(freedom, random) else most

    def token(self) -> str:
        """A fresh name for a lock."""
        issuer = self.issuer
        issuer._tokens += 1
        return f"lock-{issuer._tokens}"

    def locked(self, token: str) -> Stored:
        """The message locked by that token. Raises `Refused`."""
        stored = self.locks.get(token)
        if stored is None:
            raise Refused("lock_lost", "no such lock")
        return stored

    def transaction(self, name: str) -> Transaction:
        """The open transaction of that name; its idle time starts anew. Raises `Refused`."""
        self.end_idle()
        txn = self.transactions.get(name)
        if txn is None:
            raise Refused("not_found", "no such transaction")
        txn.used = self.clock.now
        return txn

    def end_idle(self) -> None:
        """Roll back the transactions that were idle for too long (TXN-9)."""
        for name, txn in list(self.transactions.items()):
            if self.limits.is_over(txn):
                txn.rollback()
                del self.transactions[name]

    def check_open(self, txn: Transaction) -> None:
        """Raises `Refused` if the transaction was ended meanwhile."""
        if self.transactions.get(txn.name) is not txn:
            raise Refused("not_found", "the transaction has ended")

    def show_later(self, txn: Transaction) -> None:
        """Make the messages of the committed transaction visible after a while."""
        self.lagging += 1
        self.clock.spawn(self._lag(txn))

    def _lag(self, txn: Transaction) -> Steps[None]:
        yield self.clock.now + int(MOST_LAG * self.clock.random() ** 4)
        self.lagging -= 1
        shown = len(txn.hidden)
        txn.reveal()
        if txn.partition is not None:
            self.pass_on(txn.partition, shown)
        self.ring()

    def await_message(self, partitions: Sequence[Partition], deadline: int) -> int:
        """Let the current task be woken when messages come; gives the time until which to wait for those of
        these partitions."""
        self._waiting[self.clock.current] = None
        for partition in partitions:
            if partition.up:
                deadline = partition.next_expiry(deadline)
        return deadline

    def ring(self) -> None:
        """Wake all tasks that wait for messages."""
        waiting, self._waiting = self._waiting, {}
        for task in waiting:
            self.clock.wake(task)
        for queue in self.subscriptions.values():
            queue.ring()

    def stop_waiting(self) -> None:
        """The current task no longer waits for messages."""
        self._waiting.pop(self.clock.current, None)

    def place(self, partition: Partition, number: int) -> int:
        """Where in the partition a peek from that number begins. Zero asks for everything."""
        if number == 0:
            return 0
        bits = self.config.counter_bits
        if self.config.partitioned and number >> bits != partition.name:
            return 0 if number >> bits < partition.name else 2**64
        return partition.store.place(number)

    # What clients get to see.

    def show(self, stored: Stored, token: str | None, state: str | None = None) -> Any:
        """A message as it is received, with its lock's token, or as it is peeked, with its state."""
        content = stored.content
        late = self.counts_late and state is not None
        return self.config.view(
            content.id,
            content.body,
            stored.number,
            stored.partition.name if self.config.partitioned else None,
            stored.enqueued_at,
            stored.told if late else stored.count,
            token,
            stored.until if token is not None else None,
            state,
            content.session_id,
            content.partition_key,
            content.properties or None,
            None,
            stored.reason,
            self.library.shown(stored),
        )

    def show_to_flow(self, stored: Stored, token: str | None) -> Any:
        """A message received through a flow: nothing tells where it was."""
        content = stored.content
        return self.config.view(
            content.id,
            content.body,
            lock=token,
            session_id=content.session_id,
            partition_key=content.partition_key,
            properties=content.properties or None,
            redelivered=stored.tries > (0 if token is None else 1),
        )
