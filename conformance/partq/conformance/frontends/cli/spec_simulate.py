"""``partq spec simulate``: behaviours of the TLA+ specification as files, for ``partq run --program``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from partq.conformance.frontends.cli.common import console, fail
from partq.conformance.frontends.cli.spec import Jobs, known
from partq.spec.itf import SUFFIX, InvalidTrace, read_file, write_trace
from partq.spec.toolbox import Tool

if TYPE_CHECKING:
    from partq.spec.manifest import Check
    from partq.spec.simulation import Order


class Made(NamedTuple):
    """How many traces there are of a check, and how many seconds that took; None: they were there."""

    name: str
    traces: int
    seconds: float | None


def simulate(
    out: Annotated[
        Path, typer.Option(help="Folder for the traces. What is there already is not made again.")
    ],
    scope: Annotated[
        list[str] | None, typer.Option(help="Random walks of this configuration (MC…); may be repeated.")
    ] = None,
    goal: Annotated[
        list[str] | None,
        typer.Option(help="The counterexample of this one (Reach…, Bug…); may be repeated."),
    ] = None,
    traces: Annotated[
        int, typer.Option(min=0, max=9999, help="Random walks of each scope; 0: goals alone.")
    ] = 2,
    length: Annotated[int, typer.Option(min=1, max=100, help="Steps of a walk at the most.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same walks of TLC.")] = 1,
    tool: Annotated[Tool, typer.Option(help="What explores the specification.")] = Tool.TLC,
    jobs: Jobs = None,
) -> None:
    """Write behaviours of the specification as traces (ITF), which `partq run BROKER --program` takes.

    Random walks, and the shortest way to each goal: an interesting state (Reach…), or what a wrong broker
    does (Bug…). Without --scope and --goal: all of both. The files are NAME-0001.itf.json and so on."""
    from partq.spec.manifest import InvalidManifest
    from partq.spec.simulation import Order
    from partq.spec.tlc import NoTrace
    from partq.spec.toolbox import ToolMissing

    try:
        out.mkdir(parents=True, exist_ok=True)
        every = [Order(one, traces, length, seed, tool) for one in _chosen(scope or (), goal or ())]
        orders = [order for order in every if order.names]
        with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
            written = _told(pool.map(partial(_made, out), orders), len(orders))
    except (ToolMissing, InvalidManifest, NoTrace) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename or out}: {error.strerror}")
    print(f"{_count(written)} in {out} (partq run BROKER --program {out})")


def _chosen(scopes: Sequence[str], goals: Sequence[str]) -> list[Check]:
    """The checks of these names, of both kinds all if there are none. Raises `InvalidManifest`."""
    from partq.spec.manifest import read_manifest
    from partq.spec.simulation import is_goal

    every = read_manifest()
    found = []
    for names, others, what in ((scopes, goals, "scope"), (goals, scopes, "goal")):
        if names or not others:
            found += known(names, {one.name: one for one in every if is_goal(one) == (what == "goal")}, what)
    return found


def _told(ending: Iterable[Made], total: int) -> int:
    """How many traces there are, with a line for each check as it ends."""
    written = 0
    for number, made in enumerate(ending, 1):
        took = "there already" if made.seconds is None else f"{made.seconds:.1f} s"
        console.print(f"{number}/{total} {made.name}: {_count(made.traces)}, {took}", markup=False)
        written += made.traces
    return written


def _count(number: int) -> str:
    return "1 trace" if number == 1 else f"{number:,} traces"


def _made(out: Path, order: Order) -> Made:
    """The traces of an order, written unless they are there. Ends with one line where others are. Raises
    `NoTrace`, `ToolMissing`, `OSError`."""
    from partq.spec.simulation import traces

    files = [out / f"{name}{SUFFIX}" for name in order.names]
    there = [_is_there(file, meta) for file, meta in zip(files, order.origins, strict=True)]
    if all(there):
        return Made(order.check.name, len(files), None)
    begun = monotonic()
    for file, trace in zip(files, traces(order), strict=True):
        aside = file.with_suffix(".part")
        aside.write_text(write_trace(trace), encoding="utf-8")
        aside.replace(file)
    return Made(order.check.name, len(files), monotonic() - begun)


def _is_there(file: Path, meta: Mapping[str, Any]) -> bool:
    """Whether the file is there; ends with one line where it is another trace's."""
    if not file.exists():
        return False
    try:
        same = read_file(file).meta == meta
    except InvalidTrace as error:
        fail(f"{file}: {error}")
    if not same:
        fail(f"{file} was made with other options: give another folder")
    return True
