"""A campaign folder made by hand: plausible figures, three counterexamples, every status somewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from partq.conformance.evaluation import counterexample
from partq.conformance.evaluation.counterexample import Counterexample
from partq.conformance.frontends.campaign import manifest, plan
from partq.conformance.frontends.campaign.local_folder import totals
from partq.conformance.frontends.campaign.manifest import Fingerprint, Manifest
from partq.conformance.frontends.campaign.plan import SUMMARY
from partq.conformance.frontends.campaign.tables import TABLES
from partq.conformance.history import History
from partq.conformance.history.notation import history
from partq.conformance.verdict import SCHEMA as VERDICTS
from partq.conformance.verdict import Finding, Status, Verdict, plain
from partq.conformance.workload.program import Program, Step
from partq.model.messages import Message
from partq.model.profiles import SECOND, profile
from partq.model.requirements import catalogue

BROKER = "acme:Broker"
PROFILES = ("azure-standard", "azure-premium", "azure-flat", "solace")
MADE = {
    "started": "2031-04-01 12:00:00 UTC",
    "host": "build-7",
    "system": "Linux 6.1.0, x86_64",
    "python": "3.11.2",
    "partq": "0.9.0",
}
TIMES = {"ROUTE-1": 180, "PEEK-2": 30, "REB-14": 4}
"""How many findings there were of each rule."""

OPERATIONS = 1043381
CHECKED = ("KEY", "ROUTE", "SEQ", "RCV", "PEEK", "TXN", "REB")

ROUTED = """
    c0 send m1 key=orders                    -> ok
    c1 send m2 key=orders ...
    env partition_down 3
    c1 -> ok
    env partition_up 3
    c0 receive 2                             -> m1#3.7 lock=l1 count=0
    c1 receive 2                             -> m2#5.1 lock=l2 count=0
    c1 complete l2                           -> ok
    c0 complete l1                           -> unknown timeout
    env drained
"""
PEEKED = """
    c0 send_batch m1 key=a, m2 key=a         -> ok
    c0 send m3                               -> ok
    c1 receive 1                             -> m1#2.0 lock=l1 count=0
    c2 peek 5                                -> m2#2.1 state=active, m3#0.0 state=active
    c1 abandon l1                            -> ok
    env advance 30s
    c2 peek 5 from=2.0                       -> m2#2.1 state=active
    c1 receive 1 ...
"""
HANDED = """
    c0 bind f0                               -> ok
    env assignment 0 f0 ready
    env assignment 1 f0 ready
    c2 send m1 key=a         -> ok
    c1 bind f1                               -> ok
    env advance 5s
    env assignment 1 f0 paused
    env assignment 1 f1 ready
    c0 receive 1 flow=f0                     -> m1 lock=l1
    c1 receive 1 flow=f1                     -> m1 lock=l2 redelivered=yes
    c0 complete l1                           -> error lock_lost
