"""Defects in what is received, how often, and in what order (RCV), set aside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...clock import Steps
from ...faults import Faults
from ...flowend import FlowEnd
from ...flows import Assignments, Flow, Seat
from ...frontend import FrontEnd
from ...network import Connection
from ...partition import Partition
from ...store import Content, Stored
from ..garbling import garbled
from ..losing import lose
from ..registry import held_out


@held_out("redelivered-body-cut", "RCV-1", profile="azure-flat")
class _RedeliveredBodyCut(FrontEnd):
    """A message that is delivered again has lost the last character of its body."""

    def deliver(self, partition: Partition, most: int, delete: bool) -> list[Any]:
        shown = super().deliver(partition, most, delete)
        return [m._replace(body=m.body[:-1]) if m.delivery_count else m for m in shown]


@held_out("partition-key-shown-as-session", "RCV-1", profile="azure-standard")
class _PartitionKeyShownAsSession(FrontEnd):
    """A message with nothing but a partition key is delivered with a session ID, too."""

    def deliver(self, partition: Partition, most: int, delete: bool) -> list[Any]:
        shown = super().deliver(partition, most, delete)
        return [m if m.session_id else m._replace(session_id=m.partition_key) for m in shown]


@held_out("batch-shares-its-body", "RCV-1", profile="solace")
class _BatchSharesItsBody(FlowEnd):
    """All messages of a batch have the body of the first one."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        yield from super().send([garbled(one, body=contents[0].body) for one in contents], txn, timeout)


@held_out("locked-lost-in-outage", "RCV-2", profile="azure-standard")
class _LockedLostInOutage(Faults):
    """A partition that goes down loses what is locked in it."""

    def partition_down(self, index: int) -> Steps[int]:
        name = yield from super().partition_down(index)
        partition = next(one for one in self.broker.partitions if one.name == name)
        for stored in [one for one in partition.store.live() if one.lock is not None]:
            lose(stored)
        return name


@held_out("deletes-one-more-than-shown", "RCV-2", profile="azure-flat")
class _DeletesOneMore(FrontEnd):
    """A receive that deletes several messages deletes the next one, too."""

    def deliver(self, partition: Partition, most: int, delete: bool) -> list[Any]:
        shown = super().deliver(partition, most, delete)
        for stored in partition.heads(1) if delete and len(shown) > 1 else ():
            partition.complete(stored)
        return shown


@held_out("takeover-loses-unacknowledged", "RCV-2", profile="solace")
class _TakeoverLosesUnacknowledged(Assignments):
    """What a lost flow had not acknowledged is lost if a standby takes over."""

    def leave(self, seat: Seat, heir: Flow | None) -> None:
        for stored in seat.unacked.values() if heir is not None else ():
            seat.partition.complete(stored)
        if heir is not None:
            seat.unacked.clear()
        super().leave(seat, heir)


@held_out("second-oldest-first", "RCV-3", profile="azure-standard")
class _SecondOldestFirst(Partition):
    """Of three free messages or more the second oldest is delivered first."""

    def heads(self, most: int) -> list[Stored]:
        if len(self._free) < 3:
            return super().heads(most)
        first, *found = super().heads(most + 1)
        self.release(first)
        return found


@held_out("sessions-first", "RCV-3", profile="azure-flat")
class _SessionsFirst(Partition):
    """Messages with a session ID are delivered before the others."""

    def heads(self, most: int) -> list[Stored]:
        free = super().heads(len(self._free))
        free.sort(key=lambda stored: stored.content.session_id is None)
        for stored in free[most:]:
            self.release(stored)
        return free[:most]


@held_out("batch-completion-keeps-its-last", "RCV-7")
class _BatchCompletionKeepsItsLast(FrontEnd):
    """A completion of several messages only ends the lock of the last one. (Transactions do it right.)"""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._last: set[str | None] = set()

    def settle(
        self, connection: Connection, action: str, tokens: Sequence[str], txn: str | None
    ) -> Steps[None]:
        self._last.difference_update(tokens)
        if len(tokens) > 1:
            self._last.add(tokens[-1])
        yield from super().settle(connection, action, tokens, txn)

    def apply(self, action: str, stored: Stored) -> None:
        if action == "complete" and stored.lock in self._last:
            stored.partition.release(stored)
            self.broker.ring()
        else:
            super().apply(action, stored)


@held_out("second-acknowledgement-forgotten", "RCV-7", profile="solace")
class _SecondAcknowledgementForgotten(Partition):
    """Acknowledging a message that was handed out for the second time only ends its lock."""

    def complete(self, stored: Stored) -> None:
        if stored.lock is not None and stored.tries == 2:
            self.release(stored)
        else:
            super().complete(stored)


@held_out("one-more-of-the-next-partition", "RCV-12", profile="azure-standard")
class _OneMoreOfTheNext(FrontEnd):
    """An answer that is full gets one more locked message from each further partition that answers."""

    def keep_answer(self, partition: Partition, most: int, delete: bool, shown: list[Any]) -> None:
        if delete or len(shown) < most:
            super().keep_answer(partition, most, delete, shown)
        else:
            shown.extend(self.deliver(partition, 1, delete))
