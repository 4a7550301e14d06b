"""Assignments that know how a flow was lost. No mutant is here."""

from __future__ import annotations

from ..flows import Assignments, Flow


class Parting(Assignments):
    """A standby takes over from a lost flow at once if `replaces` says so, else when the delay ends."""

    _parting = False

    def replaces(self, disconnected: bool) -> bool:
        """Whether it does. ``disconnected``: the flow's client has; otherwise the flow was unbound."""
        return True

    def part(self, proc: str) -> None:
        self._parting = True
        super().part(proc)
        self._parting = False

    def standby(self) -> Flow | None:
        return super().standby() if self.replaces(self._parting) else None
