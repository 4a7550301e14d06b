"""Connections: what is on its way when something breaks, and who hears of it.

A `Connection` is one client's; it runs one operation at a time. Cutting it makes the operation in flight
end as unsure wherever it was: what it had done is done, what it had not will not be.
"""

from __future__ import annotations

from .clock import Clock, Steps, T, Task
from .errors import Unsure


class Connection:
    """One client's way to the broker. ``cursors`` are its places in peeking, by partition name."""

    __slots__ = ("clock", "cursors", "end", "proc", "task")

    def __init__(self, proc: str, clock: Clock, end: int = 0) -> None:
        self.proc = proc
        self.clock = clock
        self.end = end
        self.cursors: dict[int, int] = {}
        self.task: Task | None = None

    def call(self, operation: Steps[T]) -> Steps[T]:
        """Run an operation of the broker so that a fault can cut it off. Raises what the operation raises,
        and `Unsure` when cut."""
        self.task = self.clock.current
        try:
            return (yield from operation)
        finally:
            self.task = None

    def cut(self) -> None:
        """Lose the connection: the operation in flight is unsure, the memory of this session is gone."""
        self.cursors.clear()
        if self.task is not None:
            self.clock.interrupt(self.task, Unsure("connection_lost", "cut off in flight"))
