"""Set aside: the dead-letter queue (RCV-9)."""

from __future__ import annotations

from ...deadletters import DeadLetters
from ...partition import SPENT, Partition
from ...store import Stored
from ..families import kept
from ..registry import defect


@defect("RCV-9", "take_in")
def every_reason_is_the_brokers(self: DeadLetters, moved: Stored) -> None:
    """Every dead letter shows the reason of one that was delivered too often."""
    DeadLetters.take_in(self, moved, SPENT)


@defect("RCV-9", "is_spent", profile="azure-flat")
def dead_lettered_two_deliveries_late(self: Partition, stored: Stored) -> bool:
    """A message is dead-lettered when two deliveries more have failed than the maximum."""
    return self.most_tries is not None and stored.count >= self.most_tries + 2


@defect("RCV-2", "lapse", profile="azure-standard")
def dead_letter_lost_on_expiry(self: DeadLetters, stored: Stored) -> None:
    """A dead letter whose lock runs out is gone."""
    self.complete(stored)


@defect("RCV-7")
class CompletedDeadLettersComeBack(DeadLetters):
    """A dead letter that was completed is delivered again after a kill, or a fault of its partition."""

    completed = kept(list[Stored])

    def complete(self, stored: Stored) -> None:
        super().complete(stored)
        self.completed.append(stored)

    def recover(self, counted: bool = False) -> None:
        super().recover(counted)
        for stored in self.completed:
            self.take_in(stored, stored.reason)
        self.completed.clear()