"""


def long_history(operations: int = 120) -> History:
    """A history too long to be drawn whole."""
    lines = [f"c{n % 3} send m{n} key=k{n % 5}" for n in range(operations - 2)]
    lines += ["c0 receive 1 -> m50#1.9 lock=l1", "c1 receive 1 -> m50#1.9 lock=l2"]
    return history("\n".join(lines))


def examples() -> list[Counterexample]:
    """Three counterexamples in three profiles."""
    return [
        Counterexample(
            BROKER,
            Program(
                "azure-standard",
                (
                    Step("c0", "send", {"messages": (Message("m1", partition_key="orders"),)}),
                    Step("c1", "send", {"messages": (Message("m2", partition_key="orders"),)}),
                    Step("env", "partition_down", {"index": 3}),
                    Step("env", "partition_up", {"index": 3}),
                    Step("c0", "receive", {"max": 2, "mode": "peek_lock", "timeout": SECOND}),
                    Step("c1", "receive", {"max": 2, "mode": "peek_lock", "timeout": SECOND}),
                    Step("c1", "complete", {"pick": [0]}),
                    Step("c0", "complete", {"pick": [0]}),
                    Step("c1", "abandon", {"pick": [0]}),
                ),
                profile("azure-standard").default_entity,
                seed=7216,
            ),
            Finding(
                "ROUTE-1",
                "One key in two partitions",
                (0, 1, 4, 5),
                "Messages m1 and m2 bear the key orders, but m1 is in partition 3 and m2 in partition 5.",
                "Both in the same partition, whichever it is; or an error to the second send (ROUTE-5).",
                "ROUTE-1/moved-while-down",
            ),
            history(ROUTED),
            trace=4711,
            found_steps=38,
        ),
        Counterexample(
            BROKER,
            Program(
                "azure-premium",
                (
                    Step(
                        "c0",
                        "send_batch",
                        {"messages": (Message("m1", partition_key="a"), Message("m2", partition_key="a"))},
                    ),
                    Step("c1", "receive", {"max": 1}),
                    Step("c2", "peek", {"max": 5}),
                ),
                profile("azure-premium").default_entity,
                seed=12,
                sequential=True,
            ),
            Finding(
                "PEEK-2",
                "Peek skips a live message",
                (3,),
                "The peek of c2 began at number 1 of partition 2, though m1, number 0, was live and locked.",
                "An answer that begins with m1 in partition 2, or one of another partition.",
                "PEEK-2/locked-skipped",
            ),
            history(PEEKED, "azure-premium"),
            trace=9020,
            found_steps=21,
        ),
        Counterexample(
            BROKER,
            Program(
                "solace",
                (Step("c0", "bind"), Step("c1", "bind"), Step("c0", "receive", {"max": 1})),
                profile("solace").default_entity,
            ),
            Finding(
                "REB-14",
                "Redelivered before the handoff ended",
                (8, 9),
                "f1 received m1 of partition 1 while f0 held it unacknowledged, 0.2 s after the pause.",
                "f1 starts when f0 has settled m1, or 3 s after the pause.",
                "REB-14/early",
            ),
            history(HANDED, "solace"),
            trace=16022,
            found_steps=17,
        ),
    ]


def verdicts(name: str, found: Mapping[str, Finding]) -> dict[str, Verdict]:
    """A verdict for every row of the catalogue: violated where found, the rest plausible."""
    return {id: _verdict(name, id, found) for id in catalogue()}


def _verdict(name: str, id: str, found: Mapping[str, Finding]) -> Verdict:
    row, number = catalogue()[id], int(id.split("-")[1])
    if name not in row.profiles:
        return Verdict(Status.NOT_APPLICABLE, reason=f"not a rule of the profile {name}")
    if id in found:
        return Verdict(Status.VIOLATED, 1894 * number, (found[id],), found={found[id].key: TIMES[id]})
    if row.group not in CHECKED:
        return Verdict(Status.NOT_IMPLEMENTED, reason="nothing checks it yet")
    if id == "SEQ-4":
        return Verdict(Status.UNKNOWN, 310, reason="undecided in 2 traces of chunk 31")
    if id in ("REB-16", "RCV-15"):
        return Verdict(Status.NOT_EXERCISED)
    return Verdict(Status.PASS, 104729 * (number + len(name)) % 96_000 + 12)


def campaign(folder: Path, stored: list[Counterexample] | None = None) -> Path:
    """Write the sample campaign into the folder."""
    chosen = examples() if stored is None else stored
    for example in chosen:
        counterexample.write(folder / "counterexamples", example)
    violations = sum(TIMES[example.finding.requirement] for example in chosen)
    results = []
    for name in PROFILES:
        found = {e.finding.requirement: e.finding for e in chosen if e.program.profile == name}
        results.append({"broker": BROKER, "profile": name, "requirements": plain(verdicts(name, found))})
    lanes = [{"broker": BROKER, "profile": name, "traces": 5000} for name in PROFILES]
    summary = {
        "schema": plan.SCHEMA,
        "complete": True,
        "plan": {"lanes": lanes, "seed": 7, "length": 24},
        "master": "local[2]",
        "traces": 20000,
        "operations": OPERATIONS,
        "violations": violations,
        "seconds": 48.2,
        "timed_traces": 20000,
        "open": "1/1000",
        "results": results,
        "strict": False,
        "exit": 1,
        "made": MADE,
    }
    tables = {"partitions": _partitions(), "coverage": _coverage(), "violations": list(_violations(chosen))}
    about = {"operations": OPERATIONS, "findings": violations}
    wave(folder, 0, 20000, about, requirements=list(_requirements(results)), **tables)
    summary["digest"] = totals(folder, []).digest
    (folder / SUMMARY).write_text(json.dumps(summary), encoding="utf-8")
    return folder


def wave(
    folder: Path,
    number: int,
    traces: int,
    first: dict[str, int] | None = None,
    **tables: list[dict[str, Any]],
) -> None:
    """Write these tables of a wave, one of verdicts that say nothing but the first, and its manifest."""
    tables = {"verdicts": [first or {}, *[{}] * (traces - 1)], **tables}
    for name, rows in tables.items():
        place = folder / f"table={name}" / f"wave={number}"
        place.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows, schema=TABLES[name].schema), place / "part-0.parquet")
    found = {name: Fingerprint(len(tables.get(name, ()))) for name in TABLES}
    one = Manifest("identity", range(number, number + 1), found)
    file = folder / manifest.file_of(number)
    file.parent.mkdir(exist_ok=True)
    file.write_text(manifest.dumps(one), encoding="utf-8")


def _requirements(results: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """What the results say of each rule, as sums of all waves."""
    for lane in results:
        for id, row in lane["requirements"].items():
            if row["exercised"]:
                unknown = 2 * (row["status"] == "unknown")
                counts = {"exercised": row["exercised"], "unknown": unknown, "traces": 0, "undecided": 0}
                about = {"requirement": id, "trace": 1, "why": row["reason"], "candidates": []}
                yield {"broker": BROKER, "profile": lane["profile"], "violated": 0, **counts, **about}


def _violations(chosen: Iterable[Counterexample]) -> Iterator[dict[str, Any]]:
    for example in chosen:
        rule, key = example.finding.requirement, example.finding.key
        about = {"requirement": rule, "key": key, "times": TIMES[rule], "candidates": []}
        yield {"broker": BROKER, "profile": example.program.profile, **about}


def _partitions() -> list[dict[str, Any]]:
    counts = {"azure-standard": 16, "azure-premium": 4}
    return [
        {
            "broker": BROKER,
            "profile": name,
            "rank": place + 1,
            "keyed": keyed,
            "messages": 2100 * (places + 4 - place) // (places + 4) // (1 + keyed),
        }
        for name, places in counts.items()
        for place in range(places)
        for keyed in (True, False)
    ]


def _coverage() -> list[dict[str, Any]]:
    faults = ("none", "partition_down", "frontend_lost", "broker_kill", "connection_lost")
    rows = []
    for name in PROFILES:
        for n, (id, verdict) in enumerate(verdicts(name, {}).items()):
            for f, fault in enumerate(faults):
                for o, outcome in enumerate(("ok", "error", "unknown")):
                    times = verdict.exercised // (1 + 3 * f + 5 * o) - (n * 37 + f * 11) % 400
                    if verdict.status is Status.PASS and times > 0:
                        cell = {"requirement": id, "outcome": outcome, "fault": fault}
                        counts = {"traces": 1 + times // 9, "exercised": times}
                        rows.append({"broker": BROKER, "profile": name, **cell, **counts})
    return rows


def run_folder(folder: Path) -> Path:
    """What ``partq run --out`` stores, with nothing violated."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = plain(verdicts("azure-standard", {}))
    document = {
        "schema": VERDICTS,
        "broker": "reference",
        "profiles": {"azure-standard": rows},
        "requirements": rows,
        "exit": 3,
        "strict": False,
        "options": ["--seed", "1"],
        "made": MADE,
    }
    (folder / "verdicts.json").write_text(json.dumps(document), encoding="utf-8")
    return folder
