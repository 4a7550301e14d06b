"""A flow end that can be made to say which partitions messages come from. No mutant is here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..flowend import FlowEnd
from ..flows import Flow


class Revealing(FlowEnd):
    """A message that is received says which partition it comes from, if `reveals` says so."""

    def reveals(self, message: Any, answer: Sequence[Any]) -> bool:
        """Whether this message of the answer does."""
        return False

    def collect(self, flow: Flow, most: int, delete: bool) -> list[Any]:
        homes = {
            stored.content.id: seat.partition.name
            for seat in self.assignments.seats
            for stored in seat.partition.store.live()
        }
        answer = super().collect(flow, most, delete)
        return [m._replace(partition=homes[m.id]) if self.reveals(m, answer) else m for m in answer]
