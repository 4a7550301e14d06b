"""What a campaign will do, as data: which broker, which profiles, how many traces, cut into chunks.

A plan alone decides every trace, so that where and in what order chunks run changes no result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
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
    """Consecutive traces of one broker and profile."""

    index: int
    broker: str
    profile: str
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class Lane:
    """One broker under one profile, and its share of the traces."""

    broker: str
    profile: str
    traces: int


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
        size = min(LARGEST, max(CHUNK, self.traces // MANY))
        index = first = 0
        for lane in self.lanes:
            end = first + lane.traces
            while first < end:
                count = min(size, end - first)
                yield Chunk(index, lane.broker, lane.profile, first, count)
                index, first = index + 1, first + count

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
