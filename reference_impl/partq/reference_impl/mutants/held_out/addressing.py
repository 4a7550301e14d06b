"""Defects in what the key of a message is, and in which messages go together (KEY), set aside."""

from __future__ import annotations

from collections.abc import Sequence

from ...clock import HOP, Steps
from ...errors import Refused
from ...frontend import FrontEnd
from ...partition import Partition
from ...rules import FlowRules, PartitionedRules
from ...store import Content
from ..misrouting import Misrouting
from ..registry import APART, held_out


@held_out("both-keys-cancel-out", "KEY-1", profile="azure-standard", also=APART)
class _BothKeysCancelOut(Misrouting):
    """A single message that bears its session ID as partition key, too, goes by its own ID, outside of
    transactions."""

    def mistaken(self, key: str, contents: Sequence[Content], txn: str | None) -> str:
        first = contents[0]
        both = first.session_id is not None and first.partition_key is not None
        return first.id if both and len(contents) == 1 and txn is None else key


@held_out("property-before-session", "KEY-1", profile="azure-standard", also=APART)
class _PropertyBeforeSession(Misrouting):
    """A single message with a session ID and user properties goes by the first of these, outside of
    transactions."""

    def mistaken(self, key: str, contents: Sequence[Content], txn: str | None) -> str:
        first = contents[0]
        single = len(contents) == 1 and txn is None and first.session_id is not None
        return "=".join(first.properties[0]) if single and first.properties else key


@held_out("properties-hide-partition-key", "KEY-2", profile="azure-standard", also=APART)
class _PropertiesHidePartitionKey(Misrouting):
    """A single message with user properties and nothing but a partition key goes by its own ID, outside of
    transactions."""

    def mistaken(self, key: str, contents: Sequence[Content], txn: str | None) -> str:
        first = contents[0]
        single = len(contents) == 1 and txn is None and first.session_id is None
        return first.id if single and first.properties else key


@held_out("partition-keys-of-batches-unread", "KEY-2", profile="azure-standard", also=APART)
class _PartitionKeysOfBatchesUnread(Misrouting):
    """A batch without any session ID goes by the ID of its first message, outside of transactions."""

    def mistaken(self, key: str, contents: Sequence[Content], txn: str | None) -> str:
        plain = all(content.session_id is None for content in contents)
        return contents[0].id if plain and len(contents) > 1 and txn is None else key


@held_out("conflict-by-prefix", "KEY-3")
class _ConflictByPrefix(PartitionedRules):
    """A partition key that begins with the session ID is taken to be equal to it."""

    def key_of(self, content: Content) -> str | None:
        session, key = content.session_id, content.partition_key
        if session is not None and key is not None and key != session and key.startswith(session):
            return session
        return super().key_of(content)


@held_out("conflict-checked-once", "KEY-3")
class _ConflictCheckedOnce(PartitionedRules):
    """Once a session's message was refused for another partition key, further ones of that session pass."""

    def __init__(self) -> None:
        self._checked: set[str | None] = set()

    def key_of(self, content: Content) -> str | None:
        try:
            return super().key_of(content)
        except Refused:
            if content.session_id in self._checked:
                return content.session_id
            self._checked.add(content.session_id)
            raise


@held_out("ids-of-several-partitions", "KEY-5", profile="azure-standard")
class _IdsOfSeveralPartitions(FrontEnd):
    """A keyless batch is refused if the IDs of its messages, taken for keys, belong to several partitions."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        homes = {self.broker.partition_for(content.id).name for content in contents}
        valid = txn is None and self.broker.alive and self.broker.rules.common_key(contents) is None
        if valid and len(homes) > 1:
            yield HOP
            raise Refused("invalid_operation", "a batch has one partition key")
        yield from super().send(contents, txn, timeout)


@held_out("batch-keys-compared-by-their-start", "KEY-7")
class _BatchKeysComparedByTheirStart(FrontEnd):
    """A batch is taken if all its keys begin with the shortest one; each message goes where its own key
    belongs."""

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        keys = {self.broker.rules.key_of(content) or "" for content in contents}
        shortest = min(keys)
        if txn is None and len(keys) > 1 and shortest != "" and all(k.startswith(shortest) for k in keys):
            for content in contents:
                yield from super().send((content,), txn, timeout)
        else:
            yield from super().send(contents, txn, timeout)


@held_out("batch-without-its-empty-bodies", "KEY-7")
class _BatchWithoutItsEmptyBodies(FrontEnd):
    """Of a batch the messages without a body are left out, if others are in it."""

    def accept(self, partition: Partition, key: str | None, contents: Sequence[Content], since: int) -> None:
        filled = [content for content in contents if content.body]
        kept = filled if 0 < len(filled) < len(contents) else contents
        super().accept(partition, key, kept, since)


@held_out("batch-ends-at-a-long-body", "KEY-7", profile="azure-standard")
class _BatchEndsAtALongBody(FrontEnd):
    """A batch is stored up to the first body of more than 255 characters, if that is not its first."""

    def accept(self, partition: Partition, key: str | None, contents: Sequence[Content], since: int) -> None:
        longs = [place for place, content in enumerate(contents) if place and len(content.body) > 255]
        super().accept(partition, key, contents[: longs[0]] if longs else contents, since)


@held_out("name-of-property-counts", "KEY-8", profile="solace", also=APART)
class _NameOfPropertyCounts(FlowRules):
    """A key that JMS publishers set is another one than the same value in the other property."""

    def key_of(self, content: Content) -> str | None:
        key = super().key_of(content)
        plain = key is None or dict(content.properties).get(self.KEYS[0]) == key
        return key if plain else f"{self.KEYS[1]}={key}"


@held_out("group-id-folds-case", "KEY-8", profile="solace", also=APART)
class _GroupIdFoldsCase(FlowRules):
    """A key that JMS publishers set is read in lower case."""

    def key_of(self, content: Content) -> str | None:
        key = super().key_of(content)
        group = key is not None and dict(content.properties).get(self.KEYS[1]) == key
        if key is not None and group and key != key.lower():
            return key.lower()
        return key
