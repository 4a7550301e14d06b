"""Set aside: duplicate detection (DUP), and the message ID as a key (KEY-4)."""

from __future__ import annotations

from collections.abc import Sequence

from ...duplicates import Memory
from ...errors import Refused
from ...frontend import FrontEnd
from ...library import Library
from ...store import Content, Stored
from ..forms import answering, before
from ..registry import defect


@defect("DUP-1", "name_of")
def copies_counted_across_keys(self: Memory, content: Content) -> tuple[str, str | None]:
    """A message is dropped if its ID was sent under another key of the partition."""
    return content.id, None


@defect("DUP-1", "takes", profile="azure-flat")
def scheduled_never_a_duplicate(self: Memory, content: Content, now: int) -> bool:
    """A message that is scheduled is stored whatever was sent before."""
    return content.scheduled_at is not None or Memory.takes(self, content, now)


@defect("DUP-1", "fresh", profile="azure-flat")
def twice_in_one_batch(self: Memory, contents: Sequence[Content], now: int) -> list[Content]:
    """Two messages of one ID are both stored if one batch brings them."""
    new = [one for one in contents if not self.is_known(self.name_of(one), now)]
    Memory.fresh(self, contents, now)
    return new


@defect("DUP-2", "is_known", profile="azure-standard")
def window_is_doubled(self: Memory, name: tuple[str, str | None], now: int) -> bool:
    """A message ID is remembered for twice the window."""
    return name in self.stored_at and now - self.stored_at[name] <= 2 * self.window


@defect("KEY-4", "admit", before)
def id_no_key_in_transactions(self: FrontEnd, contents: Sequence[Content], txn: str | None) -> None:
    """A send in a transaction needs a partition key besides its message ID."""
    plain = any(one.session_id is None and one.partition_key is None for one in contents)
    if txn is not None and plain and self.broker.rules.by_id:
        raise Refused("invalid_operation", "a send in a transaction needs a partition key")


@defect("KEY-6", "assigned")
def second_for_an_id(self: Library) -> str:
    """The ID that is assigned is the second in which the message is sent."""
    return str(self.clock.now // 1_000_000_000)


@defect("KEY-6", "shown", answering)
def locked_without_an_id(self: Library, stored: Stored, shown: str | None) -> str | None:
    """A message that was sent without an ID shows none while it is locked."""
    return "" if shown is not None and stored.lock is not None else shown
