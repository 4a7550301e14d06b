"""Deferred messages in a history, and what exercises their rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.facts.index import Facts
from partq.conformance.history import Record
from partq.conformance.oracle.uses import Use
from partq.conformance.screens.protocol import Exercise

_OPERATIONS: Final = frozenset({"defer", "receive_deferred"})


def _defers(record: Record, end: int = 0) -> bool:
    return record.op in _OPERATIONS


USE: Final = Use(
    uses=_defers, rule="RCV-10", what="deferred messages", matters=_defers, spreads=frozenset({"RCV-10"})
)


def _by_number(facts: Facts) -> int:
    """Each message that a receive by number delivered, and each such receive that was refused."""
    return sum(record.refused or len(record.messages) for record in facts.of("receive_deferred"))


EXERCISED: Final[Mapping[str, Exercise]] = {
    "RCV-10": Exercise(_by_number, ("defer", "receive_deferred")),
}
