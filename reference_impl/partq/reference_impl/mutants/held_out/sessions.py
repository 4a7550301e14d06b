"""Set aside: sessions (SES, TXN-3, TXN-4)."""

from __future__ import annotations

from collections.abc import Sequence

from ...clock import HOP, Steps
from ...errors import Refused
from ...frontend import FrontEnd
from ...partition import Partition
from ...sending import Send
from ...sessions import Held, SessionLocks
from ...store import Content, SessionStates, Stored, Ticket
from ...transactions import Transaction
from ..families import kept
from ..registry import defect


@defect("SES-1", "choose")
def second_of_three_first(self: SessionLocks, partition: Partition, name: str) -> list[Stored]:
    """Where three messages of a session wait, the second one is delivered first."""
    found = SessionLocks.choose(self, partition, name)
    return found if len(found) < 3 else [found[1], found[0], *found[2:]]


@defect("SES-3", "check_sessions", profile="azure-standard")
def key_passes_for_a_session(self: FrontEnd, contents: Sequence[Content]) -> None:
    """A partition key is taken for a session ID."""
    FrontEnd.check_sessions(self, [one for one in contents if one.partition_key is None])


@defect("SES-4", "grant", profile="azure-flat")
def held_without_messages_accepted(self: SessionLocks, name: str, proc: str) -> Held:
    """A session that is held is accepted as long as no message of it is locked."""
    if not self.locked(name):
        self.held.pop(name, None)
    return SessionLocks.grant(self, name, proc)


@defect("SES-5", "give_back")
def close_counts_from_the_second_on(self: SessionLocks, stored: Stored) -> None:
    """A message that has failed before is counted once more when its session is closed."""
    if stored.count:
        stored.partition.abandon(stored)
    else:
        SessionLocks.give_back(self, stored)


@defect("SES-2", profile="azure-standard")
class WritesInWait(SessionStates):
    """A write shows when the next one comes."""

    waiting: tuple[str, str] | None = None

    def put(self, name: str, state: str) -> None:
        if self.waiting is not None:
            super().put(*self.waiting)
        self.waiting = name, state


@defect("SES-2", "grant", profile="azure-flat")
def new_holder_starts_anew(self: SessionLocks, name: str, proc: str) -> Held:
    """A session that is accepted has no state yet, whatever the holder before wrote."""
    held = SessionLocks.grant(self, name, proc)
    self.write_state(held, "")
    return held


@defect("TXN-3", "session_in", profile="azure-standard")
def scheduled_without_a_session(self: FrontEnd, txn: str, content: Content) -> str | None:
    """In a transaction a scheduled message needs no session, and may have another partition key."""
    if isinstance(content, Ticket):
        return content.session_id or content.partition_key or content.id
    return FrontEnd.session_in(self, txn, content)


@defect("TXN-3", "session_in")
def needs_a_session_once(self: FrontEnd, txn: str, content: Content) -> str | None:
    """In a transaction that has sent to a session, further messages need none: they go where that is."""
    known = self.broker.transactions.get(txn)
    if known is not None and known.key is not None and content.session_id is None:
        return known.key
    return FrontEnd.session_in(self, txn, content)


@defect("TXN-4", "check_session")
def batch_of_a_second_session(self: FrontEnd, txn: Transaction, send: Send) -> None:
    """A transaction may send batches to all sessions of its partition."""
    if len(send.contents) < 2:
        FrontEnd.check_session(self, txn, send)


@defect("TXN-4", profile="azure-standard")
class SecondSessionFoundOut(FrontEnd):
    """What a transaction sends to a second session is answered; its commit is refused."""

    _second = kept(set[str])

    def enlist(self, txn: Transaction, send: Send) -> Steps[None]:
        if self.one_session() and txn.key not in (None, send.key):
            self._second.add(txn.name)
            yield HOP
        else:
            yield from super().enlist(txn, send)

    def commit(self, name: str) -> Steps[None]:
        if name in self._second:
            self._second.discard(name)
            yield from self.rollback(name)
            raise Refused("invalid_operation", "a transaction has one session")
        yield from super().commit(name)
