"""Defects in forwarding, set aside: what becomes of keys (FWD-1), and how far messages go (FWD-2)."""

from __future__ import annotations

from ...expiry import EXPIRED
from ...forwarding import Relay
from ...frontend import FrontEnd
from ...partition import Partition
from ...store import Content, Stored
from ...transactions import Transaction
from ..families import forget_ids
from ..forms import before
from ..registry import defect


@defect("FWD-1", profile="azure-standard")
class EveryThirdByTurns(Relay):
    """Every third message that a queue forwards goes to the next partition in turn."""

    passed = 0

    def home(self, content: Content) -> Partition:
        self.passed += 1
        found: Partition = Relay.home(self, content)
        if self.passed % 3:
            return found
        several: list[Partition] = self.onward.partitions
        return several[(several.index(found) + 1) % len(several)]


@defect("FWD-2", "pass_on", profile="azure-premium")
def keyless_go_on(self: Relay, partition: Partition, stored: Stored) -> None:
    """Messages without a key are forwarded however often they were."""
    if self.key_of(stored.content) is None and self.is_too_far():
        partition.complete(stored)
        self.onward.accept(self.home(stored.content), [stored.content])
    else:
        Relay.pass_on(self, partition, stored)


@defect("FWD-2", "reason", profile="azure-standard")
def said_to_have_expired(self: Relay) -> str:
    """A message that would be forwarded too often is said to have outlived its time."""
    return EXPIRED


@defect("FWD-1", "key_of", profile="azure-standard")
def copies_are_spread_by_their_ids(self: Relay, content: Content) -> str | None:
    """A message that a subscription forwards goes to the partition of its ID in each queue behind it."""
    return Relay.key_of(self, content) if self.queue.issuer.copies is None else content.id


@defect("TXN-5", "roll_back", profile="azure-standard")
def last_of_a_rollback_is_forwarded(self: FrontEnd, txn: Transaction) -> None:
    """Of several messages that are rolled back the last one is forwarded."""
    if self.broker.relay is not None and txn.partition is not None:
        self.broker.accept(txn.partition, txn.sends[1:][-1:])
    FrontEnd.roll_back(self, txn)


@defect("DUP-1", "resume", before, profile="azure-premium")
def ids_on_the_way_are_volatile(self: Relay) -> None:
    """A queue that serves again, and the one that it forwards to, have forgotten all message IDs."""
    forget_ids(self)
