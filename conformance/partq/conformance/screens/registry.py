"""`ALL` screens, in the order of the catalogue."""

from __future__ import annotations

from typing import Final

from partq.conformance.screens import exercised, peeking
from partq.conformance.screens.admission import faults as admission
from partq.conformance.screens.admission import requests
from partq.conformance.screens.delivery import delivery, turns
from partq.conformance.screens.flows import deliveries as flows
from partq.conformance.screens.flows import ownership, rebalancing
from partq.conformance.screens.protocol import Screen
from partq.conformance.screens.routing import affinity as routing
from partq.conformance.screens.sequencing import numbering as sequencing
from partq.conformance.screens.transactions import effects as transactions

ALL: Final[tuple[Screen, ...]] = (
    routing.SCREEN,
    requests.SCREEN,
    admission.SCREEN,
    sequencing.SCREEN,
    delivery.SCREEN,
    peeking.SCREEN,
    transactions.SCREEN,
    ownership.SCREEN,
    flows.SCREEN,
    rebalancing.SCREEN,
    turns.SCREEN,
    exercised.SCREEN,
)
