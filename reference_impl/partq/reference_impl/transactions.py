"""A transaction: what was asked for in it, and doing all of it, or nothing, on its one partition."""

from __future__ import annotations

from .errors import Refused
from .partition import Partition
from .store import Content, Stored


class Transaction:
    """One open transaction. ``partition`` coordinates it, from its first operation on."""

    __slots__ = ("key", "name", "partition", "sends", "settlements")

    def __init__(self, name: str) -> None:
        self.name = name
        self.key: str | None = None
        self.partition: Partition | None = None
        self.sends: list[Content] = []
        self.settlements: list[tuple[str, Stored, str]] = []

    def pin(self, partition: Partition) -> None:
        """Coordinate it there, unless it is coordinated already."""
        if self.partition is None:
            self.partition = partition

    def enlist(self, action: str, stored: Stored, token: str) -> None:
        """Keep a settlement for the end; the lock stays until then."""
        stored.enlisted = self.name
        self.settlements.append((action, stored, token))

    def commit(self, now: int) -> None:
        """Do all of it at once. Raises `Refused` where a lock has ended; nothing is done then."""
        for _, stored, token in self.settlements:
            if not stored.partition.holds(stored, token, now):
                self.rollback()
                raise Refused("lock_lost", "a lock of the transaction has ended")
        for action, stored, _ in self.settlements:
            stored.enlisted = None
            if action == "complete":
                stored.partition.complete(stored)
            else:
                stored.partition.abandon(stored)
        if self.partition is not None and self.sends:
            self.partition.accept(self.sends, now)

    def rollback(self) -> None:
        """Forget all of it; its locks can be used again."""
        for _, stored, token in self.settlements:
            if stored.lock == token:
                stored.enlisted = None
        self.settlements.clear()
        self.sends.clear()
