"""``partq check``: judge recorded histories, without a broker."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from partq.conformance.frontends.cli import options
from partq.conformance.frontends.cli.common import PROFILE_NAMES, Format, fail, known_profile
from partq.conformance.frontends.cli.lazy import lazily
from partq.conformance.frontends.cli.project import baseline_of
from partq.conformance.frontends.cli.publishing import held, new_file
from partq.conformance.frontends.cli.shown import Detail
from partq.conformance.frontends.cli.streams import bar, note, printable, say
from partq.conformance.history import History
from partq.conformance.history.codec import HistoryError, read_history, read_stream
from partq.conformance.history.notation_writer import line
from partq.conformance.history.record import SCHEMA as HISTORY
from partq.conformance.verdict import Besides, Exit, Finding, Status, came_about

with lazily():
    from partq.conformance.evaluation import attribution, decision
    from partq.conformance.frontends import api
    from partq.conformance.history import gaps
    from partq.conformance.oracle import judge


def check(
    histories: Annotated[
        list[Path],
        typer.Argument(help="Files of partq.history/1: NDJSON or Parquet; -: NDJSON from standard input."),
    ],
    profile: Annotated[
        str | None, typer.Option(help=f"Instead of the profile the history names: {PROFILE_NAMES}.")
    ] = None,
    strict: options.Strict = False,
    require: options.Require = None,
    verbose: options.Verbose = False,
    whole_catalogue: options.WholeCatalogue = False,
    order: Annotated[
        bool, typer.Option("--order", help="Also show the order in which the model explains the history.")
    ] = False,
    exact: options.Exact = None,
    exact_nodes: options.ExactNodes = None,
    baseline: options.Baseline = None,
    write_baseline: options.NewBaseline = None,
    junit: options.JUnit = None,
    format: options.Output = Format.TABLE,
) -> None:
    """Judge recorded histories. Nothing is judged unless every file can be read."""
    wanted = options.requirements_to_meet(require)
    read = read_files(histories, profile)
    known = baseline_of(baseline, write_baseline)
    xml = new_file(junit)
    asked = options.exactness(decision.EVERY, exact, exact_nodes)
    with _progress(max(map(len, read.values()))) as tell:
        result = api.calls.result_of(tuple(read.items()), strict, wanted, asked, tell)
        searched = {one.name: _judged(one, asked) for one in result.judged} if order else {}
    besides = (*_rejections(result, searched, known is not None), *result.besides)
    answer = held(known, result.broker, result.verdicts, strict, besides, whole=False)

    def evidence(under: str, finding: Finding) -> tuple[str, History] | None:
        seen = result.seen(under, finding)
        return None if seen is None else (seen.name, seen.history)

    def place(under: str, candidates: tuple[str, ...]) -> str:
        rule = candidates[0]
        why = Status.UNKNOWN, result.verdicts[under][rule].reason
        ours = (one for one in result.judged if one.profile == under)
        left = (one for one in ours if (one.verdicts[rule].status, one.verdicts[rule].reason) == why)
        seen = result.suspected(under, candidates) or next(left, None)
        return "" if seen is None else seen.name

    def again(under: str, finding: Finding, file: str) -> str:
        return shlex.join(["partq", "check", file, *(("--profile", profile) if profile else ())])

    def rest() -> None:
        for one in result.judged if order else ():
            _show_judged(one.name, searched[one.name], one.history)
        say(printable(str(result.judging)))

    answer.publish(evidence, again, xml)
    detail, more = Detail(verbose, whole_catalogue), came_about(result.done, result.judging)
    more |= {"exact": searched} if order else {}
    answer.end(format, partial(answer.show, detail, evidence, place, rest), **more)


def _rejections(
    result: api.Result, searched: Mapping[str, Mapping[str, Any]], baseline: bool
) -> Iterator[Besides]:
    """What the exact judge rejects, for the exit code. Of a file with findings, these are what a baseline
    knows or does not."""
    for one in result.judged:
        told = baseline and any(verdict.findings for verdict in one.verdicts.values())
        if one.name in searched and searched[one.name]["judgement"] == "rejected" and not told:
            yield Exit.VIOLATED, f"the exact judge rejects {one.name}"


LONG: Final = 1_000
"""Records of a history that takes long to judge."""


@contextmanager
def _progress(records: int) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal while a long history is judged."""
    with bar(shown=records >= LONG) as shown:
        task = shown.add_task("judge", total=None)

        def tell(explained: int, effects: int) -> None:
            text = f"judge: {explained:,} of {effects:,} effects explained"
            shown.update(task, completed=explained, total=effects, description=text)

        yield tell


