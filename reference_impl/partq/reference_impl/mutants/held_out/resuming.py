"""Set aside: what flows find that come back before the delay for their loss ends (REB-8)."""

from __future__ import annotations

from ...flows import Assignments
from ...handoffs import Flow, Seat
from ..families import kept
from ..registry import defect


@defect("REB-8", profile="solace")
class HalfTheDelayCounts(Assignments):
    """A flow that comes back in the second half of the delay finds nothing of what it had."""

    _lost = kept(dict[str, int])

    def lose(self, flow: Flow) -> None:
        self._lost[flow.name] = self.clock.now
        Assignments.lose(self, flow)

    def waiting_for(self, name: str, proc: str) -> list[Seat]:
        early = self.clock.now - self._lost.get(name, 0) <= self.delay // 2
        return Assignments.waiting_for(self, name, proc) if early else []
