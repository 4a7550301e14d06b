"""How a front end settles and renews locks: in one partition, in a transaction or at once.

What becomes of a message is the partition's business; what a transaction keeps is in `transactions.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from .clock import HOP, Steps
from .errors import Refused
from .freedoms import taken
from .network import Connection
from .partition import Partition
from .sending import Sending
from .store import Stored
from .transactions import Transaction

MOVES: Final = {"dead_letter": "RCV-9", "defer": "RCV-10"}
"""Settlement that moves its messages -> the rule about that; no other is of the dead-letter queue."""


class Settlement(NamedTuple):
    """A request to settle: what to do (``action``) with each message that one of the ``tokens`` locks, in a
    transaction or at once. ``reason``: why it is dead-lettered."""

    connection: Connection
    action: str
    tokens: Sequence[str]
    txn: Transaction | None
    reason: str | None = None


class Settling(Sending):
    """A front end's side of locks."""

    def hand_out(self, partition: Partition, stored: Stored, delete: bool) -> Any:
        """Give a message to the client, locked or, on demand, deleted; what it gets to see of it."""
        if delete:
            partition.complete(stored)
            return self.broker.show(stored, None)
        token = self.broker.token()
        partition.lock(stored, token, self.clock.now + self.broker.config.lock_duration)
        return self.broker.show(stored, token)

    def settle(
        self,
        connection: Connection,
        action: str,
        tokens: Sequence[str],
        txn: str | None,
        reason: str | None = None,
    ) -> Steps[None]:
        """Settle the messages of all these locks, or of none. ``reason``: why they are dead-lettered."""
        yield from self.arrive(lambda: self.settle(connection, action, tokens, txn, reason))
        self.broker.check_alive()
        asked = Settlement(connection, action, tokens, self.opened(action, txn), reason)
        steps = self.settle_locks(asked)
        yield from steps if asked.txn is None else self.in_transaction(asked.txn, steps)

    def opened(self, action: str, txn: str | None) -> Transaction | None:
        """The transaction that a settlement is part of; None where it is done at once. Raises `Refused`."""
        return None if txn is None else self.transaction(txn)

    def settle_locks(self, asked: Settlement) -> Steps[None]:
        """Settle at once, or at the commit of the transaction."""
        broker = self.broker
        asked = asked._replace(tokens=tuple(dict.fromkeys(asked.tokens)))
        found = [broker.locked(token) for token in asked.tokens]
        self.admit_settlement(asked, found)
        yield HOP
        for stored in found:
            broker.check_up(stored.partition)
        self.check_locks(asked, found)
        if asked.txn is None:
            for stored in found:
                self.apply(asked, stored)
        else:
            self.enlist_settlement(asked.txn, asked, found)
        yield HOP

    def enlist_settlement(self, txn: Transaction, asked: Settlement, found: Sequence[Stored]) -> None:
        """Keep settlements in a transaction for its commit. Raises `Refused`."""
        self.broker.check_open(txn)
        if any(not txn.takes(asked.action, stored) for stored in found):
            raise Refused("invalid_operation", "a transaction is settling this message")
        for token, stored in zip(asked.tokens, found, strict=True):
            txn.enlist(asked.action, stored, token, asked.reason)

    def admit_settlement(self, asked: Settlement, found: Sequence[Stored]) -> None:
        """Whether these messages may be settled together, and in that transaction. Raises `Refused`."""
        txn, here = asked.txn, found[0].partition.main
        if asked.action in MOVES:
            self.broker.check_has(MOVES[asked.action])
            if any(one.partition is not one.partition.main for one in found):
                raise Refused("invalid_operation", "nothing leaves the dead-letter queue in that way")
        self.broker.rules.check_settlement(found, txn)
        if txn is not None:
            away = txn.partition not in (None, here) and txn.settles_in in (None, here)
            if not (away and self.elsewhere()):
                self.broker.rules.admit_settlement(txn, found)

    def check_locks(self, asked: Settlement, found: Sequence[Stored]) -> None:
        """Every lock of the request must hold, and be free of transactions. Raises `Refused`."""
        now = self.clock.now
        self.broker.end_idle()
        for token, stored in zip(asked.tokens, found, strict=True):
            if not stored.partition.holds(stored, token, now):
                raise Refused("lock_lost", "the lock has ended")
            if stored.enlisted is not None and not taken(self.broker.free.settle_enlisted, self.clock.random):
                raise Refused("invalid_operation", "a transaction is settling this message")

    def apply(self, asked: Settlement, stored: Stored) -> None:
        """Apply one settlement."""
        stored.given_reason = asked.reason
        stored.partition.settle(asked.action, stored)
        if asked.action != "complete" or self.broker.config.domains is not None:
            self.broker.ring()

    def renew(self, token: str) -> Steps[list[Any]]:
        """Restart the lock's clock."""
        yield HOP
        broker = self.broker
        broker.check_alive()
        stored = broker.locked(token)
        yield HOP
        broker.check_up(stored.partition)
        self.check_renewal(stored, token)
        stored.partition.renew(stored, self.clock.now + broker.config.lock_duration)
        shown = [broker.show(stored, token)]
        yield HOP
        return shown

    def check_renewal(self, stored: Stored, token: str) -> None:
        """Raises `Refused` where the lock has ended, or is that of a session."""
        if self.broker.config.requires_session and stored.partition is stored.partition.main:
            raise Refused("invalid_operation", "the lock is that of a session")
        if not stored.partition.holds(stored, token, self.clock.now):
            raise Refused("lock_lost", "the lock has ended")
