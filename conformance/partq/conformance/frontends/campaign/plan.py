"""What a campaign will do, as data: which broker, which profiles, how many traces, cut into chunks.

A plan alone decides every trace, so that where and in what order chunks run changes no result.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, Final

from partq.conformance.adapters import public_name

SCHEMA: Final = "partq.campaign/1"
SUMMARY: Final = "campaign.json"
"""The file that says what a folder's campaign is and what came of it."""

CHUNK: Final = 250
"""Traces in a chunk, up to `MANY` chunks: about a quarter of a second of work."""

MANY: Final = 400
"""Chunks in a campaign; larger campaigns get larger chunks instead, up to `LARGEST`."""

LARGEST: Final = 2500


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive traces of one broker and profile. ``until``: as the lane's."""

    index: int
    broker: str
    profile: str
    first: int
    count: int
    until: str | None = None


Task = tuple[Chunk, ...]
"""Chunks that are done one after the other, until one ends their lane."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One broker under one profile, and its share of the traces. ``until``: the lane ends with the chunk in
    which a finding names this requirement."""

    broker: str
    profile: str
    traces: int
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A campaign. ``length`` is the number of phrases in each program; None: the generator's own choice.
    ``exact``: the judge is asked about so many traces in 100, besides those that a screen suspects."""

    lanes: tuple[Lane, ...]
    seed: int
    length: int | None
    exact: int = 0

    @property
    def traces(self) -> int:
        """All traces of all lanes."""
        return sum(lane.traces for lane in self.lanes)

    def chunks(self) -> Iterator[Chunk]:
        """Every chunk, in order. Traces are numbered through the whole campaign."""
        ends = any(lane.until for lane in self.lanes)
        size = CHUNK if ends else min(LARGEST, max(CHUNK, self.traces // MANY))
        index = first = 0
        for lane in self.lanes:
            end = first + lane.traces
            while first < end:
                count = min(size, end - first)
                yield Chunk(index, lane.broker, lane.profile, first, count, lane.until)
                index, first = index + 1, first + count

    def tasks(self, named: Mapping[int, Collection[str]]) -> Iterator[Task]:
        """What is left to do: each chunk by itself, those of a lane that ends early one after the other.
        ``named``: of each chunk that is done the requirements that its findings name."""
        for (until, *_), lane in groupby(self.chunks(), lambda c: (c.until, c.broker, c.profile)):
            chunks = list(lane)
            left = tuple(chunk for chunk in chunks if chunk.index not in named)
            if until is None:
                yield from ((chunk,) for chunk in left)
            elif left and not any(until in named.get(chunk.index, ()) for chunk in chunks):
                yield left

    def to_json(self) -> dict[str, Any]:
        """The plan as plain data, without passwords."""
        data = asdict(self)
        data["lanes"] = [{**lane, "broker": public_name(lane["broker"])} for lane in data["lanes"]]
        return data


def even(broker: str, profiles: tuple[str, ...], traces: int) -> tuple[Lane, ...]:
    """The traces shared out among the profiles, the first ones getting what is left over."""
    share, rest = divmod(traces, len(profiles))
    return tuple(
        Lane(broker, name, share + (n < rest)) for n, name in enumerate(profiles) if share + (n < rest)
    )
