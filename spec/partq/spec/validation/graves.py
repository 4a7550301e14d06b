"""Dead letters: the number that each has in the dead-letter queue, and why it is there (RCV-9, SEQ-1).

The reason is one for all times it is shown. It tells who moved the message there: its holder, or the broker
after too many deliveries, or when its time to live ended. It tells nothing where a holder gave one that is
not recorded, or the broker's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from .recording import NotFollowed, Recording, Shown

EXCEEDED: Final = "MaxDeliveryCountExceeded"
"""The reason of a message that was delivered too often."""

EXPIRED: Final = "TTLExpiredException"
"""The reason of one whose time to live ended."""

ANY: Final = "-"

_APART: Final = 2**27
"""How far numbers of dead letters may be apart, at the most."""


class Grave(NamedTuple):
    """``number``: there, -1 if it is not known. ``why``: ``limit``, ``holder``, ``time``, or `ANY`."""

    number: int = -1
    why: str = ANY


class Graves:
    """The dead letters of a recording, by message. ``sent``: the messages' numbers, by ID. ``relative``: a
    number, seen from another one. ``origin``: of each partition the first number that is shown among the
    dead."""

    def __init__(
        self, recording: Recording, sent: Mapping[str, int], relative: Callable[[int, int], int]
    ) -> None:
        self._relative = relative
        self._graves: dict[int, Grave] = {}
        self._owner: dict[tuple[int, int], int] = {}
        self._reasons: dict[int, str] = {}
        self._given: dict[int, set[str | None]] = {}
        self._walked = any(one.dead and one.op == "peek" for one in recording.operations)
        self._mortal = {
            sent[id]
            for one in recording.operations
            for s in one.sent
            if s.mortal
            for id in (s.later or s.id,)
        }
        self.origin: dict[int, int] = {}
        locks = {s.lock: sent.get(s.id, 0) for one in recording.operations for s in one.shown if s.lock}
        for one in recording.operations:
            for token in one.locks if one.op == "dead_letter" and not one.refused else ():
                self._given.setdefault(locks.get(token, 0), set()).add(one.reason)

    def __getitem__(self, m: int) -> Grave:
        return self._graves.get(m, Grave())

    def take(self, m: int, part: int, shown: Shown) -> bool:
        """Note that the message is shown among the dead; whether it can be. Raises `NotFollowed`."""
        known, why = self[m], self._why(m, shown.reason)
        if self._walked and (not part or shown.number is None):
            raise NotFollowed("a dead letter that is shown without its place")
        number = known.number
        if shown.number is not None:
            number = self._relative(shown.number, self.origin.setdefault(part, shown.number))
            if not 0 <= number < _APART:
                raise NotFollowed("numbers of dead letters that are far apart")
            if known.number not in (-1, number) or self._owner.setdefault((part, number), m) != m:
                return False
        if why is None:
            return False
        self._graves[m] = Grave(number, known.why if why == ANY else why)
        return True

    def _why(self, m: int, reason: str | None) -> str | None:
        """Why it is dead, by the reason that is shown; None: that is no reason it may have."""
        given = self._given.get(m, set())
        if reason is None:
            return ANY
        if self._reasons.setdefault(m, reason) != reason:
            return None
        own = {EXCEEDED: "limit", EXPIRED: "time" if m in self._mortal else None}
        if None in given or (reason in own and reason in given):
            return ANY
        return "holder" if reason in given else own.get(reason)
