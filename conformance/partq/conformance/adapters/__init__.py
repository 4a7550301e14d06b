"""How a broker is driven: one adapter a kind of broker. `open_broker` finds the one that a user names.

The seam for third parties: what is imported from here stays. No program is run here.
"""

from __future__ import annotations

from partq.conformance.adapters.names import UnknownBroker, is_built_in, is_public, public_name
from partq.conformance.adapters.protocol import (
    Broker,
    Client,
    Indefinite,
    Rejected,
    Shares,
    SimulatedBroker,
    Unreachable,
)
from partq.conformance.adapters.registry import claimed_profiles, module_of, open_broker, refuse_unwritten
from partq.conformance.adapters.shape import near_misses
from partq.conformance.adapters.stage import StagedBroker

__all__ = [
    "Broker",
    "Client",
    "Indefinite",
    "Rejected",
    "Shares",
    "SimulatedBroker",
    "StagedBroker",
    "UnknownBroker",
    "Unreachable",
    "claimed_profiles",
    "is_built_in",
    "is_public",
    "module_of",
    "near_misses",
    "open_broker",
    "public_name",
    "refuse_unwritten",
]
