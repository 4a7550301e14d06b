"""How often a live broker shows a finding, and how many clean tries make it improbable that it was missed."""

from __future__ import annotations

from math import ceil, log
from typing import Final, NamedTuple

MISS: Final = 0.01
"""The probability of a miss that is improbable enough."""


class Recurrence(NamedTuple):
    """It showed ``times`` in so many ``tries``."""

    times: int
    tries: int

    @property
    def rate(self) -> float:
        """How often it shows, cautiously: as if one more try had not shown it, for a few say little."""
        return self.times / (self.tries + 1)

    def miss(self, tries: int) -> float:
        """How probable it is that so many tries do not show it."""
        return (1 - self.rate) ** tries

    @property
    def needed(self) -> int:
        """After how many clean tries a miss is as improbable as `MISS`."""
        return ceil(log(MISS) / log(1 - self.rate))


ASSUMED: Final = Recurrence(1, 1)
"""Where nobody counted: every other time."""
