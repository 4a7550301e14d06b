"""Defects in copying what a topic is sent to its subscriptions (TOPIC-1), and in changing their rules
(TOPIC-2, TXN-6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...annotations import Statement
from ...clock import Steps
from ...frontend import FrontEnd
from ...network import Connection
from ...store import Content
from ...topics import Copies
from ..forms import before
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


@defect("RCV-1", "changed", profile="azure-premium")
def removed_properties_are_emptied(
    self: Copies, properties: tuple[tuple[str, str], ...], asked: Sequence[Statement]
) -> tuple[tuple[str, str], ...]:
    """A property that an action removes is left without a value."""
    return Copies.changed(self, properties, [(name, value or "") for name, value in asked])


@defect("TOPIC-2", "drop_rule", before, profile="azure-standard")
def removing_one_rule_removes_all(self: FrontEnd) -> None:
    """Removing a rule removes the others, too."""
    self.broker.filters.clear()


@defect("TXN-6", "remove_rule", profile="azure-premium")
def rules_removed_in_transactions(
    self: FrontEnd, connection: Connection, rule: Mapping[str, str]
) -> Steps[None]:
    """A rule is removed in a transaction, too."""
    yield from FrontEnd.remove_rule(self, connection, rule, None)
