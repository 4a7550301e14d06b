"""Breaking runs off from another thread. Who stops whom, and when, is the callers' business."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stopped(Exception):
    """A run was broken off before its end; there is no history of it."""


class Stop:
    """Asked once, it ends every run that was given it: those under way close what they hold."""

    def __init__(self) -> None:
        self._changes = threading.Lock()
        self._wakes: list[Callable[[], None]] = []
        self.asked = False

    def ask(self) -> None:
        """Break them off. Returns at once."""
        with self._changes:
            self.asked = True
            wakes = tuple(self._wakes)
        for wake in wakes:
            wake()

    @contextmanager
    def heard(self, wake: Callable[[], None]) -> Iterator[None]:
        """While this lasts ``wake`` is called, by the asking thread, when it is asked."""
        with self._changes:
            self._wakes.append(wake)
        try:
            yield
        finally:
            with self._changes:
                self._wakes.remove(wake)
