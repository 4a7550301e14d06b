"""The generator: seeded programs of concurrent clients and faults.

It writes *phrases* (the modules named after them) after a theme's `weights`, and knows nothing of what a
broker should answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from random import Random
from typing import Final

from partq.conformance.workload.flow_phrases import bind
from partq.conformance.workload.operations.table import is_offered
from partq.conformance.workload.phrases import Draft, Source
from partq.conformance.workload.program import Program
from partq.conformance.workload.request_phrases import other_case
from partq.conformance.workload.themes import ABOUT, PHRASES, THEMES, themes_of
from partq.conformance.workload.weights import CAPPED, LENGTHS, Theme, Weights
from partq.model.operations import SWITCHED
from partq.model.profiles import SECOND, Entity, Profile, profile

PATIENCE: Final = 100
"""Deliveries until a message is dead-lettered, in long programs: these reach the usual number soon, and then
what is done with the message hides what else goes on."""

USUAL: Final = Entity().max_delivery_count
"""The same in most short programs; in some a few deliveries do."""

LIMIT_SEED: Final = 2**64


def trace_seed(seed: int, trace: int | str) -> int:
    """The seed of that trace of a campaign, or program of a run, or of what is drawn apart from the rest of a
    program: 64 bits, the same on every machine."""
    return int.from_bytes(blake2b(f"{seed}/{trace}".encode(), digest_size=8).digest(), "big")


class Seeded:
    """Choices from a seed. Uses `Random.random` alone, whose sequence is the same on every Python."""

    __slots__ = ("_random",)

    def __init__(self, seed: int) -> None:
        self._random = Random(seed).random

    def below(self, n: int) -> int:
        """A whole number from 0 to n-1."""
        return int(self._random() * n)


def generate(
    profile_name: str,
    seed: int,
    *,
    length: int | None = None,
    lacks: frozenset[str] = frozenset(),
    lock_duration: int | None = None,
    themes: Mapping[str, Weights] = THEMES,
) -> Program:
    """A program for the profile: equal arguments give equal programs.

    ``length`` counts phrases; None: one of `LENGTHS`. Steps that ``lacks`` names are left out, and so are
    themes that need what it names. ``lock_duration`` in ns is the entity's, whatever is drawn. ``themes``: of
    the profile's only these. Raises `ValueError` where it has none of them.
    """
    family = profile(profile_name)
    lacks = lacks | {op for op, switch in SWITCHED.items() if not getattr(family, switch)}
    source = Seeded(seed)
    if length is None:
        length = LENGTHS[source.below(len(LENGTHS))]
    names = [name for name in themes_of(family) if name in themes and ABOUT[name].needs not in lacks]
    if not names:
        raise ValueError(f"{profile_name} has none of the themes {', '.join(themes)}")
    theme = _theme(names, source, seed)
    about = ABOUT[theme]
    chosen = {name: several[source.below(len(several))] for name, several in about.choices.items()}
    settings = {**about.settings, **chosen}
    if length > LENGTHS[0]:
        settings["max_delivery_count"] = PATIENCE
    if lock_duration is not None:
        settings["lock_duration"] = lock_duration
    entity = replace(_entity(family, about, source), **settings)
    clients = tuple(f"c{n}" for n in range(1, 3 + (0, 0, 1, 1, 2, 6)[source.below(6)]))
    keys = _keys(source)
    draft = Draft(family, entity, source, keys, clients)
    table = _table(tuple(themes[theme].items()))
    if family.flows:
        bind(draft)
    for _ in range(length):
        PHRASES[table[source.below(len(table))]](draft)
    steps = tuple(step for step in draft.steps if is_offered(step.op, step.args, lacks))
    return Program(profile_name, steps, entity, seed % LIMIT_SEED, sequential=draft.chance(4))


def _theme(names: Sequence[str], source: Source, seed: int) -> str:
    """One of these. A theme that takes programs from others gets its own first."""
    for name in names:
        if (one_in := ABOUT[name].one_in) and Seeded(trace_seed(seed, name)).below(one_in) == 0:
            return name
    shared = [name for name in names if not ABOUT[name].one_in] or names
    return shared[source.below(len(shared))]


def _keys(source: Source) -> tuple[str, ...]:
    """A few keys; sometimes one that differs from another in case alone, or is as long as a key may be."""
    keys = tuple(f"k{n}" for n in range(1, 2 + source.below(6)))
    unusual = source.below(6)
    if unusual < 2:
        return (*keys, other_case(keys[0]))
    return (*keys, "long " * 25 + "key") if unusual == 2 else keys


def _entity(family: Profile, theme: Theme, source: Source) -> Entity:
    counts = family.partitions or (2, 3, 4, 6)
    partitions = counts[source.below(len(counts))]
    start = 2**family.counter_bits - 1 - source.below(4) if theme.name == "rollover" else None
    if family.flows:
        delay = (0, 1, 5)[source.below(3)] * SECOND
        return Entity(partitions=partitions, rebalance_delay=delay)
    cap = (None, 2, 5)[source.below(3)] if theme.name == CAPPED else None
    tries = (USUAL, USUAL, 1, 2, 3)[source.below(5)] if theme.wears else USUAL
    return Entity(partitions=partitions, seq_start=start, peek_cap=cap, max_delivery_count=tries)


@cache
def _table(weights: tuple[tuple[str, int], ...]) -> tuple[str, ...]:
    """The phrases, each as often as it weighs."""
    return tuple(name for name, weight in weights for _ in range(weight))
