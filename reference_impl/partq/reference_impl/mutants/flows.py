"""Defects in what flows get, in what order, and in what happens while partitions change hands (REB)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..clock import HOP, Steps
from ..errors import Refused
from ..flowend import FlowEnd
from ..flows import Assignments
from ..handoffs import PAUSED, READY, UNBOUND, Flow, Seat
from ..partition import Partition
from ..store import Content, Stored
from .families import Revealing, Sharing, changed, kept, noted
from .forms import Frame, amid, before, then
from .registry import defect


def _first_waiting(end: FlowEnd) -> list[Seat]:
    """The first partition that has something to deliver."""
    return [seat for seat in end.assignments.seats if end.delivers(seat)][:1]


@defect("REB-2", "serves", profile="solace")
def newcomer_gets_load(self: Sharing, flow: Flow, shown: Sequence[Any]) -> Sequence[Seat]:
    """A flow that has no partition yet, and receives and deletes, is given messages of another's."""
    return () if shown or flow.standby or self.seats_of(flow) else _first_waiting(self)


@defect("REB-5", "serves", profile="solace")
def standby_gets_load(self: Sharing, flow: Flow, shown: Sequence[Any]) -> Sequence[Seat]:
    """A standby that receives and deletes is given messages of an active flow's partition."""
    return _first_waiting(self) if flow.standby and not shown else ()


@defect("REB-2", profile="solace")
class FormerOwnerGetsLoad(Sharing):
    """A flow that receives and deletes, and finds nothing, gets messages of a partition that it has lost."""

    _had = kept(dict[Flow, list[Seat]])

    def serves(self, flow: Flow, shown: Sequence[Any]) -> Sequence[Seat]:
        had, mine = self._had.setdefault(flow, []), self.seats_of(flow)
        lost = [seat for seat in had if seat not in mine]
        had += [seat for seat in mine if seat not in had]
        return () if shown else lost


@defect("REB-2", "seats_of", profile="solace")
def flows_of_one_client_share(self: FlowEnd, flow: Flow) -> list[Seat]:
    """A client gets through each of its flows what belongs to all of them."""
    return [seat for seat in self.assignments.seats if seat.flow is not None and seat.flow.proc == flow.proc]


@defect("RCV-7", "hand_over", then, profile="solace")
def deleted_comes_back(self: FlowEnd, seat: Seat, stored: Stored, delete: bool) -> None:
    """Every third message of a partition comes back once after it was received and deleted."""
    if delete and stored.order % 3 == 2 and stored.tries < 2:
        stored.gone = False
        seat.partition.store._holes -= 1
        stored.tries += 1
        seat.partition.release(stored)


@defect("REB-3", "heads", profile="solace")
def plain_messages_overtake(self: Partition, most: int) -> list[Stored]:
    """Messages without user properties are delivered before the others of their partition."""
    return self.take(sorted(self.waiting(), key=lambda stored: bool(stored.content.properties))[:most])


def _to_the_back(seat: Seat) -> None:
    """Put what the partition's flow has not settled behind all other messages."""
    store = seat.partition.store
    for stored in seat.unacked.values():
        stored.order = store._orders
        store._orders += 1


@defect("REB-3", "give_back", before, profile="solace")
def returned_to_the_back(self: Assignments, seat: Seat) -> None:
    """What a lost flow had not settled comes after younger messages."""
    if seat.state != PAUSED:
        _to_the_back(seat)


@defect("REB-3", "give_back", before, profile="solace")
def handed_over_to_the_back(self: Assignments, seat: Seat) -> None:
    """What was not settled when the time of a handoff ended comes after younger messages."""
    if seat.state == PAUSED:
        _to_the_back(seat)


@defect("REB-13", "delivers", profile="solace")
def paused_still_delivers(self: FlowEnd, seat: Seat) -> bool:
    """A partition that is being handed off goes on delivering to its old flow."""
    return seat.state in (READY, PAUSED) and seat.partition.has_free(self.clock.now)


@defect("REB-13", "delivers", profile="solace")
def paused_delivers_newcomers(self: FlowEnd, seat: Seat) -> bool:
    """A partition that is being handed off delivers to its old flow what was sent since."""
    if seat.state != PAUSED or not seat.partition.has_free(self.clock.now):
        return FlowEnd.delivers(self, seat)
    return seat.partition.waiting()[0].enqueued_at > seat.handoff_ends - self.assignments.max_handoff


@defect("REB-13", "set_state", then, profile="solace")
def unbound_said_ready(self: Assignments, seat: Seat, state: str) -> None:
    """A partition whose flow is gone is said to be ready."""
    if state == UNBOUND and seat.flow is not None:
        self.tell(seat.partition.name, seat.flow.name, READY)


