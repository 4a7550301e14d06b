"""Set aside: management (MGT, ENT)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...frontend import FrontEnd
from ...management import AVAILABLE, Accounts
from ...partition import Partition
from ...store import Content, Stored
from ..registry import defect


@defect("MGT-1", "counted", profile="azure-standard")
def every_other_partition_counted(self: Accounts) -> list[Partition]:
    """Of two partitions one is counted."""
    return self.broker.partitions[::2]


@defect("MGT-1", "is_active")
def long_bodies_not_counted(self: Accounts, stored: Stored) -> bool:
    """A message whose body is longer than twelve characters is not counted as active."""
    return len(stored.content.body) <= 12 and Accounts.is_active(self, stored)


@defect("MGT-1", "scheduled", profile="azure-standard")
def scheduled_counted_as_one(self: Accounts) -> int:
    """Several scheduled messages are counted as one."""
    return min(1, Accounts.scheduled(self))


@defect("MGT-2", "status", profile="azure-standard")
def limited_only_while_empty(self: Accounts) -> str:
    """An entity with active messages reads Available, whatever is down."""
    return AVAILABLE if self.active() else Accounts.status(self)


@defect("ENT-2", "partition_count", profile="azure-standard")
def one_partition_more_while_down(self: Accounts) -> int:
    """While a partition is down its replacement is counted, too."""
    return len(self.broker.partitions) + len(self.unhealthy())


@defect("ENT-3", "partition_count")
def partitions_in_use(self: Accounts) -> int:
    """The number of partitions that is shown is that of those that store messages, at least one."""
    return max(1, sum(any(True for _ in one.store.live()) for one in self.broker.partitions))


@defect("ENT-7", "check_size")
def keyed_messages_not_measured(self: FrontEnd, contents: Sequence[Content]) -> None:
    """Only messages without a key are too large for a queue."""
    FrontEnd.check_size(self, [one for one in contents if one.partition_key is None])


@defect("ENT-7", "most_bytes")
def limit_twice_as_high(self: FrontEnd) -> int:
    """The limit is twice as high as it is said to be."""
    return 2 * FrontEnd.most_bytes(self)


@defect("ENT-1", "change")
def settings_checked_until_the_first_message(self: FrontEnd, settings: Mapping[str, Any]) -> None:
    """Once the queue stores messages an update is answered ok, whatever it says."""
    if not any(True for partition in self.partitions for _ in partition.store.live()):
        FrontEnd.change(self, settings)
