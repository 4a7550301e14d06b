"""How a broker breaks the rules on management (MGT), and what a breach of others lets it count.

Where what is stored breaks another rule the counts show it, too, and often first. Each of these waivers lets
them differ as far as the history makes use of what the rule is about.
"""

from __future__ import annotations

from ..actions import OK, Action, Observed
from ..configuration import Config
from ..departures import beyond
from ..messages import Message
from ..routing.norm import refusals
from ..sizes import exceeds, limit_of
from ..state import State, Steps, entries
from ..statuses import PARTING
from .norm import counts_agree, differences, repartitions, update


@beyond(counts_agree, "MGT-1")
def counts_are_wrong(state: State, action: Action) -> bool:
    """The counts are of something else."""
    return True


def _of_what_moved(state: State, action: Action) -> bool:
    """Messages are counted as what they are not yet, or no more."""
    return True


def _without_the_lost(state: State, action: Action) -> bool:
    """Messages that are lost are not counted."""
    return max(differences(state, action)) <= 0


def _after_locks(state: State, action: Action) -> bool:
    """Messages are counted as a lock, or its end, left them."""
    return any(entry.turn or entry.tries or entry.status == PARTING for _, entry in entries(state))


def _with_the_removed(state: State, action: Action) -> bool:
    """Messages that were gone are counted."""
    return min(differences(state, action)) >= 0 and any(part.next > len(part.log) for part in state.parts)


def _with_the_refused(state: State, action: Action) -> bool:
    """Messages that were refused are counted."""
    return min(differences(state, action)) >= 0 and bool(state.burnt)


@beyond(update, "ENT-1")
def repartitioning_accepted(state: State, action: Action, seen: Observed | None) -> Steps:
    """An update of the partitioning is accepted."""
    if repartitions(state.cfg, action.settings):
        yield OK, state


def _has_limit(cfg: Config) -> bool:
    return limit_of(cfg.profile, cfg.entity) is not None


@beyond(refusals, "ENT-7", where=_has_limit, broken=True)
def large_accepted(state: State, messages: tuple[Message, ...]) -> frozenset[bool]:
    """What is too large is accepted."""
    cfg = state.cfg
    return frozenset({False}) if exceeds(cfg.profile, cfg.entity, messages) else frozenset()


for _rule in ("RCV-15", "SCH-1", "SCH-2", "SCH-3", "SCH-4", "SCH-6", "DUP-1", "DUP-2"):
    beyond(counts_agree, _rule, broken=True)(_of_what_moved)

for _rule in ("RCV-8", "RCV-9", "RCV-10"):
    beyond(counts_agree, _rule, broken=True)(_after_locks)

for _rule in (
    *("KEY-3", "KEY-7", "ROUTE-5", "ROUTE-6", "ROUTE-8", "SES-3"),
    *("TXN-1", "TXN-2", "TXN-7", "TXN-10"),
):
    beyond(counts_agree, _rule, broken=True)(_with_the_refused)

beyond(counts_agree, "RCV-2", broken=True)(_without_the_lost)
beyond(counts_agree, "RCV-7", broken=True)(_with_the_removed)
