"""Sessions: whoever accepts one holds it for a while, and alone receives its messages, in their order.

A message of a session is locked as long as the session is. That is volatile, as all locks are: who holds what
is lost with the locks of a partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .clock import HOP, Steps
from .core import Core
from .deferral import Deferring
from .errors import Refused
from .freedoms import taken
from .network import Connection
from .partition import Partition
from .sending import Send
from .settling import Settlement
from .store import Content, SessionStates, Stored
from .transactions import Transaction


class Accepted(NamedTuple):
    """A session as its holder sees it: until when the lock lasts, ns."""

    session_id: str
    locked_until: int


class Held(NamedTuple):
    """A session that is locked for a client until then, ns."""

    name: str
    proc: str
    until: int


class Shown(NamedTuple):
    """The state of a session as its holder reads it: empty where it has none."""

    state: str


class SessionLocks:
    """Who holds which session of a queue."""

    def __init__(self, broker: Core) -> None:
        self.broker = broker
        self.held: dict[str, Held] = {}

    def home(self, name: str) -> Partition:
        """The partition of the session."""
        broker = self.broker
        return broker.partition_for(name) if broker.config.partitioned else broker.partitions[0]

    def holder(self, name: str) -> Held | None:
        """Who holds the session now."""
        held = self.held.get(name)
        if held is not None and self.has_ended(held):
            self.expire(self.held.pop(name))
            return None
        return held

    def has_ended(self, held: Held) -> bool:
        """Whether the time of the lock is over."""
        return held.until <= self.broker.clock.now

    def expire(self, held: Held) -> None:
        """The lock has run out: each message locked by it is one more failed delivery."""
        self.home(held.name).expire(held.until)

    def next_end(self, otherwise: int) -> int:
        """When the next lock ends, if that is before ``otherwise``."""
        self.end_overdue()
        return min((held.until for held in self.held.values()), default=otherwise)

    def end_overdue(self) -> None:
        """End the locks whose time is over."""
        for name in list(self.held):
            self.holder(name)

    def tidy(self, partition: Partition) -> None:
        """Before a delivery: end overdue locks, on sessions first, and do what else is due."""
        self.end_overdue()
        partition.tidy(self.broker.clock.now)

    def grant(self, name: str, proc: str) -> Held:
        """Lock the session for the client. Raises `Refused`."""
        if self.holder(name) is not None:
            raise Refused("session_locked", "the session is held")
        self.held[name] = held = Held(name, proc, self.end_of_lock())
        return held

    def end_of_lock(self) -> int:
        """Until when a lock lasts that begins now."""
        return self.broker.clock.now + self.broker.config.lock_duration

    def find(self, name: str, proc: str) -> Held:
        """The session that the client holds. Raises `Refused`."""
        held = self.holder(name)
        if held is None or held.proc != proc:
            raise Refused("lock_lost", "the session is not held, or not any more")
        return held

    def receiver(self, name: str, proc: str) -> Held:
        """The session of which the client may receive messages. Raises `Refused`."""
        return self.find(name, proc)

    def noter(self, name: str, proc: str) -> Held:
        """The session whose state the client may read and write. Raises `Refused`."""
        return self.find(name, proc)

    def available(self) -> list[str]:
        """The sessions that nobody holds, and that have messages to receive."""
        running = [partition for partition in self.broker.partitions if partition.up]
        for partition in running:
            self.tidy(partition)
        waiting = (one.content.session_id or "" for partition in running for one in partition.waiting())
        return [name for name in dict.fromkeys(waiting) if self.holder(name) is None]

    def messages(self, name: str, most: int) -> list[Stored]:
        """Remove up to ``most`` of the session's oldest free messages."""
        partition = self.home(name)
        self.tidy(partition)
        return partition.take(self.choose(partition, name)[:most])

    def choose(self, partition: Partition, name: str) -> list[Stored]:
        """The session's free messages there, in the order in which they are delivered."""
        return [one for one in partition.waiting() if one.content.session_id == name]

    def locked(self, name: str) -> list[Stored]:
        """The session's messages that are locked."""
        every = self.home(name).store.live()
        return [one for one in every if one.lock is not None and one.content.session_id == name]

    def renew(self, held: Held) -> Held:
        """Move the end of the lock, and of those on its messages."""
        self.held[held.name] = held = held._replace(until=self.end_of_lock())
        for stored in self.locked(held.name):
            stored.partition.renew(stored, held.until)
        return held

    def close(self, held: Held) -> None:
        """Give the session back, and its locked messages as if they had never been received."""
        del self.held[held.name]
        for stored in self.locked(held.name):
            self.give_back(stored)

    def states(self, name: str) -> SessionStates:
        """Where the session's state is kept."""
        states = self.home(name).session_states
        assert states is not None
        return states

    def read_state(self, held: Held) -> str:
        """The state of a session, for its holder."""
        return self.states(held.name).find(held.name)

    def write_state(self, held: Held, state: str) -> None:
        """Set the state of a session, for its holder."""
        self.states(held.name).put(held.name, state)

    def give_back(self, stored: Stored) -> None:
        """A message of a session that is closed."""
        stored.partition.release(stored)

    def part(self, proc: str) -> None:
        """The client's connection has ended: what it holds is given back, or held until its time."""
        self.end_overdue()
        for held in list(self.held.values()):
            if held.proc == proc and taken(self.broker.free.close_parted, self.broker.clock.random):
                self.close(held)

    def drop(self, partition: Partition) -> None:
        """The partition has lost its locks."""
        self.held = {name: held for name, held in self.held.items() if self.home(name) is not partition}


