"""Valid requests that are refused for good, as invalid, as not found, or as if a lock were lost; and requests
accepted of what certainly is not there: a transaction that was never begun, a flow that is gone.

A broker may refuse anything for the time being (busy, a limit reached), but not as something that it was not.
Where a request may not have been valid (its lock or flow possibly gone, its transaction possibly over)
nothing is said. Settlements and renewals by locks that hold are `delivery.settlement`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from partq.conformance.facts.flow_timeline import FlowTimeline
from partq.conformance.facts.index import FOREVER, Facts
from partq.conformance.facts.locks import Locks
from partq.conformance.facts.open_transactions import begins, certainly_open, first_begins
from partq.conformance.facts.outages import Outages
from partq.conformance.facts.records import returned
from partq.conformance.history import Record
from partq.conformance.screens.attribution import applies, key_count
from partq.conformance.screens.protocol import Report, Screen
from partq.model.messages import conflicting, effective_keys
from partq.model.operations import FOR_GOOD, Outcome

SENDS: Final = frozenset({"send", "send_batch"})


def check(facts: Facts) -> Report:
    """Every operation that was refused for good, and that certainly was valid. KEY-9 is exercised by each
    valid send outside transactions that is accepted."""
    report = Report()
    if facts.unfollowed:
        return report
    valid = _Valid(facts)
    for record in facts.records:
        if record.error in FOR_GOOD and record.outcome == Outcome.ERROR and record.op in _VALID:
            if record.ret is not None and _VALID[record.op](valid, record, record.ret):
                _refused(facts, report, record)
    accepted = (r for r in facts.requests if r.outcome == Outcome.OK and "txn" not in r.args)
    report.count("KEY-9", sum(map(valid.has_one_key, accepted)))
    _judge_never_begun(facts, report)
    return report


def _refused(facts: Facts, report: Report, record: Record) -> None:
    """A valid request refused for good."""
    detail = f"the {record.op} at {record.i} was refused as {record.error}, though it was valid"
    others = _others(facts, record)
    if others:
        report.ambiguous((*others, "KEY-9"), detail)
    else:
        allowed = "accepted, or refused for now (unavailable, timeout, quota)"
        title = "A valid request refused for good"
        report.find("KEY-9", f"{record.op} {record.error}", title, (record,), detail, allowed)


def _others(facts: Facts, record: Record) -> tuple[str, ...]:
    """Which other rules may be why: in a batch or a transaction, what makes a message's key its key."""
    if record.op in ("commit", "rollback"):
        return ("TXN-5",)
    if record.op not in SENDS:
        return ()
    messages, found = record.args["messages"], list[str]()
    if len(messages) > 1 and not key_count(record):
        found.append("KEY-5")
    elif len(messages) > 1 or "txn" in record.args:
        found += ["KEY-1", "KEY-2"]
    if not facts.derive(Outages).quiet(record.call, returned(record)):
        found.append("ROUTE-5")
    return tuple(id for id in found if applies(facts, id))


def _judge_never_begun(facts: Facts, report: Report) -> None:
    """Nothing is done in a transaction of which every begin was refused, or that was not begun by then."""
    for txn in facts.txns.values():
        begun = facts.derive(first_begins).get(txn.name, FOREVER)
        for record in (*txn.sends, *txn.settlements, *txn.ends):
            if record.outcome == Outcome.OK and returned(record) < begun:
                why = f"the {record.op} at {record.i} was accepted in {txn.name!r}, which was never begun"
                report.ambiguous(("TXN-10", "TXN-5"), why)
                return


