"""What became of messages sent in a transaction: TXN-5, as far as it shows before, or without, a commit.

What a second key leaves is TXN-2's. What should have been seen and was not is in `screens.attribution`.
"""

from __future__ import annotations

from typing import Final

from partq.conformance.facts.index import RET, Facts, Observation, Txn
from partq.conformance.facts.lifetimes import Lifetime, Lifetimes
from partq.conformance.history import Record, time_text
from partq.conformance.screens.admission.faults import homes
from partq.conformance.screens.attribution import applies
from partq.conformance.screens.protocol import Report
from partq.model.messages import Message, conflicting, effective_key
from partq.model.operations import Outcome

SECOND_KEY: Final = (
    "A second key in a transaction",
    "the second key rejected as an invalid operation, nothing of it stored",
)
"""Title of findings of TXN-2, and what it allows."""


def judge_visibility(facts: Facts, report: Report, txn: Txn) -> None:
    """Nothing of it is seen before a commit, and nothing ever without one."""
    since, lives = txn.committed_from, facts.derive(Lifetimes)
    for record in txn.sends:
        if record.outcome == Outcome.ERROR or txn.is_late(record):
            continue
        for message in record.args["messages"]:
            life = lives.get(message.id)
            if life is None or _keyless_in(facts, message):
                continue
            shown = _first_shown(life)
            if shown is None:
                if since is None and facts.drained is not None and txn.ends:
                    report.count("TXN-5")
            elif since is None or shown.ret < since:
                if not of_second_key(facts, txn, record):
                    _too_early(report, txn, record, message.id, shown)
                elif not any(found.requirement == "TXN-2" for found in report.findings):
                    detail = f"{message.id!r}, in transaction {txn.name!r} of another key, was stored at once"
                    title, allowed = SECOND_KEY
                    report.find("TXN-2", "stored at once", title, (record, shown.record), detail, allowed)
                return
            elif txn.committed_by is not None:
                report.count("TXN-5")


def of_second_key(facts: Facts, txn: Txn, record: Record) -> bool:
    """Whether the send brought in a second key, of another partition or of one not known (TXN-2)."""
    if not applies(facts, "TXN-2"):
        return False
    requirement, known = facts.profile.key_rule, facts.derive(homes)
    first = next((send for send in txn.sends if send.outcome == Outcome.OK), record)
    one = effective_key(first.args["messages"][0], requirement)
    other = effective_key(record.args["messages"][0], requirement)
    return one != other and (one not in known or known[one] != known.get(other or ""))


def _keyless_in(facts: Facts, message: Message) -> bool:
    """Whether the message should not be in a transaction at all: then TXN-1 or KEY-3 owns it."""
    return applies(facts, "TXN-1") and (
        conflicting(message) or effective_key(message, facts.profile.key_rule) is None
    )


def _first_shown(life: Lifetime) -> Observation | None:
    """The appearance that was over first."""
    return min((*life.deliveries, *life.peeks), key=RET, default=None)


def _too_early(report: Report, txn: Txn, send: Record, id: str, shown: Observation) -> None:
    rolled_back = txn.committed_from is None and txn.end is not None
    title = "Visible after the rollback" if rolled_back else "Visible before the commit"
    since, seen = txn.committed_from, f"was seen by {time_text(shown.ret)}"
    if since is None:
        detail = f"{id!r}, sent in transaction {txn.name!r}, which was not committed, {seen}"
    else:
        detail = (
            f"{id!r}, sent in transaction {txn.name!r}, {seen}; its commit was called at {time_text(since)}"
        )
    witness = (send, shown.record, *ending(txn))
    allowed = "not visible before the commit, and never after a rollback"
    cause = "visible after rollback" if rolled_back else "visible before commit"
    report.find("TXN-5", cause, title, witness, detail, allowed)


def ending(txn: Txn) -> tuple[Record, ...]:
    return () if txn.end is None else (txn.end,)


def certainly_committed(facts: Facts, txn: Txn) -> int | None:
    """The instant by which the transaction certainly had taken effect, or None."""
    if txn.committed_by is not None or txn.committed_from is None:
        return txn.committed_by
    sends = [
        record
        for record in txn.sends
        if record.outcome != Outcome.ERROR and not of_second_key(facts, txn, record)
    ]
    ids = [message.id for record in sends for message in record.args["messages"]]
    lives = filter(None, map(facts.derive(Lifetimes).get, ids))
    shown = (seen for life in lives for seen in life.appearances)
    return min(map(RET, shown), default=None)
