"""Which requests have to be refused, whatever is up: by the keys in them (KEY-3, KEY-7, TXN-1 to 4), by the
partitions that a transaction settles in (TXN-7), as the transaction is over (TXN-10); and which must
not: keyless batches (KEY-5), and valid requests outside transactions for good (KEY-9): as invalid, as not
found, or as if a lock were lost.

A broker may refuse anything for the time being (busy, a limit reached), but not as something that it was not.
Where a request may not have been valid (its flow possibly gone) nothing is said. What is refused in a
transaction, at its end, or by a lock that holds, the judge alone decides; what is refused because something
is down is `faults.py`'s business; what was stored though it was rejected `delivery.content`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from partq.conformance.facts.flow_timeline import FlowTimeline
from partq.conformance.facts.index import FOREVER, Facts, Txn
from partq.conformance.facts.outages import Outages
from partq.conformance.history import Record
from partq.conformance.screens.attribution import (
    applies,
    enlisted_only,
    forbidden,
    homes,
    key_count,
    key_rule,
    unfit_in_session,
)
from partq.conformance.screens.protocol import Report, Screen
from partq.model.messages import Message, conflicting
from partq.model.operations import FOR_GOOD
from partq.model.sizes import may_be_over

INVALID: Final = "invalid_operation"


def check(facts: Facts) -> Report:
    """Requests that were accepted though they had to be refused. Exercised by each that was refused."""
    report = Report()
    if not facts.unfollowed:
        _judge_valid(facts, report)
    if applies(facts, "KEY-7"):
        for record in facts.requests:
            if (rule := forbidden(facts, record)) is not None:
                _judge(facts, report, rule, record)
        _judge_batches(facts, report)
    for txn in facts.txns.values():
        _judge_late(report, txn)
        if applies(facts, "TXN-2"):
            for rule, record, before in _of_keys(facts, txn):
                _judge(facts, report, rule, record, *before)
        if applies(facts, "TXN-7"):
            for record, before in _of_partitions(facts, txn):
                _judge(facts, report, "TXN-7", record, *before)
    return report


def _judge(facts: Facts, report: Report, rule: str, record: Record, *before: Record) -> None:
    """A request that the rule forbids. ``before``: the records because of which it does."""
    if record.ok:
        if rule in ("TXN-2", "TXN-4", "TXN-7") or not enlisted_only(facts, record):
            report.find(rule, "accepted", (*before, record), request(record))
    elif record.refused and record.error == INVALID:
        report.count(rule)


def _judge_batches(facts: Facts, report: Report) -> None:
    """KEY-5: keyless batches are refused as invalid again and again, though batches are not. One refusal may
    have another reason (KEY-9), and where sessions are required all have (SES-3). KEY-7 is exercised by each
    batch of one key that came whole."""
    keyed, accepted, refused = 0, 0, []
    for record in facts.requests:
        if len(record.sent) == 1 or "txn" in record.args or forbidden(facts, record):
            continue
        if may_be_over(facts.profile, facts.entity, record.sent):
            continue
        ok = record.ok
        if facts.keys_of(record.sent) != {None}:
            keyed += ok
        elif ok:
            accepted += 1
        elif record.error == INVALID and record.refused and not facts.entity.requires_session:
            refused.append(record)
        if facts.drained is not None and all(facts.saw(message.id) for message in record.sent):
            report.count("KEY-7")
    report.count("KEY-5", accepted)
    for record in refused if len(refused) > 1 and keyed and not accepted else ():
        report.find("KEY-5", "rejected", (record,), request(record))


def _of_keys(facts: Facts, txn: Txn) -> Iterator[tuple[str, Record, tuple[Record, ...]]]:
    """The sends of a transaction without a key (TXN-1), and with another one than its first: a session
    (TXN-4), or one of which it is known that it lives elsewhere (TXN-2). (Two in one request: KEY-7.)"""
    known, rule, first = facts.derive(homes), key_rule(facts), None
    for record in (one for one in txn.sends if not txn.is_late(one) and not unfit_in_session(facts, one)):
        messages = record.sent
        keys = facts.keys_of(messages)
        if None in keys:
            if len(keys) == 1 or (len(keys) == 2 and record.ok):
                yield "TXN-1", record, ()
        elif len(keys) == 1 and not any(map(conflicting, messages)):
            key = str(keys.pop())
            if first is None:
                first = (key, record) if record.ok else None
            elif rule == "TXN-4":
                if key != first[0] and not txn.reused:
                    yield rule, record, (first[1],)
            elif key in known and known.get(first[0], known[key]) != known[key]:
                yield rule, record, (first[1],)


def _of_partitions(facts: Facts, txn: Txn) -> Iterator[tuple[Record, tuple[Record, ...]]]:
    """The settlements of a transaction that concern another partition than its first."""
    first: tuple[int | None, Record] | None = None
    for record in (one for one in txn.settlements if not txn.is_late(one)):
        seen = (facts.locks.get(lock) for lock in record.args["locks"])
        found = {one.partition for one in seen if one is not None} - {None}
        if first is None and len(found) == 1:
            if record.ok:
                first = (found.pop(), record)
        elif found - {first[0] if first else None}:
            yield record, () if first is None else (first[1],)


def _judge_late(report: Report, txn: Txn) -> None:
    """TXN-10: what is asked for in a transaction after an end that was ok. (That the broker rolled it back,
    no client sees for certain.)"""
    for record in (*txn.sends, *txn.settlements, *txn.ends):
        if txn.over is not None and txn.is_late(record):
            if record.ok:
                why = f"{record.op} in transaction {txn.name!r} answered ok after its {txn.over.op} had"
                report.find("TXN-10", record.op, (txn.over, record), why)
            elif record.refused:
                report.count("TXN-10")


# KEY-9


def _judge_valid(facts: Facts, report: Report) -> None:
    """KEY-9: every operation that was refused for good, and that certainly was valid. Exercised by each valid
    send outside transactions that is accepted."""
    for record in facts.records:
        if record.error in FOR_GOOD and record.refused and record.op in _VALID:
            if record.ret is not None and _VALID[record.op](facts, record):
                why = f"the {record.op} at {record.i} was refused as {record.error}, though it was valid"
                report.find("KEY-9", f"{record.op} {record.error}", (record,), why)
    accepted = (r for r in facts.requests if r.ok and "txn" not in r.args)
    report.count("KEY-9", sum(_has_one_key(facts, record) for record in accepted))


def _has_one_key(facts: Facts, record: Record) -> bool:
    """Whether the messages of a send may be in one request."""
    messages = record.sent
    if any(map(conflicting, messages)):
        return False
    free = len(messages) == 1 or not facts.profile.partitioned or facts.profile.flows
    return free or (key_count(record) <= 1 and len(facts.keys_of(messages)) <= 1)


def _plain_send(facts: Facts, record: Record) -> bool:
    """One message, whose key is no question (KEY-1, KEY-2, KEY-5) and whose ID was sent once, while
    nothing is down (ROUTE-5). Where there are sessions, it is of one (SES-3). Where the entity has a size it
    may be beyond it (ENT-6)."""
    messages = record.sent
    if facts.entity.max_size is not None or may_be_over(facts.profile, facts.entity, messages):
        return False
    if facts.entity.requires_session and any(message.session_id is None for message in messages):
        return False
    alone = len(messages) == 1 and "txn" not in record.args and len(facts.by_id[messages[0].id]) == 1
    return alone and _has_one_key(facts, record) and facts.derive(Outages).quiet(*record.span)


def _receive(facts: Facts, record: Record) -> bool:
    """With flows, its flow is bound. Where there are sessions, nothing is received outside of one."""
    return not facts.entity.requires_session and (not facts.profile.flows or _bound(facts, record))


def _peek(facts: Facts, record: Record) -> bool:
    """Where peeking is offered at all."""
    return facts.profile.peek


def _begin(facts: Facts, record: Record) -> bool:
    """No other transaction has its name."""
    named = sum(one.args["txn"] == record.args["txn"] for one in facts.begins)
    return facts.profile.transactions and named == 1


def _bind(facts: Facts, record: Record) -> bool:
    """No flow of its name may be bound, and it asks for no partition."""
    sessions = facts.derive(FlowTimeline).sessions_of.get(record.args.get("flow", ""), ())
    possibly_bound = any(
        session.bind is not record
        and session.bind.call <= record.end
        and record.call <= (FOREVER if session.end is record else session.certain_end)
        for session in sessions
    )
    return facts.profile.flows and "partition" not in record.args and not possibly_bound


def _unbind(facts: Facts, record: Record) -> bool:
    """Its flow is bound, and no fault may have ended it meanwhile."""
    meanwhile = (one for one in facts.disruptions if one is not record)
    apart = all(one.end < record.call or record.end < one.call for one in meanwhile)
    return facts.profile.flows and apart and _bound(facts, record)


def _bound(facts: Facts, record: Record) -> bool:
    flow = record.args.get("flow")
    return any(
        session.bind.proc == record.proc
        and flow in (None, session.flow)
        and session.certain_start < record.call
        and (session.possible_end > record.end or session.end is record)
        for session in facts.derive(FlowTimeline).sessions
    )


_VALID: Final[Mapping[str, Callable[[Facts, Record], bool]]] = {
    "send": _plain_send,
    "send_batch": _plain_send,
    "receive": _receive,
    "peek": _peek,
    "begin": _begin,
    "bind": _bind,
    "unbind": _unbind,
}


def request(record: Record) -> str:
    """The request in words: what it held, and how it ended."""
    said = record.outcome if record.error is None else f"{record.outcome} ({record.error})"
    args = record.args
    held = map(_message, args["messages"]) if "messages" in args else args.get("locks") or (args["lock"],)
    return f"{record.op} of {', '.join(held)} answered {said}"


def _message(message: Message) -> str:
    traits = (("session", message.session_id), ("key", message.partition_key))
    shown = [f"{name} {value!r}" for name, value in traits if value]
    return f"{message.id!r}" + (f" ({', '.join(shown)})" if shown else "")


_TXN: Final = ("begin", "commit")

SCREEN: Final = Screen(
    "requests",
    ("KEY-3", "KEY-5", "KEY-7", "KEY-9", "TXN-1", "TXN-2", "TXN-3", "TXN-4", "TXN-7", "TXN-10"),
    check,
    blind_spots=(
        "That a keyless batch is refused as invalid is KEY-5 where such batches are refused again and again.",
        "What a transaction only enlisted, and did not commit, may still have been refused (KEY-3, KEY-7).",
        "A batch of keyed and keyless messages may be accepted or refused.",
        "A second key is judged where both keys' partitions are known from messages seen, and differ.",
        "That a transaction is over is known where a commit or rollback was ok, not where the broker rolled "
        "it back, nor where its name is used again (TXN-10).",
        "KEY-9: a batch, and what is sent amid a fault, may be refused for another reason; a limit that is "
        "reached, and any passing error, may be the reason of any refusal. Which flows a kill ended is "
        "inferred from unbinds alone.",
    ),
    needs={
        "KEY-5": ("send_batch",),
        "KEY-7": ("send_batch",),
        **dict.fromkeys(("TXN-1", "TXN-10"), _TXN),
        **dict.fromkeys(("TXN-2", "TXN-7"), (*_TXN, "partitions")),
        **dict.fromkeys(("TXN-3", "TXN-4"), (*_TXN, "accept_session")),
    },
)
