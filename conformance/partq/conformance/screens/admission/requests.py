"""Which requests are accepted, by the keys in them: KEY-3, 5, 7; and a request in words.

What is refused because something is down is `faults.py`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.facts.index import Facts
from partq.conformance.history import Record
from partq.conformance.screens.attribution import enlisted_only, key_count
from partq.conformance.screens.protocol import Report
from partq.model.messages import conflicting
from partq.model.operations import CONNECTION_LOST, UNAVAILABLE, Outcome

OWN: Final[Mapping[str, tuple[str, str]]] = {
    "KEY-3": ("Session ID and partition key differ", "rejected as an invalid operation, nothing stored"),
    "KEY-5": (
        "A keyless batch is keyed by message IDs",
        "accepted: without duplicate detection IDs are no keys",
    ),
    "KEY-7": ("A batch of different keys", "rejected as a whole, nothing stored"),
    "ROUTE-5": ("A keyed send while its partition was down", "an error, and the message stored nowhere"),
    "ROUTE-8": ("A send while no partition was up", "an error, and the message stored nowhere"),
}
"""Requirement -> the title of its findings, and what it allows."""

_BY_CHANCE: Final = UNAVAILABLE | {CONNECTION_LOST}
"""Errors by which any request may end that meets the broker at a bad time."""


def judge_requests(facts: Facts, report: Report) -> None:
    """KEY-3, KEY-5 and KEY-7 on every send and batch."""
    batches = _Batches(facts, report)
    for record in facts.requests:
        if len(record.args["messages"]) == 1:
            message = record.args["messages"][0]
            if message.session_id is not None and conflicting(message):
                _demand_refusal(facts, report, "KEY-3", record)
        else:
            batches.judge(record)
    batches.judge_refusals()


def _demand_refusal(facts: Facts, report: Report, requirement: str, record: Record) -> None:
    if record.outcome == Outcome.OK:
        if not enlisted_only(facts, record):
            find(report, requirement, "accepted", (record,), request(record))
    elif record.outcome == Outcome.ERROR and record.error == "invalid_operation":
        report.count(requirement)
    elif record.outcome == Outcome.ERROR and record.error not in _BY_CHANCE:
        report.open.setdefault(requirement, f"{request(record)}: for this reason, or for another")


class _Batches:
    """The rules of batches: KEY-3, KEY-5, KEY-7. ``keyed``: batches of one key that were accepted."""

    def __init__(self, facts: Facts, report: Report) -> None:
        self.facts = facts
        self.report = report
        self.keyed = 0
        self.keyless: dict[str, list[Record]] = {Outcome.OK: [], Outcome.ERROR: []}

    def judge(self, record: Record) -> None:
        """Take in one batch."""
        facts, messages = self.facts, record.args["messages"]
        if any(conflicting(message) for message in messages):
            _demand_refusal(facts, self.report, "KEY-3", record)
            return
        keys = key_count(record)
        if keys > 1:
            _demand_refusal(facts, self.report, "KEY-7", record)
        elif "txn" not in record.args:
            if keys == 0:
                if record.outcome == Outcome.OK or record.error == "invalid_operation":
                    self.keyless.get(record.outcome, []).append(record)
            elif record.outcome == Outcome.OK:
                self.keyed += 1
            if facts.drained is not None and all(facts.saw(message.id) for message in messages):
                self.report.count("KEY-7")

    def judge_refusals(self) -> None:
        """KEY-5: keyless batches are refused as invalid again and again, though batches are not. One refusal
        may have another reason (KEY-9)."""
        accepted, refused = self.keyless[Outcome.OK], self.keyless[Outcome.ERROR]
        self.report.count("KEY-5", len(accepted))
        if len(refused) > 1 and self.keyed and not accepted:
            for record in refused:
                find(self.report, "KEY-5", "rejected", (record,), request(record))
        elif refused:
            why = "its IDs were taken for keys (KEY-5), or it was refused for another reason (KEY-9)"
            self.report.open.setdefault("KEY-5", f"{request(refused[0])}: {why}")


def find(report: Report, requirement: str, cause: str, witness: tuple[Record, ...], detail: str) -> None:
    """Note a finding of one of the rules of `OWN`."""
    title, allowed = OWN[requirement]
    report.find(requirement, cause, title, witness, detail, allowed)


def request(record: Record) -> str:
    """The send in words: what it held, and how it ended."""
    said = record.outcome if record.error is None else f"{record.outcome} ({record.error})"
    return f"{record.op} of {', '.join(map(_message, record.args['messages']))} answered {said}"


def _message(message: object) -> str:
    traits = (("session", "session_id"), ("key", "partition_key"))
    shown = [f"{name} {getattr(message, field)!r}" for name, field in traits if getattr(message, field)]
    return f"{getattr(message, 'id', '')!r}" + (f" ({', '.join(shown)})" if shown else "")
