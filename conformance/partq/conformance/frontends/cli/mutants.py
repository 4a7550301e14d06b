"""``partq mutants``: does the suite kill every known defect, each by its own rule?

A mutant is killed once its own rule is the violated one, or one of the candidates. What else is reported of
it is shown and counted, and does not change the exit code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer

from partq.conformance.adapters import open_broker
from partq.conformance.frontends.campaign.plan import Lane, Plan
from partq.conformance.frontends.cli import campaigns, options
from partq.conformance.frontends.cli.common import Format, end
from partq.conformance.frontends.cli.lazy import lazily
from partq.conformance.frontends.cli.listing import Kind, completing
from partq.conformance.frontends.cli.streams import output, say
from partq.conformance.frontends.cli.table import titled
from partq.conformance.verdict import SCHEMA, Exit, Kill, ambiguities, kill_verdicts, plain

with lazily():
    from partq.conformance.adapters import mutants as known
    from partq.conformance.evaluation import counterexample

if TYPE_CHECKING:
    from partq.conformance.frontends.campaign.run import Campaign

MATRIX: Final = "mutants.json"

CHUNK: Final = 5
"""Traces after which a mutant that was killed among them is done with: most are killed by few."""

EVERY: Final = 100
"""Of how many traces in 100 the judge is asked: many a mutant no screen sees, and most end soon."""

TRIED: Final = 8
"""Of so many traces that killed a mutant the shortest program is looked for."""


def mutants(
    traces: Annotated[int, typer.Option(min=1, help="Traces for each mutant, unless it is killed before.")],
    out: Annotated[str, typer.Option(help=options.OUT_HELP)],
    seed: options.Seed = 1,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this mutant (partq list mutants); may be repeated.",
            autocompletion=completing(Kind.MUTANTS),
        ),
    ] = None,
    master: Annotated[str, typer.Option(help="Spark master.")] = campaigns.DEFAULT_MASTER,
    length: Annotated[int | None, typer.Option(min=1, help=options.LENGTH_HELP)] = None,
    exact: options.TraceExact = EVERY,
    wave: options.Wave = None,
    resume: options.Resume = False,
    break_lock: options.BreakLock = False,
    format: options.Output = Format.TABLE,
) -> None:
    """Fuzz every mutant of the reference broker and print which rule killed it, and how soon."""
    campaigns.check_extra()
    for name in only or ():
        open_broker(f"mutant:{name}")
    chosen = {name: mutant for name, mutant in known.MUTANTS.items() if not only or name in only}
    lanes = tuple(
        Lane(f"mutant:{name}", mutant.profile, traces, mutant.breaks, CHUNK)
        for name, mutant in chosen.items()
    )
    plan = Plan(lanes, seed, length, exact, campaigns.TRACE_TIMEOUT)
    with campaigns.done(plan, out, master, resume, wave=wave, break_lock=break_lock) as campaign:
        rows = _rows(chosen, traces, campaign)
        campaign.folder.write(MATRIX, f"{json.dumps([row._asdict() for row in rows], indent=1)}\n")
    code = Exit.CONFORMANT if all(row.killed for row in rows) else Exit.VIOLATED
    end(code, format, _document(rows, code), lambda: _show(rows, out))


def _rows(chosen: Mapping[str, known.Mutant], traces: int, campaign: Campaign) -> list[Kill]:
    """Each mutant's fate; what killed it is shrunk, and stored."""
    from partq.conformance.frontends.campaign.examples import shortest, stored

    fates = [_fate(name, mutant, traces * n, campaign) for n, (name, mutant) in enumerate(chosen.items())]
    with campaigns.shrinking() as announce:

        def look(done: int) -> None:
            announce(min(done + 1, len(fates)), len(fates), "mutants")

        examples = campaign.shared_out("shrink", shortest, [fate.killers for fate in fates], look)
    rows = []
    for (row, _), example in zip(fates, examples, strict=True):
        if example is not None:
            stored(campaign.folder, f"{counterexample.FOLDER}/{row.mutant}/{example.name}", example)
        rows.append(row._replace(operations=len(example.program.steps) if example else None))
    return rows


class _Fate(NamedTuple):
    """A mutant's row, and the first violations that killed it."""

    row: Kill
    killers: Sequence[Mapping[str, Any]]


def _fate(name: str, mutant: known.Mutant, first_trace: int, campaign: Campaign) -> _Fate:
    mine = [row for row in campaign.totals.kept if row["broker"] == f"mutant:{name}"]
    mine = [{**row, "candidates": row["candidates"] or [row["requirement"]]} for row in mine]
    own = sorted((row for row in mine if mutant.breaks in row["candidates"]), key=lambda row: row["trace"])
    owed = {mutant.breaks, *mutant.also}
    lane = campaign.totals.results[f"mutant:{name}", mutant.profile]
    ambiguous = (" or ".join(candidates) for candidates in ambiguities(lane) if owed.isdisjoint(candidates))
    wrong = {row["requirement"] for row in mine if owed.isdisjoint(row["candidates"])} | set(ambiguous)
    first = own[0]["trace"] - first_trace + 1 if own else None
    return _Fate(Kill(name, mutant.breaks, mutant.profile, first, None, tuple(sorted(wrong))), own[:TRIED])


def _document(rows: Sequence[Kill], code: int) -> dict[str, Any]:
    """``partq.verdicts/1`` of the suite itself, the mutants' fates first: a rule passes if it killed all its
    mutants."""
    return {
        "schema": SCHEMA,
        "broker": "mutants",
        "exit": code,
        "killed": sum(row.killed for row in rows),
        "survived": [row.mutant for row in rows if not row.killed],
        "wrongly_reported": [row.mutant for row in rows if row.wrong],
        "mutants": [{**row._asdict(), "killed": row.killed} for row in rows],
        "profiles": {},
        "requirements": plain(kill_verdicts(rows)),
    }


def _show(rows: Sequence[Kill], out: str) -> None:
    headings = ("mutant", "breaks", "profile", "traces to kill", "operations", "wrongly reported")
    table = titled("mutants", headings)
    for row in rows:
        killed = "SURVIVED" if row.first is None else str(row.first)
        table.add_row(
            row.mutant, row.breaks, row.profile, killed, str(row.operations or "-"), ", ".join(row.wrong)
        )
    output().print(table)
    dead, also = sum(row.killed for row in rows), sum(bool(row.wrong) for row in rows)
    say(f"{dead} of {len(rows)} killed by their own rule; {also} reported under another one, too")
    say(campaigns.stored_line(out))
