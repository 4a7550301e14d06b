"""The generator: seeded programs of concurrent clients and faults.

One generator, two sources of choices: a plain seed for campaigns, Hypothesis for searches that shrink. It
writes *phrases* (`phrases.py`, `flow_phrases.py`) after a theme's weights, and knows nothing of what a broker
should answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import blake2b
from random import Random
from typing import Final

from partq.model.profiles import SECOND, Entity, Profile, profile

from . import phrases
from .flow_phrases import FLOW_PHRASES
from .phrases import Draft, Source
from .program import Program

LENGTH: Final = 24
"""Phrases in a program, unless asked otherwise."""

LIMIT_SEED: Final = 2**64


def trace_seed(seed: int, trace: int) -> int:
    """The seed of that trace of a campaign, or program of a run: 64 bits, the same on every machine."""
    return int.from_bytes(blake2b(f"{seed}/{trace}".encode(), digest_size=8).digest(), "big")


class Seeded:
    """Choices from a seed. Uses `Random.random` alone, whose sequence is the same on every Python."""

    __slots__ = ("_random",)

    def __init__(self, seed: int) -> None:
        self._random = Random(seed).random

    def below(self, n: int) -> int:
        """A whole number from 0 to n-1."""
        return int(self._random() * n)


Weights = Mapping[str, int]
"""Phrase -> how often, in parts of the sum."""

THEMES: Final[Mapping[str, Weights]] = {
    "mixed": {
        "send": 30,
        "batch": 6,
        "receive": 18,
        "take": 3,
        "complete": 14,
        "abandon": 6,
        "stale": 2,
        "renew": 2,
        "peek": 8,
        "walk": 2,
        "transaction": 4,
        "advance": 4,
        "outage": 3,
        "front_end": 1,
        "kill": 1,
    },
    "routing": {
        "send": 40,
        "conflict": 3,
        "batch": 14,
        "receive": 10,
        "complete": 6,
        "peek": 10,
        "outage": 8,
        "blackout": 1,
        "kill": 2,
        "advance": 2,
    },
    "locks": {
        "send": 22,
        "receive": 26,
        "take": 3,
        "complete": 14,
        "abandon": 10,
        "stale": 8,
        "renew": 6,
        "keep": 4,
        "advance": 12,
        "outage": 1,
        "front_end": 2,
        "cut_off": 4,
        "late": 5,
    },
    "peek": {"send": 26, "receive": 8, "complete": 5, "abandon": 2, "peek": 26, "walk": 10, "advance": 2},
    "transactions": {
        "send": 10,
        "transaction": 34,
        "settle_transaction": 14,
        "receive": 14,
        "complete": 6,
        "peek": 10,
        "advance": 3,
        "outage": 1,
        "kill": 1,
    },
    "keys": {
        "burst": 30,
        "transaction": 12,
        "receive": 6,
        "outage": 3,
        "kill": 6,
    },
    "rollover": {"send": 40, "batch": 4, "receive": 10, "complete": 6, "peek": 12, "walk": 4, "abandon": 4},
    "flows": {
        "bind": 10,
        "unbind": 4,
        "disconnect": 4,
        "send": 40,
        "receive": 34,
        "complete": 24,
        "abandon": 3,
        "settle_all": 4,
        "advance": 6,
        "rest": 8,
        "spread": 6,
        "take": 3,
        "newcomer": 4,
        "restart": 2,
    },
    "handoff": {
        "bind": 14,
        "unbind": 6,
        "disconnect": 6,
        "send": 26,
        "receive": 30,
        "complete": 6,
        "advance": 16,
        "rest": 6,
        "handoff": 10,
        "standby": 4,
        "bind_partition": 2,
        "take": 2,
        "newcomer": 4,
    },
    "flow-keys": {"bind": 6, "rest": 6, "spread": 30, "complete": 8, "restart": 3},
    "connections": {
        "send": 44,
        "receive": 30,
        "take": 3,
        "complete": 18,
        "abandon": 6,
        "stale": 2,
        "disconnect": 10,
        "kill": 2,
        "advance": 1,
    },
}
"""What programs are about. A program has one theme, chosen among those of its profile."""

AZURE_THEMES: Final = ("mixed", "mixed", "routing", "keys", "locks", "peek", "transactions", "rollover")
CONNECTION_THEMES: Final = ("connections",)
FLOW_THEMES: Final = ("flows", "flows", "handoff", "flow-keys")

PHRASES: Final[Mapping[str, Callable[[Draft], None]]] = {**phrases.PHRASES, **FLOW_PHRASES}
"""Every phrase a theme may weigh."""


def generate(
    profile_name: str,
    seed: int,
    *,
    length: int = LENGTH,
    source: Source | None = None,
    lacks: frozenset[str] = frozenset(),
    lock_duration: int | None = None,
    themes: Mapping[str, Weights] = THEMES,
) -> Program:
    """A program for the profile: equal arguments give equal programs.

    ``length`` counts phrases. ``source`` overrides the seed as the origin of choices (Hypothesis); the
    seed still orders the interleaving. Steps that ``lacks`` names are left out. ``lock_duration`` in ns is
    the entity's, whatever is drawn.
    """
    family = profile(profile_name)
    source = Seeded(seed) if source is None else source
    theme = _theme(family, source)
    entity = _entity(family, theme, source)
    if lock_duration is not None:
        entity = replace(entity, lock_duration=lock_duration)
    clients = tuple(f"c{n}" for n in range(1, 3 + (0, 0, 1, 1, 2, 6)[source.below(6)]))
    keys = tuple(f"k{n}" for n in range(1, 2 + source.below(6)))
    draft = Draft(family, entity, source, keys, clients)
    table = _table(theme, tuple(themes[theme].items()))
    if family.flows:
        PHRASES["bind"](draft)
    for _ in range(length):
        PHRASES[table[source.below(len(table))]](draft)
    steps = tuple(step for step in draft.steps if step.op not in lacks) if lacks else tuple(draft.steps)
    return Program(profile_name, steps, entity, seed % LIMIT_SEED, sequential=draft.chance(4))


def _theme(family: Profile, source: Source) -> str:
    names = FLOW_THEMES if family.flows else AZURE_THEMES if family.locks_expire else CONNECTION_THEMES
    return names[source.below(len(names))]


def _entity(family: Profile, theme: str, source: Source) -> Entity:
    counts = family.partitions or (2, 3, 4, 6)
    partitions = counts[source.below(len(counts))]
    start = 2**family.counter_bits - 1 - source.below(4) if theme == "rollover" else None
    if family.flows:
        delay = (0, 1, 5)[source.below(3)] * SECOND
        return Entity(partitions=partitions, rebalance_delay=delay)
    cap = (None, 2, 5)[source.below(3)] if theme == "peek" else None
    return Entity(partitions=partitions, seq_start=start, peek_cap=cap)


_TABLES: Final[dict[tuple[str, tuple[tuple[str, int], ...]], tuple[str, ...]]] = {}


def _table(theme: str, weights: tuple[tuple[str, int], ...]) -> tuple[str, ...]:
    """The theme's phrases, each as often as it weighs; made once."""
    known = _TABLES.get((theme, weights))
    if known is None:
        known = tuple(name for name, weight in weights for _ in range(weight))
        _TABLES[theme, weights] = known
    return known
