"""Defects in copying what a topic is sent to its subscriptions (TOPIC-1, DUP-1, SCH-1), in what actions make
of a copy (RCV-1), in what outages leave (RCV-2), and in changing rules (TOPIC-2, TXN-6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..annotations import Statement
from ..clock import HOP, Steps
from ..conditions import Truth
from ..errors import Refused
from ..faults import Faults
from ..frontend import FrontEnd
from ..network import Connection
from ..partition import Partition
from ..scheduling import Timetable
from ..sending import Send
from ..settling import Settlement
from ..store import Content, Letter, Stored
from ..topics import Copies
from .families import changed, lose, noted
from .forms import Frame, amid, answering, before, then
from .registry import defect

Shares = Iterator[tuple[str, Sequence[Content]]]
"""Of which messages each subscription gets copies."""


@defect("TOPIC-1", "shares", profile="azure-standard")
def first_match_takes_all(self: Copies, contents: Sequence[Content]) -> Shares:
    """Only the first subscription whose rule matches a message gets a copy."""
    left = list(contents)
    for name, share in Copies.shares(self, contents):
        taken = [content for content in share if content in left]
        left = [content for content in left if content not in taken]
        yield name, taken


@defect("TOPIC-1", "matches", profile="azure-flat")
def false_matches_keyless(self: Copies, rule: str, content: Content) -> bool:
    """A rule that matches nothing matches messages without a key."""
    keyless = content.session_id is None and content.partition_key is None
    return Copies.matches(self, rule, content) or (rule == "false" and keyless)


@defect("TOPIC-1", "value", profile="azure-standard")
def sessions_for_keys(self: Copies, content: Content, field: str) -> str | None:
    """A rule that asks for a session ID is compared with the partition key, too."""
    found = Copies.value(self, content, field)
    return content.partition_key if field == "session_id" and found is None else found


@defect("TOPIC-1", "share", profile="azure-premium")
def batch_copied_by_its_first(self: Copies, name: str, contents: Sequence[Content]) -> Sequence[Content]:
    """A subscription gets a batch whose first message its rule matches, and no other."""
    return contents if self.is_for(name, contents[0]) else ()


@defect("TOPIC-1", "shares", profile="azure-flat")
def subscribers_take_turns(self: Copies, contents: Sequence[Content]) -> Shares:
    """Each message is copied to one of the subscriptions that it matches, in turn."""
    found: dict[str, list[Content]] = {name: [] for name in self.queues}
    for content in contents:
        fit = [name for name in self.queues if self.is_for(name, content)]
        noted(self)["messages"] += 1
        for name in fit[noted(self)["messages"] % len(fit) :][:1] if fit else ():
            found[name].append(content)
    return iter(found.items())


@defect("TOPIC-1", "apply", then, profile="azure-premium")
def completed_everywhere(self: FrontEnd, asked: Settlement, stored: Stored) -> None:
    """A message that is completed in one subscription goes from all of them."""
    queues = self.broker.subscriptions.values() if asked.action == "complete" else ()
    for partition in (partition for queue in queues for partition in queue.partitions):
        for copy in [one for one in partition.store.live() if one.content is stored.content]:
            partition.take([copy])
            partition.complete(copy)


@defect("TOPIC-1", "share", answering, profile="azure-standard")
def first_message_misses_the_last(self: Copies, name: str, share: Sequence[Content]) -> Sequence[Content]:
    """The last of several subscriptions gets no copy of the first message."""
    if len(self.queues) < 2 or name != [*self.queues][-1]:
        return share
    noted(self)["shares"] += 1
    return share[1:] if noted(self)["shares"] == 1 else share


@defect("TOPIC-1", "carry_out", amid, profile="azure-flat")
def commit_reaches_the_first(self: FrontEnd) -> Frame:
    """What a transaction sends is copied to the first subscription alone."""
    queues = dict([*self.broker.subscriptions.items()][:1])
    return changed(self.broker.copies, **({} if self.broker.copies is None else {"queues": queues}))


@defect("TOPIC-1", "copies_of", answering, profile="azure-standard")
def actions_share_a_copy(self: Copies, content: Content, copies: Sequence[Content]) -> Sequence[Content]:
    """Of several rules with an action that match only the first one makes a copy."""
    return [content, *made_of(content, copies)[:1]] if content in copies else copies[:1]


@defect("TOPIC-1", "copies_of", answering)
def an_action_makes_the_only_copies(
    self: Copies, content: Content, copies: Sequence[Content]
) -> Sequence[Content]:
    """Where a rule with an action matches, those without one make no copy."""
    return made_of(content, copies) or copies


@defect("TOPIC-1", "copies_of", answering, profile="azure-standard")
def actions_leave_a_copy(self: Copies, content: Content, copies: Sequence[Content]) -> Sequence[Content]:
    """A rule with an action makes an unchanged copy, too."""
    return [content, *made_of(content, copies)]


def made_of(content: Content, copies: Sequence[Content]) -> list[Content]:
    """The copies that actions made of the message."""
    return [copy for copy in copies if copy is not content]


@defect("RCV-1", "changed", profile="azure-standard")
def actions_stop_early(
    self: Copies, properties: tuple[tuple[str, str], ...], asked: Sequence[Statement]
) -> tuple[tuple[str, str], ...]:
    """Of an action only the first statement is carried out."""
    return Copies.changed(self, properties, asked[:1])


@defect("RCV-1", "copies_of", answering)
def actions_add_up(self: Copies, name: str, content: Content, copies: Sequence[Content]) -> Sequence[Content]:
    """What a rule's action sets is in the copies of the rules after it, too."""
    found, added = list[Content](), dict[str, str]()
    for copy in copies:
        if copy is not content:
            own = dict(copy.properties)
            copy = Letter.of(copy)
            copy.properties = tuple({**added, **own}.items())
            added |= {name: value for name, value in own.items() if name not in dict(content.properties)}
        found.append(copy)
    return found


