"""``partq spec``: the TLA+ specification, checked by TLC or Apalache and held against the model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer
from msgspec import to_builtins
from rich.text import Text

from partq.conformance.frontends.cli.common import Format, fail, failing, print_json
from partq.conformance.frontends.cli.lazy import lazily
from partq.conformance.frontends.cli.options import Output
from partq.conformance.frontends.cli.streams import note, output, say
from partq.conformance.frontends.cli.table import titled
from partq.conformance.history.codec_fields import did_you_mean
from partq.conformance.verdict import Exit
from partq.spec.tools.toolbox import Tool, ToolMissing, apalache, fetch_tlc, tlc_jar

with lazily():
    from partq.spec.checking import checks, figures, manifest, records, symbolic
    from partq.spec.comparison import compared, pairs, spec_side

Jobs = Annotated[int | None, typer.Option(min=1, help="How many run at a time. Default: as many as cores.")]
FittingJobs = Annotated[
    int | None, typer.Option(min=1, help="How many run at a time. Default: what cores and memory allow.")
]


def setup() -> None:
    """Fetch TLC, through your own Maven, into the user's cache; once."""
    say(str(fetch_tlc()))


def check(
    only: Annotated[list[str] | None, typer.Option(help="Only this check; may be repeated.")] = None,
    tool: Annotated[Tool, typer.Option(help="What is asked: every state, or the solver.")] = Tool.TLC,
    jobs: FittingJobs = None,
    write: Annotated[
        Path | None, typer.Option(help="Folder for the configurations, as .cfg files; nothing is asked.")
    ] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="The largest scope, too, which takes from minutes to hours.")
    ] = False,
    record: Annotated[
        bool, typer.Option("--record", help="Keep the figures of all that ends as it has to.")
    ] = False,
    format: Output = Format.TABLE,
) -> None:
    """Put every question of the manifest to TLC or Apalache, and compare the answers with it."""
    every, of_apalache = manifest.read_manifest(), manifest.read_symbolic()
    if tool is Tool.APALACHE:
        chosen = known(only or (), {one.name: one for one in of_apalache}, "check by Apalache")
        _check_by_apalache(chosen, jobs, record, format)
        return
    asked = known(only or (), {one.name: one for one in every if only or whole or not one.by_hand}, "check")
    if not write:
        _check_by_tlc(asked, of_apalache, jobs, record, format, whole=not only)
        return
    with failing(write, inside=True):
        write.mkdir(parents=True, exist_ok=True)
        for one in asked:
            say(str(checks.written(one, write)))


def _check_by_tlc(
    chosen: Sequence[manifest.Check],
    of_apalache: Sequence[manifest.Symbolic],
    jobs: int | None,
    record: bool,
    format: Format,
    whole: bool,
) -> None:
    if record:
        chosen = [one._replace(figures=figures.Figures()) for one in chosen]

    def ended(one: checks.Checked) -> str:
        return f"{one.check.name}: {one.wrong or 'as expected'}, {one.seconds:.1f} s"

    done = [*told(checks.run(chosen, jobs or os.cpu_count() or 1), len(chosen), ended)]
    done.sort(key=lambda one: chosen.index(one.check))
    if record:
        kept = {one.check.name: checks.recorded(one, str(date.today())) for one in done if not one.wrong}
        figures.record_checks(kept)
    _tell_of_earlier(of_apalache)
    if whole and (names := checks.untaken(done)):
        fail(f"taken in no scope, so that no property speaks of them: {', '.join(names)}")
    report("checks", done, format, plain=_plain, show=_show)


def compare(
    only: Annotated[list[str] | None, typer.Option(help="Only this pair; may be repeated.")] = None,
    whole: Annotated[
        bool, typer.Option(help="Histories of the whole scope, not of its smallest form: takes long.")
    ] = False,
    jobs: Jobs = None,
    format: Output = Format.TABLE,
) -> None:
    """Explore specification and model at small scopes, and compare their state graphs and histories."""
    wanted = known(only or (), pairs.PAIRS, "pair")
    try:
        tlc_jar()
        with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
            done = [*pool.map(partial(compared.compare, whole=whole), wanted)]
    except (ToolMissing, spec_side.NotExplored, OverflowError) as error:
        fail(str(error))
    if not only and (names := compared.overlooked(done)):
        fail(f"compared in no pair but not listed as such, or the other way round: {', '.join(names)}")
    report(
        "pairs",
        done,
        format,
        plain=_plain_pair,
        show=_show_pairs,
        wrong=lambda one: one.difference is not None or bool(one.explained.path),
        otherwise="agree",
    )


