"""Which screens there are: `ALL`, in the order of the catalogue."""

from __future__ import annotations

from typing import Final

from partq.conformance.screens import exercised, peeking
from partq.conformance.screens.admission import faults as admission
from partq.conformance.screens.admission import refusals
from partq.conformance.screens.delivery import delivery, domains
from partq.conformance.screens.flows import deliveries as flows
from partq.conformance.screens.flows import order as flow_order
from partq.conformance.screens.flows import ownership, rebalancing
from partq.conformance.screens.protocol import Screen
from partq.conformance.screens.routing import affinity as routing
from partq.conformance.screens.sequencing import numbering as sequencing
from partq.conformance.screens.transactions import keys as transactions

ALL: Final[tuple[Screen, ...]] = (
    routing.SCREEN,
    admission.SCREEN,
    refusals.SCREEN,
    sequencing.SCREEN,
    delivery.SCREEN,
    peeking.SCREEN,
    transactions.SCREEN,
    ownership.SCREEN,
    flows.SCREEN,
    flow_order.SCREEN,
    rebalancing.SCREEN,
    domains.SCREEN,
    exercised.SCREEN,
)
