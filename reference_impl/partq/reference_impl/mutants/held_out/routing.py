"""Set aside: which partition a key has, for how long, and what an outage does to sends (ROUTE)."""

from __future__ import annotations

from collections.abc import Sequence

from ...clock import HOP, Steps
from ...errors import Refused, Unsure
from ...faults import Faults
from ...flowend import FlowEnd
from ...frontend import FrontEnd
from ...partition import Partition
from ...sending import SERVER_TIMEOUT, Send
from ...settings import SECOND
from ...store import Content
from ..families import Misrouting, beside, last_end, retrying
from ..forms import answering, before, refused, then
from ..registry import APART, defect

HALF_A_MINUTE = 30 * SECOND
"""ns after which a careless broker shuffles its partitions."""


def _next(end: FrontEnd, partition: Partition) -> Partition:
    """The partition after that one."""
    return end.partitions[(end.partitions.index(partition) + 1) % len(end.partitions)]


@defect("ROUTE-1", "frontend_lost", then, also=APART)
def rehash_on_front_end_loss(self: Faults) -> None:
    """The partition map is drawn anew when a front end is lost while no transaction is open."""
    if not self.broker.transactions:
        self.broker.config.salt += 1
        self.broker.forget_homes()


@defect("ROUTE-1", "home", answering, also=APART)
def emptied_partition_gives_keys_away(self: FrontEnd, key: str, send: Send, home: Partition) -> Partition:
    """A key whose partition has become empty lives in the next one from its next send on, unless a partition
    is down or the send is in a transaction."""
    at_rest = send.txn is None and len(self.running()) == len(self.partitions)
    if at_rest and home.store._orders and home.store.is_empty():
        home = self.broker._homes[key] = _next(self, home)
    return home


@defect("ROUTE-1", "home", profile="solace", also=APART)
def rehash_with_each_rebalance(self: FlowEnd, key: str, send: Send) -> Partition:
    """The partition map is drawn anew with each rebalance that is asked for."""
    return FlowEnd.home(self, f"{key}/{self.assignments.delays}", send)


@defect("ROUTE-2", "mistaken")
def batches_have_their_own_map(self: Misrouting, key: str, send: Send) -> str:
    """Outside of transactions the messages of a batch are stored elsewhere than single ones of their key."""
    return f"batches of {key}" if send.txn is None and len(send.contents) > 1 else key


@defect("ROUTE-2", "mistaken", profile="azure-standard")
def time_has_a_say(self: Misrouting, key: str, send: Send) -> str:
    """Each key changes its partition every half a minute, outside of transactions."""
    halves = self.clock.now // HALF_A_MINUTE
    return f"{key}/{halves}" if send.txn is None and halves else key


@defect("ROUTE-5", "home")
def sessions_rerouted(self: FrontEnd, key: str, send: Send) -> Partition:
    """A message with a session ID whose partition is down is stored in another one."""
    home, up = FrontEnd.home(self, key, send), self.running()
    session = send.contents[0].session_id is not None and send.txn is None
    return up[0] if session and not home.up and up else home


@defect("ROUTE-5", "give_up", refused, profile="azure-standard")
def keyed_stored_when_up_again(self: FrontEnd, send: Send, refusal: Refused) -> None:
    """A keyed message is refused because its partition is down, others being up, and stored there later."""
    home = self.home(send.key or "", send)
    if not isinstance(refusal, Unsure) and self.broker.alive and not home.up and self.running():
        self.clock.spawn(retrying(self, [home], send.contents))


@defect("ROUTE-5", "give_up", before, profile="azure-standard")
def keyed_batch_invalid_in_outage(self: FrontEnd, send: Send) -> None:
    """A keyed batch whose partition is down, others being up, is refused as invalid."""
    if len(send.contents) > 1 and self.running():
        raise Refused("invalid_operation", "the batch has no partition")


@defect("ROUTE-6", "reroute")
def rerouting_needs_a_majority(self: FrontEnd, send: Send) -> Steps[Partition]:
    """A keyless send whose chosen partition is down gives up, unless most of the partitions are up."""
    if 0 < 2 * len(self.running()) <= len(self.partitions) and send.timeout > SERVER_TIMEOUT:
        yield HOP
        raise Refused("unavailable", "most partitions are down")
    return (yield from FrontEnd.reroute(self, send))


@defect("ROUTE-6", "reroute")
def last_front_end_does_not_reroute(self: FrontEnd, send: Send) -> Steps[Partition]:
    """At one front end a keyless send whose chosen partition is down gives up."""
    if last_end(self) and send.timeout > SERVER_TIMEOUT and self.running():
        yield HOP
        raise Refused("unavailable", "the chosen partition is down")
    return (yield from FrontEnd.reroute(self, send))


@defect("ROUTE-7", "admit", then)
def sessions_stop_in_outage(
    self: FrontEnd, contents: Sequence[Content], txn: str | None, key: str | None
) -> None:
    """While another partition is down, no message with a session ID is taken, outside of transactions."""
    session = txn is None and contents[0].session_id is not None
    if session and key is not None and beside(self, self.broker.partition_for(key)):
        raise Refused("unavailable", "a partition is down")


@defect("ROUTE-7", "enlist", before)
def transactional_sends_stop_in_outage(self: FrontEnd, send: Send) -> None:
    """While another partition is down, nothing is sent in a transaction."""
    if send.key is not None and beside(self, self.home(send.key, send)):
        raise Refused("unavailable", "a partition is down")


@defect("ROUTE-7", "admit", then)
def neighbour_fails_too(self: FrontEnd, txn: str | None, key: str | None) -> None:
    """While a partition is down, the one before it takes no keyed messages, outside of transactions."""
    home = None if key is None or txn is not None else self.broker.partition_for(key)
    if home is not None and beside(self, home) and not _next(self, home).up:
        raise Refused("unavailable", "the partition is down")


@defect("ROUTE-8", "give_up")
def keyed_stored_nowhere_up(self: FrontEnd, send: Send) -> Steps[Partition]:
    """With no partition up, keyed messages are accepted by their own."""
    if send.key is None or self.running():
        return (yield from FrontEnd.give_up(self, send))
    return self.home(send.key, send)


@defect("ROUTE-8", "reroute")
def keyless_batch_stored_nowhere_up(self: FrontEnd, send: Send) -> Steps[Partition]:
    """With no partition up, keyless batches are accepted by the first one."""
    if len(send.contents) == 1 or self.running():
        return (yield from FrontEnd.reroute(self, send))
    yield HOP
    return self.partitions[0]
