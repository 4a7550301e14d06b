"""Defects in what is delivered, whether, how often, and in what order (RCV-1, 2, 3, 7 and 12)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..clock import Steps
from ..faults import Faults
from ..flowend import FlowEnd
from ..frontend import FrontEnd
from ..partition import Partition
from ..sending import Send
from ..settling import Settlement
from ..store import Content, Holder, Store, Stored
from .families import Renewals, Undoing, beside, complete, garbled, lose
from .forms import answering, before, then
from .registry import defect


@defect("RCV-1", "append")
def long_bodies_cut(self: Store, content: Content, now: int, partition: Holder) -> Stored:
    """Bodies are stored up to 64 characters."""
    return Store.append(self, garbled(content, body=content.body[:64]), now, partition)


@defect("RCV-1", "accept", then)
def copies_nobody_sent(self: Partition, contents: Sequence[Content], now: int) -> None:
    """Every fifth request is stored once more, under IDs that nobody sent."""
    if self.store._orders % 5 == 4:
        Partition.accept(self, [garbled(content, id=content.id + "-copy") for content in contents], now)


@defect("RCV-1", "append", profile="solace")
def solace_properties_lost(self: Store, content: Content, now: int, partition: Holder) -> Stored:
    """Every third message loses what properties it had but one."""
    kept = (("other", "lost"),) if self._orders % 3 == 2 else content.properties
    return Store.append(self, garbled(content, properties=kept), now, partition)


@defect("RCV-1", "accept", profile="azure-flat")
def batch_shares_properties(self: Partition, contents: Sequence[Content], now: int) -> None:
    """All messages of a batch have the user properties of its first one."""
    shared = contents[0].properties
    Partition.accept(self, [garbled(content, properties=shared) for content in contents], now)


@defect("RCV-1", "append", profile="azure-standard")
def keyed_properties_lost(self: Store, content: Content, now: int, partition: Holder) -> Stored:
    """A message with a session ID or partition key loses its user properties."""
    keyed = content.session_id is not None or content.partition_key is not None
    return Store.append(self, garbled(content, properties=()) if keyed else content, now, partition)


@defect("RCV-1", "append", profile="solace")
def empty_properties_dropped(self: Store, content: Content, now: int, partition: Holder) -> Stored:
    """User properties whose value is empty are left out."""
    kept = tuple((name, value) for name, value in content.properties if value)
    return Store.append(self, garbled(content, properties=kept), now, partition)


@defect("RCV-1", "append")
def partition_key_case_lost(self: Store, content: Content, now: int, partition: Holder) -> Stored:
    """Partition keys are stored in lower case."""
    key = content.partition_key
    return Store.append(self, garbled(content, partition_key=key and key.lower()), now, partition)


@defect("RCV-1", "view", answering)
def large_bodies_peeked_cut(self: FrontEnd, message: Any) -> Any:
    """A peek shows of a body no more than an answer may hold."""
    return message._replace(body=message.body[: self.broker.config.peek_bytes])


@defect("RCV-1", "hand_out", answering, profile="azure-flat")
def redelivered_body_cut(self: FrontEnd, message: Any) -> Any:
    """A message that is delivered again has lost the last character of its body."""
    return message._replace(body=message.body[:-1]) if message.delivery_count else message


@defect("RCV-1", "hand_out", answering, profile="azure-standard")
def partition_key_shown_as_session(self: FrontEnd, message: Any) -> Any:
    """A message with nothing but a partition key is delivered with a session ID, too."""
    return message if message.session_id else message._replace(session_id=message.partition_key)


@defect("RCV-1", "store", profile="solace")
def batch_shares_its_body(self: FlowEnd, send: Send) -> Steps[None]:
    """All messages of a batch have the body of the first one."""
    shared = send.contents[0].body
    return FlowEnd.store(self, send._replace(contents=[garbled(one, body=shared) for one in send.contents]))


@defect("RCV-2", "abandon", profile="azure-flat")
def lost_on_second_abandon(self: Partition, stored: Stored) -> None:
    """A message that is abandoned a second time is gone."""
    (Partition.complete if stored.count >= 1 else Partition.abandon)(self, stored)


@defect("RCV-2", "lapse", profile="azure-flat")
def lost_on_expiry(self: Partition, stored: Stored) -> None:
    """A message whose lock runs out is gone."""
    self.complete(stored)


@defect("RCV-2", "drop_locks", before)
def newest_lost_on_kill(self: Faults, partition: Partition) -> None:
    """A kill takes with it the newest message of each partition: it was not on disk yet."""
    complete(list(partition.store.live())[-1:])


@defect("RCV-2", "drop_locks", profile="azure-flat")
def kill_orphans_locked(self: Faults, partition: Partition) -> None:
    """What was locked at a kill is never delivered again, though it can be peeked."""
    now = self.broker.clock.now
    orphans = [stored for stored in partition.store.live() if stored.lock and stored.until > now]
    Faults.drop_locks(self, partition)
    partition.take(orphans)


@defect("RCV-2", "frontend_lost", before)
def cache_lost_with_front_end(self: Faults, proc: str) -> None:
    """What a front end had fetched is lost with it."""
    ends = [self.broker.front_ends[one.end] for one in self.broker.connections if one.proc == proc]
    complete([stored for end in ends for token, stored in end.cache if stored.lock == token])


@defect("RCV-2", "deliver", then, profile="azure-flat")
def deletes_one_more_than_shown(self: FrontEnd, partition: Partition, delete: bool, shown: list[Any]) -> None:
    """A receive that deletes several messages deletes the next one, too."""
    complete(partition.heads(1) if delete and len(shown) > 1 else ())


@defect("RCV-2", "delete")
def compaction_loses_the_newest(self: Store, stored: Stored) -> None:
    """When the log is rid of what was deleted, its newest message goes, too."""
    before = len(self._log)
    Store.delete(self, stored)
    if len(self._log) < before and self._log:
        lose(self._log[-1])


@defect("RCV-2", "bring_up", then, profile="azure-standard")
def lost_coming_back_first(self: Faults, partition: Partition) -> None:
    """A partition that comes back while another one is down has lost its newest message."""
    if not all(other.up for other in self.broker.partitions):
        for stored in list(partition.store.live())[-1:]:
            lose(stored)


@defect("RCV-2", "take_down", then, profile="azure-standard")
def locked_lost_in_outage(self: Faults, partition: Partition) -> None:
    """A partition that goes down loses what is locked in it."""
    for stored in [one for one in partition.store.live() if one.lock is not None]:
        lose(stored)


@defect("RCV-3", "heads")
@defect("RCV-3", "heads", name="flat-newest-first", profile="azure-flat")
@defect("REB-3", "heads", name="solace-newest-first", profile="solace")
def newest_first(self: Partition, most: int) -> list[Stored]:
    """A partition delivers its newest message first."""
    return self.take(self.waiting()[::-1][:most])


@defect("RCV-3", "heads", profile="azure-flat")
def crowded_newest_first(self: Partition, most: int) -> list[Stored]:
    """A queue with more than twenty messages waiting delivers the newest first."""
    waiting = self.waiting()
    return self.take((waiting if len(waiting) <= 20 else waiting[::-1])[:most])


@defect("RCV-3", "heads", profile="azure-standard")
def second_oldest_first(self: Partition, most: int) -> list[Stored]:
    """Of three free messages or more the second oldest is delivered first."""
    waiting = self.waiting()
    return self.take((waiting if len(waiting) < 3 else waiting[1:])[:most])


@defect("RCV-3", "heads", profile="azure-flat")
def sessions_first(self: Partition, most: int) -> list[Stored]:
    """Messages with a session ID are delivered before the others."""
    return self.take(sorted(self.waiting(), key=lambda one: one.content.session_id is None)[:most])


@defect("RCV-3", "recover", then)
@defect("REB-3", "recover", then, name="kill-reverses-partitions", profile="solace")
def kill_reverses_order(self: Partition) -> None:
    """What is stored at a kill is delivered newest first afterwards."""
    self._free = sorted((-order, stored) for order, stored in self._free)


@defect("RCV-7", "undoes")
def delivered_after_completion(self: Undoing, stored: Stored) -> bool:
    """Completing every third message of a partition only ends its lock. (Transactions do it right.)"""
    return stored.order % 3 == 2


@defect("RCV-7", "undoes")
def batch_completion_keeps_its_last(self: Undoing, asked: Settlement, stored: Stored) -> bool:
    """A completion of several messages only ends the lock of the last one. (Transactions do it right.)"""
    return len(asked.tokens) > 1 and stored.lock == asked.tokens[-1]


@defect("RCV-7", "undoes")
def completion_undone_in_outage(self: Undoing, stored: Stored) -> bool:
    """While another partition is down, completing a message only ends its lock."""
    return beside(self, stored.partition)


@defect("RCV-7", "apply", profile="azure-flat")
def renewed_comes_back(self: Renewals, asked: Settlement, stored: Stored) -> None:
    """Completing a message whose lock was renewed only ends its lock. (Transactions do it right.)"""
    if asked.action == "complete" and stored.lock in self.renewed:
        stored.partition.release(stored)
        self.broker.ring()
    else:
        Renewals.apply(self, asked, stored)


@defect("RCV-7", "complete", profile="solace")
def solace_delivered_after_ack(self: Partition, stored: Stored) -> None:
    """The acknowledgement of every third message of a partition only ends its lock."""
    comes_back = stored.lock is not None and stored.order % 3 == 2
    (Partition.release if comes_back else Partition.complete)(self, stored)


@defect("RCV-7", "complete", profile="solace")
def second_acknowledgement_forgotten(self: Partition, stored: Stored) -> None:
    """Acknowledging a message that was handed out for the second time only ends its lock."""
    comes_back = stored.lock is not None and stored.tries == 2
    (Partition.release if comes_back else Partition.complete)(self, stored)


@defect("RCV-7", "drop_locks")
def kill_undoes_completions(self: Faults, partition: Partition) -> None:
    """A kill brings back the message of each partition that was deleted last."""
    deleted = [stored for stored in partition.store._log if stored.gone][-1:]
    Faults.drop_locks(self, partition)
    for stored in deleted:
        stored.gone = False
        partition.store._holes -= 1
        partition.release(stored)


@defect("RCV-12", "keep_answer")
def max_for_each_partition(
    self: FrontEnd, partition: Partition, most: int, delete: bool, shown: list[Any]
) -> None:
    """The most that a client asked for is locked for it in each partition."""
    if delete:
        FrontEnd.keep_answer(self, partition, most, delete, shown)
    else:
        shown.extend(self.deliver(partition, most, delete))


@defect("RCV-12", "keep_answer", profile="azure-standard")
def one_more_of_the_next_partition(
    self: FrontEnd, partition: Partition, most: int, delete: bool, shown: list[Any]
) -> None:
    """An answer that is full gets one more locked message from each further partition that answers."""
    if delete or len(shown) < most:
        FrontEnd.keep_answer(self, partition, most, delete, shown)
    else:
        shown.extend(self.deliver(partition, 1, delete))


@defect("RCV-12", "deliver", answering)
def message_twice_in_answer(self: FrontEnd, most: int, delete: bool, shown: list[Any]) -> list[Any]:
    """An answer with room left says its first message twice."""
    return shown + shown[:1] if delete and len(shown) < most else shown


@defect("RCV-12", "cached")
def cache_ignores_max(self: FrontEnd, most: int, delete: bool) -> list[Any]:
    """A client gets all that its front end has fetched earlier, however few it asks for."""
    return FrontEnd.cached(self, most if delete else max(most, 64), delete)
