"""Defects in sessions (SES): who may accept one and receive of it, in which order, how its lock ends,
and what becomes of its state; and in sessions of transactions (TXN-3, TXN-4)."""

from __future__ import annotations

from collections.abc import Sequence

from ..clock import HOP, Steps
from ..errors import Refused
from ..frontend import FrontEnd
from ..partition import Partition
from ..sending import Send
from ..sessions import Held, SessionLocks
from ..store import Content, SessionStates, Stored
from ..transactions import Transaction
from .families import StrayingSession
from .forms import refused
from .registry import defect


@defect("SES-1", "receiver")
def anyone_receives(self: SessionLocks, name: str, proc: str) -> Held:
    """Any client receives messages of a session that another one holds."""
    return self.holder(name) or SessionLocks.receiver(self, name, proc)


@defect("SES-1", "choose", profile="azure-flat")
def newest_of_the_session_first(self: SessionLocks, partition: Partition, name: str) -> list[Stored]:
    """The messages of a session are delivered in the reverse order."""
    return SessionLocks.choose(self, partition, name)[::-1]


@defect("SES-1", "choose", profile="azure-standard")
def other_sessions_too(self: SessionLocks, partition: Partition, name: str) -> list[Stored]:
    """Where the messages of a session end, those of the partition's other sessions follow."""
    own = SessionLocks.choose(self, partition, name)
    return own + [one for one in partition.waiting() if one not in own]


@defect("SES-2", "close")
def close_clears_the_state(self: SessionLocks, held: Held) -> None:
    """A session that is closed has no state."""
    SessionLocks.close(self, held)
    self.states(held.name).put(held.name, "")


@defect("SES-2", "expire", profile="azure-flat")
def expiry_clears_the_state(self: SessionLocks, held: Held) -> None:
    """A session whose lock runs out has no state."""
    SessionLocks.expire(self, held)
    self.states(held.name).put(held.name, "")


@defect("SES-2", profile="azure-standard")
class StateOfEachClient(SessionLocks):
    """Each client has a state of the session of its own."""

    def read_state(self, held: Held) -> str:
        return self.states(held.name).find(f"{held.name} {held.proc}")

    def write_state(self, held: Held, state: str) -> None:
        self.states(held.name).put(f"{held.name} {held.proc}", state)


@defect("SES-2", "put")
def first_state_stays(self: SessionStates, name: str, state: str) -> None:
    """A state that was written once is not overwritten."""
    if not self.find(name):
        SessionStates.put(self, name, state)


@defect("SES-2", "put", profile="azure-flat")
def state_is_not_cleared(self: SessionStates, name: str, state: str) -> None:
    """An empty text leaves the state that was there."""
    if state:
        SessionStates.put(self, name, state)


@defect("SES-2", profile="azure-flat")
class StateOfThePartition(SessionStates):
    """The sessions of a partition share a state."""

    def find(self, name: str) -> str:
        return super().find("")

    def put(self, name: str, state: str) -> None:
        super().put("", state)


@defect("SES-2", "drop")
def states_are_volatile(self: SessionLocks, partition: Partition) -> None:
    """What makes a partition lose its locks makes it lose its sessions' states."""
    SessionLocks.drop(self, partition)
    partition.session_states = SessionStates()


@defect("SES-1", "noter", profile="azure-flat")
def anyone_reads_the_state(self: SessionLocks, name: str, proc: str) -> Held:
    """Any client reads and writes the state of a session that another one holds."""
    return self.holder(name) or SessionLocks.noter(self, name, proc)


@defect("SES-3", "check_sessions")
def stored_without_a_session(self: FrontEnd, contents: Sequence[Content]) -> None:
    """A message without a session ID is stored."""


@defect("SES-3", "check_sessions", profile="azure-flat")
def batch_checked_by_its_first(self: FrontEnd, contents: Sequence[Content]) -> None:
    """Only the first message of a request needs a session ID."""
    FrontEnd.check_sessions(self, contents[:1])


@defect("SES-4", "grant")
def held_session_accepted(self: SessionLocks, name: str, proc: str) -> Held:
    """A session that another client holds is accepted: it is the second one's then."""
    self.held.pop(name, None)
    return SessionLocks.grant(self, name, proc)


