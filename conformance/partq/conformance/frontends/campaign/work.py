"""One chunk of a campaign: generate, run, check, and fold into columns. Pure of Spark and of files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import product
from traceback import extract_tb
from typing import Any, Final

from partq.conformance.adapters import (
    Broker,
    SimulatedBroker,
    UnknownBroker,
    Unreachable,
    open_broker,
    public_name,
)
from partq.conformance.evaluation.decision import Decider, Decision, Exactness
from partq.conformance.evaluation.endings import ending
from partq.conformance.evaluation.suite import BrokerFailed, NamedProgram, runs
from partq.conformance.execution.runner import run
from partq.conformance.frontends.campaign.combinations import Combination, combined
from partq.conformance.frontends.campaign.plan import Chunk, Lane, Task
from partq.conformance.history import History
from partq.conformance.verdict import COUNTS, Inspection, Status
from partq.conformance.workload import program as programs
from partq.conformance.workload.generator import generate, trace_seed
from partq.conformance.workload.program import Program
from partq.model.messages import effective_key
from partq.model.operations import ENV
from partq.model.profiles import profile

FAULTS: Final = frozenset({"partition_down", "frontend_lost", "broker_kill", "connection_lost"})
NO_FAULT: Final = "none"

NODES: Final = 1_000
"""How many nodes the judge visits for one trace at the most."""

ALLOWANCE: Final = 10
"""How many nodes each trace adds to what suspects may cost: about half the time that it takes itself."""

EMERGENCY: Final = 10.0
"""How many seconds it may take for them: more than they ever take, so that equal seeds give equal results."""


@dataclass(slots=True)
class ChunkResult:
    """What one chunk found. ``verdicts``: one row a trace · ``violations``: one row a finding that is kept ·
    ``found``: requirement -> how many there were of each cause, kept or not · ``unsettled``: of it
    ``open`` and ``candidates`` alone, of the first trace that has it · ``coverage``:
    (requirement, outcome, fault) -> in how many traces, and how often, the requirement was exercised beside
    an operation that ended so and a fault of that kind · ``partitions``: (rank, keyed) -> messages, each
    counted once, in the partition it was first shown in; see `_spread` for the rank · ``combinations``: in
    how many traces each came, how often, and how often with the outcome ``ok``."""

    chunk: Chunk
    lacks: tuple[str, ...] = ()
    verdicts: list[dict[str, Any]] = field(default_factory=list)
    violations: list[dict[str, Any]] = field(default_factory=list)
    found: dict[str, Counter[str]] = field(default_factory=dict)
    unsettled: Inspection = field(default_factory=Inspection)
    coverage: dict[tuple[str, str, str], list[int]] = field(default_factory=dict)
    partitions: Counter[tuple[int, bool]] = field(default_factory=Counter)
    combinations: dict[Combination, list[int]] = field(default_factory=dict)
    operations: int = 0
    counts: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in COUNTS})

    def digest(self) -> str:
        """A fingerprint of the verdict rows, equal wherever the chunk ran."""
        state = blake2b(digest_size=16)
        for row in self.verdicts:
            state.update(repr(row).encode())
        return state.hexdigest()

    def summary(self) -> dict[str, Any]:
        """What the campaign's totals need of this chunk."""
        exercised: Counter[str] = Counter()
        statuses: dict[str, Counter[str]] = {"violated": Counter(), "unknown": Counter()}
        for row in self.verdicts:
            for requirement, times in row["exercised"]:
                exercised[requirement] += times
            for status, counter in statuses.items():
                counter.update(row[status])
        return {
            "chunk": self.chunk.index,
            "broker": public_name(self.chunk.broker),
            "profile": self.chunk.profile,
            "traces": len(self.verdicts),
            "operations": self.operations,
            "digest": self.digest(),
            "lacks": list(self.lacks),
            "found": {
                requirement: dict(sorted(self.found[requirement].items()))
                for requirement in sorted(self.found)
            },
            "open": dict(sorted(self.unsettled.open.items())),
            "candidates": {one: list(several) for one, several in sorted(self.unsettled.candidates.items())},
            "exercised": dict(sorted(exercised.items())),
            "named": sorted(self.named),
            "counts": {name: dict(sorted(counter.items())) for name, counter in self.counts.items()},
            **{status: dict(sorted(counter.items())) for status, counter in statuses.items()},
        }

    @property
    def named(self) -> set[str]:
        """Every requirement that a finding names, alone or among others."""
        return {name for row in self.violations for name in (row["requirement"], *row["candidates"])}

    @property
    def findings(self) -> int:
        """How many findings there were, kept or not."""
        return sum(causes.total() for causes in self.found.values())

    def coverage_rows(self) -> Iterator[dict[str, Any]]:
        """The coverage as rows, sorted."""
        for (requirement, outcome, fault), (traces, exercised) in sorted(self.coverage.items()):
            yield {
                "broker": public_name(self.chunk.broker),
                "profile": self.chunk.profile,
                "requirement": requirement,
                "outcome": outcome,
                "fault": fault,
                "traces": traces,
                "exercised": exercised,
            }

    def partition_rows(self) -> Iterator[dict[str, Any]]:
        """The messages over partitions as rows, sorted."""
        for (rank, keyed), messages in sorted(self.partitions.items()):
            yield {
                "broker": public_name(self.chunk.broker),
                "profile": self.chunk.profile,
                "rank": rank,
                "keyed": keyed,
                "messages": messages,
            }

    def combination_rows(self) -> Iterator[dict[str, Any]]:
        """The combinations as rows, sorted."""
        for combination, (traces, times, done) in sorted(self.combinations.items()):
            yield {
                "broker": public_name(self.chunk.broker),
                "profile": self.chunk.profile,
                **combination._asdict(),
                "traces": traces,
                "times": times,
                "ok": done,
            }


