"""A client's walk: where the cursor of its cursorless peeks stands in each partition.

A cursor stands after the greatest number that these peeks returned. A fault may put it back to the start;
a peek of unknown outcome may move it on at any time. Nothing here judges.
"""

from __future__ import annotations

from partq.conformance.facts.index import Facts
from partq.conformance.facts.locks import Intervals
from partq.conformance.facts.records import returned, span
from partq.conformance.history import Record

_UPSETS = frozenset({"frontend_lost", "broker_kill", "connection_lost"})


class Cursor:
    """One client's cursor in one partition: ``place`` is the greatest it returned. ``reset``: it may be back
    at the start."""

    __slots__ = ("place", "reset")

    def __init__(self, place: int) -> None:
        self.place = place
        self.reset = False


class Walk:
    """One client's cursorless ``peeks``. ``shown``: by partition, the messages returned since its cursor
    was last at the start. ``vague``: a peek of unknown outcome may have moved any cursor on, or may do so
    yet."""

    __slots__ = ("cursors", "last", "peeks", "shown", "vague")

    def __init__(self) -> None:
        self.cursors: dict[int, Cursor] = {}
        self.peeks: list[Record] = []
        self.shown: dict[int, set[str]] = {}
        self.vague = False
        self.last = -1

    @property
    def fresh(self) -> bool:
        """Whether no peek of it has returned anything, as far as is known."""
        return not self.cursors and not self.vague

    def begin(self, peek: Record, upsets: Intervals) -> None:
        """Take in what happened to the client since its last peek."""
        end = returned(peek)
        if self.last >= 0 and upsets and upsets.touching(self.last, end):
            for cursor in self.cursors.values():
                cursor.reset = True
        self.last = peek.call
        self.peeks.append(peek)

    def lose(self) -> None:
        """A peek with an unknown outcome, or a message without a number."""
        self.vague = True

    def move(self, partition: int, place: int) -> None:
        """An answer that went as far as this place."""
        known = self.cursors.get(partition)
        if known is not None and not known.reset:
            place = max(place, known.place)
        self.cursors[partition] = Cursor(place)


class Resets:
    """What may have put a client's cursors back to the start."""

    def __init__(self, facts: Facts) -> None:
        self._all = [span(r) for r in facts.disruptions if r.op in _UPSETS] + [
            (interval.start, interval.end) for interval in facts.dead
        ]
        self._own: dict[str, list[tuple[int, int]]] = {}
        for record in facts.flows:
            if record.op == "disconnect":
                self._own.setdefault(record.proc, []).append(span(record))
        self._known: dict[str, Intervals] = {}

    def of(self, proc: str) -> Intervals:
        """The times at which this client's cursors may have been reset."""
        known = self._known.get(proc)
        if known is None:
            known = self._known[proc] = Intervals(self._all + self._own.get(proc, []))
        return known
