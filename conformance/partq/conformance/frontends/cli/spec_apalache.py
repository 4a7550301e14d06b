"""``partq spec check --tool apalache``: the questions for Apalache, and what came of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table
from rich.text import Text

from partq.conformance.frontends.cli.common import Format, console, fail, output, print_json
from partq.conformance.verdict import Exit

if TYPE_CHECKING:
    from partq.spec.manifest import Symbolic
    from partq.spec.symbolic import Answered


def check_by_apalache(chosen: Sequence[Symbolic], jobs: int | None, format: Format) -> None:
    """Put these questions to Apalache, compare the answers with the manifest, and end with the exit code."""
    from partq.spec.roots import InvalidConfiguration
    from partq.spec.symbolic import jobs_that_fit, run
    from partq.spec.toolbox import ToolMissing, apalache

    try:
        apalache()
        done = [*_told(run(chosen, jobs or jobs_that_fit(), _begun), len(chosen))]
    except (ToolMissing, InvalidConfiguration) as error:
        fail(str(error))
    done.sort(key=lambda one: chosen.index(one.question))
    if format is Format.JSON:
        print_json({"apalache": [_plain(one) for one in done]})
    else:
        _show(done)
    raise typer.Exit(Exit.VIOLATED if any(one.wrong for one in done) else Exit.CONFORMANT)


def _begun(question: Symbolic, words: Sequence[str]) -> None:
    console.print(f"{question.name}: {' '.join(words)}", markup=False, soft_wrap=True)


def _told(ending: Iterator[Answered], total: int) -> Iterator[Answered]:
    """The questions as they are answered, each with a line."""
    for number, one in enumerate(ending, start=1):
        said = one.wrong or "as expected"
        console.print(f"{number}/{total} {one.question.name}: {said}, {_seconds(one):.0f} s", markup=False)
        yield one


def _seconds(one: Answered) -> float:
    return sum(call.seconds for call in one.made)


def _plain(one: Answered) -> dict[str, Any]:
    question = one.question
    return {
        "name": question.name,
        "question": question.question,
        "kind": str(question.kind),
        "expected": str(question.expected),
        "version": one.made[-1].answer.version,
        "calls": [
            {
                "command": " ".join(call.words),
                "outcome": str(call.answer.outcome),
                "seconds": round(call.seconds),
            }
            for call in one.made
        ],
        "wrong": one.wrong,
    }


def _show(done: Sequence[Answered]) -> None:
    table = Table(title="the specification, asked of Apalache", title_justify="left")
    for heading in ("name", "question", "expected", "calls"):
        table.add_column(heading, overflow="fold")
    table.add_column("s", justify="right")
    table.add_column("")
    for one in done:
        ended = Text("ok", style="green") if not one.wrong else Text(one.wrong, style="bold red")
        outcomes = ", ".join(str(call.answer.outcome) for call in one.made)
        question = one.question
        table.add_row(
            question.name, question.question, str(question.expected), outcomes, f"{_seconds(one):.0f}", ended
        )
    output().print(table)
    wrong = sum(bool(one.wrong) for one in done)
    said = f"{wrong} of {len(done)} differ" if wrong else f"{len(done)} questions, all as the manifest says"
    output().print(said, style="bold red" if wrong else "bold green")
