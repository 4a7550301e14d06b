"""The mutants of the reference broker, as brokers under test. Next to `adapters.reference` the only module
that touches `reference_impl`."""

from __future__ import annotations

from partq.reference_impl.mutants import MUTANTS, Mutant

from .adapters.protocol import Broker
from .adapters.reference import Reference
from .adapters.registry import UnknownBroker
from .codec_fields import did_you_mean

__all__ = ["MUTANTS", "Mutant", "open_mutant"]


def open_mutant(name: str) -> Broker:
    """The reference broker with that defect. Raises `UnknownBroker`."""
    mutant = MUTANTS.get(name)
    if mutant is None:
        hint = did_you_mean(name, MUTANTS) or "; partq explain RULE names the mutants that break a rule"
        raise UnknownBroker(f"no mutant {name!r}{hint}")
    broker = Reference(parts=mutant.parts)
    broker.profile = mutant.profile
    return broker
