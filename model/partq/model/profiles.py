"""What each broker family promises, as data.

A profile is a row of switches; no code branches on a profile's name. The requirement rows that apply
to it come from the catalogue, or from `overrides` for families the catalogue has no column for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from .messages import MAX_SEQ, KeyRule

SECOND: Final = 1_000_000_000
"""Nanoseconds."""


class InvalidEntity(ValueError):
    """An entity's setting has the wrong type or range."""


@dataclass(frozen=True, slots=True)
class Entity:
    """One queue's settings, as a client may know them. Durations are nanoseconds.

    ``seq_start`` is the counter of the first message in each partition (SEQ-5 needs numbers near the
    roll-over); None where unknown. ``peek_cap`` is the most messages one peek returns.

    Raises `InvalidEntity`.
    """

    partitions: int = 1
    lock_duration: int = 30 * SECOND
    rebalance_delay: int = 5 * SECOND
    max_handoff: int = 3 * SECOND
    seq_start: int | None = None
    peek_cap: int | None = None
    duplicate_detection: bool = False

    def __post_init__(self) -> None:
        bounds = {
            "partitions": (1, 1024),
            "lock_duration": (1, 2**62),
            "rebalance_delay": (0, 2**32 * SECOND),
            "max_handoff": (0, 2**32 * SECOND),
            "seq_start": (0, MAX_SEQ),
            "peek_cap": (1, 2**31),
        }
        for name, (low, high) in bounds.items():
            value = getattr(self, name)
            optional = name in ("seq_start", "peek_cap")
            if value is None and optional:
                continue
            if type(value) is not int or not low <= value <= high:
                raise InvalidEntity(f"{name} must be a whole number from {low} to {high}: {value!r}")


@dataclass(frozen=True, slots=True)
class Profile:
    """One broker family.

    ``column``: the catalogue column whose rows apply. ``overrides``: ID -> reason, for families
    without a column: the rows that apply, everything else is not applicable.
    ``partitions``: the counts the family allows (empty: any). ``caching_front_ends``: a receive may
    miss messages that another front end holds locked (RCV-5), and lock clocks may start early (RCV-13).
    ``flows``: consumers bind, and partitions are assigned to them (REB). ``transactions``: keys pin them.
    ``shows_seq``: messages bear sequence numbers. ``counter_bits``: after these the counter rolls over.
    """

    name: str
    title: str
    column: str | None
    key_rule: KeyRule
    partitions: tuple[int, ...]
    partitioned: bool = True
    caching_front_ends: bool = False
    flows: bool = False
    transactions: bool = False
    peek: bool = True
    shows_seq: bool = True
    counter_bits: int = 48
    default_entity: Entity = field(default_factory=Entity)
    overrides: Mapping[str, str] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(self.name)


_PREMIUM = (1, 2, 4)

PROFILES: Final[Mapping[str, Profile]] = {
    p.name: p
    for p in (
        Profile(
            name="azure-standard",
            title="Azure Service Bus Basic/Standard, partitioned entity",
            column="azure-standard",
            key_rule=KeyRule.SERVICE_BUS,
            partitions=(16,),
            caching_front_ends=True,
            transactions=True,
            default_entity=Entity(partitions=16),
        ),
        Profile(
            name="azure-premium",
            title="Azure Service Bus Premium, partitioned namespace",
            column="azure-premium",
            key_rule=KeyRule.SERVICE_BUS,
            partitions=_PREMIUM,
            caching_front_ends=True,
            transactions=True,
            default_entity=Entity(partitions=4),
        ),
        Profile(
            name="azure-flat",
            title="Azure Service Bus, non-partitioned entity",
            column="azure-flat",
            key_rule=KeyRule.SERVICE_BUS,
            partitions=(1,),
            partitioned=False,
            transactions=True,
            counter_bits=64,
            default_entity=Entity(partitions=1),
        ),
        Profile(
            name="solace",
            title="Solace PubSub+ partitioned queue",
            column="solace",
            key_rule=KeyRule.USER_PROPERTY,
            partitions=(),
            flows=True,
            peek=False,
            shows_seq=False,
            default_entity=Entity(partitions=4),
        ),
    )
}
"""Every profile by name."""


class UnknownProfile(LookupError):
    """No profile of that name."""


def profile(name: str) -> Profile:
    """The profile of that name. Raises `UnknownProfile`, whose text suggests near names."""
    try:
        return PROFILES[name]
    except KeyError:
        near = get_close_matches(name, PROFILES, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise UnknownProfile(f"unknown profile {name!r}.{hint} Known: {', '.join(PROFILES)}.") from None
