"""Capacity: when an entity certainly holds too much, and when a partition may be full.

How many bytes there are at least and at most says each send (`Action.held`, `Action.ever`), as it follows
from what clients asked for, and were shown, alone.
"""

from __future__ import annotations

from typing import Final

from ..actions import INVALID, Action, Observed, failure
from ..admission.norm import limits
from ..clauses import clause, guard
from ..configuration import Config
from ..routing.norm import failed, send
from ..sequencing.entering import due_of
from ..state import State, Steps


def has_size(cfg: Config) -> bool:
    """Whether it is known which size was chosen for the entity."""
    return cfg.entity.max_size is not None


def send_within(state: State, action: Action, seen: Observed | None) -> Steps:
    """Send to an entity of that size. What exceeds its capacity is refused."""
    if exceeds(state, action):
        yield failure(INVALID), failed(state, action.messages)
    if is_within(state, action):
        yield from send(state, action, seen)


@guard("ENT-6")
def is_within(state: State, action: Action) -> bool:
    """Whether the entity may have room for the send. Whether what waits for its time counts no source
    says, and what has a time to live may be gone at once."""
    return not exceeds(state, action) or any(due_of(one) or one.ttl is not None for one in action.messages)


def exceeds(state: State, action: Action) -> bool:
    """Whether it would certainly hold more than all its partitions have room for."""
    entity = state.cfg.entity
    return entity.max_size is not None and action.held > entity.partitions * entity.max_size


@limits
@clause("ENT-6", "KEY-9")
def may_be_full(cfg: Config, error: str, action: Action) -> bool:
    """Whether a send may be refused with that error, which speaks of a limit: one partition may have got all
    that was ever sent."""
    return error != "quota" or cfg.entity.max_size is None or action.ever > cfg.entity.max_size


BY_SETTING: Final = dict.fromkeys(("send", "send_batch"), (has_size, send_within))
"""Those of others that are otherwise on an entity whose size is known."""
