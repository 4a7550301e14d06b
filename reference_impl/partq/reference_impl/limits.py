"""What a transaction may not exceed: the time for which it is idle, and the number of its messages."""

from __future__ import annotations

from collections.abc import Sequence

from .core import Core
from .errors import Refused
from .freedoms import taken
from .store import Content
from .transactions import Transaction


class Limits:
    """The limits of a queue's transactions (TXN-9)."""

    def __init__(self, broker: Core) -> None:
        self.broker = broker
        self.config = broker.config
        self.clock = broker.clock

    def is_over(self, txn: Transaction) -> bool:
        """Whether the transaction's time has ended."""
        if not self.config.has("TXN-9"):
            return False
        free, limit = self.broker.free.time_from_begin, self.config.transaction_timeout
        if self.idle(txn) > limit:
            return True
        return self.clock.now - txn.begun > limit and taken(free, self.clock.random)

    def idle(self, txn: Transaction) -> int:
        """For how long the transaction has not been used, ns."""
        return self.clock.now - txn.used

    def check_room(self, txn: Transaction, contents: Sequence[Content]) -> None:
        """Whether the transaction takes these messages, too. Raises `Refused`."""
        if not self.config.has("TXN-9"):
            return
        most, sent = self.config.max_transaction_messages, self.sent(txn) + self.weight(contents)
        others = len(txn.settlements) + len(txn.cancels)
        if sent > most or (sent + others > most and taken(self.broker.free.count_settled, self.clock.random)):
            raise Refused("quota", "a transaction has no more messages")

    def sent(self, txn: Transaction) -> int:
        """How many messages were sent in the transaction."""
        return len(txn.contents())

    def weight(self, contents: Sequence[Content]) -> int:
        """As how many messages a send counts."""
        return len(contents)
