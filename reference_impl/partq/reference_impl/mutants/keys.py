"""Defects in what the key is, in what a request may hold, and in what is refused (KEY)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..clock import Steps
from ..errors import Refused, Unsure
from ..flowend import FlowEnd
from ..frontend import FrontEnd, Peek
from ..partition import Partition
from ..rules import FlowRules, PartitionedRules
from ..sending import Send
from ..settings import SECOND
from ..store import Content
from .families import Misrouting, Renewals, Splitting, after, last_end, no_key, noted
from .forms import answering, before, refused, then
from .registry import APART, BY_CHANCE, defect


@defect("KEY-1", "mistaken", profile="azure-standard", also=APART)
def session_not_a_key(self: Misrouting, key: str, send: Send) -> str:
    """Messages with a session ID are routed by their own ID."""
    return key if send.contents[0].session_id is None else no_key(send)


@defect("KEY-1", "mistaken", profile="azure-standard", also=APART)
def batch_forgets_its_session(self: Misrouting, key: str, send: Send) -> str:
    """A batch of messages of a session is stored as if it had no key, outside of transactions."""
    loose = send.txn is None and len(send.contents) > 1 and send.contents[0].session_id is not None
    return no_key(send) if loose else key


@defect("KEY-2", "mistaken", profile="azure-standard", also=APART)
def partition_key_not_a_key(self: Misrouting, key: str, send: Send) -> str:
    """Messages with nothing but a partition key are routed by their own ID."""
    return key if send.contents[0].session_id is not None else no_key(send)


@defect("KEY-2", "mistaken", also=APART)
def one_front_end_reads_no_partition_keys(self: Misrouting, key: str, send: Send) -> str:
    """At one front end a partition key alone is no key, outside of transactions."""
    blind = last_end(self) and send.contents[0].session_id is None
    return no_key(send) if blind and send.txn is None else key


@defect("KEY-3", "key_of")
def session_wins(self: PartitionedRules, content: Content) -> str | None:
    """A session ID and another partition key: the session ID is taken and nothing said."""
    return content.session_id if content.session_id is not None else content.partition_key


@defect("KEY-3", "admit", before)
def conflict_stored(self: FrontEnd, contents: Sequence[Content]) -> None:
    """A session ID and another partition key: refused, but stored before it was looked at."""
    try:
        self.broker.rules.key_of(contents[0])
    except Refused:
        self.broker.accept(self.next_partition(), contents)


@defect("KEY-3", "admit", refused, also=("RCV-1",))
def conflict_stored_later(self: FrontEnd, contents: Sequence[Content], txn: str | None) -> None:
    """A message with a session ID and another partition key is refused, and stored three seconds later."""
    if txn is None and len(contents) == 1:
        partition = self.next_partition()
        self.clock.spawn(after(self.clock, 3 * SECOND, lambda: self.broker.accept(partition, contents)))


@defect("KEY-3", "common_key")
def conflict_after_the_first(self: PartitionedRules, contents: Sequence[Content]) -> str | None:
    """Session ID and partition key are compared in a batch's first message; then the session ID counts."""
    key = self.key_of(contents[0])
    if any((one.partition_key if one.session_id is None else one.session_id) != key for one in contents[1:]):
        raise Refused("invalid_operation", "a batch has one partition key")
    return key


@defect("KEY-3", "key_of")
def conflict_folds_case(self: PartitionedRules, content: Content) -> str | None:
    """A session ID and a partition key that differ in case only are taken to be equal."""
    session, key = content.session_id, content.partition_key
    if session is not None and key is not None and session.casefold() == key.casefold():
        return session
    return PartitionedRules.key_of(self, content)


@defect("KEY-5", "common_key", then)
def message_id_is_a_key(self: PartitionedRules, contents: Sequence[Content], key: str | None) -> None:
    """The messages of a keyless batch have different IDs, so they are taken to have different keys."""
    if key is None and len({content.id for content in contents}) > 1:
        raise Refused("invalid_operation", "a batch has one partition key")


@defect("KEY-5", "common_key", then, profile="azure-standard")
def ids_of_three_compared(self: PartitionedRules, contents: Sequence[Content], key: str | None) -> None:
    """The IDs of a keyless batch of three messages or more are taken for keys, and it is refused."""
    if key is None and len(contents) > 2:
        raise Refused("invalid_operation", "a batch has one partition key")


@defect("KEY-7", "tolerates")
def mixed_batch_split(self: Splitting) -> bool:
    """A batch of several keys is taken apart instead of refused."""
    return True


@defect("KEY-7", "tolerates")
def odd_one_in_the_middle(self: Splitting, keys: Sequence[str | None]) -> bool:
    """Of a batch only the first and the last message's keys are compared."""
    return keys[0] == keys[-1]


@defect("KEY-7", "tolerates")
def batch_folds_case(self: Splitting, keys: Sequence[str | None]) -> bool:
    """A batch whose keys differ in case only is accepted."""
    return len({key and key.casefold() for key in keys}) == 1


