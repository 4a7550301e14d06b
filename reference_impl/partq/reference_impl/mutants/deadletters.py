"""Defects in the dead-letter queue (RCV-9): what moves there, when, with which reason, whether it stays."""

from __future__ import annotations

from ..deadletters import DeadLetters
from ..expiry import EXPIRED
from ..frontend import FrontEnd
from ..partition import SPENT, Partition
from ..store import Stored
from ..transactions import Transaction
from .forms import answering, before
from .registry import defect


@defect("RCV-2", "take_in")
def dead_letter_lost(self: DeadLetters) -> None:
    """What moves to the dead-letter queue is gone."""
    return


@defect("RCV-9", "take_in", profile="azure-flat")
def failures_called_expiry(self: DeadLetters, moved: Stored, reason: str | None) -> None:
    """A dead letter that was delivered too often shows that its time to live had ended."""
    DeadLetters.take_in(self, moved, EXPIRED if reason == SPENT else reason)


@defect("RCV-9", "dead_letter")
def dead_letter_stays_too(self: Partition, stored: Stored, reason: str | None) -> None:
    """A message that is dead-lettered stays in the queue, too, and is delivered in both."""
    there = () if self.dead_letters is None else self.dead_letters.store.live()
    if self.dead_letters is not None and all(one.content is not stored.content for one in there):
        self.dead_letters.take_in(stored, reason)
    self.release(stored)


@defect("RCV-9", "is_spent", profile="azure-standard")
def dead_lettered_one_delivery_early(self: Partition, stored: Stored) -> bool:
    """A message is dead-lettered when one delivery less has failed than the maximum."""
    return self.most_tries is not None and stored.count >= self.most_tries - 1


@defect("RCV-2", "recover", before)
def kill_loses_dead_letters(self: DeadLetters) -> None:
    """The dead-letter queue is empty after a kill of the broker."""
    for stored in list(self.store.live()):
        self.store.delete(stored)


@defect("RCV-6", profile="azure-flat")
class DeadLettersNotLocked(DeadLetters):
    """A dead letter that is locked is delivered to others, too."""

    def lock(self, stored: Stored, token: str, until: int) -> None:
        self.release(stored)
        super().lock(stored, token, until)

    def release(self, stored: Stored) -> None:
        self.take([stored])
        super().release(stored)

    def complete(self, stored: Stored) -> None:
        self.take([stored])
        super().complete(stored)


@defect("TXN-5", "opened", answering, profile="azure-standard")
def dead_letters_before_commit(self: FrontEnd, action: str, opened: Transaction | None) -> Transaction | None:
    """A message that a transaction dead-letters moves at once, and no rollback brings it back."""
    return None if action == "dead_letter" else opened


@defect("RCV-9", "settle")
def holder_cannot_dead_letter(self: Partition, action: str, stored: Stored) -> None:
    """A message that its holder dead-letters is given back instead."""
    if action == "dead_letter":
        self.release(stored)
    else:
        Partition.settle(self, action, stored)
