"""What a campaign will do, as data: which broker, which profiles, how many traces, cut into chunks and units.

A plan alone decides every trace, so that where, in what order and in which waves units run changes no result;
here are also its program, and the command that runs it alone.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any, Final

from partq.conformance.adapters import Broker, public_name
from partq.conformance.history.codec_profiles import read_profile, typed
from partq.conformance.workload.generator import generate, trace_seed
from partq.conformance.workload.program import Program
from partq.model.profiles import embedded

SCHEMA: Final = "partq.campaign/2"
SUMMARY: Final = "campaign.json"
"""The file that says what a folder's campaign is and what came of it."""

CHUNK: Final = 250
"""Traces in a chunk of a simulated broker: about two seconds of work."""

LIVE_CHUNK: Final = 8
"""Traces in a chunk of a live broker, whose programs mostly wait."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive traces of one broker and profile, which one decider judges. ``until``: as the lane's."""

    broker: str
    profile: str
    first: int
    count: int
    until: str | None = None


Unit = tuple[Chunk, ...]
"""The least that a wave does: chunks that are done one after the other, until one ends their lane."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One broker under one profile, and its share of the traces. ``until``: the lane ends with the chunk in
    which a finding names this requirement. ``chunk``: traces in a chunk."""

    broker: str
    profile: str
    traces: int
    until: str | None = None
    chunk: int = CHUNK

    @property
    def units(self) -> int:
        """How many units it is: one if it may end early, otherwise one a chunk."""
        return 1 if self.until else -(-self.traces // self.chunk)


@dataclass(frozen=True, slots=True)
class Plan:
    """A campaign. ``length`` is the number of phrases in each program; None: the generator's own choice.
    ``exact``: the judge is asked about so many traces in 100, besides those that a screen suspects.
    ``trace_timeout``: seconds that the run of a simulated trace may take; 0: any.
    ``profiles``: what those of its profiles say that are not built in, for executors without their files."""

    lanes: tuple[Lane, ...]
    seed: int
    length: int | None
    exact: int = 0
    trace_timeout: float = 0.0
    profiles: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "profiles", embedded(lane.profile for lane in self.lanes))

    def make_profiles_known(self) -> None:
        """Make its profiles known in this process."""
        for said in self.profiles.values():
            read_profile(said)

    @property
    def traces(self) -> int:
        """All traces of all lanes."""
        return sum(lane.traces for lane in self.lanes)

    @property
    def units(self) -> int:
        """All units of all lanes."""
        return sum(lane.units for lane in self.lanes)

    @property
    def names(self) -> list[tuple[str, str]]:
        """Each lane's broker and profile as results name them, without passwords."""
        return list(dict.fromkeys((public_name(lane.broker), lane.profile) for lane in self.lanes))

    @property
    def ends_early(self) -> bool:
        """Whether some lane may end before all its traces are done."""
        return any(lane.until for lane in self.lanes)

    def unit(self, index: int) -> Unit:
        """The chunks of one unit. Traces are numbered through the whole campaign."""
        first = 0
        for lane in self.lanes:
            if index < lane.units:
                return tuple(_chunks(lane, first, index))
            index, first = index - lane.units, first + lane.traces
        raise IndexError(index)

    def planned(self, units: range) -> int:
        """The traces in those units if no lane ends early."""
        return sum(chunk.count for index in units for chunk in self.unit(index))

    def wave(self, missing: range, traces: int) -> range:
        """The first of the missing units that have at least so many traces together, or all of them; one at
        least."""
        for end in range(missing.start + 1, missing.stop):
            traces -= self.planned(range(end - 1, end))
            if traces <= 0:
                return range(missing.start, end)
        return missing

    def missing(self, done: Iterable[range]) -> list[range]:
        """The units outside of the ranges ``done``, which do not overlap, as ranges."""
        gaps, end = [], 0
        for units in sorted(done, key=lambda units: units.start):
            if end < units.start:
                gaps.append(range(end, units.start))
            end = units.stop
        return [*gaps, range(end, self.units)] if end < self.units else gaps

    def to_json(self) -> dict[str, Any]:
        """The plan as plain data, without passwords."""
        data = asdict(self)
        if not self.profiles:
            del data["profiles"]
        del data["trace_timeout"]  # it makes no row another
        data["lanes"] = [{**lane, "broker": public_name(lane["broker"])} for lane in data["lanes"]]
        return data

    def digest(self, code: str) -> str:
        """A fingerprint of the plan and of the code that carries it out."""
        return sha256(json.dumps([self.to_json(), code], sort_keys=True).encode()).hexdigest()[:32]


def _chunks(lane: Lane, first: int, unit: int) -> Iterator[Chunk]:
    """The chunks of a lane's unit; the lane's first trace is ``first``."""
    starts = range(0, lane.traces, lane.chunk)
    for start in starts if lane.until else starts[unit : unit + 1]:
        count = min(lane.chunk, lane.traces - start)
        yield Chunk(lane.broker, lane.profile, first + start, count, lane.until)


def even(broker: str, profiles: tuple[str, ...], traces: int, chunk: int = CHUNK) -> tuple[Lane, ...]:
    """The traces shared out among the profiles, the first ones getting what is left over."""
    share, rest = divmod(traces, len(profiles))
    return tuple(
        Lane(broker, name, share + (n < rest), chunk=chunk)
        for n, name in enumerate(profiles)
        if share + (n < rest)
    )


def program_of(broker: Broker, seed: int, trace: int, length: int | None, lacks: frozenset[str]) -> Program:
    """The program of a campaign's trace, under the broker's profile. ``lacks``: what the broker lacks."""
    drawn = trace_seed(seed, trace)
    return generate(
        broker.profile or "", drawn, length=length, lacks=lacks, lock_duration=broker.lock_duration
    )


def command_of(broker: str, profile: str, trace: int, seed: int, length: int | None) -> str:
    """What runs that trace of the campaign alone, without the broker's password."""
    words = ["partq", "fuzz", public_name(broker), "--trace", str(trace), "--seed", str(seed)]
    words += ["--profile", typed(profile)]
    return shlex.join(words if length is None else [*words, "--length", str(length)])
