"""Valid requests outside transactions that are refused for good (KEY-9): as invalid, as not found, or as if a
lock were lost.

A broker may refuse anything for the time being (busy, a limit reached), but not as something that it was not.
Where a request may not have been valid (its flow possibly gone) nothing is said. What is refused in a
transaction, at its end, or by a lock that holds, the judge alone decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from partq.conformance.facts.flow_timeline import FlowTimeline
from partq.conformance.facts.index import FOREVER, Facts
from partq.conformance.facts.outages import Outages
from partq.conformance.facts.records import returned
from partq.conformance.history import Record
from partq.conformance.screens.attribution import key_count
from partq.conformance.screens.protocol import Report, Screen
from partq.model.messages import conflicting
from partq.model.operations import FOR_GOOD, Outcome


def check(facts: Facts) -> Report:
    """Every operation that was refused for good, and that certainly was valid. KEY-9 is exercised by each
    valid send outside transactions that is accepted."""
    report = Report()
    if facts.unfollowed:
        return report
    for record in facts.records:
        if record.error in FOR_GOOD and record.outcome == Outcome.ERROR and record.op in _VALID:
            if record.ret is not None and _VALID[record.op](facts, record, record.ret):
                why = f"the {record.op} at {record.i} was refused as {record.error}, though it was valid"
                report.find("KEY-9", f"{record.op} {record.error}", (record,), why)
    accepted = (r for r in facts.requests if r.outcome == Outcome.OK and "txn" not in r.args)
    report.count("KEY-9", sum(has_one_key(facts, record) for record in accepted))
    return report


def has_one_key(facts: Facts, record: Record) -> bool:
    """Whether the messages of a send may be in one request."""
    messages = record.args["messages"]
    if len(messages) == 1:
        return not conflicting(messages[0])
    if any(map(conflicting, messages)):
        return False
    if not facts.profile.partitioned or facts.profile.flows:
        return True
    return key_count(record) <= 1 and len(facts.keys_of(messages)) <= 1


def _plain_send(facts: Facts, record: Record, ret: int) -> bool:
    """One message, whose key is no question (KEY-1, KEY-2, KEY-5) and whose ID was sent once, while
    nothing is down (ROUTE-5)."""
    messages = record.args["messages"]
    alone = len(messages) == 1 and "txn" not in record.args and len(facts.by_id[messages[0].id]) == 1
    return alone and has_one_key(facts, record) and facts.derive(Outages).quiet(record.call, ret)


def _receive(facts: Facts, record: Record, ret: int) -> bool:
    """With flows, its flow is bound."""
    return "session" not in record.args and (not facts.profile.flows or _bound(facts, record, ret))


def _peek(facts: Facts, record: Record, ret: int) -> bool:
    """Where peeking is offered at all."""
    return facts.profile.peek


def _begin(facts: Facts, record: Record, ret: int) -> bool:
    """No other transaction has its name."""
    named = sum(one.args["txn"] == record.args["txn"] for one in facts.begins)
    return facts.profile.transactions and named == 1


def _bind(facts: Facts, record: Record, ret: int) -> bool:
    """No flow of its name may be bound, and it asks for no partition."""
    sessions = facts.derive(FlowTimeline).sessions_of.get(record.args.get("flow", ""), ())
    possibly_bound = any(
        session.bind is not record
        and session.bind.call <= returned(record)
        and record.call <= (FOREVER if session.end is record else session.certain_end)
        for session in sessions
    )
    return facts.profile.flows and "partition" not in record.args and not possibly_bound


def _unbind(facts: Facts, record: Record, ret: int) -> bool:
    """Its flow is bound."""
    return facts.profile.flows and _bound(facts, record, ret)


def _bound(facts: Facts, record: Record, ret: int) -> bool:
    flow = record.args.get("flow")
    return any(
        session.bind.proc == record.proc
        and flow in (None, session.flow)
        and session.certain_start < record.call
        and (session.possible_end > ret or session.end is record)
        for session in facts.derive(FlowTimeline).sessions
    )


_VALID: Final[Mapping[str, Callable[[Facts, Record, int], bool]]] = {
    "send": _plain_send,
    "send_batch": _plain_send,
    "receive": _receive,
    "peek": _peek,
    "begin": _begin,
    "bind": _bind,
    "unbind": _unbind,
}

SCREEN: Final = Screen(
    "refusals",
    ("KEY-9",),
    check,
    blind_spots=(
        "A batch, and what is sent amid a fault, may be refused for another reason.",
        "A limit that is reached, and any passing error, may be the reason of any refusal.",
        "Which flows a kill ended is inferred from unbinds alone.",
        "What is refused in a transaction, or at its end, is left to the judge.",
    ),
)
