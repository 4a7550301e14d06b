"""``partq search``: the Hypothesis machine, which shrinks what it finds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from partq.conformance.verdict import Exit, failing_rows, worst

from .common import PROFILE_NAMES, fail, opened, outcome, printable, profiles_for


def search(
    broker: Annotated[str, typer.Argument(help="reference, mutant:NAME, rabbitmq://…, my_module:MyBroker")],
    profile: Annotated[
        list[str] | None, typer.Option(help=f"Only this profile ({PROFILE_NAMES}); may be repeated.")
    ] = None,
    examples: Annotated[int, typer.Option(min=1, help="Programs for each profile.")] = 200,
    length: Annotated[int, typer.Option(min=1, help="Steps in a program at the most.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="The same seed makes the same search.")] = 1,
    out: Annotated[Path | None, typer.Option(help="File for the program that is found.")] = None,
) -> None:
    """Search for the smallest program that a broker answers wrongly (Hypothesis, one step at a time)."""
    from partq.conformance.adapters import Unreachable
    from partq.conformance.program import dumps
    from partq.conformance.stateful import NotConformant, search_on

    if out is not None and out.exists():
        fail(f"{out} exists: give another file")
    codes = []
    for name in profiles_for(broker, profile):
        try:
            seen = search_on(opened(broker), name, examples, length, seed)
        except Unreachable as error:
            fail(str(error))
        except NotConformant as found:
            print(printable(str(found)))
            if out is not None:
                out.write_text(dumps(found.program) + "\n", encoding="utf-8")
            raise typer.Exit(Exit.VIOLATED) from None
        code, why = outcome(seen.verdicts, failing_rows(strict=False))
        codes.append(code)
        print(printable(f"{name}: nothing found in {seen.programs} programs{why and f'; {why}'}"))
    raise typer.Exit(worst(codes))
