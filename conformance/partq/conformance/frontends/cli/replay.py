"""``partq replay``: run a stored counterexample, or any stored program, again.

A counterexample is a question about one rule, and only a run that exercises this rule answers it. Where it is
not known which of several is violated, it is asked of each whether it is, and of the first whether it was
exercised. A mere program asks what a search asks: whether anything is found.
"""

from __future__ import annotations

import json
import shlex
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

import typer

from partq.conformance.adapters import is_built_in, open_broker, public_name
from partq.conformance.frontends.cli.campaigns import at_hand
from partq.conformance.frontends.cli.common import Format, end, fail, failing, is_live
from partq.conformance.frontends.cli.lazy import lazily
from partq.conformance.frontends.cli.options import Output
from partq.conformance.frontends.cli.shown import Evidence, show_found
from partq.conformance.frontends.cli.streams import output, printable, say
from partq.conformance.history import History
from partq.conformance.verdict import (
    ASSUMED,
    MISS,
    Exit,
    Finding,
    Recurrence,
    Status,
    Verdicts,
    ambiguities,
    exit_code,
    merge,
    outcome,
    verdicts_document,
)
from partq.conformance.workload import program as programs
from partq.conformance.workload.program import Program
from partq.model.profiles import PROFILES
from partq.model.requirements import catalogue

with lazily():
    from partq.conformance.evaluation import counterexample, suite

OF_A_REQUIREMENT: Final = {
    Status.VIOLATED: "REPRODUCED",
    Status.PASS: "FIXED",
    Status.SEEN: "FREEDOM SEEN",
    Status.UNKNOWN: "UNDECIDED",
    Status.NOT_EXERCISED: "NOT EXERCISED",
    Status.NOT_APPLICABLE: "NOT APPLICABLE",
    Status.NOT_IMPLEMENTED: "NOT IMPLEMENTED YET",
}
"""The word for what a replay says of the rule that was found violated."""

OF_ANY_REQUIREMENT: Final = {
    Exit.VIOLATED: "VIOLATED",
    Exit.CONFORMANT: "NOTHING FOUND",
    Exit.INCONCLUSIVE: "UNDECIDED",
}
"""The word where no rule was: the file is a mere program."""

_NEWS: Final = {Status.VIOLATED: 0, Status.UNKNOWN: 1}
"""Of several rules the one whose verdict answers: one that is violated, else one that is undecided."""

UNSEEN: Final = "NOT SEEN AGAIN"
"""The word where nothing was found, and may be the next time."""

_EXPECTED: Final = (
    "a counterexample or a program is expected (a history: partq check; a trace: partq run --program)"
)

_IDLE: Final = "it does not show again, but this program does not exercise the rule here; programs that do:"


def replay(
    file: Annotated[
        Path, typer.Argument(help="A counterexample, or a program; of a campaign elsewhere, its URI.")
    ],
    broker: Annotated[
        str | None, typer.Option(help="The broker; needed unless the file names one that comes with partq.")
    ] = None,
    tries: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How often [1; on a live broker, whose runs vary: until a miss has a probability of "
            f"{MISS:.0%}].",
        ),
    ] = None,
    format: Output = Format.TABLE,
) -> None:
    """Run a stored counterexample again: REPRODUCED (exit code 1), FIXED (0), or neither (3).

    FIXED: the rule was exercised and held; on a live broker in so many tries that a miss would be
    improbable, at the rate at which it was seen. Otherwise the reason is printed.
    """
    with at_hand(file) as (there, *_):
        stored = read_replayable(there)
    name = broker or _named_in(file, stored)
    live = is_live(open_broker(name))
    rate = stored.seen or ASSUMED
    times = tries or (rate.needed if live else 1)
    done = _runs(name, stored, times, live)
    verdicts = merge(run.verdicts for run in done)
    news = {id: _NEWS.get(verdicts[id].status, len(_NEWS)) for id in stored.requirements}
    rule = min(news, key=news.__getitem__, default=None)  # None: a mere program
    code, word, reason = _answer(verdicts, rule)
    if rule is not None and verdicts[rule].status is Status.NOT_EXERCISED:
        reason = f": {_IDLE} {_asking(name, stored.program.profile, rule)}"
    if code == Exit.VIOLATED and live:
        reason += f" ({sum(_shows(run, stored.requirements) for run in done)} of {times} tries)"
    if code == Exit.CONFORMANT and (live or times > 1):
        miss = _miss(rate, stored, times) if live else ""
        reason = f" (not seen in {times} {'try' if times == 1 else 'tries'}{miss})"
    if code == Exit.CONFORMANT and live and times < rate.needed:
        code, word = Exit.INCONCLUSIVE, UNSEEN
        reason += f": {rate.needed} clean tries are needed to say that it is fixed"
    profile, named = stored.program.profile, f" {rule}" if rule else ""

    def show() -> None:
        say(f"{word}{named} on {printable(public_name(name))} ({profile}){printable(reason)}")
        asked = {id: v for id, v in verdicts.items() if id in (stored.requirements or verdicts)}
        show_found(output(), {profile: asked}, _among(done, stored.requirements, times))

    document = verdicts_document(public_name(name), {profile: verdicts}, strict=True)
    end(code, format, {**document, "replay": word, "requirement": rule, "exit": code}, show)


