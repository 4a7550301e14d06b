"""Topics: what is sent to one is copied to its subscriptions.

A subscription is a queue of its own, with as many partitions as its topic; a copy lies in the partition that
the topic found for the message. What becomes of it there is that queue's affair.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from .annotations import Annotations
from .clock import HOP, Steps
from .conditions import MARK, Conditions
from .errors import Refused
from .store import Content, Letter, id_of

DEFAULT: Final = "$Default"
"""The name of the rule that a subscription has at first."""


class Copies(Conditions, Annotations):
    """The subscriptions of a topic by name, each a broker of its own with its filters."""

    def __init__(self, queues: Mapping[str, Any]) -> None:
        self.queues = queues

    def deliver(self, place: int, contents: Sequence[Content], since: int | None) -> None:
        """Store copies of messages that the topic accepted, in the partitions at that place."""
        for name, taken in self.shares(contents):
            queue = self.queues[name]
            copies = [copy for content in taken for copy in self.copies_of(name, content)]
            queue.accept(queue.partitions[place], copies, since)

    def activated(self, content: Content) -> Content:
        """The message without a time of its own, which has come."""
        found = Letter.of(content)
        found.scheduled_at = None
        return found

    def copies_of(self, name: str, content: Content) -> Sequence[Content]:
        """The copies that the subscription gets of a message that it gets: one for its rules without actions,
        if one of them matches, and one for each with an action."""
        queue = self.queues[name]
        fit = [rule for rule, text in queue.filters.items() if self.matches(text, content)]
        acting = [rule for rule in fit if rule in queue.actions]
        made = [self.annotated(content, rule, queue.actions[rule]) for rule in acting]
        return made if made and len(acting) == len(fit) else [content, *made]

    def shares(self, contents: Sequence[Content]) -> Iterator[tuple[str, Sequence[Content]]]:
        """Of which messages each subscription gets copies."""
        for name in self.queues:
            yield name, self.share(name, contents)

    def share(self, name: str, contents: Sequence[Content]) -> Sequence[Content]:
        """Of which messages that subscription gets copies."""
        return [content for content in contents if self.is_for(name, content)]

    def is_for(self, name: str, content: Content) -> bool:
        """Whether a rule of the subscription matches the message."""
        return any(self.matches(rule, content) for rule in self.queues[name].filters.values())

    def matches(self, rule: str, content: Content) -> bool:
        """Whether the rule matches the message."""
        if rule.startswith(MARK):
            return self.holds(rule, content)
        field, asks, value = rule.partition("=")
        return rule == "true" if not asks else self.value(content, field) == value

    def value(self, content: Content, field: str) -> str | None:
        """The message's value of the field, or user property, that a rule asks for."""
        if field.startswith("prop."):
            return dict(content.properties).get(field.removeprefix("prop."))
        found: str | None = id_of(content) if field == "id" else getattr(content, field)
        return found


class Ruling:
    """A front end's side of rules: what a subscription's `filters` are, by name."""

    broker: Any

    def arrive(self, again: Any) -> Steps[None]:
        raise NotImplementedError

    def add_rule(self, connection: Any, rule: Mapping[str, str], txn: str | None) -> Steps[None]:
        """Add a rule."""
        yield from self.arrive(lambda: self.add_rule(connection, rule, txn))
        self.admit_change(txn)
        if rule["name"] in self.broker.filters:
            raise Refused("invalid_operation", "there is a rule of that name")
        self.broker.issuer.copies.check(rule["filter"])
        self.broker.issuer.copies.check_action(rule.get("action", ""))
        yield HOP
        self.put_rule(rule)
        yield HOP

    def remove_rule(self, connection: Any, rule: Mapping[str, str], txn: str | None) -> Steps[None]:
        """Remove a rule."""
        yield from self.arrive(lambda: self.remove_rule(connection, rule, txn))
        self.admit_change(txn)
        if rule["name"] not in self.broker.filters:
            raise Refused("not_found", "there is no rule of that name")
        yield HOP
        self.drop_rule(rule)
        yield HOP

    def put_rule(self, rule: Mapping[str, str]) -> None:
        """Let it be one of the rules."""
        self.broker.filters[rule["name"]] = rule["filter"]
        if rule.get("action"):
            self.broker.actions[rule["name"]] = rule["action"]

    def drop_rule(self, rule: Mapping[str, str]) -> None:
        """Let it be none."""
        self.broker.filters.pop(rule["name"], None)
        self.broker.actions.pop(rule["name"], None)

    def admit_change(self, txn: str | None) -> None:
        """Raises `Refused` where rules cannot be changed now."""
        self.broker.check_alive()
        if self.broker.issuer is self.broker:
            raise Refused("invalid_operation", "only subscriptions have rules")
        self.check_apart(txn)

    def check_apart(self, txn: str | None) -> None:
        """Raises `Refused` inside a transaction."""
        if txn is not None:
            raise Refused("invalid_operation", "rules are not changed in transactions")
