"""A front end that can be made to leave messages out of its peeks. No mutant is here."""

from __future__ import annotations

from typing import Any

from ..frontend import FrontEnd
from ..network import Connection
from ..partition import Partition
from ..store import Stored


class Viewing(FrontEnd):
    """A peek shows of each partition's messages those that `views` says, as `viewed` says."""

    def views(self, stored: Stored) -> bool:
        """Whether the message is shown at all."""
        return True

    def viewed(self, stored: Stored, message: Any) -> Any:
        """What is shown of it."""
        return message

    def browse(
        self, connection: Connection, partition: Partition, most: int, number: int | None, shown: list[Any]
    ) -> None:
        before = len(shown)
        super().browse(connection, partition, most, number, shown)
        stored = {one.content.id: one for one in partition.store.live()}
        found = [(stored[message.id], message) for message in shown[before:]]
        shown[before:] = [self.viewed(one, message) for one, message in found if self.views(one)]
