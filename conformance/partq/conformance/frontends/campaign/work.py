"""One chunk of a campaign: generate, run, check, and fold into rows. Pure of Spark and of files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from itertools import product
from typing import Any, Final, TypeVar

from partq.conformance.adapters import (
    Broker,
    SimulatedBroker,
    UnknownBroker,
    Unreachable,
    open_broker,
    public_name,
)
from partq.conformance.adapters.questions import place
from partq.conformance.evaluation.activity import activity
from partq.conformance.evaluation.decision import Decider, Decision, Exactness
from partq.conformance.evaluation.endings import ending
from partq.conformance.evaluation.suite import BrokerFailed, NamedProgram, Ways, histories, lacks_of, runs
from partq.conformance.frontends.campaign.combinations import Combination, combined
from partq.conformance.frontends.campaign.limits import TooMany, check_children, each_within
from partq.conformance.frontends.campaign.meetings import met
from partq.conformance.frontends.campaign.plan import Chunk, Lane, Unit, command_of, program_of
from partq.conformance.frontends.campaign.tables import TABLES
from partq.conformance.history import History
from partq.conformance.history.entities import entity_of
from partq.conformance.oracle.judge import OVER_BUDGET
from partq.conformance.verdict import Status, finding_to_plain, firsts
from partq.conformance.workload.generator import generate
from partq.conformance.workload.program import Program, dumps
from partq.model.conditions import STRIKES
from partq.model.operations import ENV
from partq.model.profiles import profile

NO_FAULT: Final = "none"

MANY: Final = Exactness(share=0, seconds=10.0, nodes=1_000, allowance=10, again=50_000, more=200)
"""How much the judge is asked about the traces of a chunk, besides those in the share that the plan says.
Suspects cost about half the time that traces take themselves, a second look some 5 to 20 seconds; the seconds
are more than these nodes ever take, so that equal seeds give equal results."""

ACTIVITY: Final = "activity"
"""The kind of count that `activity` gives."""

TRIES: Final = 4
"""How often a chunk of a live broker is tried before the campaign gives up."""


Row = dict[str, Any]
T = TypeVar("T")


@dataclass(slots=True)
class RequirementCount:
    """What a chunk says of one requirement: how often it was exercised, in how many traces it was violated
    for certain and in how many it was left undecided. ``traces``: in how many it was exercised or undecided;
    ``undecided``: in how many it is open for no more than that it was not decided. ``trace``, ``why`` and
    ``candidates``: of the first trace that leaves it open, unless a later one says that one of several is
    violated; None where none does."""

    exercised: int = 0
    violated: int = 0
    unknown: int = 0
    traces: int = 0
    undecided: int = 0
    trace: int | None = None
    why: str | None = None
    candidates: tuple[str, ...] | None = None

    def leave_open(self, trace: int, why: str, candidates: tuple[str, ...]) -> None:
        """One more trace leaves it open."""
        self.unknown += 1
        if self.why is None or (candidates and not self.candidates):
            self.trace, self.why, self.candidates = trace, why, candidates


@dataclass(slots=True)
class ChunkResult:
    """What one chunk found, as rows of the campaign's tables and as sums that become rows. ``coverage``:
    (requirement, outcome, fault) -> in how many traces, and how often, the requirement was exercised beside
    an operation that ended so and a fault of that kind. ``partitions``: (rank, keyed) -> messages, each
    counted once, in the partition it was first shown in; see `_spread` for the rank. ``combinations``: in
    how many traces each came, how often, and how often with the outcome ``ok``. ``counts``: (kind, name) ->
    how often: `COUNTS` and `ACTIVITY` over the traces, and what the broker lacks, once."""

    chunk: Chunk
    verdicts: list[Row] = field(default_factory=list)
    violations: list[Row] = field(default_factory=list)
    requirements: dict[str, RequirementCount] = field(default_factory=dict)
    coverage: dict[tuple[str, str, str], list[int]] = field(default_factory=dict)
    partitions: Counter[tuple[int, bool]] = field(default_factory=Counter)
    combinations: dict[Combination, list[int]] = field(default_factory=dict)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def named(self) -> set[str]:
        """Every requirement that a finding names, alone or among others."""
        return {name for row in self.violations for name in (row["requirement"], *row["candidates"])}

    @property
    def findings(self) -> int:
        """How many findings there were."""
        return sum(row["times"] for row in self.violations)

    def rows(self) -> dict[str, list[Row]]:
        """The rows of every table."""
        lane, requirements = _lane(self.chunk), sorted(self.requirements.items())
        sums: dict[str, Mapping[Any, list[int]]] = {
            "coverage": self.coverage,
            "partitions": {key: [number] for key, number in self.partitions.items()},
            "combinations": self.combinations,
            "counts": {key: [number] for key, number in self.counts.items()},
        }
        return {
            "verdicts": self.verdicts,
            "violations": self.violations,
            "requirements": [{**lane, "requirement": id, **asdict(count)} for id, count in requirements],
            **{name: _summed(TABLES[name].schema.names, lane, cells) for name, cells in sums.items()},
        }


def _summed(columns: Sequence[str], lane: Row, cells: Mapping[Any, list[int]]) -> list[Row]:
    """Sums as rows, sorted by what they are of."""
    ordered = sorted(cells.items())
    return [dict(zip(columns, (*lane.values(), *key, *cell), strict=True)) for key, cell in ordered]


@lru_cache(maxsize=1)
def _lane(chunk: Chunk) -> Row:
    return {"broker": public_name(chunk.broker), "profile": chunk.profile}


class ChunkFailed(Exception):
    """A chunk that can't be done. The text says in one line what failed and where. ``lost``: the broker is
    there no more, though it may come again; otherwise the chunk would fail always."""

    def __init__(self, text: str, lost: bool = False) -> None:
        super().__init__(text)
        self.lost = lost


def check_broker(lane: Lane) -> None:
    """Ask the lane's broker what it lacks, open it and close it, for what would keep every chunk from being
    done; a simulated one has nothing to open. Raises `Unreachable`, `UnknownBroker`, and, where the adapter
    raises, `BrokerFailed`."""
    broker = open_broker(lane.broker)
    lacks_of(broker)
    if not isinstance(broker, SimulatedBroker):
        program = replace(generate(lane.profile, 0, length=1), steps=(), drain=False)
        for _ in runs(broker, lane.profile, [NamedProgram("an empty program", program)]):
            pass


def do_unit(
    unit: Unit, seed: int, length: int | None, exact: int = 0, limit: float = 0.0
) -> Iterator[ChunkResult | ChunkFailed]:
    """Do its chunks, up to the one that ends their lane, or that failed. ``limit``: seconds that the run of a
    simulated trace may take; 0: as many as it takes."""
    for chunk in unit:
        result = do_chunk(chunk, seed, length, exact, limit)
        yield result
        if isinstance(result, ChunkFailed) or chunk.until in result.named:
            return


def do_chunk(
    chunk: Chunk, seed: int, length: int | None, exact: int = 0, limit: float = 0.0
) -> ChunkResult | ChunkFailed:
    """`run_chunk`, tried up to `TRIES` times where a failure may pass, and its failure otherwise."""
    for _ in range(TRIES):
        try:
            return run_chunk(chunk, seed, length, exact, limit)
        except Exception as error:
            text = "; that trace alone: ".join([_in_one_line(error), *getattr(error, "__notes__", ())])
            if isinstance(error, UnknownBroker) or isinstance(open_broker(chunk.broker), SimulatedBroker):
                return ChunkFailed(f"a chunk failed: {text}")
    return ChunkFailed(f"a chunk failed {TRIES} times: {text}", lost=True)


def _in_one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, Unreachable | UnknownBroker | BrokerFailed | TooMany):
        return text
    return f"{type(error).__name__}: {text}{place(error)}"


def run_chunk(chunk: Chunk, seed: int, length: int | None, exact: int = 0, limit: float = 0.0) -> ChunkResult:
    """Do every trace of the chunk. Equal arguments give equal results on a simulated broker."""
    broker = open_broker(chunk.broker)
    broker.profile = chunk.profile
    seconds = limit if isinstance(broker, SimulatedBroker) else 0.0
    lacks = lacks_of(broker)
    result = ChunkResult(chunk, counts=Counter({("lacks", name): 1 for name in lacks}))
    decider = Decider(replace(MANY, share=exact))
    traces = range(chunk.first, chunk.first + chunk.count)
    programs = [
        NamedProgram(f"trace {trace}", program_of(broker, seed, trace, length, lacks)) for trace in traces
    ]
    ways = Ways(another=lambda: open_broker(chunk.broker))
    with closing(histories(broker, chunk.profile, programs, ways)) as ending:
        try:
            for number, history in each_within(seconds, _uninterrupted(ending, broker, programs)):
                check_children(f"trace {traces[number]}")
                decision = decider.decide(history, traces[number])
                _fold(result, traces[number], programs[number].program, history, decision)
        except Exception as error:
            if isinstance(broker, SimulatedBroker):  # of which one is run at a time, in order
                trace = traces[len(result.verdicts)]
                error.add_note(command_of(chunk.broker, chunk.profile, trace, seed, length))
            raise
    return result


def _uninterrupted(ending: Iterator[T], broker: Broker, programs: Sequence[NamedProgram]) -> Iterator[T]:
    """What ends, program by program. A worker's interrupt is the adapter's: the user's ends the command."""
    done = 0
    try:
        for one in ending:
            yield one
            done += 1
    except KeyboardInterrupt as error:
        said = f"{type(broker).__name__} raised KeyboardInterrupt{place(error)}, in {programs[done].name}"
        raise BrokerFailed(said) from error


