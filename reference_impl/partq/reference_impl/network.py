"""Connections: operations in flight, and what their client learns when a fault cuts them off.

A `Connection` is one client's; it runs one operation at a time. Cutting it makes the operation in flight
end as unsure wherever it was: what it had done is done, what it had not will not be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .clock import HOP, Clock, Steps, Task
from .errors import Refused, Unsure

Answer = tuple[str, str | None, Sequence[Any]]
"""What a client learns: ``ok``, ``error`` (it did not happen) or ``unknown``; the error's kind; messages."""


@dataclass(eq=False, repr=False, slots=True)
class Connection:
    """One client's way to the broker. ``end``: which front end serves it. ``cursors``: its places in peeking,
    by partition name; ``dead_cursors``: those in the dead-letter queue.
    ``broken``: why the next operation fails, if it does. ``fails``: asked at each
    operation whether the network fails; what that does to the client's flows is its own affair. ``locks``:
    those that the client was given. ``others``: of a topic, the same to each subscription."""

    proc: str
    clock: Clock
    end: int
    cursors: dict[int, int] = field(default_factory=dict)
    dead_cursors: dict[int, int] = field(default_factory=dict)
    locks: list[str] = field(default_factory=list)
    others: dict[str, Connection] = field(default_factory=dict)
    task: Task | None = None
    broken: str | None = None
    fails: Callable[[Connection], bool] = lambda connection: False

    def call(self, operation: Steps[Sequence[Any] | None]) -> Steps[Answer]:
        """Run an operation of the broker to its end, or until a fault cuts it off."""
        if self.broken is not None:
            kind, self.broken = self.broken, None
            yield HOP
            return "error", kind, ()
        if self.fails(self):
            yield HOP
            return "error", "connection_lost", ()
        self.task = self.clock.current
        try:
            return "ok", None, (yield from operation) or ()
        except Unsure as unsure:
            return "unknown", unsure.kind, ()
        except Refused as refused:
            return "error", refused.kind, ()
        finally:
            self.task = None

    def cut(self, keep_cursors: bool = False) -> None:
        """Lose the connection: the operation in flight is unsure, the memory of this session mostly gone."""
        if not keep_cursors:
            self.cursors.clear()
            self.dead_cursors.clear()
        if self.task is not None:
            self.clock.interrupt(self.task, Unsure("connection_lost", "cut off in flight"))