class ChunkFailed(Exception):
    """The adapter raised where nothing may be raised. The text says in one line what and where."""


def check_broker(lane: Lane) -> None:
    """Open the lane's broker and close it, for what would keep every chunk from being done; a simulated one
    has nothing to open. Raises `Unreachable`, `UnknownBroker`, and, where the adapter raises, `BrokerFailed`.
    """
    broker = open_broker(lane.broker)
    if not isinstance(broker, SimulatedBroker):
        program = replace(generate(lane.profile, 0, length=1), steps=(), drain=False)
        for _ in runs(broker, lane.profile, [NamedProgram("an empty program", program)]):
            pass


def do_task(task: Task, seed: int, length: int | None, exact: int = 0) -> Iterator[ChunkResult | ChunkFailed]:
    """Do its chunks, up to the one that ends their lane, or that failed."""
    for chunk in task:
        result = do_chunk(chunk, seed, length, exact)
        yield result
        if isinstance(result, ChunkFailed) or chunk.until in result.named:
            return


def do_chunk(chunk: Chunk, seed: int, length: int | None, exact: int = 0) -> ChunkResult | ChunkFailed:
    """`run_chunk`, whose failure is answered where the chunk would fail again, and raised as `ChunkFailed`
    where it may pass."""
    try:
        return run_chunk(chunk, seed, length, exact)
    except Exception as error:
        failed = ChunkFailed(_in_one_line(error))
        if isinstance(error, UnknownBroker) or isinstance(open_broker(chunk.broker), SimulatedBroker):
            return failed
        raise failed from error


def _in_one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, Unreachable | UnknownBroker | BrokerFailed):
        return text
    place = extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {text} ({place.filename}:{place.lineno})"


def run_chunk(chunk: Chunk, seed: int, length: int | None, exact: int = 0) -> ChunkResult:
    """Do every trace of the chunk. Equal arguments give equal results on a simulated broker."""
    broker = open_broker(chunk.broker)
    broker.profile = chunk.profile
    lacks = broker.lacks()
    result = ChunkResult(chunk, tuple(sorted(lacks)))
    decider = Decider(Exactness(share=exact, seconds=EMERGENCY, nodes=NODES, allowance=ALLOWANCE))
    for trace in range(chunk.first, chunk.first + chunk.count):
        program = generate(
            chunk.profile,
            trace_seed(seed, trace),
            length=length,
            lacks=lacks,
            lock_duration=broker.lock_duration,
        )
        _run_trace(result, broker, trace, program, decider)
    return result


def _run_trace(result: ChunkResult, broker: Broker, trace: int, program: Program, decider: Decider) -> None:
    history = run(broker, program)
    decision = decider.decide(history, trace)
    result.operations += len(history)
    result.counts["judged"].update(decision.judged)
    result.counts["undecided"].update(decision.undecided)
    result.counts["overruled"].update(decision.overruled)
    result.counts["endings"][ending(history).value] += 1
    result.verdicts.append(_verdict_row(result.chunk, trace, program, history, decision))
    for requirement, doubt in decision.doubts.items():
        if doubt.why:
            result.unsettled.leave_open(requirement, doubt.why, doubt.candidates)
    _cover(result.coverage, history, decision)
    _spread(result.partitions, history)
    _combine(result.combinations, history)
    if decision.findings:
        result.violations.extend(_violation_rows(result.chunk, trace, program, decision))
        for requirement, causes in decision.found.items():
            result.found.setdefault(requirement, Counter()).update(causes)


def _verdict_row(
    chunk: Chunk, trace: int, program: Program, history: History, decision: Decision
) -> dict[str, Any]:
    return {
        "trace": trace,
        "broker": public_name(chunk.broker),
        "profile": chunk.profile,
        "seed": program.seed,
        "operations": len(history),
        "status": _overall(decision),
        "exercised": sorted(decision.exercised.items()),
        "violated": decision.violated,
        "unknown": sorted(decision.open),
    }


def _overall(decision: Decision) -> str:
    if decision.violated or decision.candidates:
        return Status.VIOLATED.value
    if decision.open:
        return Status.UNKNOWN.value
    return Status.PASS.value if decision.exercised else Status.NOT_EXERCISED.value


def _violation_rows(
    chunk: Chunk, trace: int, program: Program, decision: Decision
) -> Iterator[dict[str, Any]]:
    text = programs.dumps(program)
    for findings in decision.findings.values():
        for finding in findings:
            yield {
                "trace": trace,
                "broker": public_name(chunk.broker),
                "profile": chunk.profile,
                "requirement": finding.requirement,
                "key": finding.key,
                "title": finding.title,
                "detail": finding.detail,
                "allowed": finding.allowed,
                "witness": list(finding.witness),
                "candidates": list(finding.candidates),
                "program": text,
            }


def _cover(coverage: dict[tuple[str, str, str], list[int]], history: History, decision: Decision) -> None:
    outcomes = dict.fromkeys(r.outcome for r in history.records if r.proc != ENV)
    faults = dict.fromkeys(r.op for r in history.records if r.proc == ENV and r.op in FAULTS) or (NO_FAULT,)
    for pair in product(outcomes, faults):
        for requirement, times in decision.exercised.items():
            cell = coverage.get((requirement, *pair))
            if cell is None:
                coverage[requirement, *pair] = [1, times]
            else:
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
    family = profile(history.header.profile)
    keyed = {
        message.id: effective_key(message, family.key_rule) is not None
        for record in history.records
        for message in record.args.get("messages", ())
    }
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
