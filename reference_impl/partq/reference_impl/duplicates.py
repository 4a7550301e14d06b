"""Duplicate detection: a message ID is stored once within a window, and dropped when it comes again.

A partition remembers the IDs of what it stored, with their keys, for that long after the enqueued time,
whatever became of the messages: that is stored, and survives its faults.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .clock import Clock
from .freedoms import Freedoms, taken
from .store import Content, Holder, Stored, id_of

KeyOf = Callable[[Content], str | None]


class Memory:
    """The message IDs that one partition remembers. ``window``: for how long, ns. Without partitions
    (``key_of`` None) keys mean nothing."""

    def __init__(
        self, partition: Holder, window: int, clock: Clock, free: Freedoms, key_of: KeyOf | None
    ) -> None:
        self.partition = partition
        self.window = window
        self.clock = clock
        self.free = free
        self.key_of = key_of
        self.stored_at: dict[tuple[str, str | None], int] = {}

    def fresh(self, contents: Sequence[Content], now: int) -> list[Content]:
        """The messages that are to be stored now: the others are duplicates, and dropped."""
        new = []
        for content in contents:
            if self.takes(content, now):
                new.append(content)
            else:
                self.drop()
        return new

    def duplicates(self, hidden: Sequence[Stored], now: int) -> list[Stored]:
        """The duplicates among messages that have their numbers already and are to be stored now."""
        return [stored for stored in hidden if not self.takes(stored.content, now)]

    def takes(self, content: Content, now: int) -> bool:
        """Whether a message is new; a new one is remembered."""
        name = self.name_of(content)
        if self.is_known(name, now):
            return False
        self.remember(name, now)
        return True

    def name_of(self, content: Content) -> tuple[str, str | None]:
        """What a message is remembered by: its ID, with its key if there are partitions."""
        return id_of(content), None if self.key_of is None else self.key_of(content)

    def is_known(self, name: tuple[str, str | None], now: int) -> bool:
        """Whether a message of that name was stored within the window (DUP-1, DUP-2)."""
        return name in self.stored_at and now - self.stored_at[name] <= self.window

    def remember(self, name: tuple[str, str | None], now: int) -> None:
        """Remember a message that is stored now."""
        self.stored_at[name] = now

    def drop(self) -> None:
        """A duplicate without a number is dropped; it may use up one."""
        if taken(self.free.number_duplicates, self.clock.random):
            self.partition.burn(1)

    def activate(self, content: Content, now: int) -> None:
        """A scheduled message was activated: its window runs from then on, or from its send."""
        if taken(self.free.remember_activation, self.clock.random):
            self.remember(self.name_of(content), now)
