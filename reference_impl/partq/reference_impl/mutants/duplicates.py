"""Defects in duplicate detection (DUP), in taking the message ID for a key (KEY-4), and in assigning one
(KEY-6)."""

from __future__ import annotations

from collections.abc import Sequence

from ..clock import Steps
from ..duplicates import Memory
from ..errors import Refused
from ..faults import Faults
from ..frontend import FrontEnd
from ..library import Library
from ..partition import Partition
from ..rules import PartitionedRules
from ..store import Content, Letter, Stored
from .forms import answering, before, then
from .registry import defect


@defect("DUP-1", "is_known")
def duplicates_stored(self: Memory) -> bool:
    """A message is stored though its ID was sent within the window."""
    return False


@defect("DUP-1", "is_known", profile="azure-flat")
def forgets_what_is_gone(self: Memory, name: tuple[str, str | None], now: int) -> bool:
    """A message ID is remembered as long as its message is there."""
    assert isinstance(self.partition, Partition)
    there = any(self.name_of(stored.content) == name for stored in self.partition.store.live())
    return there and Memory.is_known(self, name, now)


@defect("RCV-2", "name_of", answering, profile="azure-flat")
def ids_fold_case(self: Memory, name: tuple[str, str | None]) -> tuple[str, str | None]:
    """Message IDs that differ in case only are taken to be equal: the later message is dropped."""
    return name[0].lower(), name[1]


@defect("DUP-1", "start", before)
def kill_forgets_ids(self: Faults) -> None:
    """Message IDs are forgotten when the broker is killed."""
    for partition in self.broker.partitions:
        if partition.memory is not None:
            partition.memory.stored_at.clear()


@defect("DUP-1", "fresh", before, profile="azure-standard")
def duplicate_refused(self: Memory, contents: Sequence[Content], now: int) -> None:
    """A duplicate is refused as an invalid operation."""
    if any(self.is_known(self.name_of(content), now) for content in contents):
        raise Refused("invalid_operation", "the message ID was sent before")


@defect("DUP-1", "rollback", profile="azure-standard")
def rollback_is_remembered(self: FrontEnd, name: str) -> Steps[None]:
    """What a transaction sent is remembered though it was rolled back."""
    txn = self.broker.transactions.get(name)
    partition = None if txn is None else txn.partition
    sent = [] if txn is None else txn.contents()
    yield from FrontEnd.rollback(self, name)
    if partition is not None:
        partition.fresh(sent, self.clock.now)


@defect("DUP-2", "is_known", profile="azure-standard")
def ids_remembered_for_ever(self: Memory, name: tuple[str, str | None]) -> bool:
    """A message ID is never new again."""
    return name in self.stored_at


@defect("DUP-2", "is_known", then, profile="azure-flat")
def duplicates_extend_the_window(self: Memory, name: tuple[str, str | None], now: int, known: bool) -> None:
    """The window runs from the last duplicate."""
    if known:
        self.remember(name, now)


@defect("KEY-4", "key_of", before)
def id_is_no_key(self: PartitionedRules) -> None:
    """With duplicate detection, too, a message without session ID and partition key has no key."""
    self.by_id = False


@defect("KEY-6", "assigned")
def id_left_out(self: Library) -> str:
    """A message that is sent without an ID gets none."""
    return ""


@defect("KEY-6", "assigned", profile="azure-standard")
def ids_too_short(self: Library) -> str:
    """The IDs that are assigned are three in all."""
    return f"{int(3 * self.clock.random())}"


@defect("KEY-6", "assigned")
def key_for_an_id(self: Library, letter: Letter) -> str:
    """A message that is sent without an ID gets its partition key for one."""
    return letter.partition_key or letter.session_id or Library.assigned(self, letter)


@defect("KEY-6", "shown", answering, profile="azure-standard")
def id_anew_with_each_delivery(self: Library, stored: Stored, shown: str | None) -> str | None:
    """A message that is delivered again bears another ID."""
    return shown and f"{shown}-{stored.tries}"
