"""Defects in where messages go, and in what an outage does to sends and to whom (ROUTE)."""

from __future__ import annotations

from collections.abc import Sequence

from ..clock import HOP, Steps
from ..errors import Refused
from ..faults import Faults
from ..flowend import FlowEnd
from ..frontend import FrontEnd
from ..partition import Partition
from ..sending import SERVER_TIMEOUT, Send
from ..settling import Settlement
from ..store import Content, Stored
from ..transactions import Transaction
from .families import Misrouting, beside, no_key, on_refusal, retrying
from .forms import Frame, amid, before, refused, then
from .registry import APART, BY_CHANCE, defect

FULL = 3
"""So many messages fill a careless broker's partition."""

LONG = 64
"""Characters in a key that a careless broker still handles."""


@defect("ROUTE-1", "start", then, profile="azure-standard", also=APART)
@defect(
    "ROUTE-1", "start", then, name="solace-rehash-on-restart", profile="solace", also=(*APART, BY_CHANCE[0])
)
def rehash_on_restart(self: Faults) -> None:
    """The partition map is drawn anew when the broker starts."""
    self.broker.config.salt += 1
    self.broker.forget_homes()


@defect("ROUTE-1", "bring_up", then, profile="azure-standard", also=APART)
def rehash_on_recovery(self: Faults) -> None:
    """The partition map is drawn anew when a partition comes back."""
    self.broker.config.salt += 1
    self.broker.forget_homes()


@defect("ROUTE-1", "give_up", refused, profile="azure-standard", also=APART)
def refused_key_moves(self: FrontEnd, send: Send, refusal: Refused) -> None:
    """A key whose send was refused because its partition is down lives in the next partition from then on."""
    if refusal.kind == "unavailable" and send.key is not None and self.broker.alive:
        here = self.partitions.index(self.broker.partition_for(send.key))
        self.broker._homes[send.key] = self.partitions[(here + 1) % len(self.partitions)]


@defect("ROUTE-2", "mistaken", profile="azure-standard")
def route_by_body(self: Misrouting, key: str, send: Send) -> str:
    """The body has a say in the partition; in a transaction, that of its first message."""
    return f"{key}/{((send.txn and send.txn.sends) or send.contents)[0].body}"


@defect("ROUTE-2", "home", profile="solace", also=BY_CHANCE)
def solace_route_by_body(self: FlowEnd, key: str, send: Send) -> Partition:
    """The body has a say in the partition."""
    return FlowEnd.home(self, f"{key}/{send.contents[0].body}", send)


@defect("ROUTE-2", "mistaken", profile="azure-standard")
def route_by_sender(self: Misrouting, key: str) -> str:
    """Every client has a partition map of its own."""
    return "/".join((key, *(one.proc for one in self.broker.connections if one.task is self.clock.current)))


@defect("ROUTE-2", "mistaken", profile="azure-standard")
def long_keys_scatter(self: Misrouting, key: str, send: Send) -> str:
    """Messages of a key over 64 characters are routed by their own ID; in a transaction, by its name."""
    return key if len(key) <= LONG else no_key(send)


@defect("ROUTE-2", "mistaken", also=(*BY_CHANCE[1:], "TXN-8"))
def full_partition_overflows(self: Misrouting, key: str, send: Send) -> str:
    """While its partition holds three messages or more, a key outside of transactions belongs to another."""
    full = send.txn is None and len(list(self.broker.partition_for(key).store.live())) >= FULL
    return f"overflow of {key}" if full else key


@defect("ROUTE-2", "home", profile="solace", also=BY_CHANCE)
def route_by_number_of_flows(self: FlowEnd, key: str, send: Send) -> Partition:
    """How many flows are bound has a say in the partition."""
    return FlowEnd.home(self, f"{key}/{len(self.assignments.flows)}", send)


@defect("ROUTE-4", "next_partition", profile="azure-standard")
def sticky_keyless(self: FrontEnd) -> Partition:
    """Keyless messages all go to the first partition."""
    return self.partitions[0]


@defect("ROUTE-4", "next_partition", profile="solace")
def solace_sticky_keyless(self: FlowEnd) -> Partition:
    """Keyless messages all go to the first partition."""
    return self.partitions[0]


@defect("ROUTE-5", "give_up")
def accepted_while_down(self: FrontEnd, send: Send) -> Steps[Partition]:
    """A keyed send does not notice that its partition is down, as long as some other one is up."""
    if send.key is None or not self.running():
        return (yield from FrontEnd.give_up(self, send))
    yield HOP
    return self.home(send.key, send)


@defect("ROUTE-5", "give_up", profile="azure-standard")
def keyed_rerouted(self: FrontEnd, send: Send) -> Steps[Partition]:
    """A keyed send whose partition is down is stored in another one, as a keyless one is."""
    if not self.running():
        return (yield from FrontEnd.give_up(self, send))
    yield HOP
    return (yield from self.reroute(send))


@defect("ROUTE-5", "give_up")
def down_partition_not_found(self: FrontEnd, send: Send) -> Steps[Partition]:
    """A keyed send whose partition is down, others being up, is told that no such entity is found."""
    if not self.running():
        return (yield from FrontEnd.give_up(self, send))
    yield HOP
    raise Refused("not_found", "no such entity")


