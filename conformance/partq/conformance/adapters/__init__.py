"""Adapters: one broker each. `open_broker` finds the one that a command line names."""

from __future__ import annotations

from .protocol import Broker, Client, Indefinite, Rejected, Shares, SimulatedBroker, Unreachable
from .registry import UnknownBroker, claimed_profiles, is_public, open_broker, public_name

__all__ = [
    "Broker",
    "Client",
    "Indefinite",
    "Rejected",
    "Shares",
    "SimulatedBroker",
    "UnknownBroker",
    "Unreachable",
    "claimed_profiles",
    "is_public",
    "open_broker",
    "public_name",
]
