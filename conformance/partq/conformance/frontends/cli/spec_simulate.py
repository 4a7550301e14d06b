"""``partq spec simulate``: behaviours of the TLA+ specification as files, for ``partq run --program``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Annotated

import typer

from partq.conformance.frontends.cli.common import fail, failing
from partq.conformance.frontends.cli.lazy import lazily
from partq.conformance.frontends.cli.spec import FittingJobs, known, told
from partq.conformance.frontends.cli.streams import note, say
from partq.conformance.verdict import plural
from partq.spec.simulation.itf import SUFFIX, InvalidTrace, read_file, write_trace
from partq.spec.tools.toolbox import Tool

with lazily():
    from partq.spec.checking import checks, manifest, symbolic
    from partq.spec.simulation import behaviours


def simulate(
    out: Annotated[
        Path, typer.Option(help="Folder for the traces. What is there already is not made again.")
    ],
    scope: Annotated[
        list[str] | None, typer.Option(help="Random walks of this configuration (MC…); may be repeated.")
    ] = None,
    goal: Annotated[
        list[str] | None, typer.Option(help="The counterexample of this one (Reach…, Bug…); may be repeated.")
    ] = None,
    traces: Annotated[
        int, typer.Option(min=0, max=9999, help="Random walks of each scope; 0: goals alone.")
    ] = 2,
    larger: Annotated[
        bool,
        typer.Option("--larger", help="Walks with 6 messages, 4 partitions (if partitioned), 3 clients."),
    ] = False,
    length: Annotated[int, typer.Option(min=1, max=100, help="Steps of a walk at the most.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same walks of TLC.")] = 1,
    tool: Annotated[Tool, typer.Option(help="What explores the specification.")] = Tool.TLC,
    jobs: FittingJobs = None,
) -> None:
    """Write behaviours of the specification as traces (ITF), which `partq run BROKER --program` takes.

    Random walks, and the shortest way to each goal: an interesting state (Reach…), or what a wrong broker
    does (Bug…). Without --scope and --goal: all of both. The files are NAME-0001.itf.json and so on."""
    with failing(out, inside=True):
        out.mkdir(parents=True, exist_ok=True)
        chosen = _chosen(scope or (), goal or ())
        orders = [behaviours.Order(one, traces, length, seed, tool, larger) for one in chosen]
        waiting = [order for order in orders if not _is_there(out, order)]
        if there := sum(len(order.names) for order in orders if order not in waiting):
            note(f"{plural(there, 'trace')} there already")
        at_once = jobs or (symbolic.jobs_that_fit() if tool is Tool.APALACHE else os.cpu_count() or 1)
        for _ in told(checks.several(partial(_made, out), waiting, at_once), len(waiting), str):
            pass
    number = sum(len(order.names) for order in orders)
    say(f"{plural(number, 'trace')} in {out} (partq run BROKER --program {out})")


def _chosen(scopes: Sequence[str], goals: Sequence[str]) -> list[manifest.Check]:
    """The checks of these names, of both kinds all if there are none. Raises `InvalidManifest`."""
    every = [one for one in manifest.read_manifest() if behaviours.is_traced(one)]
    found = []
    for names, others, what in ((scopes, goals, "scope"), (goals, scopes, "goal")):
        if names or not others:
            of_kind = {one.name: one for one in every if behaviours.is_goal(one) == (what == "goal")}
            found += known(names, of_kind, what)
    return found


def _is_there(out: Path, order: behaviours.Order) -> bool:
    """Whether all its traces are there. Ends with one line where others have their names."""
    there = []
    for name, meta in zip(order.names, order.origins, strict=True):
        file = out / f"{name}{SUFFIX}"
        there.append(file.exists())
        try:
            if there[-1] and read_file(file).meta != meta:
                fail(f"{file} was made with other options: give another folder")
        except InvalidTrace as error:
            fail(f"{file}: {error}")
    return all(there)


def _made(out: Path, order: behaviours.Order) -> str:
    """Make the traces of an order and write them; what was made, in a line. Raises `NoTrace`, `ToolMissing`,
    `OSError`."""
    begun = monotonic()
    for name, trace in zip(order.names, behaviours.traces(order), strict=True):
        aside = out / f"{name}.part"
        aside.write_text(write_trace(trace), encoding="utf-8")
        aside.replace(out / f"{name}{SUFFIX}")
    return f"{order.check.name}: {plural(len(order.names), 'trace')}, {monotonic() - begun:.1f} s"
