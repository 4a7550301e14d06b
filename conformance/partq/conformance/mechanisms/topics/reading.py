"""Topics in a history: what is judged of them, and what exercises the rule on copies.

Each subscription is read as a queue that is sent all that its topic is sent (`history/entities.py`). What is
done to the topic besides is not followed yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.facts.index import Facts
from partq.conformance.history import Record
from partq.conformance.history.entities import whole_of
from partq.conformance.oracle.identity import Ambiguous
from partq.conformance.oracle.roles import DELIVERS
from partq.conformance.oracle.uses import Records, Use
from partq.conformance.screens.protocol import Exercise
from partq.model.operations import OPS, TOPICS

_SENDS: Final = frozenset({"send", "send_batch"})


def _followed(records: Records, skew: int) -> Records:
    """The records. Raises `Ambiguous` for what is not followed."""
    given = {shown.lock for record in records if record.op in DELIVERS for shown in record.messages}
    for record in records:
        if why := _not_followed(record):
            raise Ambiguous(why)
        tokens = {*record.lock_tokens}
        if tokens & given and not tokens <= given:
            raise Ambiguous("a settlement names locks of several entities")
    return records


def _not_followed(record: Record) -> str | None:
    op = OPS[record.op]
    if op.fault and "partition" in op.args:
        return "which partitions of a subscription go down with one of its topic is not known"
    if "txn" in record.args:
        return "transactions of topics are not modelled"
    if any(message.scheduled_at is not None for message in record.args.get("messages", ())):
        return "scheduled messages of topics are not modelled"
    if record.is_env or op.link or record.lock_tokens or record.op in _SENDS or whole_of(record.entity):
        return None
    return f"the operation {record.op} on a topic is not modelled"


USE: Final = Use(
    uses=lambda record: False,
    rule="TOPIC-1",
    what="topics",
    matters=lambda record, end: False,
    chosen=lambda entity: bool(entity.subscriptions),
    alone=True,
    whole=True,
    tells_apart=_followed,
)


def _copies(facts: Facts) -> int:
    """Each message of its topic that a subscription shows."""
    if not facts.entity.subscriptions:
        return 0
    return sum(id in facts.origins for id in {*facts.received, *facts.peeked})


EXERCISED: Final[Mapping[str, Exercise]] = {"TOPIC-1": Exercise(_copies, ("receive", TOPICS), judged=True)}