def _plain(one: checks.Checked) -> dict[str, Any]:
    answer = one.answer
    found = {"violated": answer.violated, "states": answer.distinct, "transitions": answer.generated}
    return {
        "name": one.check.name,
        "question": one.check.question,
        "expected": str(one.check.expected),
        "breaks": one.check.breaks,
        **found,
        "depth": answer.depth,
        "seconds": round(one.seconds, 1),
        "wrong": one.wrong,
    }


def _show(done: Sequence[checks.Checked]) -> None:
    headings, numbers = ("check", "question", "expected"), ("states", "transitions", "depth", "s")
    table = titled("the specification, checked by TLC", headings, right=numbers, overflow="fold")
    table.add_column("")
    for one in done:
        answer, steps = one.answer, len(one.answer.trace)
        counts = (f"{n:,}" for n in (answer.distinct, answer.generated, steps or answer.depth))
        expected = f"{one.check.expected} {one.check.breaks}".strip()
        seconds = f"{one.seconds:.1f}"
        table.add_row(one.check.name, one.check.question, expected, *counts, seconds, ok_or(one.wrong))
    output().print(table)


def _plain_pair(one: compared.Compared) -> dict[str, Any]:
    found, parted, paths = one.pair, one.difference, one.explained
    return {
        "name": found.name,
        "question": found.question,
        "grade": str(found.grade),
        "why": found.why,
        "left_out": found.left_out,
        "spec": one.sizes[0],
        "model": one.sizes[1],
        "smallest": one.smallest,
        "difference": None if parted is None else parted._asdict(),
        "explained": {**paths._asdict(), "path": [step.words for step in paths.path]},
    }


def _show_pairs(done: Sequence[compared.Compared]) -> None:
    headings = ("pair", "grade", "TLA+", "model", "both, smallest", "why not more", "histories")
    table = titled("specification and model, states / edges", headings, overflow="fold")
    for one in done:
        spec, model = (f"{states:,} / {edges:,}" for states, edges in one.sizes)
        same = f"{one.smallest[0][0]:,} / {one.smallest[0][1]:,}" if len({*one.smallest}) == 1 else ""
        grade = Text(str(one.pair.grade), style="green" if one.difference is None else "bold red")
        paths = one.explained
        histories = f"{paths.histories:,}: {paths.accepted:,} steps accepted, {paths.rejected:,} rejected"
        ended = Text(histories, style="bold red" if paths.path else "")
        table.add_row(one.pair.name, grade, spec, model, same, one.pair.why, ended)
    out = output()
    out.print(table)
    out.print(f"not compared: {'; '.join(pairs.NOT_COMPARED)}", markup=False)
    for one in done:
        if one.pair.left_out:
            out.print(f"left out of {one.pair.name!r}: {one.pair.left_out}", markup=False)
    for one in done:
        _show_difference(one)


def _show_difference(one: compared.Compared) -> None:
    """Where a pair parts: the way there, and what one side alone, or each, can do then."""
    parted, out = one.difference, output()
    if one.explained.path:
        out.print(Text(f"{one.pair.name}: histories differ", style="bold red"))
        for number, step in enumerate(one.explained.path, start=1):
            out.print(f"  {number:3} {step.words}", markup=False)
        out.print(f"      the last step: {one.explained.only} alone", markup=False)
    if parted is None:
        return
    out.print(Text(f"{one.pair.name} differ", style="bold red"))
    for number, label in enumerate(parted.path, start=1):
        out.print(f"  {number:3} {label}", markup=False)
    what = f"{len(parted.path) + 1:3} {parted.label}" if parted.label else "   "
    whose = f": {parted.only} alone" if parted.label and parted.only else ""
    out.print(f"  {what}{whose} {parted.why}".rstrip(), markup=False)
    for side, states in zip(compared.SIDES, parted.after or (), strict=False):
        for may in states:
            out.print(f"      then in the {side}: {', '.join(may) or 'nothing'}", markup=False)


# --- the questions for Apalache, and what came of them -------------------------------------------------


