"""A whole campaign: plan, do what is missing, sum up. What `partq fuzz` and `partq mutants` call."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from partq.conformance.adapters import UnknownBroker, Unreachable
from partq.conformance.evaluation.provenance import made
from partq.conformance.evaluation.suite import BrokerFailed
from partq.conformance.frontends.campaign import jvm, store
from partq.conformance.frontends.campaign.plan import SCHEMA, SUMMARY, Plan, Task
from partq.conformance.frontends.campaign.spark import execute
from partq.conformance.frontends.campaign.work import check_broker
from partq.conformance.screens.registry import ALL
from partq.conformance.verdict import (
    COUNTS,
    KEPT_FINDINGS,
    Counts,
    Inspection,
    Verdict,
    binding_requirements,
    exit_code,
    finding_of,
    plain,
    verdicts_of,
    worst,
)


@dataclass(frozen=True, slots=True)
class Campaign:
    """A finished campaign. ``results``: (broker, profile) -> verdict by requirement. ``violations``: how many
    findings there were. ``kept``: of each lane and cause the stored rows of the earliest. ``seconds``: how
    long the chunks of this session took, its start apart, and ``timed`` how many traces they were: not all,
    if the campaign was resumed."""

    plan: Plan
    digest: str
    traces: int
    operations: int
    results: Mapping[tuple[str, str], Mapping[str, Verdict]]
    violations: int
    kept: tuple[dict[str, Any], ...]
    seconds: float
    timed: int
    counts: Counts = field(default_factory=dict)

    @property
    def rate(self) -> float | None:
        """Traces a second, or None where nothing was left to do."""
        return self.timed / self.seconds if self.seconds else None


class CampaignState(NamedTuple):
    """How far a campaign is. ``traces`` and ``violations`` are those of earlier sessions, too; ``timed``
    traces were done in this one, in ``seconds``, its start apart."""

    traces: int
    violations: int
    timed: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float | None:
        """Traces a second, or None before the first."""
        return self.timed / self.seconds if self.timed and self.seconds else None


class Watcher(Protocol):
    """Who hears how a campaign goes."""

    def starting(self, state: CampaignState) -> None:
        """All is checked; Spark is started, which takes a while."""

    def went(self, state: CampaignState) -> None:
        """So far it is; called now and then, the first time as the work begins."""


def run_campaign(
    plan: Plan, out: Path, master: str, resume: bool, watcher: Watcher, strict: bool = False
) -> Campaign:
    """Do the campaign, or what is missing of it, and write ``campaign.json``. ``strict`` is for the exit code
    in there.

    Raises `store.CampaignError` where the folder, the broker, Java, Spark or a chunk fails. What was done
    then, or before an interrupt, stays and can be resumed; if that is nothing, no folder is left.
    """
    begun = made()
    store.check(out, plan, resume)
    parts = store.summaries(out)
    tasks = list(plan.tasks({part["chunk"]: part["named"] for part in parts}))
    state = CampaignState(stored_traces(plan, out), sum(map(_violations, parts)))
    if tasks:
        _check(plan)
        store.prepare(out, plan)
        try:
            state = _do(plan, tasks, out, master, state, watcher)
        except BaseException:
            store.discard(out)
            raise
    campaign = summarise(plan, out, state.seconds, state.timed)
    store.write_json(out / SUMMARY, {**_to_json(campaign, strict), "master": master, "made": begun})
    return campaign


def stored_traces(plan: Plan, out: Path) -> int:
    """How many of the plan's traces are stored there."""
    done = store.done(out)
    return sum(chunk.count for chunk in plan.chunks() if chunk.index in done)


def _violations(part: Mapping[str, Any]) -> int:
    return sum(times for causes in part["found"].values() for times in causes.values())


def _check(plan: Plan) -> None:
    """Raises `CampaignError` where nothing can come of the plan: no Java, no broker."""
    jvm.check()
    for lane in {lane.broker: lane for lane in plan.lanes}.values():
        try:
            check_broker(lane)
        except (Unreachable, UnknownBroker, BrokerFailed) as error:
            raise store.CampaignError(str(error)) from error


def _do(
    plan: Plan, tasks: Sequence[Task], out: Path, master: str, before: CampaignState, watcher: Watcher
) -> CampaignState:
    """Do these tasks; how far the campaign is then."""
    state, began = before, 0.0

    def progress(traces: int, violations: int) -> None:
        nonlocal state, began
        began = began or time.monotonic()
        seconds = time.monotonic() - began
        state = CampaignState(before.traces + traces, before.violations + violations, traces, seconds)
        watcher.went(state)

    watcher.starting(before)
    execute(master, plan, tasks, out, progress)
    return state


def summarise(plan: Plan, out: Path, seconds: float = 0.0, timed: int = 0) -> Campaign:
    """The totals of the finished chunks in the folder."""
    parts = store.summaries(out)
    kept = _earliest(store.read_rows(out, "violations"))
    lanes = dict.fromkeys((part["broker"], part["profile"]) for part in parts)
    return Campaign(
        plan,
        store.digest(parts),
        sum(part["traces"] for part in parts),
        sum(part["operations"] for part in parts),
        {lane: _lane_verdicts(lane, parts, kept) for lane in lanes},
        sum(map(_violations, parts)),
        kept,
        seconds,
        timed,
        {name: _summed(part["counts"][name] for part in parts) for name in COUNTS},
    )


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(sorted(total.items()))


def _earliest(rows: Iterable[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Of each lane and cause as many as are kept of findings."""
    seen: Counter[tuple[str, ...]] = Counter()
    chosen = []
    for row in rows:
        cause = row["broker"], row["profile"], row["requirement"], row["key"]
        seen[cause] += 1
        if seen[cause] <= KEPT_FINDINGS:
            chosen.append(row)
    return tuple(chosen)


def _lane_verdicts(
    lane: tuple[str, str], parts: Iterable[dict[str, Any]], kept: Iterable[dict[str, Any]]
) -> dict[str, Verdict]:
    mine = [part for part in parts if (part["broker"], part["profile"]) == lane]
    exercised: Counter[str] = Counter()
    left_open: Counter[str] = Counter()
    total = Inspection(exercised)
    for part in mine:
        exercised.update(part["exercised"])
        left_open.update(part["unknown"])
        for requirement, causes in part["found"].items():
            total.doubt(requirement).found.update(causes)
        for requirement, why in part["open"].items():
            total.leave_open(requirement, why, tuple(part["candidates"].get(requirement, ())))
    for row in kept:
        if (row["broker"], row["profile"]) == lane:
            total.doubt(row["requirement"]).findings.append(finding_of(row))
    for requirement, n in left_open.items():
        doubt = total.doubt(requirement)
        doubt.why = f"in {n} trace{'s'[: n > 1]}, for instance: {doubt.why}"
    return verdicts_of(total, lane[1], ALL, tuple(mine[0]["lacks"]))


def _to_json(campaign: Campaign, strict: bool) -> dict[str, Any]:
    rows = binding_requirements(strict)
    return {
        "schema": SCHEMA,
        "complete": True,
        "plan": campaign.plan.to_json(),
        "digest": campaign.digest,
        "traces": campaign.traces,
        "operations": campaign.operations,
        "violations": campaign.violations,
        **campaign.counts,
        "seconds": round(campaign.seconds, 3),
        "timed_traces": campaign.timed,
        "results": [
            {"broker": broker, "profile": name, "requirements": plain(result)}
            for (broker, name), result in campaign.results.items()
        ],
        "strict": strict,
        "exit": worst(exit_code(result, rows) for result in campaign.results.values()),
    }
