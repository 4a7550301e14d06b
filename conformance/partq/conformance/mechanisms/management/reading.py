"""Management in a history, and what exercises its rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.facts.index import Facts
from partq.conformance.facts.outages import Outages
from partq.conformance.history import Record
from partq.conformance.mechanisms.management.counting import find_wrong
from partq.conformance.mechanisms.management.rest import COUNTS, GETS, at_rest, compared
from partq.conformance.oracle.uses import Use
from partq.conformance.screens.protocol import Exercise, Report
from partq.model.operations import OPS, UNAVAILABLE
from partq.model.sizes import exceeds

_DOWN: Final = "partition_down"
_UPDATES: Final = "update"
_CREATES: Final = "create"
_CHANGES: Final = frozenset({_UPDATES, _CREATES, "delete"})
_SENDS: Final = tuple(name for name, op in OPS.items() if "messages" in op.args)
_PARTITIONING: Final = frozenset({"partitions", "partitioned"})


def _uses(record: Record) -> bool:
    """A get, an update, a create, or a send of something that has a size."""
    asks = record.op in (GETS, _UPDATES, _CREATES)
    return asks or any(message.body for message in record.sent)


def _is_open(record: Record) -> str | None:
    if record.op == _UPDATES and not record.args.get("settings", {}).keys() <= _PARTITIONING:
        return "an update of other settings than those of partitions is not modelled"
    return None


def _updates(record: Record, end: int = 0) -> bool:
    return record.op == _UPDATES


def _matters(record: Record, end: int) -> bool:
    """An update of more than the number of partitions, which is `scaling`'s elsewhere."""
    return _updates(record) and record.args.get("settings", {}).keys() != {"partitions"}


USE: Final = Use(
    uses=_uses, rule="MGT-1", what="updates of entities", matters=_matters, open=_is_open, compared=compared
)


def _answers(facts: Facts, *names: str) -> list[Record]:
    """The gets that show one of these."""
    return [one for one in facts.of(GETS) if one.ok and not one.args.keys().isdisjoint(names)]


def _counted(facts: Facts) -> int:
    """Each get whose counts are compared, and one of which is not zero."""
    shown = (record.args for record in facts.derive(at_rest) if record.ok)
    return sum(any(args.get(name) for name in COUNTS) for args in shown)


def _while_down(facts: Facts) -> int:
    """Each status that is shown while a partition is down."""
    outages = facts.derive(Outages)
    return sum(outages.some_certainly_down(*get.span) for get in _answers(facts, "status"))


def _failed_amid_outage(facts: Facts) -> int:
    """Each update, create and delete that failed, by an error that tells of an outage, while a partition was
    down."""
    failed = (one for one in facts.of(*_CHANGES) if one.error in UNAVAILABLE)
    outages = facts.derive(Outages)
    return sum(one.refused and outages.some_certainly_down(*one.span) for one in failed)


def _too_large(facts: Facts) -> list[Record]:
    """Each send that is too large."""
    return [one for one in facts.of(*_SENDS) if exceeds(facts.profile, facts.entity, one.sent)]


def _find_accepted(facts: Facts, report: Report) -> None:
    for record in facts.derive(_too_large):
        if record.ok and "txn" not in record.args:
            report.find(
                "ENT-7", "accepted", (record,), "a send whose bodies are larger than allowed was accepted"
            )


def _refused_updates(facts: Facts) -> int:
    """Each update that was refused."""
    return sum(record.refused for record in facts.of(_UPDATES))


def _own_partitions(facts: Facts) -> int:
    """Each get that shows the partitions, and each entity that was refused as it was to have none."""
    asked = (one.args.get("settings", {}) for one in facts.of(_CREATES) if one.error)
    return len(_answers(facts, "partitions")) + sum(one.get("partitioned") is False for one in asked)


EXERCISED: Final[Mapping[str, Exercise]] = {
    "ENT-1": Exercise(_refused_updates, (_UPDATES,)),
    "ENT-7": Exercise(lambda facts: len(facts.derive(_too_large)), ("send", GETS), finds=_find_accepted),
    "MGT-1": Exercise(_counted, (GETS,), finds=find_wrong),
    "MGT-2": Exercise(_while_down, (GETS, _DOWN)),
    "MGT-3": Exercise(_failed_amid_outage, (_UPDATES, _DOWN)),
    "ENT-2": Exercise(lambda facts: len(_answers(facts, "partitions")), (GETS,)),
    "ENT-3": Exercise(_own_partitions, (GETS,)),
}
