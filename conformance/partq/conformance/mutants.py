"""The mutants of the reference broker, as brokers under test. Next to `adapters.reference` the only module
that touches `reference_impl`."""

from __future__ import annotations

from partq.reference_impl.mutants import MUTANTS, Mutant

from .adapters.protocol import Broker
from .adapters.reference import Reference
from .adapters.registry import UnknownBroker
from .codec_fields import did_you_mean

__all__ = ["MUTANTS", "Mutant", "open_mutant", "unknown_mutant"]


def unknown_mutant(name: str) -> str:
    """That there is no mutant of that name, and where to find one."""
    hint = did_you_mean(name, MUTANTS) or "; partq explain RULE names the mutants that break a rule"
    return f"no mutant {name!r}{hint}"


def open_mutant(name: str) -> Broker:
    """The reference broker with that defect. Raises `UnknownBroker`."""
    mutant = MUTANTS.get(name)
    if mutant is None:
        raise UnknownBroker(unknown_mutant(name))
    broker = Reference(parts=mutant.parts)
    broker.profile = mutant.profile
    return broker