@defect("KEY-7", "admit", before, also=("RCV-1",))
def refused_batch_half_stored(self: FrontEnd, contents: Sequence[Content]) -> None:
    """A batch of several keys is refused when the second key comes, and the messages before it stay."""
    keys = [self.broker.rules.key_of(content) for content in contents]
    if keys[0] is not None and len(set(keys)) > 1:
        self.broker.accept(self.broker.partition_for(keys[0]), contents[:1])


@defect("KEY-7", "put")
def seventh_of_a_batch_lost(self: FrontEnd, send: Send, partition: Partition) -> None:
    """A batch is stored up to its sixth message."""
    FrontEnd.put(self, send._replace(contents=send.contents[:6]), partition)


@defect("KEY-7")
class CutOffBatchHalfStored(FrontEnd):
    """Of a batch whose client is cut off before it is stored the first message is stored."""

    def store(self, send: Send) -> Steps[None]:
        try:
            yield from super().store(send)
        except Unsure as unsure:
            cut_off = unsure.kind == "connection_lost" and self.broker.alive and len(send.contents) > 1
            if cut_off and not noted(self)[send.contents[0].id]:
                partition = self.next_partition() if send.key is None else self.home(send.key, send)
                super().put(send._replace(contents=send.contents[:1]), partition)
            raise

    def put(self, send: Send, partition: Partition) -> None:
        noted(self).update(content.id for content in send.contents)
        super().put(send, partition)


@defect("KEY-7")
class ReroutedBatchCut(FrontEnd):
    """A keyless batch that has to go to another partition than the chosen one arrives without its last
    message."""

    _rerouted = False

    def reroute(self, send: Send) -> Steps[Partition]:
        partition = yield from super().reroute(send)
        self._rerouted = len(send.contents) > 1
        return partition

    def put(self, send: Send, partition: Partition) -> None:
        cut, self._rerouted = self._rerouted, False
        super().put(send._replace(contents=send.contents[:-1]) if cut else send, partition)


@defect("KEY-8", profile="solace", also=BY_CHANCE[1:])
class JmsGroupIgnored(FlowRules):
    """Only one of the two well-known user properties is read."""

    KEYS: tuple[str, ...] = ("QUEUE_PARTITION_KEY",)


@defect("KEY-8", "key_in", answering, profile="solace", also=(*APART, *BY_CHANCE[1:]))
def batch_goes_with_its_first(self: FlowEnd, send: Send, key: str | None) -> str | None:
    """All keyed messages of a batch are stored where the first one belongs."""
    return key and next(filter(None, map(self.broker.rules.key_of, send.contents)))


@defect("KEY-8", "key_of", profile="solace", also=APART)
def annotation_before_property(self: FlowRules, content: Content) -> str | None:
    """A partition key beside the user properties is taken for the key."""
    key = content.partition_key
    return FlowRules.key_of(self, content) if key is None else key


@defect("KEY-8", "key_of", profile="solace", also=(*APART, BY_CHANCE[1]))
def key_must_come_first(self: FlowRules, content: Content) -> str | None:
    """The key is only found if it is the first of the user properties."""
    return next((value for name, value in content.properties[:1] if name in self.KEYS and value), None)


@defect("KEY-9", "key_of", before)
def equal_keys_refused(self: PartitionedRules, content: Content) -> None:
    """A message with both a session ID and a partition key is refused, also if they are equal."""
    if content.session_id is not None and content.partition_key is not None:
        raise Refused("invalid_operation", "a message has a session ID or a partition key")


@defect("KEY-9", "admit", before, profile="azure-flat")
def long_bodies_refused(self: FrontEnd, contents: Sequence[Content]) -> None:
    """A message whose body is longer than 40 characters is refused as invalid."""
    if any(len(content.body) > 40 for content in contents):
        raise Refused("invalid_operation", "the body is too long")


@defect("KEY-9", "admit", before, profile="solace")
def empty_properties_refused(self: FlowEnd, contents: Sequence[Content]) -> None:
    """A message with a user property that is empty is refused: its topic, one says, is not found."""
    if any(value == "" for content in contents for _, value in content.properties):
        raise Refused("not_found", "no such topic")


@defect("KEY-9", "gather", then, profile="azure-flat")
def number_past_the_end_not_found(self: FrontEnd, peek: Peek, shown: list[Any]) -> None:
    """A peek from a number on at which nothing is stored any more, and that is not zero, is refused."""
    if peek.number and not shown and len(self.running()) == len(self.partitions):
        raise Refused("not_found", "no such number")


@defect("KEY-9", "check_renewal", then)
def second_renewal_refused(self: Renewals, token: str) -> None:
    """A lock can be renewed once; after that it is an invalid operation."""
    if token in self.renewed:
        raise Refused("invalid_operation", "a lock is renewed once")


@defect("KEY-9", "admit_bind", then, profile="solace")
def second_flow_of_a_client_refused(self: FlowEnd, proc: str, name: str) -> None:
    """A client that has a flow cannot bind another one."""
    if any(flow.proc == proc and flow.name != name for flow in self.assignments.flows):
        raise Refused("invalid_operation", "a client has one flow")