@defect("REB-13", "set_state", profile="solace")
def handoff_said_unbound(self: Assignments, seat: Seat, state: str) -> None:
    """A partition that is being handed off is said to be unbound, though its flow is there."""
    Assignments.set_state(self, seat, UNBOUND if state == PAUSED else state)
    seat.state = state


@defect("REB-15", "admit_bind", profile="solace")
def partition_chosen(self: FlowEnd) -> None:
    """A consumer that asks for a partition is bound all the same."""


@defect("REB-15", "reveals", profile="solace")
def partition_shown(self: Revealing) -> bool:
    """Every message says which partition it comes from."""
    return True


@defect("REB-15", "reveals", profile="solace")
def redelivery_shows_its_partition(self: Revealing, message: Any) -> bool:
    """A message that is delivered again says which partition it comes from."""
    return bool(message.redelivered)


@defect("REB-14", "start_handoff", profile="solace")
def handoff_at_once(self: Assignments, seat: Seat, flow: Flow) -> None:
    """A handoff happens though the old flow has unacknowledged messages."""
    self.set_state(seat, PAUSED)
    seat.heir = flow
    self.give_back(seat)
    self.give(seat, flow)


@defect("REB-14", "start_handoff", profile="solace")
def handoff_without_end(self: Assignments, seat: Seat, flow: Flow) -> None:
    """A handoff waits for the old flow's settlements for ever."""
    seat.heir, seat.handoff_ends = flow, -1
    self.set_state(seat, PAUSED)


@defect("REB-14", "start_handoff", amid, profile="solace")
def handoff_overdue(self: Assignments) -> Frame:
    """A handoff may take twice as long as it is allowed to."""
    return changed(self, max_handoff=2 * self.max_handoff)


@defect("REB-14", "time_handoff", amid, profile="solace")
def handoff_of_half_the_time(self: Assignments) -> Frame:
    """A handoff that finds messages unacknowledged waits for half of its time."""
    return changed(self, max_handoff=self.max_handoff // 2)


@defect("REB-14", "settled", profile="solace")
def handoff_waits_out(self: Assignments) -> None:
    """A handoff takes all its time even if everything is settled."""


@defect("REB-14", "settled", profile="solace")
def given_back_holds_handoff(self: Assignments, seat: Seat) -> None:
    """A handoff waits for its time to end if what was not settled was given back."""
    if not any(stored.tries for stored in seat.partition.waiting()):
        Assignments.settled(self, seat)


@defect("REB-14", "settled", profile="solace")
def first_settlement_ends_handoff(self: Assignments, seat: Seat) -> None:
    """A handoff ends when any one of the unacknowledged messages is settled."""

    def end() -> Steps[None]:
        yield HOP
        if seat.state == PAUSED and seat.heir is not None:
            self.end_handoff(seat)

    self.clock.spawn(end())


@defect("REB-18", "admit", before, profile="solace")
def one_key_in_a_partition(self: FlowEnd, contents: Sequence[Content]) -> None:
    """While a partition has messages of one key, it takes none of another: they are refused as invalid."""
    key_of = self.broker.rules.key_of
    for key in map(key_of, contents):
        found = self.broker.partition_for(key).store.live() if key is not None else ()
        if not {key, None}.issuperset(key_of(stored.content) for stored in found):
            raise Refused("invalid_operation", "the partition is another key's")


@defect("REB-18", "admit", before, profile="solace")
def as_many_keys_as_partitions(self: FlowEnd, contents: Sequence[Content]) -> None:
    """A queue knows as many keys as it has partitions: messages of any other are refused as invalid."""
    known = noted(self)
    for key in filter(None, map(self.broker.rules.key_of, contents)):
        if key not in known and len(known) == len(self.partitions):
            raise Refused("invalid_operation", "every partition has a key")
        known[key] += 1


@defect("RCV-2", "acknowledge", profile="solace")
def abandoned_while_paused_lost(self: FlowEnd, action: str, seat: Seat, token: str) -> None:
    """A message given back while its partition is being handed off is deleted."""
    FlowEnd.acknowledge(self, "complete" if seat.state == PAUSED else action, seat, token)


@defect("RCV-2", "leave", before, profile="solace")
def takeover_loses_unacknowledged(self: Assignments, seat: Seat, heir: Flow | None) -> None:
    """What a lost flow had not acknowledged is lost if a standby takes over."""
    for token in list(seat.unacked) if heir is not None else ():
        seat.partition.complete(seat.unacked.pop(token))
