"""Defects in what an answer holds, and in what order (RCV)."""

from __future__ import annotations

from typing import Any

from ..frontend import FrontEnd
from ..partition import Partition
from ..store import Stored
from .registry import defect


@defect("deletes-one-more-than-shown", "RCV-2", profile="azure-flat")
class _DeletesOneMore(FrontEnd):
    """A receive that deletes several messages deletes the next one, too."""

    def deliver(self, partition: Partition, most: int, delete: bool) -> list[Any]:
        shown = super().deliver(partition, most, delete)
        for stored in partition.heads(1) if delete and len(shown) > 1 else ():
            partition.complete(stored)
        return shown


@defect("second-oldest-first", "RCV-3", profile="azure-standard")
class _SecondOldestFirst(Partition):
    """Of three free messages or more the second oldest is delivered first."""

    def heads(self, most: int) -> list[Stored]:
        if len(self._free) < 3:
            return super().heads(most)
        first, *found = super().heads(most + 1)
        self.release(first)
        return found


@defect("sessions-first", "RCV-3", profile="azure-flat")
class _SessionsFirst(Partition):
    """Messages with a session ID are delivered before the others."""

    def heads(self, most: int) -> list[Stored]:
        free = super().heads(len(self._free))
        free.sort(key=lambda stored: stored.content.session_id is None)
        for stored in free[most:]:
            self.release(stored)
        return free[:most]


@defect("one-more-of-the-next-partition", "RCV-12", profile="azure-standard")
class _OneMoreOfTheNext(FrontEnd):
    """An answer that is full gets one more locked message from each further partition that answers."""

    def keep_answer(self, partition: Partition, most: int, delete: bool, shown: list[Any]) -> None:
        if delete or len(shown) < most:
            super().keep_answer(partition, most, delete, shown)
        else:
            shown.extend(self.deliver(partition, 1, delete))
