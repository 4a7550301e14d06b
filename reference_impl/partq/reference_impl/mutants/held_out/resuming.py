"""Set aside: what flows find that come back before the delay for their loss ends (REB-8)."""

from __future__ import annotations

from ...flows import UNBOUND, Assignments, Seat
from ..forms import answering
from ..registry import defect


@defect("REB-8", "waiting_for", answering, profile="solace")
def first_back_takes_all(self: Assignments, seats: list[Seat]) -> list[Seat]:
    """The first flow that comes back has what waits for any."""
    return [seat for seat in self.seats if seat.state == UNBOUND and seat.heir is None] if seats else []
