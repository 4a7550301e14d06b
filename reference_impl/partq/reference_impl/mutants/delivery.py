"""Defects in what is delivered, how often, and in what order (RCV)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..clock import Steps
from ..faults import Faults
from ..frontend import FrontEnd
from ..network import Connection
from ..partition import Partition
from ..store import Content, Holder, Store, Stored
from .garbling import garbled
from .registry import defect


@defect("long-bodies-cut", "RCV-1")
class _LongBodiesCut(Store):
    """Bodies are stored up to 64 characters."""

    def append(self, content: Content, now: int, partition: Holder) -> Stored:
        return super().append(garbled(content, body=content.body[:64]), now, partition)


@defect("copies-nobody-sent", "RCV-1")
class _CopiesNobodySent(Partition):
    """Every fifth request is stored once more, under IDs that nobody sent."""

    def accept(self, contents: Sequence[Content], now: int) -> None:
        super().accept(contents, now)
        if self.store._orders % 5 == 4:
            super().accept([garbled(content, id=content.id + "-copy") for content in contents], now)


@defect("solace-properties-lost", "RCV-1", profile="solace")
class _PropertiesLost(Store):
    """Every third message loses what properties it had but one."""

    def append(self, content: Content, now: int, partition: Holder) -> Stored:
        if self._orders % 3 == 2:
            content = garbled(content, properties=(("other", "lost"),))
        return super().append(content, now, partition)


@defect("lost-on-second-abandon", "RCV-2", profile="azure-flat")
class _LostOnSecondAbandon(Partition):
    """A message that is abandoned a second time is gone."""

    def abandon(self, stored: Stored) -> None:
        if stored.count >= 1:
            self.complete(stored)
        else:
            super().abandon(stored)


@defect("lost-on-expiry", "RCV-2", profile="azure-flat")
class _LostOnExpiry(Partition):
    """A message whose lock runs out is gone."""

    def expire(self, now: int) -> None:
        for until, _, stored, token in list(self._leases):
            if until <= now and stored.lock == token and stored.until == until:
                self.complete(stored)
        super().expire(now)


@defect("newest-lost-on-kill", "RCV-2")
class _NewestLostOnKill(Faults):
    """A kill takes with it the newest message of each partition: it was not on disk yet."""

    def drop_locks(self, partition: Partition) -> None:
        newest = list(partition.store.live())[-1:]
        for stored in newest:
            partition.complete(stored)
        super().drop_locks(partition)


@defect("cache-lost-with-front-end", "RCV-2")
class _CacheLost(Faults):
    """What a front end had fetched is lost with it."""

    def frontend_lost(self, proc: str) -> Steps[None]:
        for connection in self.broker.connections:
            if connection.proc == proc:
                for token, stored in self.broker.front_ends[connection.end].cache:
                    if stored.lock == token:
                        stored.partition.complete(stored)
        yield from super().frontend_lost(proc)


@defect("newest-first", "RCV-3")
class NewestFirst(Partition):
    """A partition delivers its newest message first."""

    def heads(self, most: int) -> list[Stored]:
        self._free.sort(reverse=True)
        found = [stored for _, stored in self._free[:most]]
        del self._free[:most]
        self._free.sort()
        return found


@defect("flat-newest-first", "RCV-3", profile="azure-flat")
class _FlatNewestFirst(NewestFirst):
    """The queue delivers its newest message first."""


@defect("delivered-after-completion", "RCV-7")
class _DeliveredAfterCompletion(FrontEnd):
    """Completing every third message of a partition only ends its lock. (Transactions do it right.)"""

    def apply(self, action: str, stored: Stored) -> None:
        if action == "complete" and stored.order % 3 == 2:
            stored.partition.release(stored)
            self.broker.ring()
        else:
            super().apply(action, stored)


@defect("solace-delivered-after-ack", "RCV-7", profile="solace")
class _SolaceDeliveredAfterAck(Partition):
    """The acknowledgement of every third message of a partition only ends its lock."""

    def complete(self, stored: Stored) -> None:
        if stored.lock is not None and stored.order % 3 == 2:
            self.release(stored)
        else:
            super().complete(stored)


@defect("kill-undoes-completions", "RCV-7")
class _KillUndoesCompletions(Faults):
    """A kill brings back the message of each partition that was deleted last."""

    def drop_locks(self, partition: Partition) -> None:
        deleted = [stored for stored in partition.store._log if stored.gone][-1:]
        super().drop_locks(partition)
        for stored in deleted:
            stored.gone = False
            partition.store._holes -= 1
            partition.release(stored)


@defect("max-for-each-partition", "RCV-12")
class _MaxForEachPartition(FrontEnd):
    """The most that a client asked for is locked for it in each partition."""

    def keep_answer(self, partition: Partition, most: int, delete: bool, shown: list[Any]) -> None:
        if delete:
            super().keep_answer(partition, most, delete, shown)
        else:
            shown.extend(self.deliver(partition, most, delete))


@defect("message-twice-in-answer", "RCV-12")
class _TwiceInAnswer(FrontEnd):
    """An answer with room left says its first message twice."""

    def deliver(self, partition: Partition, most: int, delete: bool) -> list[Any]:
        shown = super().deliver(partition, most, delete)
        return [*shown, shown[0]] if delete and len(shown) < most and shown else shown


@defect("batch-completion-keeps-its-last", "RCV-7")
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


@defect("second-acknowledgement-forgotten", "RCV-7", profile="solace")
class _SecondAcknowledgementForgotten(Partition):
    """Acknowledging a message that was handed out for the second time only ends its lock."""

    def complete(self, stored: Stored) -> None:
        if stored.lock is not None and stored.tries == 2:
            self.release(stored)
        else:
            super().complete(stored)
