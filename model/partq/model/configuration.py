"""What stays the same while a state changes: the profile, the entity, freedoms, waivers.

What is in force of the norm and its departures is put together here, once for each configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from .departures import in_force
from .messages import KeyRule
from .profiles import Entity, Profile, profile, requirements_of, unpromised

FOREVER: Final = 2**63
"""Later than any time."""

COUNTER_BITS: Final = 48
"""Of a partitioned entity's sequence number these are the counter, those above name the partition (SEQ-2)."""

NARROWLY: Final = "narrowly"
"""Selects the narrow relaxed form of a requirement that has two (`WIDE`)."""

WIDE: Final = frozenset(
    {"KEY-8", "ROUTE-1", "ROUTE-7", "SEQ-5", "RCV-9", "PEEK-6", "PEEK-7", "REB-7", "TXN-5"}
)
"""The requirements with a wide and a narrow relaxed form."""


class InvalidScope(ValueError):
    """A profile, entity or set of partition names that the machine has no state for."""


_PINNING: Final = frozenset({"ROUTE-1", "ROUTE-2"})
_KEY_RULES: Final = {
    KeyRule.SERVICE_BUS: {"KEY-1", "KEY-2"},
    KeyRule.USER_PROPERTY: {"KEY-8"},
    KeyRule.PARTITION_KEY: {"KEY-2"},
}
"""The requirements that say together that a key has one partition, and what a message's key is."""


@dataclass(frozen=True, slots=True, eq=False)
class Config:
    """What stays the same: one object for each set of values, compared by identity.

    ``names``: what each partition is called; negative where it is never shown. ``symmetric``: partitions
    that were never used, nor named, are interchangeable, and only the first of them is tried.

    Freedoms, on unless a state space has to stay small: ``hindsight``: hidden locks of caching front ends
    (RCV-5, RCV-13) may have begun any time since a message was free (always off without front ends or
    clock). ``gaps``: failed sends may have used up numbers (SEQ-4). ``lag``: commits may become visible late
    (TXN-5). ``early``: transactional messages may be numbered before the commit. ``owing``: the end of a
    lock may be counted only when its message is delivered again. ``serving``: a partition that is down may
    still deliver, show and settle what it stores, for no requirement forbids it.

    ``untimed``: no clock; locks, delays and handoffs end at any moment, by moves of the broker.

    For explaining histories: ``timed``: enqueued times are compared (SEQ-7), give or take ``skew`` ns.
    ``late``: the broker's timers fire up to so many ns late; ``grace``: those that end locks of messages.
    ``observed``: assignment events are part of the history; they tell of a change at most ``telling`` ns
    after it. ``subqueue``: what its dead-letter queue holds is part of the state. ``resumed``: flows come
    back to what they had. ``fading``: what a commit removed may be peeked after it.

    ``waived``: requirements that the broker is taken to break. A waiver only ever adds behaviours
    (`State.forbids`, `State.breaks`).
    """

    profile: Profile
    entity: Entity
    names: tuple[int, ...]
    symmetric: bool = False
    hindsight: bool = True
    gaps: bool = True
    lag: bool = True
    early: bool = True
    owing: bool = True
    serving: bool = True
    untimed: bool = False
    timed: bool = False
    late: int = 0
    grace: int = 0
    observed: bool = False
    telling: int = 0
    subqueue: bool = False
    resumed: bool = False
    fading: bool = False
    skew: int = 0
    waived: frozenset[str] = frozenset()
    lock_duration: int = field(init=False)
    """How long a lock lasts, ns."""
    binding: frozenset[str] = field(init=False)
    """The requirements that bind the profile."""
    limit: int = field(init=False)
    """The highest delivery count: a message that has it, and that no client holds, may have been
    dead-lettered (RCV-9)."""

    pinned: bool = field(init=False)
    """Whether each key certainly has one partition: what says so binds, and nothing is waived."""

    departures: Mapping[Callable[..., Any], Callable[..., Any]] = field(init=False, repr=False)
    """What a point of the norm is called as instead, where a departure is in force."""

    def __post_init__(self) -> None:
        family, entity = self.profile, self.entity
        object.__setattr__(self, "lock_duration", entity.lock_duration if family.locks_expire else FOREVER)
        object.__setattr__(self, "binding", requirements_of(family.name))
        known = not family.partitioned or _PINNING | _KEY_RULES[family.key_rule] <= self.binding
        object.__setattr__(self, "pinned", known and not self.waived)
        unlimited = family.flows or not self.forbids("RCV-9")
        object.__setattr__(self, "limit", FOREVER if unlimited else entity.max_delivery_count)
        object.__setattr__(self, "departures", in_force(self))

    @property
    def bits(self) -> int:
        """How many bits the counter has (SEQ-5)."""
        return self.profile.counter_bits

    @property
    def waivable(self) -> frozenset[str]:
        """The requirements that a waiver lifts: those that bind, and what the profile does not promise."""
        return self.binding | unpromised(self.profile.name)

    def forbids(self, requirement: str) -> bool:
        """Whether the requirement is enforced: it binds the profile, and is not waived."""
        return requirement in self.binding and requirement not in self.waived


@cache
def configured(
    profile_name: str,
    entity: Entity,
    names: tuple[int, ...],
    options: tuple[tuple[str, int], ...],
    waived: frozenset[str],
) -> Config:
    """The one configuration with these values, as far as the profile has what they are about."""
    family, switches = profile(profile_name), dict(options)
    hindsight = family.caching_front_ends and not switches.get("untimed", False)
    switches["hindsight"] = hindsight and bool(switches.get("hindsight", True))
    switches["gaps"] = family.shows_seq and bool(switches.get("gaps", True))
    switches["timed"] = "SEQ-7" in requirements_of(profile_name) and bool(switches.get("timed", False))
    switches["owing"] = family.peek and bool(switches.get("owing", True))
    return Config(family, entity, names, waived=waived, **switches)  # type: ignore[arg-type]  # 0 and 1 for switches


def position(cfg: Config, name: int | None) -> int | None:
    """Where the partition of that shown name is, or None. A flat entity's one partition has any name."""
    if not cfg.profile.partitioned:
        return 0
    return cfg.names.index(name) if name in cfg.names else None
