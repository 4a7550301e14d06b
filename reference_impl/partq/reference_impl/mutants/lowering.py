"""A store that can number a message below all others. No mutant is here."""

from __future__ import annotations

from ..store import Content, Holder, Store, Stored


class Lowering(Store):
    """Numbers those messages below the lowest number that `lowers` says, unless the counter is about to roll
    over. ``MARGIN``: so many numbers are left free below the first one."""

    MARGIN = 1000

    def __init__(self, bits: int, start: int, name: int) -> None:
        super().__init__(bits, start + self.MARGIN if start < self.MARGIN else start, name)
        self._lowest = self._counter

    def lowers(self, content: Content, now: int) -> bool:
        """Whether the message, accepted now, is numbered below all others."""
        return False

    def append(self, content: Content, now: int, partition: Holder) -> Stored:
        lowers = self.lowers(content, now)
        if not lowers or not self._orders or self._lowest >> (self._bits - 1):
            return super().append(content, now, partition)
        self._lowest -= 1
        highest, self._counter = self._counter, self._lowest
        stored = super().append(content, now, partition)
        self._counter = highest
        return stored