class _Valid:
    """Whether an operation certainly was valid, from its call to its return."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.rule = facts.profile.key_rule
        self.partitioned = facts.profile.partitioned

    def has_one_key(self, record: Record) -> bool:
        """Whether the messages of a send may be in one request."""
        messages = record.args["messages"]
        if len(messages) == 1:
            return not conflicting(messages[0])
        if any(map(conflicting, messages)) or self.facts.entity.duplicate_detection:
            return False
        if not self.partitioned or self.facts.profile.flows:
            return True
        return key_count(record) <= 1 and len(self._keys(record)) <= 1

    def _keys(self, record: Record) -> set[str | None]:
        return effective_keys(record.args["messages"], self.rule)

    def send(self, record: Record, ret: int) -> bool:
        """It bears one key or none, that of its transaction if it has one."""
        if not self.has_one_key(record):
            return False
        if "txn" not in record.args:
            return True
        return certainly_open(self.facts, record, ret) and self._fits(record)

    def _fits(self, record: Record) -> bool:
        """Whether a send into a transaction may bear its keys, whatever else is in there."""
        if not self.partitioned:
            return True
        txn, keys = self.facts.txns[record.args["txn"]], self._keys(record)
        before = [send for send in txn.sends if send.call < record.call]
        known = {key for send in before for key in self._keys(send)}
        return None not in keys and known <= keys and not txn.settlements

    def receive(self, record: Record, ret: int) -> bool:
        """With flows, its flow is bound."""
        return "session" not in record.args and (not self.facts.profile.flows or self._bound(record, ret))

    def peek(self, record: Record, ret: int) -> bool:
        """Where peeking is offered at all."""
        return self.facts.profile.peek

    def begin(self, record: Record, ret: int) -> bool:
        """No other transaction has its name."""
        return self.facts.profile.transactions and self.facts.derive(begins)[record.args["txn"]] == 1

    def commit(self, record: Record, ret: int) -> bool:
        """All that is in the transaction was accepted, may be together, and its locks still hold."""
        txn = self.facts.txns[record.args["txn"]]
        if not certainly_open(self.facts, record, ret):
            return False
        if self.partitioned and any(key_count(send) != 1 for send in txn.sends):
            return False
        return all(self._held(lock, ret) for one in txn.settlements for lock in one.args["locks"])

    def rollback(self, record: Record, ret: int) -> bool:
        """The transaction is open."""
        return certainly_open(self.facts, record, ret)

    def _held(self, lock: str, ret: int) -> bool:
        """Whether a lock that is settled once certainly has not ended by itself by then."""
        seen = self.facts.derive(Locks).given.get(lock)
        if seen is None or len(self.facts.settled[lock]) > 1:
            return False
        return seen.held_unsettled > ret

    def bind(self, record: Record, ret: int) -> bool:
        """No flow of its name is bound, and it asks for no partition."""
        return self.facts.profile.flows and "partition" not in record.args and not self.possibly_bound(record)

    def unbind(self, record: Record, ret: int) -> bool:
        """Its flow is bound; a connection that ends, has one."""
        return self.facts.profile.flows and self._bound(record, ret)

    def _bound(self, record: Record, ret: int) -> bool:
        sessions, flow = self.facts.derive(FlowTimeline).sessions, record.args.get("flow")
        return any(
            session.bind.proc == record.proc
            and flow in (None, session.flow)
            and session.certain_start < record.call
            and (session.possible_end > ret or session.end is record)
            for session in sessions
        )

    def possibly_bound(self, record: Record) -> bool:
        """Whether a flow of that name may be bound at some instant of the operation."""
        sessions = self.facts.derive(FlowTimeline).sessions_of.get(record.args.get("flow", ""), ())
        return any(
            session.bind is not record
            and session.bind.call <= returned(record)
            and record.call <= (FOREVER if session.end is record else session.certain_end)
            for session in sessions
        )


_VALID: Final[Mapping[str, Callable[[_Valid, Record, int], bool]]] = {
    "send": _Valid.send,
    "send_batch": _Valid.send,
    "receive": _Valid.receive,
    "peek": _Valid.peek,
    "begin": _Valid.begin,
    "commit": _Valid.commit,
    "rollback": _Valid.rollback,
    "bind": _Valid.bind,
    "unbind": _Valid.unbind,
}

SCREEN: Final = Screen(
    "refusals",
    ("KEY-9",),
    check,
    blind_spots=(
        "A request in a transaction is held to be valid only if no fault struck since it began, all that was "
        "asked for in it before was accepted, and its sends and settlements cannot be in two partitions.",
        "A batch of keyed and keyless messages, or of different keys, may be refused.",
        "A limit that is reached, and any passing error, may be the reason of any refusal.",
        "Which flows a kill ended is inferred from unbinds alone.",
        "A send that is refused as for a lost lock, or as not found, in a transaction that may be gone is "
        "not held against KEY-9.",
    ),
)
