"""The broker: its settings, its parts, and what clients and faults may ask of it.

One `Broker` is one queue. It puts the parts together and holds what they share; how each of them decides is
in its own module. `Parts` names the classes, so that a single one can be replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

from .clock import Clock, Task
from .errors import Refused
from .faults import Faults
from .flowend import FlowEnd
from .flows import Assignments
from .frontend import FrontEnd
from .network import Connection
from .partition import Partition
from .rules import FlowRules, PartitionedRules, Rules
from .store import Content, Store, Stored
from .transactions import Transaction

SECOND = 1_000_000_000


class Shown(NamedTuple):
    """What a client gets to see of a message; None is what it does not get to see."""

    id: str
    body: str = ""
    seq: int | None = None
    partition: int | None = None
    enqueued_at: int | None = None
    delivery_count: int | None = None
    lock: str | None = None
    locked_until: int | None = None
    state: str | None = None
    session_id: str | None = None
    partition_key: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    redelivered: bool | None = None


@dataclass(slots=True)
class Config:
    """One queue's settings. Durations are ns.

    ``first_name``: partitions are named by numbers from here on. ``seq_start``: the counter of each
    partition's first message. ``peek_cap`` and ``peek_bytes``: the most that one peek returns.
    ``eagerness``: how often a further answer to a receive comes before it was called off. ``view``: in what
    shape clients get messages (the fields of `Shown`, in that order). ``forgets_locks``: a partition that
    goes down loses its locks. ``tell(partition, flow, state)`` hears of assignments.
    """

    partitions: int = 1
    partitioned: bool = True
    flows: bool = False
    counter_bits: int = 48
    first_name: int = 1
    seq_start: int = 1
    lock_duration: int = 30 * SECOND
    rebalance_delay: int = 5 * SECOND
    max_handoff: int = 3 * SECOND
    peek_cap: int | None = None
    peek_bytes: int = 64_000
    front_ends: int = 2
    eagerness: float = 0.3
    salt: int = 0
    forgets_locks: bool = False
    view: Callable[..., Any] = Shown
    tell: Callable[[int, str, str], None] = lambda partition, flow, state: None


def route(key: str, salt: int, partitions: int) -> int:
    """The index of a key's partition: a hash that is the same in every process."""
    digest = blake2b(key.encode(), digest_size=8, key=salt.to_bytes(8)).digest()
    return int.from_bytes(digest) % partitions


@dataclass(frozen=True, slots=True)
class Parts:
    """The classes that a broker is made of."""

    store: type[Store] = Store
    partition: type[Partition] = Partition
    front_end: type[FrontEnd] = FrontEnd
    flow_end: type[FlowEnd] = FlowEnd
    assignments: type[Assignments] = Assignments
    connection: type[Connection] = Connection
    faults: type[Faults] = Faults
    flat_rules: type[Rules] = Rules
    partitioned_rules: type[Rules] = PartitionedRules
    flow_rules: type[Rules] = FlowRules
    router: Callable[[str, int, int], int] = route


class Broker:
    """One queue, open for clients."""

    def __init__(self, config: Config, clock: Clock, parts: Parts | None = None) -> None:
        self.config = config
        self.clock = clock
        self.parts = parts = Parts() if parts is None else parts
        self.alive = True
        self.locks: dict[str, Stored] = {}
        self.transactions: dict[str, Transaction] = {}
        self.connections: list[Connection] = []
        self.rules = self._rules()
        self.partitions = [self._partition(index) for index in range(config.partitions)]
        self._tokens = 0
        self._homes: dict[str, Partition] = {}
        self._waiting: dict[Task, None] = {}
        self.front_ends = self._front_ends()
        self.faults = parts.faults(self)

    def _rules(self) -> Rules:
        if self.config.flows:
            return self.parts.flow_rules()
        return self.parts.partitioned_rules() if self.config.partitioned else self.parts.flat_rules()

    def _front_ends(self) -> list[FrontEnd]:
        if self.config.flows:
            return [self.parts.flow_end(self, 0)]
        return [self.parts.front_end(self, index) for index in range(self.config.front_ends)]

    def _partition(self, index: int) -> Partition:
        config = self.config
        name = config.first_name + index
        high = name if config.partitioned else 0
        store = self.parts.store(config.counter_bits, config.seq_start, high)
        return self.parts.partition(name, store, self.locks)

    # What a client may ask.

    def connect(self, proc: str) -> Connection:
        """A new client's connection, to one of the front ends."""
        connection = self.parts.connection(proc, self.clock, len(self.connections) % len(self.front_ends))
        self.connections.append(connection)
        return connection

    def end_of(self, connection: Connection) -> FrontEnd:
        """The front end that serves the client now; it takes the operations."""
        return self.front_ends[connection.end]

    def is_empty(self) -> bool:
        """Whether nothing is stored, locked or free."""
        return all(partition.store.is_empty() for partition in self.partitions)

    # What the parts share.

    def check_alive(self) -> None:
        """Raises `Refused` while the broker is down."""
        if not self.alive:
            raise Refused("unavailable", "the broker is down")

    def check_up(self, partition: Partition) -> None:
        """Raises `Refused` while the partition is down."""
        if not partition.up:
            raise Refused("unavailable", "the partition is down")

    def partition_for(self, key: str) -> Partition:
        """The partition map: equal keys, one partition, for ever."""
        home = self._homes.get(key)
        if home is None:
            home = self.partitions[self.parts.router(key, self.config.salt, len(self.partitions))]
            self._homes[key] = home
        return home

    def forget_homes(self) -> None:
        """Compute the partition map anew when it is asked for."""
        self._homes.clear()

    def accept(self, partition: Partition, contents: Sequence[Content]) -> None:
        """Store messages, and tell those who wait."""
        partition.accept(contents, self.clock.now)
        if self._waiting:
            self.ring()

    def token(self) -> str:
        """A fresh name for a lock."""
        self._tokens += 1
        return f"lock-{self._tokens}"

    def locked(self, token: str) -> Stored:
        """The message locked by that token. Raises `Refused`."""
        stored = self.locks.get(token)
        if stored is None:
            raise Refused("lock_lost", "no such lock")
        return stored

    def transaction(self, name: str) -> Transaction:
        """The open transaction of that name. Raises `Refused`."""
        txn = self.transactions.get(name)
        if txn is None:
            raise Refused("not_found", "no such transaction")
        return txn

    def await_message(self, deadline: int) -> int:
        """Let the current task be woken when messages come; gives the time until which to wait."""
        self._waiting[self.clock.current] = None
        for partition in self.partitions:
            if partition.up:
                deadline = partition.next_expiry(deadline)
        return deadline

    def ring(self) -> None:
        """Wake everybody who waits for messages."""
        waiting, self._waiting = self._waiting, {}
        for task in waiting:
            self.clock.wake(task)

    def stop_waiting(self) -> None:
        """The current task waits no more."""
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
        return self.config.view(
            content.id,
            content.body,
            stored.number,
            stored.partition.name if self.config.partitioned else None,
            stored.enqueued_at,
            stored.count,
            token,
            stored.until if token is not None else None,
            state,
            content.session_id,
            content.partition_key,
            content.properties,
        )

    def show_to_flow(self, stored: Stored, token: str | None) -> Any:
        """A message received through a flow: nothing tells where it was."""
        content = stored.content
        return self.config.view(
            content.id,
            content.body,
            None,
            None,
            None,
            None,
            token,
            None,
            None,
            content.session_id,
            content.partition_key,
            content.properties,
            stored.tries > (0 if token is None else 1),
        )
