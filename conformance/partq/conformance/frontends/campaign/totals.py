"""What all waves of a campaign come to: verdicts, violations by cause, sums and the digest.

Spark adds up; what reaches this process is a row a requirement, cause or cell, and a few examples a cause.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from hashlib import sha256
from typing import Any, Final, NamedTuple

from partq.conformance.frontends.campaign import jvm, queries
from partq.conformance.frontends.campaign.errors import CampaignError
from partq.conformance.frontends.campaign.folding import Folded, Row
from partq.conformance.frontends.campaign.manifest import Fingerprint, Manifest
from partq.conformance.frontends.campaign.plan import SCHEMA, Plan
from partq.conformance.frontends.campaign.store import Store
from partq.conformance.frontends.campaign.tables import ROWS, SUMMED
from partq.conformance.frontends.campaign.work import ACTIVITY
from partq.conformance.screens.registry import ALL
from partq.conformance.verdict import (
    COUNTS,
    KEPT_FINDINGS,
    Besides,
    Counts,
    Inspection,
    Verdict,
    binding_requirements,
    exit_code,
    finding_of,
    narrowed,
    plain,
    plural,
    stalled,
    tolerated,
    verdicts_of,
    worst,
)

LISTED: Final = 100
"""How many undecided traces a campaign names, and stores the programs of."""

Lane = tuple[str, str]
"""Broker and profile."""


@dataclass(frozen=True, slots=True)
class Totals:
    """``results``: verdict by requirement of each lane. ``violations``: how many findings there were.
    ``causes``: of each cause how many, the first and the smallest. ``kept``: of each cause the rows of the
    earliest. ``combinations``: the rows of that table, summed. ``besides``: what the exit code
    comes from beside the verdicts. ``open``: how many traces were left undecided; ``undecided``: the first
    `LISTED` of these, with why. ``exercised``: how often each rule of a lane was, applying or not."""

    digest: str
    traces: int
    operations: int
    results: Mapping[Lane, Mapping[str, Verdict]]
    violations: int
    causes: tuple[Row, ...]
    kept: tuple[dict[str, Any], ...]
    counts: Counts
    combinations: tuple[Row, ...]
    besides: tuple[Besides, ...] = ()
    open: int = 0
    undecided: tuple[Row, ...] = ()
    exercised: Mapping[tuple[str, str, str], int] = field(default_factory=dict)

    def tolerating(self, share: Fraction) -> Totals:
        """These, where what was left undecided in so small a share of the traces passes."""
        results = {lane: tolerated(verdicts, share) for lane, verdicts in self.results.items()}
        return replace(self, results=results)


def totals_of(store: Store, manifests: Iterable[Manifest]) -> Totals:
    """The totals of the waves with these manifests. Raises `CampaignError` where the tables can't be read, or
    contradict each other."""
    waves = list(manifests)
    folded = store.folded(waves)
    sums = Sums(folded, *_listed(store, folded))
    return added_up(store.folder.name, store.plan.names, waves, sums)


class Sums(NamedTuple):
    """What all waves' tables come to: their rows, folded, the violations by cause, those kept of each, and
    the first traces that are undecided."""

    folded: Folded
    causes: Sequence[Row]
    kept: Sequence[Row]
    undecided: Sequence[Row] = ()


def added_up(name: str, lanes: Iterable[Lane], manifests: Iterable[Manifest], sums: Sums) -> Totals:
    """The totals of the folder of that name, whoever read its tables. Raises `CampaignError` where they
    contradict each other."""
    waves, folded = list(manifests), sums.folded
    tables = {name: folded.sums(name) for name in SUMMED}
    counts = tables["counts"]
    traces, found = sum(one.traces for one in waves), sum(row["times"] for row in sums.causes)
    _agree(name, folded, traces, found)
    return Totals(
        _digest(waves, tables),
        traces,
        folded.operations,
        {lane: _verdicts(lane, tables, sums.causes, sums.kept) for lane in lanes},
        found,
        tuple(sums.causes),
        tuple(sums.kept),
        {kind: _counted(counts, kind) for kind in COUNTS},
        tuple(tables["combinations"]),
        tuple(one for lane in lanes for one in _stalled(lane, counts)),
        folded.open,
        tuple(sums.undecided),
        {
            (row["broker"], row["profile"], row["requirement"]): row["exercised"]
            for row in tables["requirements"]
        },
    )


def _stalled(lane: Lane, counts: Iterable[Row]) -> list[Besides]:
    """Why the lane's verdicts mean little, if they do."""
    return stalled(lane[1], _counted(_of(lane, counts), ACTIVITY))


