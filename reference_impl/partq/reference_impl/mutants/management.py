"""Defects in management (MGT, ENT): what a get says of counts, availability and partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import Refused
from ..frontend import FrontEnd
from ..management import AVAILABLE, LIMITED, Accounts, Counts, Overview
from ..partition import Partition
from ..store import Content, Stored
from .registry import defect


@defect("MGT-1", "counted")
def first_partition_counted(self: Accounts) -> list[Partition]:
    """The counts are those of the first partition alone."""
    return self.broker.partitions[:1]


@defect("MGT-1", "counted", profile="azure-standard")
def last_partition_left_out(self: Accounts) -> list[Partition]:
    """The last partition is not counted."""
    return self.broker.partitions[:-1]


@defect("MGT-1", "active", profile="azure-standard")
def fullest_partition_stands_for_all(self: Accounts) -> int:
    """The active count is that of the fullest partition, times their number."""
    counts = [sum(map(self.is_active, partition.store.live())) for partition in self.broker.partitions]
    return max(counts) * len(counts)


@defect("MGT-1", "is_active")
def scheduled_counted_as_active(self: Accounts, stored: Stored) -> bool:
    """A message that waits for its time is counted as active, too."""
    return True


@defect("MGT-1", "dead_lettered", profile="azure-standard")
def dead_letters_not_counted(self: Accounts) -> int:
    """The count of dead letters always reads zero."""
    return 0


@defect("MGT-1", "scheduled")
def scheduled_one_too_few(self: Accounts) -> int:
    """Once a message was scheduled that count is one too low, and negative in the end."""
    return Accounts.scheduled(self) - self.broker.timetable.any


@defect("MGT-1", "look")
def counts_of_the_first_look(self: Accounts) -> Counts:
    """Counts are made at the first get, and told anew ever after."""
    if self.last is None:
        self.last = self.broker.clock.now, self.counts()
    return self.last[1]


@defect("MGT-2", "status")
def always_available(self: Accounts) -> str:
    """The availability status never changes."""
    return AVAILABLE


@defect("MGT-2", "status", profile="azure-standard")
def limited_by_the_first_partition_alone(self: Accounts) -> str:
    """The status tells of the first partition only."""
    return AVAILABLE if self.broker.partitions[0].up else LIMITED


@defect("MGT-2", "status")
def limited_from_two_outages_on(self: Accounts) -> str:
    """The status reads Limited when a second partition is down."""
    return LIMITED if len(self.unhealthy()) > 1 else AVAILABLE


@defect("ENT-2", "partition_count", profile="azure-standard")
def partitions_up_are_shown(self: Accounts) -> int:
    """The number of partitions that is shown leaves out those that are down."""
    return len(self.broker.partitions) - len(self.unhealthy())


@defect("ENT-3", "partition_count")
def sixteen_on_premium(self: Accounts) -> int:
    """An entity of a Premium namespace shows sixteen partitions."""
    return 16


@defect("ROUTE-7", "overview")
def no_get_amid_an_outage(self: Accounts) -> Overview:
    """While a partition is down a get fails."""
    if self.unhealthy():
        raise self.broker.outage("a partition is down")
    return Accounts.overview(self)


@defect("KEY-9", "overview", profile="azure-standard")
def empty_entity_not_found(self: Accounts) -> Overview:
    """A get of an entity without messages does not find it."""
    if not any(self.counts()):
        raise Refused("not_found", "the entity is empty")
    return Accounts.overview(self)


@defect("ENT-7", "check_size")
def no_size_limit(self: FrontEnd, contents: Sequence[Content]) -> None:
    """A message of any size is stored."""


@defect("ENT-7", "check_size")
def each_message_by_itself(self: FrontEnd, contents: Sequence[Content]) -> None:
    """The limit is that of each message, and a batch may be larger."""
    for content in contents:
        FrontEnd.check_size(self, [content])


@defect("ENT-7", "size_of")
def characters_by_the_thousand(self: FrontEnd, content: Content, headers: bool) -> int:
    """A body is taken for smaller than it is: of each thousand bytes a fifth is not counted."""
    return FrontEnd.size_of(self, content, headers) - len(content.body) // 1_000 * 200


@defect("KEY-9", "size")
def batches_count_twice(self: FrontEnd, contents: Sequence[Content], headers: bool) -> int:
    """Each message of a batch is counted once more."""
    size = FrontEnd.size(self, contents, headers)
    return size if len(contents) == 1 else 2 * size


@defect("ENT-1", "change")
def updates_accepted(self: FrontEnd, settings: Mapping[str, Any]) -> None:
    """Any update is answered ok, and nothing changes."""


@defect("ENT-1", "change", profile="azure-standard")
def partitioning_switched_off(self: FrontEnd, settings: Mapping[str, Any]) -> None:
    """A queue that is said to be no longer partitioned says yes."""
    FrontEnd.change(self, {name: value for name, value in settings.items() if value is not False})


@defect("ENT-1", "settings")
def fewer_partitions_accepted(self: FrontEnd) -> Mapping[str, Any]:
    """The number of partitions may be changed, as may any setting, but not whether there are any."""
    return {"partitioned": True}