def _named_in(file: Path, stored: Replayable) -> str:
    """The broker that the file names; ends with one line unless it comes with partq: no file chooses which
    code is run, or which server is reached."""
    if stored.broker is None:
        fail(f"{file} is a program, which names no broker: say which with --broker")
    if not is_built_in(stored.broker):
        name = public_name(stored.broker)
        fail(f"{file} names {name!r}, which does not come with partq: run it with --broker, if you trust it")
    return stored.broker


def _asking(name: str, profile: str, rule: str) -> str:
    """The command that runs all that exercises the rule, under the broker's own profile if it is a file."""
    under = ["--profile", profile] if profile in PROFILES else []
    return shlex.join(["partq", "run", public_name(name), *under, "--rule", rule])


def _miss(rate: Recurrence, stored: Replayable, times: int) -> str:
    """How probable it is that all tries of a live broker missed it, in words."""
    of = f"it was seen in {rate.times} of {rate.tries}" if stored.seen else "if it shows every other time"
    return f"; {of}: a miss has a probability of {rate.miss(times):.2g}"


def _among(done: list[suite.Run], requirements: tuple[str, ...], times: int) -> Evidence:
    """The evidence in these runs; of several, its place says in how many of them it is seen."""
    shown = sum(_shows(run, requirements) for run in done)
    of = f" (seen in {shown} of {times} tries)" if len(done) > 1 else ""

    def seen(profile: str, finding: Finding) -> tuple[str, History] | None:
        run = suite.seen_in(done, finding)
        return None if run is None else (f"{run.name}{of}", run.history)

    return seen


def _shows(run: suite.Run, requirements: tuple[str, ...]) -> bool:
    found = (id for id, verdict in run.verdicts.items() if verdict.findings)
    return any(id in (requirements or run.verdicts) for id in found) or bool(ambiguities(run.verdicts))


@dataclass(frozen=True, slots=True)
class Replayable:
    """What a file holds. ``requirements``: the one that it showed violated, or those of which one is; empty
    for a mere program: any. ``seen``: how often a live broker showed it."""

    program: Program
    broker: str | None = None
    requirements: tuple[str, ...] = ()
    seen: Recurrence | None = None


def read_replayable(file: Path) -> Replayable:
    """What a file holds, a counterexample or a program; ends with one line where it is neither."""
    try:
        with failing(file):
            data = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        fail(f"{file} is no JSON file: {_EXPECTED}")
    schema = data.get("schema") if isinstance(data, dict) else None
    try:
        if schema == programs.SCHEMA:
            return Replayable(programs.from_json(data))
        if schema != counterexample.SCHEMA:
            what = f"is of schema {schema!r}" if schema else "has no schema"
            fail(f"{file} {what}: {_EXPECTED}")
        example = counterexample.read(file)
    except programs.InvalidProgram as error:
        fail(f"{file}: {error}")
    except (ValueError, OSError) as error:
        fail(str(error) if str(file) in str(error) else f"{file}: {error}")
    requirements = tuple(dict.fromkeys((example.finding.requirement, *example.finding.candidates)))
    if unknown := [id for id in requirements if id not in catalogue()]:
        fail(f"{file}: finding.requirement: no rule {unknown[0]!r}")
    return Replayable(example.program, example.broker, requirements, example.seen)


def _runs(name: str, stored: Replayable, tries: int, live: bool) -> list[suite.Run]:
    """All runs, several at once where the broker allows it; of a simulated one the first that shows it."""
    tasks = [suite.NamedProgram(f"try {number}", stored.program) for number in range(1, tries + 1)]
    target = open_broker(name)
    exact = replace(suite.usual(target), drained=bool(stored.requirements))
    ways = suite.Ways(lambda: open_broker(name), exact=exact)
    seen: list[suite.Run] = []
    with closing(suite.runs(target, stored.program.profile, tasks, ways)) as ending:
        for _, done in ending:
            if not live and _shows(done, stored.requirements):
                return [done]
            seen.append(done)
    return seen


def _answer(verdicts: Verdicts, requirement: str | None) -> tuple[int, str, str]:
    """The exit code, the word, and why it is no better one."""
    if requirement is not None:
        code, verdict = exit_code(verdicts, [requirement]), verdicts[requirement]
        if verdict.candidates:
            return Exit.VIOLATED, OF_A_REQUIREMENT[Status.VIOLATED], f": {verdict.ambiguity}"
        return code, OF_A_REQUIREMENT[verdict.status], verdict.reason and f": {verdict.reason}"
    code, why = outcome(verdicts, verdicts)
    return code, OF_ANY_REQUIREMENT[code], why and f": {why}"
