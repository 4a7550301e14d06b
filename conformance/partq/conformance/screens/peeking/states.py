"""PEEK-7: a message is shown in its own state: deferred, or scheduled, only where somebody made it so."""

from __future__ import annotations

from typing import Final

from partq.conformance.facts.index import Facts, Observation
from partq.conformance.screens.protocol import Report
from partq.model.messages import DEFERRED, SCHEDULED
from partq.model.operations import Outcome

_REQUIREMENT: Final = "PEEK-7"


def check_states(facts: Facts, report: Report) -> None:
    """PEEK-7 on every message that was peeked in another state than the usual one. Exercised by none: it says
    nothing of what is locked."""
    for id, peeks in facts.peeked.items():
        for seen in peeks:
            state = seen.delivery.state
            if (state == DEFERRED and not _deferred(facts)) or (
                state == SCHEDULED and not _scheduled(facts, id)
            ):
                _wrong(report, seen)
                break


def _deferred(facts: Facts) -> bool:
    """Whether any message may have been deferred."""
    return any(record.op == "defer" and record.outcome != Outcome.ERROR for record in facts.settlements)


def _scheduled(facts: Facts, id: str) -> bool:
    """Whether the message may have been scheduled: sent so, or not to this entity."""
    sends = facts.by_id.get(id, ())
    return not sends or any(
        sent.record.op == "schedule" or sent.message.scheduled_at is not None for sent in sends
    )


def _wrong(report: Report, seen: Observation) -> None:
    shown = seen.delivery
    report.find(
        _REQUIREMENT,
        "state",
        "A peek showed a message in a state that it was not in",
        (seen.record,),
        f"{seen.record.proc} was shown message {shown.id!r} as {shown.state}, which no client made it.",
        "the message as active",
    )
