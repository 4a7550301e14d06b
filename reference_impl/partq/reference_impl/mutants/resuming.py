"""Defects in what flows find that come back before the delay for their loss ends (REB-8)."""

from __future__ import annotations

from ..flows import Assignments
from ..handoffs import Flow, Seat
from .forms import answering
from .registry import defect


@defect("REB-8", "waiting_for", profile="solace")
def mapping_ignored(self: Assignments) -> list[Seat]:
    """What a flow that comes back had before is not looked at."""
    return []


@defect("REB-8", "waiting_for", answering, profile="solace")
def all_but_one_come_back(self: Assignments, seats: list[Seat]) -> list[Seat]:
    """Of several partitions that waited for a flow one goes on waiting when it comes back."""
    return seats[: max(1, len(seats) - 1)]


@defect("REB-8", profile="solace")
class RebalancedAllTheSame(Assignments):
    """Though the flow is back for which the delay ran, partitions are dealt out anew when it ends."""

    anew = False

    def call_off(self) -> None:
        self.anew = True

    def deal(self) -> dict[Seat, Flow]:
        found, flows = Assignments.deal(self), self.active()
        if not self.anew or len(flows) < 2:
            return found
        self.anew = False
        dealt = {seat: flows[-1 - n % len(flows)] for n, seat in enumerate(self.seats)}
        return {seat: flow for seat, flow in dealt.items() if seat.future is not flow}
