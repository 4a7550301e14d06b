"""Set aside: what the key of a message is, which messages go together, and what is refused for good (KEY)."""

from __future__ import annotations

from collections.abc import Sequence

from ...clock import HOP, Steps
from ...errors import Refused
from ...flowend import FlowEnd
from ...frontend import FrontEnd, Peek
from ...network import Connection
from ...partition import Partition
from ...rules import FlowRules, PartitionedRules
from ...sending import Send
from ...store import Content
from ..families import Misrouting, Splitting, kept, noted, on_refusal
from ..forms import answering, before, then
from ..registry import APART, defect

LONGEST = 128
"""Characters that a key may have."""

MOST_PEEKED = 50
"""So many messages a careless broker lets clients ask for."""


def _single(send: Send) -> bool:
    """Whether one message is sent, outside of transactions."""
    return len(send.contents) == 1 and send.txn is None


@defect("KEY-1", "mistaken", profile="azure-standard", also=APART)
def both_keys_cancel_out(self: Misrouting, key: str, send: Send) -> str:
    """A single message whose partition key is its session ID goes by its own ID, outside of transactions."""
    first = send.contents[0]
    both = first.session_id is not None and first.partition_key is not None
    return first.id if both and _single(send) else key


@defect("KEY-1", "mistaken", profile="azure-standard", also=APART)
def property_before_session(self: Misrouting, key: str, send: Send) -> str:
    """A single message of a session goes by its first user property, outside of transactions."""
    first = send.contents[0]
    other = _single(send) and first.session_id is not None and first.properties
    return "=".join(first.properties[0]) if other else key


@defect("KEY-2", "mistaken", profile="azure-standard", also=APART)
def properties_hide_partition_key(self: Misrouting, key: str, send: Send) -> str:
    """A single message of a partition key with properties goes by its own ID, outside of transactions."""
    first = send.contents[0]
    return first.id if _single(send) and first.session_id is None and first.properties else key


@defect("KEY-2", "mistaken", profile="azure-standard", also=APART)
def partition_keys_of_batches_unread(self: Misrouting, key: str, send: Send) -> str:
    """A batch without any session ID goes by the ID of its first message, outside of transactions."""
    plain = all(content.session_id is None for content in send.contents)
    return send.contents[0].id if plain and len(send.contents) > 1 and send.txn is None else key


@defect("KEY-3", "key_of")
def conflict_by_prefix(self: PartitionedRules, content: Content) -> str | None:
    """A partition key that begins with the session ID is taken to be equal to it."""
    session, key = content.session_id, content.partition_key
    if session is not None and key is not None and key.startswith(session):
        return session
    return PartitionedRules.key_of(self, content)


@defect("KEY-3", "key_of")
def conflict_checked_once(self: PartitionedRules, content: Content) -> str | None:
    """Once a session's message was refused for another partition key, further ones of that session pass."""
    if noted(self)[content.session_id]:
        return content.session_id
    with on_refusal("invalid_operation", lambda: noted(self).update([content.session_id])):
        return PartitionedRules.key_of(self, content)


@defect("KEY-5", "admit", then, profile="azure-standard")
def ids_of_several_partitions(
    self: FrontEnd, contents: Sequence[Content], txn: str | None, key: str | None
) -> None:
    """A keyless batch is refused if the IDs of its messages, taken for keys, belong to several partitions."""
    if key is None and txn is None and len({self.broker.partition_for(one.id).name for one in contents}) > 1:
        raise Refused("invalid_operation", "a batch has one partition key")


@defect("KEY-7", "tolerates")
def batch_keys_compared_by_their_start(self: Splitting, keys: Sequence[str | None], txn: str | None) -> bool:
    """A batch is taken apart, not refused, if all its keys begin with the shortest one."""
    shortest = min(key or "" for key in keys)
    return txn is None and shortest != "" and all((key or "").startswith(shortest) for key in keys)


@defect("KEY-7", "put")
def batch_without_its_empty_bodies(self: FrontEnd, send: Send, partition: Partition) -> None:
    """Of a batch the messages without a body are left out, if others are in it."""
    filled = [content for content in send.contents if content.body]
    FrontEnd.put(self, send._replace(contents=filled or send.contents), partition)


@defect("KEY-7", "put", profile="azure-standard")
def batch_ends_at_a_long_body(self: FrontEnd, send: Send, partition: Partition) -> None:
    """A batch is stored up to the first body of more than 255 characters, if that is not its first."""
    longs = (place for place, content in enumerate(send.contents) if place and len(content.body) > 255)
    FrontEnd.put(self, send._replace(contents=send.contents[: next(longs, None)]), partition)


@defect("KEY-8", "key_of", answering, profile="solace", also=APART)
def name_of_property_counts(self: FlowRules, content: Content, key: str | None) -> str | None:
    """A key that JMS publishers set is another one than the same value in the other property."""
    plain = key is None or dict(content.properties).get(self.KEYS[0]) == key
    return key if plain else f"{self.KEYS[1]}={key}"


@defect("KEY-8", "key_of", answering, profile="solace", also=APART)
def group_id_folds_case(self: FlowRules, content: Content, key: str | None) -> str | None:
    """A key that JMS publishers set is read in lower case."""
    return key and key.lower() if dict(content.properties).get(self.KEYS[1]) == key else key


@defect("KEY-9", "gather", before)
def large_peeks_refused(self: FrontEnd, peek: Peek) -> None:
    """A peek that asks for more than fifty messages is refused as invalid."""
    if peek.limit > MOST_PEEKED and len(self.running()) == len(self.partitions):
        raise Refused("invalid_operation", "too many messages")


@defect("KEY-9", "admit", before, profile="azure-flat")
def foreign_properties_refused(self: FrontEnd, contents: Sequence[Content], txn: str | None) -> None:
    """A send of a user property that is not all ASCII is refused as invalid, outside of transactions."""
    properties = (text for content in contents for pair in content.properties for text in pair)
    if txn is None and not all(map(str.isascii, properties)):
        raise Refused("invalid_operation", "a property is not ASCII")


@defect("KEY-9", "admit", then, profile="azure-standard")
def longest_key_refused(self: FrontEnd, txn: str | None, key: str | None) -> None:
    """A key of the greatest length that is allowed is refused as invalid, outside of transactions."""
    if txn is None and len(key or "") == LONGEST:
        raise Refused("invalid_operation", "the key is too long")


@defect("KEY-9", "begin")
def one_transaction_at_each_front_end(self: FrontEnd, name: str) -> Steps[None]:
    """A transaction cannot be begun while another one is open at the front end."""
    if not noted(self).keys().isdisjoint(self.broker.transactions) and self.broker.alive:
        yield HOP
        raise Refused("invalid_operation", "a transaction is open")
    yield from FrontEnd.begin(self, name)
    noted(self)[name] += 1


@defect("KEY-9", profile="solace")
class BindAfterUnbindRefused(FlowEnd):
    """The first bind of a client after an unbind is refused as invalid."""

    _unbound = kept(set[str])

    def unbind(self, connection: Connection, name: str) -> Steps[None]:
        yield from super().unbind(connection, name)
        self._unbound.add(connection.proc)

    def admit_bind(self, proc: str, name: str, partition: int | None) -> None:
        super().admit_bind(proc, name, partition)
        if proc in self._unbound:
            self._unbound.remove(proc)
            raise Refused("invalid_operation", "the flow was closed")
