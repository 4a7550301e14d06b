"""Topics: what is sent to one is copied to its subscriptions.

A subscription is a queue of its own, with as many partitions as its topic; a copy lies in the partition that
the topic found for the message. What becomes of it there is that queue's affair.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .store import Content


class Copies:
    """The subscriptions of a topic by name, each a broker of its own, and their ``rules``."""

    def __init__(self, queues: Mapping[str, Any], rules: Mapping[str, str]) -> None:
        self.queues = queues
        self.rules = rules

    def deliver(self, place: int, contents: Sequence[Content], since: int | None) -> None:
        """Store copies of messages that the topic accepted, in the partitions at that place."""
        for name, taken in self.shares(contents):
            queue = self.queues[name]
            queue.accept(queue.partitions[place], taken, since)

    def shares(self, contents: Sequence[Content]) -> Iterator[tuple[str, Sequence[Content]]]:
        """Of which messages each subscription gets copies."""
        for name in self.queues:
            yield name, self.share(name, contents)

    def share(self, name: str, contents: Sequence[Content]) -> Sequence[Content]:
        """Of which messages that subscription gets copies."""
        return [content for content in contents if self.matches(self.rules[name], content)]

    def matches(self, rule: str, content: Content) -> bool:
        """Whether the rule matches the message."""
        field, asks, value = rule.partition("=")
        return rule == "true" if not asks else self.value(content, field) == value

    def value(self, content: Content, field: str) -> str | None:
        """The message's value of the field that a rule asks for."""
        found: str | None = getattr(content, field)
        return found