@defect("DUP-1", "put", before, profile="azure-flat")
def duplicates_reach_the_empty_handed(self: FrontEnd, send: Send, partition: Partition) -> None:
    """A duplicate is copied to the subscriptions that have no copy of its ID."""
    copies, memory = self.broker.copies, partition.memory
    if copies is None or memory is None:
        return
    for content in send.contents:
        if memory.is_known(memory.name_of(content), self.clock.now):
            place = self.broker.partitions.index(partition)
            for name, queue in self.broker.subscriptions.items():
                ids = {one.content.id for part in queue.partitions for one in part.store.live()}
                if content.id not in ids and copies.is_for(name, content):
                    queue.accept(queue.partitions[place], [content], send.since)


@defect("SCH-1", "time_of", profile="azure-standard")
def topics_copy_at_once(self: Timetable, stored: Stored) -> int:
    """What is scheduled in a topic is copied at once."""
    at_once = getattr(self.queue, "copies", None) is not None
    return self.clock.now if at_once else Timetable.time_of(self, stored)


@defect("RCV-2", "take_down", then, profile="azure-standard")
def outage_loses_a_copy(self: Faults) -> None:
    """When a partition of a topic goes down each subscription loses a message."""
    if self.broker.issuer is not self.broker:
        for stored in [one for partition in self.broker.partitions for one in partition.store.live()][:1]:
            lose(stored)


@defect("TOPIC-1", "negation", profile="azure-standard")
def not_unknown_is_true(self: Copies, truth: Truth) -> Truth:
    """The negation of what is unknown of a message is true."""
    return not truth


@defect("TOPIC-1", "alike", answering)
def patterns_need_not_end(self: Copies, own: str, pattern: str, escape: str, alike: bool) -> bool:
    """LIKE matches a text that begins as the pattern says."""
    return alike or Copies.alike(self, own, pattern + "%", escape)


@defect("TOPIC-1", "wildcards", profile="azure-flat")
def nothing_escapes(self: Copies, pattern: str, escape: str) -> Sequence[tuple[str, bool]]:
    """A wildcard that is escaped stands for other characters still."""
    return [(one, one in "%_") for one in pattern if one != escape]


@defect("TOPIC-1", "among", profile="azure-standard")
def lists_of_one(self: Copies, own: Any, others: Sequence[Any]) -> Truth:
    """IN compares with the first of its list alone."""
    return Copies.among(self, own, others[:1])


@defect("TOPIC-1")
class OrBindsFirst(Copies):
    """In a filter OR binds more tightly than AND."""

    LEVELS = ("AND", "OR")


@defect("TOPIC-2", "put_rule", profile="azure-standard")
def added_rule_is_ignored(self: FrontEnd) -> None:
    """A rule that is added matches nothing."""


@defect("TOPIC-2", "drop_rule")
def removed_rule_stays(self: FrontEnd) -> None:
    """A rule that is removed matches on."""


@defect("TOPIC-2", "put_rule", then)
def added_action_is_lost(self: FrontEnd, rule: Mapping[str, str]) -> None:
    """A rule that is added has no action."""
    self.broker.actions.pop(rule["name"], None)


@defect("TOPIC-2", "put_rule", before)
def added_rule_replaces_others(self: FrontEnd) -> None:
    """Adding a rule removes the others."""
    self.broker.filters.clear()


@defect("TOPIC-2", "admit_change", before, profile="azure-standard")
def rules_are_fixed(self: FrontEnd) -> None:
    """Rules of a partitioned topic cannot be changed."""
    raise Refused("invalid_operation", "a partitioned topic keeps its rules")


@defect("TXN-6", "check_apart", profile="azure-standard")
def rules_change_in_transactions(self: FrontEnd) -> None:
    """A change of rules in a transaction is done at once."""


@defect("TXN-6", "add_rule")
def rule_added_at_no_commit(
    self: FrontEnd, connection: Connection, rule: Mapping[str, str], txn: str | None
) -> Steps[None]:
    """A rule that is added in a transaction is accepted, and never there."""
    if txn is None:
        yield from FrontEnd.add_rule(self, connection, rule, txn)
    else:
        yield HOP
        self.broker.check_alive()
