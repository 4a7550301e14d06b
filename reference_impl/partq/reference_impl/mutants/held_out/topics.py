"""Defects in copying what a topic is sent to its subscriptions (TOPIC-1)."""

from __future__ import annotations

from collections.abc import Sequence

from ...store import Content
from ...topics import Copies
from ..registry import defect


@defect("TOPIC-1", profile="azure-flat")
class LongQueuesMissCopies(Copies):
    """A subscription that has three messages already gets no further copies."""

    def share(self, name: str, contents: Sequence[Content]) -> Sequence[Content]:
        stored = sum(1 for one in self.queues[name].partitions for _ in one.store.live())
        return () if stored >= 3 else Copies.share(self, name, contents)


@defect("TOPIC-1", "matches", profile="azure-premium")
def every_rule_but_false_matches(self: Copies, rule: str) -> bool:
    """A rule that asks for a property matches every message."""
    return rule != "false"
