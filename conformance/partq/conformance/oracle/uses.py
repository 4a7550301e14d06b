"""Which mechanisms a history makes use of: it breaks no rule of one that it does not use, and where the
profile is silent about one that it uses, it is not judged. The TLA+ specification follows no sends to which
one matters. How one is used its `reading` says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from partq.conformance.history import Header, Record
from partq.conformance.of_mechanisms import given
from partq.model.profiles import requirements_of
from partq.model.requirements import catalogue


class Use(NamedTuple):
    """``uses``: whether a record makes use of the mechanism. ``rule``: without it the profile is silent, and
    nothing is known of what such a record does, if it ``matters`` in a history that ends then, ns.
    ``what``: the messages that make use of it, in words. ``spreads``: the rules which, waived, let what an
    excerpt leaves out matter to what is left (`excerpts`). ``timed``: what it does runs from enqueued
    times."""

    uses: Callable[[Record], bool]
    rule: str
    what: str
    matters: Callable[[Record, int], bool]
    spreads: frozenset[str] = frozenset()
    timed: bool = False


@cache
def uses() -> Mapping[str, Use]:
    """Mechanism -> how it is used."""
    return given("reading", "USE")


def unmet(records: Sequence[Record]) -> frozenset[str]:
    """The rules that none of these records can break: those of a mechanism that no client used."""
    unused = {mechanism for mechanism, one in uses().items() if not any(map(one.uses, records))}
    return frozenset(id for id, one in catalogue().items() if one.mechanism in unused)


def runs_from_enqueued_times(records: Sequence[Record]) -> bool:
    """Whether enqueued times matter to what the records use, shown or not."""
    return any(any(map(one.uses, records)) for one in uses().values() if one.timed)


def not_modelled(header: Header, records: Sequence[Record]) -> str | None:
    """What the records do of a mechanism that the profile is silent about, if anything."""
    silent = [one for one in uses().values() if one.rule not in requirements_of(header.profile)]
    end = end_of(header, records) if silent else 0
    found = (one.what for one in silent for record in records if one.matters(record, end))
    return next((f"{what} are not modelled where the profile has none" for what in found), None)


def end_of(header: Header, records: Sequence[Record]) -> int:
    """The latest time, ns, that the broker's clock may have shown within these records."""
    return max((r.call if r.ret is None else r.ret for r in records), default=0) + header.skew_ns
