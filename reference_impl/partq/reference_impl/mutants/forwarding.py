"""Defects in forwarding: keys (FWD-1), how far messages go (FWD-2), losses (RCV-2), times (SCH-1), copies
(TOPIC-1), transactions (TXN-5), duplicates (DUP-1), sessions (SES-4)."""

from __future__ import annotations

from ..forwarding import Relay
from ..frontend import FrontEnd
from ..partition import SPENT, Partition
from ..sessions import Held, SessionLocks
from ..store import Content, Stored
from ..topics import Copies
from ..transactions import Transaction
from .families import forget_ids
from .forms import before, then
from .registry import defect


@defect("FWD-1", "key_of", profile="azure-standard")
def key_is_not_forwarded(self: Relay, content: Content) -> str | None:
    """A message that is forwarded goes to any partition, as one without a key."""
    return None


@defect("FWD-1", "key_of", profile="azure-premium")
def partition_key_alone_is_forwarded(self: Relay, content: Content) -> str | None:
    """Of a message that is forwarded a session ID is no key."""
    return content.partition_key


@defect("FWD-1", "home")
def emptiest_partition_takes_all(self: Relay, content: Content) -> Partition:
    """A message that is forwarded goes to the partition with the fewest messages."""
    found: Partition = min(self.onward.partitions, key=lambda one: sum(1 for _ in one.store.live()))
    return found


@defect("FWD-1", "key_of", profile="azure-standard")
def key_is_lost_after_the_first_hop(self: Relay, content: Content) -> str | None:
    """A message that is forwarded once more goes to any partition."""
    return Relay.key_of(self, content) if self.hops == 0 else None


@defect("FWD-1", "key_of", profile="azure-standard")
def key_is_lost_where_nothing_is_partitioned(self: Relay, content: Content) -> str | None:
    """A message that comes from a queue that is not partitioned goes to any partition."""
    return Relay.key_of(self, content) if self.queue.config.partitioned else None


@defect("FWD-1", "key_of", profile="azure-standard")
def key_of_a_copy_is_not_forwarded(self: Relay, content: Content) -> str | None:
    """A message that a subscription forwards goes to any partition of each queue behind it."""
    return Relay.key_of(self, content) if self.queue.issuer.copies is None else None


@defect("TOPIC-1", "is_for", profile="azure-standard")
def all_is_forwarded(self: Copies, name: str, content: Content) -> bool:
    """A subscription that forwards does so with all that its topic is sent."""
    return self.queues[name].relay is not None or Copies.is_for(self, name, content)


@defect("FWD-2", "is_too_far", profile="azure-standard")
def forwarded_without_end(self: Relay) -> bool:
    """A message is forwarded however often it was."""
    return False


@defect("FWD-2", "pass_on", profile="azure-premium")
def batch_mates_slip_through(self: Relay, partition: Partition, stored: Stored) -> None:
    """A message that would be forwarded too often is, while another one waits behind it."""
    if self.is_too_far() and partition.waiting():
        partition.complete(stored)
        self.onward.accept(self.home(stored.content), [stored.content])
    else:
        Relay.pass_on(self, partition, stored)


@defect("FWD-2", "reason")
def said_to_be_worn_out(self: Relay) -> str:
    """A message that would be forwarded too often is said to have been delivered too often."""
    return SPENT


@defect("RCV-2", "pass_on", profile="azure-standard")
def too_far_is_lost_before_another(self: Relay, partition: Partition, stored: Stored) -> None:
    """A message that would be forwarded too often is gone, while another one waits behind it."""
    if self.is_too_far() and partition.waiting():
        partition.complete(stored)
    else:
        Relay.pass_on(self, partition, stored)


@defect("SCH-1", "next_of", profile="azure-standard")
def scheduled_is_forwarded_at_once(self: Relay, partition: Partition) -> list[Stored]:
    """A scheduled message is forwarded before its time."""
    early = [stored for stored in partition.store.live() if stored.is_scheduled()]
    return early[:1] or Relay.next_of(self, partition)


@defect("TXN-5", "roll_back", profile="azure-premium")
def rollback_is_forwarded(self: FrontEnd, txn: Transaction) -> None:
    """What a transaction sends to a queue that forwards is forwarded though it is rolled back."""
    if self.broker.relay is not None and txn.partition is not None:
        self.broker.accept(txn.partition, txn.sends)
    FrontEnd.roll_back(self, txn)


@defect("TXN-5", "enlist", then, profile="azure-standard")
def forwarded_before_the_commit(self: FrontEnd, txn: Transaction) -> None:
    """What a transaction sends to a queue that forwards is forwarded at once."""
    if self.broker.relay is not None and txn.partition is not None:
        self.broker.accept(txn.partition, [*txn.sends])
        txn.sends.clear()


@defect("DUP-1", "pass_on", before, profile="azure-standard")
def forwarded_ids_are_forgotten(self: Relay) -> None:
    """When a message is forwarded all message IDs are forgotten, here and where it comes to."""
    forget_ids(self)


@defect("SES-4", "grant", profile="azure-standard")
def session_is_shared_behind_a_chain(self: SessionLocks, name: str, proc: str) -> Held:
    """A session of a queue that gets what another one forwards is accepted though it is held."""
    if self.broker.issuer is not self.broker:
        self.held.pop(name, None)
    return SessionLocks.grant(self, name, proc)


@defect("RCV-2", "resume", profile="azure-standard")
def outage_loses_what_was_to_be_forwarded(self: Relay) -> None:
    """What waits to be forwarded when a partition, or the broker, serves again is gone."""
    for partition in self.queue.partitions:
        for stored in partition.take(partition.waiting()):
            partition.complete(stored)