def _listed(store: Store, folded: Folded) -> tuple[list[Row], list[Row], list[Row]]:
    """The causes, examples of each, and undecided traces; Spark is asked for none where there is none."""
    causes, kept, undecided = [], [], []
    store.describe("all waves: causes and examples")
    try:
        if folded.rows("violations"):
            violations = store.table("violations")
            causes, kept = queries.causes(violations), queries.examples(violations, KEPT_FINDINGS)
        if folded.open:
            undecided = queries.undecided(store.table("verdicts"), LISTED)
    except Exception as error:
        raise CampaignError(f"{store.folder.name} can't be read: {jvm.cause(error)}") from error
    return causes, kept, undecided


def _of(lane: Lane, rows: Iterable[Row]) -> Iterator[Row]:
    return (row for row in rows if (row["broker"], row["profile"]) == lane)


def _agree(name: str, folded: Folded, traces: int, findings: int) -> None:
    """Raises `CampaignError` where the verdicts, the manifests and the violations do not go together."""
    there, counted = folded.rows("verdicts"), sum(folded.findings.values())
    if (there, counted) != (traces, findings):
        raise CampaignError(
            f"{name} contradicts itself: in table=verdicts are {there:,} traces and "
            f"{counted:,} findings, in the manifests {traces:,} traces, in table=violations "
            f"{findings:,} findings: give another folder"
        )


def _digest(manifests: Iterable[Manifest], sums: Mapping[str, Iterable[Row]]) -> str:
    """The fingerprint of all tables, whatever the waves were."""
    rows = {
        name: reduce(Fingerprint.with_, (one.tables[name] for one in manifests), Fingerprint())
        for name in ROWS
    }
    text = json.dumps([rows, {name: list(sums[name]) for name in SUMMED}], sort_keys=True)
    return sha256(text.encode()).hexdigest()[:32]


def _counted(rows: Iterable[Row], kind: str) -> dict[str, int]:
    total: dict[str, int] = {}
    for row in rows:
        if row["kind"] == kind:
            total[row["name"]] = total.get(row["name"], 0) + row["times"]
    return dict(sorted(total.items()))


def _verdicts(
    lane: Lane, sums: Mapping[str, Iterable[Row]], causes: Iterable[Row], kept: Iterable[Row]
) -> dict[str, Verdict]:
    total, counts = Inspection(), list(_of(lane, sums["counts"]))
    for row in _of(lane, sums["requirements"]):
        if row["exercised"]:
            total.exercised[row["requirement"]] = row["exercised"]
        if n := row["unknown"]:
            why = f"in {plural(n, 'trace')}, for instance: {row['why']}"
            total.leave_open(row["requirement"], why, tuple(row["candidates"]))
        undecided = row["undecided"] if row["undecided"] == row["unknown"] else 0
        total.traces[row["requirement"]] = row["traces"], undecided
    for row in _of(lane, causes):
        total.doubt(row["requirement"]).found[row["key"]] += row["times"]
    for row in _of(lane, kept):
        total.doubt(row["requirement"]).findings.append(finding_of(row))
    lacks = tuple(row["name"] for row in counts if row["kind"] == "lacks")
    verdicts = verdicts_of(total, lane[1], ALL, lacks)
    return narrowed(verdicts, lane[1], ALL, _counted(counts, ACTIVITY))


def document(
    totals: Totals, plan: Plan, identity: str, strict: bool, circumstances: Mapping[str, Any]
) -> dict[str, Any]:
    """``campaign.json`` of a complete campaign. ``strict`` is for the exit code in there."""
    binding = binding_requirements(strict)
    return {
        "schema": SCHEMA,
        "complete": True,
        "identity": identity,
        "plan": plan.to_json(),
        "digest": totals.digest,
        "traces": totals.traces,
        "operations": totals.operations,
        "violations": totals.violations,
        **totals.counts,
        "causes": [{**row, "seed": int(row["seed"])} for row in totals.causes],
        "results": [
            {"broker": broker, "profile": name, "requirements": plain(result)}
            for (broker, name), result in totals.results.items()
        ],
        "strict": strict,
        "exit": worst(
            [
                *(exit_code(result, binding) for result in totals.results.values()),
                *(code for code, _ in totals.besides),
            ]
        ),
        **circumstances,
    }