def _judged(one: api.result.Judged, asked: decision.Exactness) -> dict[str, Any]:
    """What the exact judge says of the history, as plain data. Operations are named by their ``i``. Where a
    finding is about the operation that is not explained, both say the same."""
    history = one.history
    most = None if asked.nodes is None else asked.nodes + decision.EACH * len(history)
    found = judge.judge(history, asked.seconds, nodes=most)
    why, allowed = found.reason, ""
    if found.status is judge.Judged.REJECTED:
        findings = (finding for verdict in one.verdicts.values() for finding in verdict.findings)
        same = next((finding for finding in findings if {*found.stuck[:1]} & {*finding.witness}), None)
        why = same.detail if same else attribution.observed(history, found)
        allowed = same.allowed if same else attribution.expected(history, found)
    return {
        "judgement": found.status.value,
        "explained": list(found.explained),
        "stuck": list(found.stuck),
        "allowed": allowed,
        "reason": why,
    }


def _show_judged(file: str, found: dict[str, Any], history: History) -> None:
    why = f": {found['reason']}" if found["reason"] else ""
    say(f"Exact judge, {printable(file)}: {found['judgement']}{printable(why)}")
    family, records = known_profile(history.header.profile), {record.i: record for record in history.records}
    if found["judgement"] == "accepted":
        return
    for title, numbers in (
        ("explained, in this order", found["explained"]),
        ("then none of", found["stuck"]),
    ):
        if numbers:
            say(f"  {title}:")
        for i in numbers:
            say(f"  {i:>4}  {printable(line(records[i], family))}")
    if found["allowed"]:
        say(f"  expected: {printable(found['allowed'])}")


def read_files(files: Sequence[Path], profile: str | None) -> dict[str, History]:
    """The histories by file, those of standard input by ``-``; ends with one line where one is none."""
    under = None if profile is None else known_profile(profile).name
    found = {}
    try:
        for file in files:
            if file.is_dir():
                inside = next(iter(sorted(file.glob("histories/*/*.ndjson"))), file / "any").parent
                fail(f"{file} is a folder: give its files, such as {inside / '*.ndjson'}")
            stdin = str(file) == "-"
            history = read_stream(sys.stdin.buffer, "standard input") if stdin else read_history(file)
            if missing := gaps.missing_records(history):
                note(f"partq: warning: {file}: {missing}")
            if under is not None:
                history = replace(history, header=replace(history.header, profile=under))
            found[str(file)] = history
    except HistoryError as error:
        fail(_no_history(Path(error.file)) or str(error))
    return found


OTHERS: Final = {
    "partq.counterexample/1": "a counterexample: partq replay {file}",
    "partq.program/1": "a program: partq replay {file} --broker BROKER",
    "partq.verdicts/1": "verdicts: partq report {folder}",
}
"""What other files hold, and the command that takes them."""


def _no_history(file: Path) -> str:
    """What else the file is, if it is JSON; empty if it is none, or the header of a history is there."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return ""
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema == HISTORY:
        return ""
    if schema not in OTHERS:
        return f"{file} is JSON{f' of schema {schema!r}' if schema else ''}, but no history: {_FORM}"
    return f"{file} is {OTHERS[schema].format(file=file, folder=file.parent)}"


_FORM: Final = "that has one object a line, the header first (docs/history.md)"
