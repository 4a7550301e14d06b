"""Errors outside the recorded history (threads, connections, cleanup), reported when the run ends."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Problems:
    """``say`` is called with each error of an adapter, in words and once. What ``say`` raises,
    or a defect of ours, waits here for the thread that called the run; ``turn`` is notified of it."""

    def __init__(self, turn: threading.Condition, say: Callable[[str], None]) -> None:
        self.turn = turn
        self.say = say
        self.said: set[str] = set()
        self.raised: list[BaseException] = []

    def report(self, problem: str) -> None:
        """Say it, unless it was said. Raises nothing."""
        if problem not in self.said:
            self.said.add(problem)
            try:
                self.say(problem)
            except BaseException as error:
                self.failed(error)

    def failed(self, error: BaseException) -> None:
        """Keep it for the caller."""
        with self.turn:
            self.raised.append(error)
            self.turn.notify_all()

    def check(self) -> None:
        """Raises the first that was raised."""
        if self.raised:
            raise self.raised[0]
