"""Topics in a history: what is judged of them, and what exercises the rule on copies.

Each subscription is read as a queue that is sent all that its topic is sent (`history/entities.py`). What
else is read of topics: scheduled messages (`activations`), outages (`outages`), several copies of one message
(`copies`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.facts.index import Facts
from partq.conformance.history import Header, Record
from partq.conformance.history.entities import whole_of
from partq.conformance.mechanisms.topics.activations import DUE, scheduled_by, too_early, with_activations
from partq.conformance.mechanisms.topics.copies import copies_apart
from partq.conformance.mechanisms.topics.outages import with_any_struck
from partq.conformance.oracle.identity import Ambiguous
from partq.conformance.oracle.roles import CANCELS, DELIVERS, DOWN, SCHEDULES
from partq.conformance.oracle.uses import Records, Use
from partq.conformance.screens.protocol import Exercise, where
from partq.model.filters import SQL, parsed
from partq.model.operations import OPS, TOPICS
from partq.model.profiles import Destination, Entity, requirements_of, rule_problem
from partq.model.topics import changes

_CHANGES: Final = tuple(name for name, op in OPS.items() if "rule" in op.args)
_FOLLOWED: Final = frozenset({"send", "send_batch", "begin", "commit", "rollback", SCHEDULES, CANCELS})


def _followed(entity: Entity, records: Records, skew: int) -> Records:
    """The records, with names of their own for the copies of one message. Raises `Ambiguous` for what is not
    followed."""
    if doubts := next(filter(None, (_doubts(rule) for _, rule in entity.subscriptions)), None):
        raise Ambiguous(doubts)
    if isinstance(entity, Destination) and (why := _not_forwarded(entity, records)):
        raise Ambiguous(f"{why} are not modelled where a subscription forwards")
    if entity.duplicate_detection and any(map(scheduled_by, records)):
        raise Ambiguous("what is scheduled in a topic that detects duplicates is not modelled")
    given = {shown.lock for record in records if record.op in DELIVERS for shown in record.messages}
    if _changed_within(records):
        raise Ambiguous("which rules count, those at a send in a transaction or at its commit, is not known")
    for record in records:
        if why := _not_followed(record):
            raise Ambiguous(why)
        tokens = {*record.lock_tokens}
        if tokens & given and not tokens <= given:
            raise Ambiguous("a settlement names locks of several entities")
    return copies_apart(with_any_struck(with_activations(records, skew)))


def _not_forwarded(entity: Entity, records: Records) -> str | None:
    """What is not modelled of a topic one of whose subscriptions forwards, if it has any of it."""
    if entity.duplicate_detection:
        return "duplicates"
    if any(record.args.get("rule", {}).get("action") for record in records):
        return "rules with an action"
    if any(scheduled_by(record) or record.op == CANCELS for record in records):
        return "scheduled messages"
    return "outages of a partition" if any(record.op == DOWN for record in records) else None


def _changed_within(records: Records) -> bool:
    """Whether rules may have changed after something was sent in a transaction."""
    first = min((r.call for r in records if "txn" in r.args and "messages" in r.args), default=None)
    changes = (r for r in records if "rule" in r.args and "txn" not in r.args and not r.refused)
    return first is not None and any(r.ret is None or r.ret >= first for r in changes)


def _not_followed(record: Record) -> str | None:
    op = OPS[record.op]
    if "txn" in record.args and record.lock_tokens:
        return "transactions that settle copies are not modelled"
    if "rule" in record.args and (why := _unknown_rule(record)):
        return why
    if "txn" in record.args and (scheduled_by(record) or record.op == CANCELS):
        return "what a transaction schedules in a topic, or cancels, is not modelled"
    if record.is_env or op.link or record.lock_tokens or record.op in _FOLLOWED or whole_of(record.entity):
        return None
    return f"the operation {record.op} on a topic is not modelled"


def _unknown_rule(record: Record) -> str | None:
    """Why it is not known what a change of rules asks for, if so."""
    rule, wanted = record.args["rule"], {"name", "filter"} if record.op == TOPICS else {"name"}
    asked = rule.keys() - {"action"} if record.op == TOPICS else rule.keys()
    if asked != wanted or not all(isinstance(value, str) for value in rule.values()):
        return "a rule is added by its name, its filter, and its action, if any, and removed by its name"
    if record.op != TOPICS:
        return None
    if why := rule_problem(rule["filter"]):
        return f"a filter is not modelled: one that {why}"
    return _doubts(rule["filter"]) or _unknown_action(rule.get("action", ""))


def _unknown_action(action: str) -> str | None:
    """Why it is not known what an action asks for, if so."""
    try:
        changes.parsed(action) if action else None
    except changes.InvalidAction as why:
        return f"an action is not modelled: one that {why}"
    except changes.Unsettled as why:
        return str(why)
    return None


def _doubts(rule: str) -> str | None:
    """Why no source says what the rule means, if so."""
    return (parsed(rule).doubts or None) if rule.startswith(SQL) else None


def _compared(header: Header, entity: Entity, records: Records) -> Records:
    """The records. Raises `Ambiguous` where a transaction changes rules, if no rule forbids that."""
    changes = (record for record in records if "rule" in record.args and "txn" in record.args)
    silent = "TXN-6" not in requirements_of(header.profile)
    if silent and any(not record.refused for record in changes):
        raise Ambiguous("rules that a transaction changes are not modelled where the profile allows that")
    return records


USE: Final = Use(
    uses=lambda record: "rule" in record.args or DUE in record.args,
    rule="TOPIC-1",
    what="topics",
    chosen=lambda entity: bool(entity.subscriptions),
    alone=True,
    meets=frozenset({"duplicates"}),
    asked=True,
    whole=True,
    tells_apart=_followed,
    compared=_compared,
    wrong=too_early,
    spreads=frozenset({"TOPIC-2", "TXN-6"}),
)


@where(lambda facts: facts.entity.subscriptions)
def _copies(facts: Facts) -> int:
    """Each message of its topic that a subscription shows."""
    return sum(id in facts.origins for id in {*facts.received, *facts.peeked})


def _changes(facts: Facts, in_txn: bool) -> int:
    """Each change of a subscription's rules that was answered, in a transaction or not."""
    if not facts.entity.subscriptions or not whole_of(facts.name):
        return 0
    found = facts.of(*_CHANGES)
    return sum(("txn" in one.args) is in_txn and not one.unknown for one in found)


EXERCISED: Final[Mapping[str, Exercise]] = {
    "TOPIC-1": Exercise(_copies, ("receive", TOPICS)),
    "TOPIC-2": Exercise(lambda facts: _changes(facts, in_txn=False), (TOPICS,)),
    "TXN-6": Exercise(lambda facts: _changes(facts, in_txn=True), (TOPICS, "begin")),
}