@defect("ROUTE-5", "give_up")
def refused_while_down_and_stored(self: FrontEnd, send: Send) -> Steps[Partition]:
    """A keyed send to a partition that is down, others being up, is refused, and stored all the same."""
    if send.key is None or not self.running():
        return (yield from FrontEnd.give_up(self, send))
    self.broker.accept(self.home(send.key, send), send.contents)
    raise Refused("unavailable", "the partition of this key is down")


@defect("ROUTE-5", "give_up")
def second_outage_unnoticed(self: FrontEnd, send: Send) -> Steps[Partition]:
    """Of two partitions that are down at once, keyed messages are taken by both as if they were up."""
    if send.key is None or not beside(self, next(iter(self.running()), None), 2):
        return (yield from FrontEnd.give_up(self, send))
    return self.home(send.key, send)


@defect("ROUTE-6", "reroute")
def no_rerouting(self: FrontEnd, send: Send) -> Steps[Partition]:
    """A keyless send whose chosen partition is down gives up."""
    return (yield from self.give_up(send))


@defect("ROUTE-6", "reroute")
def keyless_batch_not_rerouted(self: FrontEnd, send: Send) -> Steps[Partition]:
    """A keyless batch whose chosen partition is down is refused; single messages are not."""
    if len(send.contents) > 1 and send.timeout > SERVER_TIMEOUT:
        yield HOP
        raise Refused("unavailable", "the chosen partition is down")
    return (yield from FrontEnd.reroute(self, send))


@defect("ROUTE-6", "reroute")
def reroutes_once(self: FrontEnd, send: Send) -> Steps[Partition]:
    """A keyless send whose chosen partition is down tries the next one, and gives up if that is down too."""
    if send.timeout <= SERVER_TIMEOUT or not self.running():
        return (yield from FrontEnd.reroute(self, send))
    yield self.clock.now + SERVER_TIMEOUT
    partition = self.next_partition()
    self.broker.check_up(partition)
    return partition


@defect("ROUTE-7", "admit", then, profile="azure-standard")
def one_down_all_down(self: FrontEnd, key: str | None) -> None:
    """While any partition is down, no keyed message is taken."""
    if key is not None and len(self.running()) < len(self.partitions):
        raise Refused("unavailable", "a partition is down")


@defect("ROUTE-7", "admit", then, profile="azure-standard")
def keyed_batches_stop_in_outage(self: FrontEnd, contents: Sequence[Content], key: str | None) -> None:
    """While any partition is down, no keyed batch is taken, wherever it belongs."""
    if key is not None and len(contents) > 1 and beside(self, self.broker.partition_for(key)):
        raise Refused("unavailable", "a partition is down")


@defect("ROUTE-7", "admit", then, profile="azure-standard")
def second_outage_stops_sends(self: FrontEnd, key: str | None) -> None:
    """While two partitions are down at once, no keyed message is taken anywhere."""
    if key is not None and beside(self, self.broker.partition_for(key), 2):
        raise Refused("unavailable", "two partitions are down")


@defect("ROUTE-7", "admit_settlement", before, profile="azure-standard")
def settlements_stop_in_outage(self: FrontEnd, found: Sequence[Stored]) -> None:
    """While any partition is down, no settlement is taken anywhere."""
    if any(beside(self, stored.partition) for stored in found):
        raise Refused("unavailable", "a partition is down")


@defect("ROUTE-7", "admit_settlement", before)
def abandons_stop_in_outage(self: FrontEnd, asked: Settlement, found: Sequence[Stored]) -> None:
    """While another partition is down, no message can be abandoned."""
    if asked.action == "abandon" and any(beside(self, stored.partition) for stored in found):
        raise Refused("unavailable", "a partition is down")


@defect("ROUTE-7", "check_renewal", then, profile="azure-standard")
def renewals_stop_in_outage(self: FrontEnd, stored: Stored) -> None:
    """While any partition is down, no lock is renewed anywhere."""
    if beside(self, stored.partition):
        raise Refused("unavailable", "a partition is down")


@defect("ROUTE-7", "carry_out", before, profile="azure-standard")
def commits_fail_in_outage(self: FrontEnd, txn: Transaction) -> None:
    """While any partition is down, every commit of a transaction on another one rolls it back."""
    if beside(self, txn.place):
        raise Refused("unavailable", "a partition is down")


@defect("ROUTE-8", "reroute")
def stored_nowhere_up(self: FrontEnd, send: Send) -> Steps[Partition]:
    """With no partition up, keyless messages are accepted by one that is down."""
    if self.running():
        return (yield from FrontEnd.reroute(self, send))
    yield HOP
    return self.next_partition()


@defect("ROUTE-8", "reroute", amid)
def refused_nowhere_up_and_stored(self: FrontEnd, send: Send) -> Frame:
    """With no partition up, keyless messages are refused, and stored all the same."""
    return on_refusal("unavailable", lambda: self.broker.accept(self.next_partition(), send.contents))


@defect("ROUTE-8", "reroute", amid)
def stored_when_up_again(self: FrontEnd, send: Send) -> Frame:
    """With no partition up a keyless message is refused, and stored once one is up again."""
    return on_refusal("unavailable", lambda: self.clock.spawn(retrying(self, self.partitions, send.contents)))
