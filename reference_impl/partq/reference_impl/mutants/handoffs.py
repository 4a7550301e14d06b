"""Defects in what happens while a partition changes hands, to its messages, too (REB)."""

from __future__ import annotations

from collections.abc import Sequence

from ..clock import HOP, Steps
from ..flowend import FlowEnd
from ..flows import PAUSED, UNBOUND, Assignments, Flow, Seat
from ..network import Connection
from .registry import defect


class _ToTheBack(Assignments):
    """Assignments that put what is given back behind all other messages of the partition, in some cases."""

    def sends_back(self, seat: Seat) -> bool:
        """Whether what this partition's flow had not settled goes to the back."""
        return True

    def give_back(self, seat: Seat) -> None:
        store = seat.partition.store
        for stored in seat.unacked.values() if self.sends_back(seat) else ():
            stored.order = store._orders
            store._orders += 1
        super().give_back(seat)


@defect("returned-to-the-back", "REB-3", profile="solace")
class _ReturnedToTheBack(_ToTheBack):
    """What a lost flow had not settled comes after younger messages."""

    def sends_back(self, seat: Seat) -> bool:
        return seat.state != PAUSED


@defect("handed-over-to-the-back", "REB-3", profile="solace")
class _HandedOverToTheBack(_ToTheBack):
    """What was not settled when the time of a handoff ended comes after younger messages."""

    def sends_back(self, seat: Seat) -> bool:
        return seat.state == PAUSED


@defect("paused-delivers-newcomers", "REB-13", profile="solace")
class _PausedDeliversNewcomers(FlowEnd):
    """A partition that is being handed off delivers to its old flow what was sent since."""

    def delivers(self, seat: Seat) -> bool:
        if seat.state != PAUSED or not seat.partition.has_free(self.clock.now):
            return super().delivers(seat)
        _, oldest = seat.partition._free[0]
        return oldest.enqueued_at > seat.handoff_ends - self.assignments.max_handoff


@defect("abandoned-while-paused-lost", "RCV-2", profile="solace")
class _AbandonedWhilePausedLost(FlowEnd):
    """A message given back while its partition is being handed off is deleted."""

    def settle(
        self, connection: Connection, action: str, tokens: Sequence[str], txn: str | None
    ) -> Steps[None]:
        paused = [seat for seat in self.assignments.seats if seat.state == PAUSED]
        lost = any(token in seat.unacked for seat in paused for token in tokens)
        yield from super().settle(connection, "complete" if lost else action, tokens, txn)


@defect("handoff-waits-out", "REB-14", profile="solace")
class _HandoffWaitsOut(Assignments):
    """A handoff takes all its time even if everything is settled."""

    def settled(self, seat: Seat) -> None:
        return


@defect("given-back-holds-handoff", "REB-14", profile="solace")
class _GivenBackHoldsHandoff(Assignments):
    """A handoff waits for its time to end if what was not settled was given back."""

    def settled(self, seat: Seat) -> None:
        if not any(stored.tries for _, stored in seat.partition._free):
            super().settled(seat)


@defect("takeover-loses-unacknowledged", "RCV-2", profile="solace")
class _TakeoverLosesUnacknowledged(Assignments):
    """What a lost flow had not acknowledged is lost if a standby takes over."""

    def leave(self, seat: Seat, heir: Flow | None) -> None:
        for stored in seat.unacked.values() if heir is not None else ():
            seat.partition.complete(stored)
        if heir is not None:
            seat.unacked.clear()
        super().leave(seat, heir)


@defect("handoff-said-unbound", "REB-13", profile="solace")
class _HandoffSaidUnbound(Assignments):
    """A partition that is being handed off is said to be unbound, though its flow is there."""

    def set_state(self, seat: Seat, state: str) -> None:
        if state != PAUSED or seat.flow is None:
            super().set_state(seat, state)
            return
        seat.state = state
        self.report(seat.partition.name, seat.flow.name, UNBOUND)


@defect("first-settlement-ends-handoff", "REB-14", profile="solace")
class _FirstSettlementEndsHandoff(Assignments):
    """A handoff ends when any one of the unacknowledged messages is settled."""

    def settled(self, seat: Seat) -> None:
        self.clock.spawn(self._end(seat))

    def _end(self, seat: Seat) -> Steps[None]:
        yield HOP
        if seat.state == PAUSED and seat.heir is not None:
            self.give_back(seat)
            self.give(seat, seat.heir)
            self.ring()


@defect("handoff-of-half-the-time", "REB-14", profile="solace")
class _HandoffOfHalfTheTime(Assignments):
    """A handoff that finds messages unacknowledged waits for half of its time."""

    def time_handoff(self, seat: Seat) -> None:
        whole, self.max_handoff = self.max_handoff, self.max_handoff // 2
        super().time_handoff(seat)
        self.max_handoff = whole
