"""Forwarding: how a message arrives that another queue passed on.

The model is asked about each queue for itself. That one which forwards is a queue to which messages are sent,
of which nothing is seen any more. In the one that they come to each arrives by a move of the broker, at any
time after it was sent, in any order: it is born there, with a number of its own, in the partition of its key.
"""

from __future__ import annotations

from typing import Final

from ..actions import FORWARD, OK, Action, Observed
from ..clauses import clause, guard, point
from ..configuration import Config
from ..deadletters.norm import TOO_FAR, sets_aside
from ..messages import Message
from ..profiles import MOST_HOPS, Destination
from ..routing.norm import accepted
from ..sequencing.entering import brings
from ..state import Entry, State, Steps
from ..statuses import PARTING


@point("FWD-1", "FWD-2")
def forward(state: State, action: Action, seen: Observed | None) -> Steps:
    """A message arrives: as a message that is sent is stored, with the key that it was sent with."""
    if within_hops(state.cfg):
        yield from ((OK, after) for after in accepted(state, action, seen))


@guard("FWD-2")
def within_hops(cfg: Config) -> bool:
    """Whether messages may be forwarded as often as they are on the way to this queue."""
    return hops_of(cfg) <= MOST_HOPS


@sets_aside
@clause("FWD-2")
def set_aside(cfg: Config) -> str | None:
    """Why a queue that would have to forward messages once too often sets them aside."""
    return TOO_FAR if cfg.entity.forward_to and hops_of(cfg) == MOST_HOPS else None


@brings
def parted(cfg: Config, entry: Entry, message: Message) -> Entry:
    """What is set aside at once is about to come to the dead-letter queue. Of a time to live some may be over
    when a message arrives: no source says from when on it runs then."""
    if message.ttl is not None and isinstance(cfg.entity, Destination):
        entry = entry._replace(life=(0, message.ttl))
    return entry._replace(status=PARTING) if set_aside(cfg) else entry


def hops_of(cfg: Config) -> int:
    """How often what arrives here was forwarded."""
    return cfg.entity.hops if isinstance(cfg.entity, Destination) else 0


BROKER_OPS: Final = {FORWARD: forward}
"""The broker's own move."""
