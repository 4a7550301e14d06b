"""A transaction: what was asked for in it, and doing all of it, or nothing, on its one partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .errors import Refused
from .store import Content, Holder, Stored


@dataclass(eq=False, repr=False, slots=True)
class Transaction:
    """One open transaction. ``partition``: where it sends to, from its first send on; ``settles_in``: where
    it settles, mostly the same one. ``sends`` get their numbers at the commit, what is ``hidden`` has them
    already: what is sent while it ``numbers_early``. ``cancels``: scheduled messages. ``begun``,
    ``used``: when it was opened, and last used, ns."""

    name: str
    numbers_early: bool = False
    used: int = 0
    begun: int = 0
    key: str | None = None
    partition: Holder | None = None
    settles_in: Holder | None = None
    sends: list[Content] = field(default_factory=list)
    hidden: list[Stored] = field(default_factory=list)
    settlements: list[tuple[str, Stored, str]] = field(default_factory=list)
    cancels: list[Stored] = field(default_factory=list)

    def contents(self) -> list[Content]:
        """The messages sent in it."""
        return [*(stored.content for stored in self.hidden), *self.sends]

    def schedules(self) -> bool:
        """Whether it sends a scheduled message, which can be cancelled from the commit on."""
        return any(content.scheduled_at is not None for content in self.contents())

    @property
    def place(self) -> Holder | None:
        """The partition that coordinates it."""
        return self.partition or self.settles_in

    def partitions(self) -> list[Holder]:
        """The partitions it sends to or settles in."""
        return [one for one in (self.partition, self.settles_in) if one is not None]

    def takes(self, action: str, stored: Stored) -> bool:
        """Whether it may settle the message so: no transaction does, or this one does so already."""
        return stored.enlisted is None or any(one[:2] == (action, stored) for one in self.settlements)

    def enlist(self, action: str, stored: Stored, token: str, reason: str | None = None) -> None:
        """Keep a settlement for the commit, once; the lock stays until then."""
        if stored.enlisted is not None:
            return
        self.settles_in = stored.partition.main
        stored.enlisted = self.name
        stored.given_reason = reason
        self.settlements.append((action, stored, token))

    def reserve(self, contents: Sequence[Content], now: int) -> None:
        """Number messages, and keep them hidden."""
        if self.partition is not None:
            self.hidden += self.partition.reserve(contents, now)

    def number(self, now: int) -> None:
        """Number the messages sent so far, and later ones as they are sent."""
        sends, self.sends = self.sends, []
        self.reserve(sends, now)
        self.numbers_early = True

    def cancel(self, stored: Stored) -> None:
        """Keep a cancel for the commit. The message may be activated before."""
        self.settles_in = stored.partition
        if stored not in self.cancels:
            self.cancels.append(stored)

    def drop_completed(self) -> None:
        """Drop the completions of messages that are completed already."""
        done = [one for one in self.settlements if one[0] == "complete" and one[1].gone]
        self.settlements = [one for one in self.settlements if one not in done]

    def commit(self, now: int, lags: bool = False) -> None:
        """Do all of it at once. Raises `Refused` where a lock has ended, or what it cancels is not scheduled
        any more; nothing is done then. Where it ``lags``, what was sent is stored, and hidden until
        `reveal`."""
        for _, stored, token in self.settlements:
            if not stored.partition.holds(stored, token, now):
                raise Refused("lock_lost", "a lock of the transaction has ended")
        if not all(stored.is_scheduled() for stored in self.cancels):
            raise Refused("not_found", "what the transaction cancels is not scheduled any more")
        for stored in self.cancels:
            stored.partition.complete(stored)
        for action, stored, _ in self.settlements:
            stored.enlisted = None
            stored.partition.settle(action, stored)
        self.drop_duplicates(now)
        if lags:
            self.reserve(self.sends, now)
            return
        self.reveal()
        if self.partition is not None and self.sends:
            self.partition.accept(self.sends, now)

    def drop_duplicates(self, now: int) -> None:
        """Drop messages that have become duplicates."""
        if self.partition is None:
            return
        dropped = self.partition.duplicates(self.hidden, now)
        if dropped:
            self.partition.withdraw(dropped)
            self.hidden = [stored for stored in self.hidden if stored not in dropped]
        self.sends = [*self.partition.fresh(self.sends, now)]
        if not self.sends:
            self.partition.lead(())  # the times of what is not stored

    def reveal(self) -> None:
        """Accept the hidden messages."""
        if self.partition is not None and self.hidden:
            self.partition.reveal(self.hidden)
            self.hidden.clear()

    def rollback(self) -> None:
        """Forget all of it; its locks can be used again."""
        if self.partition is not None and self.hidden:
            self.partition.withdraw(self.hidden)
            self.hidden.clear()
        for _, stored, token in self.settlements:
            if stored.lock == token:
                stored.enlisted = None
        self.settlements.clear()
        self.cancels.clear()
        self.sends.clear()
