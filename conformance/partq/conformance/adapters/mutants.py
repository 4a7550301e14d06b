"""The mutants of the reference broker, as brokers under test. Next to `adapters.reference` the only module
that touches `reference_impl`."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final

from partq.conformance.adapters.names import UnknownBroker
from partq.conformance.adapters.protocol import Broker
from partq.conformance.adapters.reference import Reference
from partq.reference_impl.mutants import MUTANTS, Mutant

NEAR: Final = 3
"""How many names an unknown mutant's error suggests."""

LIKE: Final = 0.5
"""Similarity (of 1) from which names are suggested."""

CERTAIN: Final = 0.85
"""Similarity (of 1) from which the nearest name is suggested alone."""

__all__ = ["MUTANTS", "Mutant", "open_mutant"]


def open_mutant(name: str) -> Broker:
    """The reference broker with that defect. Raises `UnknownBroker`."""
    mutant = MUTANTS.get(name)
    if mutant is None:
        near = get_close_matches(name, MUTANTS, 1, CERTAIN) or get_close_matches(name, MUTANTS, NEAR, LIKE)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise UnknownBroker(f"no mutant {name!r}{hint or f'; partq list mutants names all {len(MUTANTS)}'}")
    broker = Reference(parts=mutant.parts)
    broker.profile = mutant.profile
    return broker