def _fold(result: ChunkResult, trace: int, program: Program, history: History, decision: Decision) -> None:
    """Add one trace to the chunk's result."""
    provenance = {"trace": trace, **_lane(result.chunk), "seed": Decimal(program.seed)}
    violations = _violation_rows(provenance, program, decision)
    result.violations.extend(violations)
    result.verdicts.append(_verdict_row(provenance, history, decision, violations))
    _count(result.counts, history, decision)
    _require(result.requirements, trace, decision)
    _cover(result.coverage, history, decision)
    _spread(result.partitions, history)
    _combine(result.combinations, history)


def _verdict_row(provenance: Row, history: History, decision: Decision, violations: Iterable[Row]) -> Row:
    return {
        **provenance,
        "operations": len(history),
        "status": _overall(decision),
        "exercised": [{"requirement": id, "times": n} for id, n in sorted(decision.exercised.items())],
        "violated": decision.violated,
        "unknown": sorted(decision.open),
        "findings": sum(row["times"] for row in violations),
        "undecided": _undecided(decision),
    }


def _undecided(decision: Decision) -> str | None:
    """Why a trace is undecided, in a line; None where it is not, or where it is rejected anyhow."""
    open = {id: doubt.why for id, doubt in decision.doubts.items() if doubt.undecided}
    if decision.broken or not (open or decision.undecided[OVER_BUDGET]):
        return None
    gave_up = [f"the judge: {decision.why}"] if decision.undecided[OVER_BUDGET] else []
    return "; ".join([*gave_up, *(f"{id}: {why}" for id, why in sorted(open.items()))])