def _check_by_apalache(
    chosen: Sequence[manifest.Symbolic], jobs: int | None, record: bool, format: Format
) -> None:
    """Put these questions to Apalache, compare the answers with the manifest, and end with the exit code."""

    def begun(question: manifest.Symbolic, words: Sequence[str]) -> None:
        note(f"{question.name}: {' '.join(words)}")

    def ended(one: symbolic.Answered) -> str:
        return f"{one.question.name}: {one.wrong or 'as expected'}, {_seconds(one):.0f} s"

    apalache()
    done = [*told(symbolic.run(chosen, jobs or symbolic.jobs_that_fit(), begun), len(chosen), ended)]
    done.sort(key=lambda one: chosen.index(one.question))
    if record:
        figures.record_runs({one.question.name: _recorded(one) for one in done if not one.wrong})
    _tell_of_earlier(chosen)
    report("questions", done, format, plain=_plain_answer, show=_show_answers)


def _tell_of_earlier(questions: Sequence[manifest.Symbolic]) -> None:
    """Say which records of Apalache in the manifest were made on an earlier text of the specification."""
    if found := records.earlier(questions):
        names = ", ".join(one.name for one in found)
        note(
            f"{len(found)} of {len(questions)} records of Apalache are of an earlier text of the "
            f"specification, and prove nothing of this one: {names}"
        )


def _seconds(one: symbolic.Answered) -> float:
    return sum(call.seconds for call in one.made)


def _recorded(one: symbolic.Answered) -> figures.LastRun:
    calls = [
        figures.Call(" ".join(call.words), call.answer.outcome, round(call.seconds)) for call in one.made
    ]
    return figures.LastRun(
        str(date.today()), one.made[-1].answer.version, calls, records.text_of(one.question)
    )


def _plain_answer(one: symbolic.Answered) -> dict[str, Any]:
    question = one.question
    return {
        "name": question.name,
        "question": question.question,
        "kind": str(question.kind),
        "expected": str(question.expected),
        **to_builtins(_recorded(one)),
        "wrong": one.wrong,
    }


def _show_answers(done: Sequence[symbolic.Answered]) -> None:
    headings = ("name", "question", "expected", "calls")
    table = titled("the specification, asked of Apalache", headings, right=["s"], overflow="fold")
    table.add_column("")
    for one in done:
        outcomes = ", ".join(str(call.answer.outcome) for call in one.made)
        asked, seconds = one.question, f"{_seconds(one):.0f}"
        table.add_row(asked.name, asked.question, str(asked.expected), outcomes, seconds, ok_or(one.wrong))
    output().print(table)


# --- what was asked for, a line as each ends, and the answers -----------------------------------------------

T = TypeVar("T")


def known(names: Sequence[str], every: Mapping[str, T], what: str) -> list[T]:
    """Those of these names, all if there are none; ends with one line where one is not known."""
    for name in names:
        if name not in every:
            fail(f"no {what} is called {name!r}{did_you_mean(name, every)}")
    return [one for name, one in every.items() if not names or name in names]


def told(ending: Iterable[T], total: int, line: Callable[[T], str]) -> Iterator[T]:
    """Each as it ends, when it was told with a numbered line."""
    for number, one in enumerate(ending, start=1):
        note(f"{number}/{total} {line(one)}")
        yield one


def ok_or(wrong: str) -> Text:
    """How an answer fits the manifest, in a table."""
    return Text(wrong, style="bold red") if wrong else Text("ok", style="green")


def report(
    what: str,
    done: Sequence[T],
    format: Format,
    *,
    plain: Callable[[T], dict[str, Any]],
    show: Callable[[Sequence[T]], None],
    wrong: Callable[[Any], object] = lambda one: one.wrong,
    otherwise: str = "as the manifest says",
) -> NoReturn:
    """Print the answers, as JSON or by ``show`` with a last line, and end with the exit code. ``what``: their
    name; ``otherwise``: what they all are where none is wrong."""
    differ = sum(bool(wrong(one)) for one in done)
    if format is Format.JSON:
        print_json({what: [plain(one) for one in done]})
    else:
        show(done)
        said = f"{differ} of {len(done)} {what} differ" if differ else f"{len(done)} {what}, all {otherwise}"
        output().print(said, style="bold red" if differ else "bold green")
    raise typer.Exit(Exit.VIOLATED if differ else Exit.CONFORMANT)


app = typer.Typer(
    help="The TLA+ specification: checked by TLC or Apalache, held against the model.", no_args_is_help=True
)
"""The group of commands."""
