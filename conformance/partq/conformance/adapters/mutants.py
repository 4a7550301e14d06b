"""The mutants of the reference broker, as brokers under test. Next to `adapters.reference` the only module
that touches `reference_impl`."""

from __future__ import annotations

from partq.conformance.adapters.names import UnknownBroker
from partq.conformance.adapters.protocol import Broker
from partq.conformance.adapters.reference import Reference
from partq.conformance.history.codec_fields import did_you_mean
from partq.reference_impl.mutants import MUTANTS, Mutant

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
