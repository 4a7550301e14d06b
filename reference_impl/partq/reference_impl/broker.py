"""The broker put together: its classes, and what clients may ask of it.

One `Broker` is one queue. What its parts share is in `core.py`; how each of them decides is in its own
module. `Parts` names the classes, so that a single one can be replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from .clock import Clock
from .core import Core
from .deadletters import DeadLetters
from .domains import DomainPartition
from .duplicates import Memory
from .errors import Refused
from .expiry import Lifetimes
from .faults import Faults
from .flowend import FlowEnd
from .flows import Assignments
from .forwarding import Relay
from .freedoms import taken
from .frontend import FrontEnd
from .library import Library
from .limits import Limits
from .management import Accounts
from .namespaces import Namespace
from .network import Connection
from .partition import Partition
from .rules import FlowRules, PartitionedRules, QueueRules, Rules
from .scaling import Scaling
from .scheduling import Timetable
from .sessions import SessionLocks
from .settings import SECOND, Config, Domains, Shown
from .store import SessionStates, Store, Stored
from .topics import DEFAULT, Copies

__all__ = ["SECOND", "Broker", "Config", "Domains", "Parts", "Shown"]


@dataclass(frozen=True, slots=True)
class Parts:
    """The classes that a broker is made of."""

    store: type[Store] = Store
    partition: type[Partition] = Partition
    domain_partition: type[DomainPartition] = DomainPartition
    dead_letters: type[DeadLetters] = DeadLetters
    front_end: type[FrontEnd] = FrontEnd
    flow_end: type[FlowEnd] = FlowEnd
    assignments: type[Assignments] = Assignments
    scaling: type[Scaling] = Scaling
    connection: type[Connection] = Connection
    faults: type[Faults] = Faults
    timetable: type[Timetable] = Timetable
    lifetimes: type[Lifetimes] = Lifetimes
    memory: type[Memory] = Memory
    copies: type[Copies] = Copies
    relay: type[Relay] = Relay
    sessions: type[SessionLocks] = SessionLocks
    accounts: type[Accounts] = Accounts
    limits: type[Limits] = Limits
    namespace: type[Namespace] = Namespace
    library: type[Library] = Library
    session_states: type[SessionStates] = SessionStates
    flat_rules: type[Rules] = Rules
    partitioned_rules: type[Rules] = PartitionedRules
    queue_rules: type[Rules] = QueueRules
    flow_rules: type[Rules] = FlowRules


class Broker(Core):
    """One queue, open for clients; or a topic with its subscriptions; or one that forwards, with those after
    it. ``topic``: what it lies beneath."""

    front_ends: Sequence[FrontEnd]

    def __init__(
        self, config: Config, clock: Clock, parts: Parts | None = None, topic: Broker | None = None
    ) -> None:
        parts = self._parts = Parts() if parts is None else parts
        locks: dict[str, Stored] = {} if topic is None else topic.locks
        super().__init__(config, clock, _rules(config, parts), locks)
        self.timetable = parts.timetable(self)
        self.sessions = parts.sessions(self)
        self.accounts = parts.accounts(self)
        self.limits = parts.limits(self)
        self.namespace = parts.namespace(self)
        self.library = parts.library(clock)
        self.lifetimes = parts.lifetimes(clock, self.free, config.dead_letters_expired)
        self.dead_letters: list[DeadLetters] = []
        self.partitions += [self._partition(index) for index in range(config.partitions)]
        self._connection: Callable[[str, Clock, int], Connection] = parts.connection
        self.front_ends = self._front_ends(parts)
        self.faults = parts.faults(self)
        self.issuer = self if topic is None else topic
        if config.subscriptions or config.forward_to:
            self._put_beneath(config, parts)

    def _put_beneath(self, config: Config, parts: Parts) -> None:
        """The subscriptions of a topic, and the queues to which the queue, or a subscription, forwards."""
        clock = self.clock
        alone = replace(config, subscriptions=(), forward_to=(), duplicate_detection=False)
        copying = {name: Broker(alone, clock, parts, self) for name, _ in config.subscriptions}
        chain = {name: Broker(own, clock, parts, self) for name, own in config.chain().items()}
        self.subscriptions = copying | chain
        source = copying.get(config.source(), self)
        for hops, (one, onward) in enumerate(pairwise((source, *chain.values()))):
            one.relay = parts.relay(one, onward, hops)
        if copying:
            self.copies = parts.copies(copying)
        for name, rule in config.subscriptions:
            copying[name].filters[DEFAULT] = rule
            parts.copies(copying).check(rule)

    def _partition(self, index: int) -> Partition:
        """One more partition, with its dead letters beside it."""
        config, parts, clock, free = self.config, self._parts, self.clock, self.free
        name = config.first_name + index
        common = name, self._store(name), self.locks, config.max_delivery_count
        if config.domains is None:
            partition = parts.partition(*common)
        else:
            partition = ordered = parts.domain_partition(*common)
            ordered.domains, ordered.key_of, ordered.random = config.domains, self.rules.key_of, clock.random
        partition.dead_letters_late = taken(free.dead_letter_late, clock.random)
        partition.timetable = self.timetable if config.has("SCH-1") else None
        partition.lifetimes = self.lifetimes if config.has("RCV-15") else None
        if config.requires_session:
            partition.session_states = parts.session_states()
        if config.duplicate_detection:
            key_of = self.rules.key_of if config.partitioned else None
            partition.memory = parts.memory(partition, config.duplicate_window, clock, free, key_of)
        dead_letters = parts.dead_letters(partition, self._store(name), self.locks, clock, free)
        partition.dead_letters = dead_letters
        self.dead_letters.append(dead_letters)
        return partition

    def _store(self, name: int) -> Store:
        config = self.config
        return self._parts.store(config.counter_bits, config.seq_start, name if config.partitioned else 0)

    def _front_ends(self, parts: Parts) -> Sequence[FrontEnd]:
        config = self.config
        if not config.flows:
            ends = [parts.front_end(self, index) for index in range(config.front_ends)]
            for end in ends:
                end.dead_letters = parts.front_end(self, end.turn)
                end.dead_letters.partitions = [*self.dead_letters]
            return ends
        assignments = parts.assignments(self)
        return [parts.flow_end(self, assignments, parts.scaling(self, assignments, self._partition))]

    def connect(self, proc: str) -> Connection:
        """A new client's connection, to one of the front ends."""
        connection = self._connection(proc, self.clock, len(self.connections) % len(self.front_ends))
        if self.free.lose_link > 0:
            connection.fails = self.lose_link
        self.connections.append(connection)
        connection.others = {name: queue.connect(proc) for name, queue in self.subscriptions.items()}
        return connection

    def beneath(self, name: str, connection: Connection) -> tuple[FrontEnd, Connection]:
        """Of the queue of that name beneath this one the front end that serves the client, and its connection
        there. Raises `Refused`."""
        if name not in self.subscriptions:
            raise Refused("not_found", "there is no such queue")
        own = connection.others[name]
        end: FrontEnd = self.subscriptions[name].end_of(own)
        return end, own

    def lose_link(self, connection: Connection) -> bool:
        """Whether the network fails now. If so the client has left, as after a disconnect."""
        if not taken(self.free.lose_link, self.clock.random):
            return False
        connection.cut(taken(self.free.keep_cursors, self.clock.random))
        self.end_of(connection).parted(connection)
        return True

    def end_of(self, connection: Connection) -> FrontEnd:
        """The front end that serves the client now; it takes the operations."""
        return self.front_ends[connection.end]

    def is_empty(self) -> bool:
        """Whether nothing is stored, locked or free."""
        own = not self.lagging and all(partition.store.is_empty() for partition in self.partitions)
        return own and all(queue.is_empty() for queue in self.subscriptions.values())


def _rules(config: Config, parts: Parts) -> Rules:
    if config.flows:
        return parts.flow_rules()
    if config.domains is not None:
        return parts.queue_rules()
    return parts.partitioned_rules(config.duplicate_detection) if config.partitioned else parts.flat_rules()