class InSessions(Deferring):
    """A front end's side of sessions."""

    def admit(self, contents: Sequence[Content], txn: str | None) -> str | None:
        if txn is None or not self.one_session():
            self.check_sessions(contents)
            return super().admit(contents, txn)
        sessions = [self.session_in(txn, content) for content in contents]
        if len(set(sessions)) > 1:
            raise Refused("invalid_operation", "a batch has one session")
        return sessions[0]

    def one_session(self) -> bool:
        """Whether a transaction sends to one session only: in a partitioned queue that has sessions."""
        return self.broker.config.requires_session and self.broker.config.partitioned

    def session_in(self, txn: str, content: Content) -> str | None:
        """The session of a message that a transaction sends, which has no other key. Raises `Refused`."""
        if content.session_id is None:
            raise Refused("invalid_operation", "in a transaction a message needs a session ID")
        if content.partition_key not in (None, content.session_id):
            raise Refused("invalid_operation", "in a transaction session ID and partition key are equal")
        return content.session_id

    def joins(self, txn: Transaction, send: Send) -> bool:
        if not self.one_session():
            return super().joins(txn, send)
        self.check_session(txn, send)
        self.check_beside(txn, {send.key})
        return True

    def check_session(self, txn: Transaction, send: Send) -> None:
        """A transaction sends to one session. Raises `Refused`."""
        if txn.key not in (None, send.key):
            raise Refused("invalid_operation", "a transaction has one session")

    def check_beside(self, txn: Transaction, sessions: set[str | None]) -> None:
        """Whether a transaction may settle in other sessions than it sends to. Raises `Refused`."""
        touched = {one.content.session_id for one in (*(done[1] for done in txn.settlements), *txn.cancels)}
        several = len((touched | sessions) - {None}) > 1
        if several and taken(self.broker.free.settle_one_session, self.clock.random):
            raise Refused("invalid_operation", "a transaction has one session")

    def admit_settlement(self, asked: Settlement, found: Sequence[Stored]) -> None:
        super().admit_settlement(asked, found)
        if asked.txn is not None and self.one_session():
            self.check_beside(asked.txn, {asked.txn.key, *(one.content.session_id for one in found)})

    def check_sessions(self, contents: Sequence[Content]) -> None:
        """Every message that is sent to a queue with sessions has one. Raises `Refused`."""
        if self.broker.config.requires_session and any(one.session_id is None for one in contents):
            raise Refused("invalid_operation", "a message needs a session ID")

    def check_offered(self) -> SessionLocks:
        """The sessions of the queue. Raises `Refused` where it has none."""
        self.broker.check_has("SES-1")
        if not self.broker.config.requires_session:
            raise Refused("invalid_operation", "the queue has no sessions")
        self.broker.check_alive()
        sessions: SessionLocks = self.broker.sessions
        return sessions

    def accept_session(self, connection: Connection, name: str | None, timeout: int) -> Steps[list[Any]]:
        """Lock this session or, within the timeout, the next one."""
        deadline = self.clock.now + timeout
        yield HOP
        sessions = self.check_offered()
        if name is None:
            held = yield from self.accept_next(connection, deadline)
        else:
            yield HOP
            self.broker.check_up(sessions.home(name))
            held = sessions.grant(name, connection.proc)
        yield HOP
        return [Accepted(held.name, held.until)]

    def accept_next(self, connection: Connection, deadline: int) -> Steps[Held]:
        """Lock any session that is available."""
        sessions, random = self.check_offered(), self.clock.random
        while True:
            yield HOP
            found = sessions.available()
            if found:
                return sessions.grant(found[int(random() * len(found))], connection.proc)
            if self.clock.now >= deadline:
                raise Refused("timeout", "no session is available")
            yield from self.wait_in(self.partitions, deadline)

    def wait_in(self, partitions: Sequence[Partition], deadline: int) -> Steps[None]:
        """Wait until these partitions may have messages or a session may be free, or for the deadline."""
        try:
            next_end = self.broker.sessions.next_end(deadline)
            yield min(self.broker.await_message(partitions, deadline), next_end)
        finally:
            self.broker.stop_waiting()

    def renew_session(self, connection: Connection, name: str) -> Steps[list[Any]]:
        """Restart the clock of the session's lock."""
        yield HOP
        sessions = self.check_offered()
        yield HOP
        self.broker.check_up(sessions.home(name))
        held = sessions.renew(sessions.find(name, connection.proc))
        yield HOP
        return [Accepted(held.name, held.until)]

    def close_session(self, connection: Connection, name: str) -> Steps[None]:
        """Give the session back."""
        yield from self.arrive(lambda: self.close_session(connection, name))
        sessions = self.check_offered()
        self.broker.check_up(sessions.home(name))
        sessions.close(sessions.find(name, connection.proc))
        self.broker.ring()
        yield HOP

    def get_session_state(self, connection: Connection, name: str) -> Steps[list[Any]]:
        """Read the state of a session that the client holds."""
        yield HOP
        sessions = self.check_offered()
        yield HOP
        self.broker.check_up(sessions.home(name))
        state = sessions.read_state(sessions.noter(name, connection.proc))
        yield HOP
        return [Shown(state)]

    def set_session_state(self, connection: Connection, name: str, state: str) -> Steps[None]:
        """Write the state of a session that the client holds."""
        yield from self.arrive(lambda: self.set_session_state(connection, name, state))
        sessions = self.check_offered()
        self.broker.check_up(sessions.home(name))
        sessions.write_state(sessions.noter(name, connection.proc), state)
        yield HOP

    def receive_session(
        self, connection: Connection, name: str, most: int, delete: bool, timeout: int
    ) -> Steps[list[Any]]:
        """Up to ``most`` messages of a session that the client holds, waiting for the first."""
        deadline = self.clock.now + timeout
        yield HOP
        sessions, broker = self.check_offered(), self.broker
        if taken(broker.free.answer_nothing, self.clock.random):
            yield deadline
            return []
        most = broker.fewer(most, broker.free.answer_short)
        while True:
            yield HOP
            broker.check_up(sessions.home(name))
            held = sessions.receiver(name, connection.proc)
            found = [self.hand_in_session(stored, held, delete) for stored in sessions.messages(name, most)]
            if found or self.clock.now >= deadline:
                connection.locks.extend(one.lock for one in found if not delete)
                yield HOP
                return found
            yield from self.wait_in([sessions.home(name)], deadline)

    def hand_in_session(self, stored: Stored, held: Held, delete: bool) -> Any:
        """Give a message to the holder of its session: deleted, or locked as long as the session is."""
        if delete:
            stored.partition.complete(stored)
            return self.broker.show(stored, None)
        token = self.broker.token()
        self.broker.sessions.home(held.name).lock(stored, token, held.until)
        return self.broker.show(stored, token)