def _overall(decision: Decision) -> str:
    if decision.violated or decision.candidates:
        return Status.VIOLATED.value
    if decision.open:
        return Status.UNKNOWN.value
    return Status.PASS.value if decision.exercised else Status.NOT_EXERCISED.value


def _violation_rows(provenance: Row, program: Program, decision: Decision) -> list[Row]:
    """The first finding of each cause under each conditions, and how many there were of the cause."""
    text = dumps(program) if decision.findings else ""
    rows = []
    for requirement, findings in decision.findings.items():
        left = Counter(decision.found[requirement])
        for finding in firsts(findings, lambda one: (one.key, one.candidates, one.conditions)):
            rows.append(
                {
                    **provenance,
                    **finding_to_plain(finding),
                    "times": left.pop(finding.key, 0),
                    "steps": len(program.steps),
                    "program": text,
                }
            )
    return rows


def _count(counts: Counter[tuple[str, str]], history: History, decision: Decision) -> None:
    counts["endings", ending(history).value] += 1
    for name, times in activity(history).items():
        counts[ACTIVITY, name] += times
    for kind in ("judged", "again", "undecided", "overruled"):
        for name, times in getattr(decision, kind).items():
            counts[kind, name] += times
    for name, times in met(history).items():
        counts["met", name] += times


def _require(requirements: dict[str, RequirementCount], trace: int, decision: Decision) -> None:
    def of(requirement: str) -> RequirementCount:
        if requirement not in requirements:
            requirements[requirement] = RequirementCount()
        return requirements[requirement]

    for requirement, times in decision.exercised.items():
        count = of(requirement)
        count.exercised += times
        count.traces += 1
    for requirement in decision.violated:
        of(requirement).violated += 1
    for requirement, doubt in decision.doubts.items():
        if doubt.why:
            of(requirement).leave_open(trace, doubt.why, doubt.candidates)
            of(requirement).traces += requirement not in decision.exercised
            of(requirement).undecided += doubt.undecided


def _cover(coverage: dict[tuple[str, str, str], list[int]], history: History, decision: Decision) -> None:
    outcomes = dict.fromkeys(r.outcome for r in history.records if r.proc != ENV)
    faults = dict.fromkeys(r.op for r in history.records if r.proc == ENV and r.op in STRIKES) or (NO_FAULT,)
    for pair in product(outcomes, faults):
        for requirement, times in decision.exercised.items():
            cell = coverage.get(key := (requirement, *pair))
            if cell is None:
                cell = coverage[key] = [0, 0]
            cell[0] += 1
            cell[1] += times


def _combine(combinations: dict[Combination, list[int]], history: History) -> None:
    times, done = combined(history)
    for combination, count in times.items():
        cell = combinations.setdefault(combination, [0, 0, 0])
        cell[0] += 1
        cell[1] += count
        cell[2] += done[combination]


def _spread(partitions: Counter[tuple[int, bool]], history: History) -> None:
    """Count each message once, in the partition the broker first showed it in, if it ever did.

    Partitions have other names in every trace, so they are known by rank: 1 is the fullest of its trace.
    """
    family, keyed = profile(history.header.profile), dict[str, bool]()
    sends = [record for record in history.records if record.sent]
    entities = {name: entity_of(history.header, name) for name in {record.entity for record in sends}}
    for record in sends:
        entity = entities[record.entity]
        keyed |= {one.id: family.key_of(one, entity) is not None for one in record.sent}
    places: dict[str, int] = {}
    for record in history.records:
        for delivery in record.messages:
            if delivery.id not in places and delivery.id in keyed:
                place = family.partition_of(delivery)
                if place is not None:
                    places[delivery.id] = place
    load = Counter(places.values())
    ranked = sorted(load, key=lambda place: (-load[place], place))
    ranks = {place: rank for rank, place in enumerate(ranked, 1)}
    partitions.update((ranks[place], keyed[message]) for message, place in places.items())