@defect("SES-4", profile="azure-standard")
class EmptySessionIsNext(SessionLocks):
    """Where no session is available the next one is the last that was given back, which may be empty."""

    last: str | None = None

    def close(self, held: Held) -> None:
        super().close(held)
        self.last = held.name

    def available(self) -> list[str]:
        found = super().available()
        if not found and self.last is not None and self.holder(self.last) is None:
            return [self.last]
        return found


@defect("SES-5", "expire")
def session_expiry_not_counted(self: SessionLocks, held: Held) -> None:
    """The messages of a session whose lock runs out come again with the count that they had."""
    for stored in self.locked(held.name):
        stored.partition.release(stored)


@defect("SES-5", "give_back", profile="azure-flat")
def close_counts(self: SessionLocks, stored: Stored) -> None:
    """Each message that is locked when its session is closed is one more failed delivery."""
    stored.partition.abandon(stored)


@defect("SES-5", "give_back", profile="azure-standard")
def close_keeps_messages_locked(self: SessionLocks, stored: Stored) -> None:
    """Messages stay locked when their session is closed, until the time of their locks."""


@defect("SES-5", "has_ended")
def sessions_overstay(self: SessionLocks, held: Held) -> bool:
    """A session is held for twice as long as its lock lasts, its messages are not."""
    return held.until + self.broker.config.lock_duration <= self.broker.clock.now


@defect("SES-5", "renew", profile="azure-flat")
def renewal_leaves_messages(self: SessionLocks, held: Held) -> Held:
    """A renewal keeps the session, and not the locks on its messages."""
    self.held[held.name] = held = held._replace(until=self.end_of_lock())
    return held


@defect("KEY-9", "grant", profile="azure-standard")
def one_session_for_each_client(self: SessionLocks, name: str, proc: str) -> Held:
    """A client that holds a session is refused another one."""
    self.end_overdue()
    if any(held.proc == proc for held in self.held.values()):
        raise Refused("invalid_operation", "the client holds a session")
    return SessionLocks.grant(self, name, proc)


@defect("TXN-3", "session_in")
def transaction_needs_no_session(self: FrontEnd, txn: str, content: Content) -> str | None:
    """In a transaction a message without a session has its partition key for one, or its ID."""
    return content.session_id or content.partition_key or content.id


@defect("TXN-3", "session_in", profile="azure-standard")
def partition_key_stands_for_the_session(self: FrontEnd, txn: str, content: Content) -> str | None:
    """In a transaction a message needs a session or a partition key."""
    if content.session_id is None and content.partition_key is not None:
        return content.partition_key
    return FrontEnd.session_in(self, txn, content)


@defect("TXN-3", "session_in")
def transaction_compares_no_keys(self: FrontEnd, txn: str, content: Content) -> str | None:
    """In a transaction a message may have another partition key than its session."""
    return content.session_id or FrontEnd.session_in(self, txn, content)


@defect("TXN-3", "session_in", refused)
def stored_though_its_keys_differ(self: FrontEnd, content: Content, refusal: Refused) -> None:
    """What a transaction refuses for its partition key is stored in its session at once."""
    home = self.broker.partition_for(content.session_id or "")
    if content.session_id is not None and home.up:
        self.broker.accept(home, (content,))


@defect("TXN-4", "check_session")
def sessions_that_share_a_partition(self: FrontEnd, txn: Transaction, send: Send) -> None:
    """A transaction may send to all sessions of a partition."""


@defect("TXN-4", "strays", profile="azure-standard")
def second_session_at_once(self: StrayingSession, txn: Transaction, key: str, send: Send) -> bool:
    """What a transaction sends to a second session is stored at once."""
    return True


@defect("TXN-4")
class SecondSessionCommitted(StrayingSession):
    """From its third message on a transaction may send to any session."""

    waits = True

    def strays(self, txn: Transaction, key: str, send: Send) -> bool:
        return len(txn.contents()) >= 2


@defect("TXN-4", "enlist")
def second_session_forgotten(self: FrontEnd, txn: Transaction, send: Send) -> Steps[None]:
    """What a transaction sends to a second session is answered, and forgotten."""
    if self.one_session() and txn.key not in (None, send.key):
        yield HOP
    else:
        yield from FrontEnd.enlist(self, txn, send)
