"""``partq replay``: run a stored counterexample again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from partq.conformance.verdict import Exit

from .common import Format, fail, opened


def replay(
    file: Annotated[Path, typer.Argument(help="A counterexample file.", exists=True, dir_okay=False)],
    broker: Annotated[str | None, typer.Option(help="Another broker than the one it was found on.")] = None,
    tries: Annotated[int, typer.Option(min=1, help="How often; a live broker's races need several.")] = 1,
    format: Annotated[Format, typer.Option(help="What to print.")] = Format.TABLE,
) -> None:
    """Run a stored counterexample again: REPRODUCED (exit code 1) or FIXED (0)."""
    from partq.conformance import counterexample

    try:
        example = counterexample.read(file)
    except (OSError, counterexample.InvalidCounterexample) as error:
        fail(str(error))
    target = opened(broker or example.broker)
    target.profile = example.program.profile
    rule = example.finding.requirement
    found = None
    for _ in range(tries):
        found = found or counterexample.shows(target, example.program, rule)
    verdict = "REPRODUCED" if found else "FIXED"
    if format is Format.JSON:
        finding = None if found is None else {**found._asdict(), "witness": list(found.witness)}
        print(json.dumps({"verdict": verdict, "requirement": rule, "finding": finding}, ensure_ascii=False))
    else:
        print(f"{verdict} {rule} on {broker or example.broker}: {example.finding.title}")
        if found is not None:
            print(f"  {found.detail}\n  allowed: {found.allowed}")
    raise typer.Exit(Exit.VIOLATED if found else Exit.CONFORMANT)
