"""Assignments that can be made to leave a partition with its former flow as well. No mutant is here."""

from __future__ import annotations

from ..flows import READY, Assignments, Flow, Seat


class Keeping(Assignments):
    """A partition that is given to another flow is not taken from the one that has it, if `keeps` says so."""

    def keeps(self, seat: Seat) -> bool:
        """Whether its former flow keeps it, too."""
        return False

    def give(self, seat: Seat, flow: Flow) -> None:
        if not self.keeps(seat):
            super().give(seat, flow)
            return
        seat.flow, seat.heir = flow, None
        self.set_state(seat, READY)
