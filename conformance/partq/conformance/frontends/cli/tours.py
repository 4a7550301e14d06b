"""``partq tours``: the model's own test programs on one broker, and what of the model they visited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from partq.conformance.frontends.cli.common import (
    BROKERS,
    PROFILE_NAMES,
    Format,
    conclude,
    console,
    fail,
    opened,
    output,
    print_json,
    profiles_for,
    show_verdicts,
    verdicts_document,
)

if TYPE_CHECKING:
    from partq.conformance.adapters import Broker
    from partq.conformance.evaluation.suite import Run
    from partq.conformance.history import History
    from partq.conformance.oracle.graph_coverage import Tally
    from partq.conformance.verdict import Finding, Verdicts
    from partq.conformance.workload.tours import Survey


def tours(
    broker: Annotated[str, typer.Argument(help=BROKERS)],
    profile: Annotated[
        list[str] | None, typer.Option(help=f"Only this profile ({PROFILE_NAMES}); may be repeated.")
    ] = None,
    scope: Annotated[list[str] | None, typer.Option(help="Only this scope; may be repeated.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed lets a simulation choose otherwise.")] = 1,
    strict: Annotated[bool, typer.Option("--strict", help="A violated SHOULD fails too.")] = False,
    out: Annotated[Path | None, typer.Option(help="New folder for the programs, for partq replay.")] = None,
    whole_catalogue: Annotated[
        bool, typer.Option("--all", help="Show rows too that do not apply or have no screen.")
    ] = False,
    format: Annotated[Format, typer.Option(help="What to print.")] = Format.TABLE,
) -> None:
    """Run programs that pass every state and transition of small models, and count what was visited."""
    from partq.conformance.adapters import public_name

    chosen = {name: _surveys(broker, name, scope) for name in profiles_for(broker, profile)}
    if out is not None:
        _write(out, chosen, seed)
    results = {name: _Result() for name in chosen}
    for name, surveys in chosen.items():
        for survey in surveys:
            console.print(f"{name}, {survey.name}: {len(survey.tours)} tours", markup=False)
            results[name].run(_opened_as(broker, name), survey, seed)
    verdicts = {name: result.verdicts for name, result in results.items()}
    visited = {name: result.visited() for name, result in results.items()}
    document = verdicts_document(public_name(broker), verdicts, strict)
    if format is Format.JSON:
        print_json({**document, "visited": visited})
    else:
        show_verdicts(public_name(broker), verdicts, whole_catalogue, lambda name, f: results[name].seen(f))
        _show(visited)
        conclude(verdicts, strict)
    raise typer.Exit(document["exit"])


def _opened_as(broker: str, profile: str) -> Broker:
    target = opened(broker)
    target.profile = profile
    return target


def _surveys(broker: str, profile: str, scopes: Sequence[str] | None) -> tuple[Survey, ...]:
    """The surveys asked for; ends with one line where there are none."""
    from partq.conformance.evaluation.suite import BrokerFailed, lacks_of
    from partq.conformance.workload.tours import surveys

    try:
        found = surveys(profile, lacks_of(_opened_as(broker, profile)))
    except BrokerFailed as error:
        fail(str(error))
    if not found:
        fail(f"{profile} is not modelled, so that there are no tours")
    unknown = sorted(set(scopes or ()) - {survey.name for survey in found})
    if unknown:
        fail(f"{profile} has no scope {', '.join(unknown)}; it has {', '.join(s.name for s in found)}")
    return tuple(survey for survey in found if not scopes or survey.name in scopes)


def _write(out: Path, chosen: Mapping[str, Sequence[Survey]], seed: int) -> None:
    from partq.conformance.workload.program import dumps

    if out.exists():
        fail(f"{out} exists: give a new folder")
    try:
        for profile, surveys in chosen.items():
            (out / profile).mkdir(parents=True)
            for survey in surveys:
                for name, program in survey.programs(seed).items():
                    file = out / profile / f"{name.replace(' ', '-')}.json"
                    file.write_text(dumps(program) + "\n", encoding="utf-8")
    except OSError as error:
        fail(f"{out}: {error.strerror}")


class _Result:
    """What came of one profile's tours. ``kept``: the runs that found something."""

    def __init__(self) -> None:
        self.verdicts: Verdicts = {}
        self.tallies: list[Tally] = []
        self.kept: list[Run] = []

    def run(self, target: Broker, survey: Survey, seed: int) -> None:
        """Run all tours of a survey, and add up what comes of them."""
        from partq.conformance.adapters import Unreachable
        from partq.conformance.evaluation.suite import BrokerFailed, NamedProgram, runs
        from partq.conformance.oracle.graph_coverage import Tally
        from partq.conformance.verdict import merge

        tally = Tally(survey)
        self.tallies.append(tally)
        tasks = [NamedProgram(name, program) for name, program in survey.programs(seed).items()]
        try:
            with closing(runs(target, target.profile, tasks)) as ending:
                for _, done in ending:
                    tally.add(done.history)
                    if done.findings:
                        self.kept.append(done)
                    self.verdicts = merge([self.verdicts, done.verdicts])
        except (Unreachable, BrokerFailed) as error:
            fail(str(error))

    def seen(self, finding: Finding) -> tuple[str, History] | None:
        """The tour that the finding comes from."""
        return next(
            (
                (done.name, done.history)
                for done in self.kept
                if finding in done.verdicts[finding.requirement].findings
            ),
            None,
        )

    def visited(self) -> dict[str, dict[str, Any]]:
        """Of each scope: its tours, how many of them left it before their end, how many transitions are in no
        program, and its `Coverage`."""
        return {
            tally.survey.name: {
                "tours": tally.runs,
                "left": tally.left,
                "unsaid": len(tally.survey.unsaid),
                **tally.coverage._asdict(),
            }
            for tally in self.tallies
        }


def _show(visited: Mapping[str, Mapping[str, Mapping[str, int]]]) -> None:
    """Of each scope how much this broker's choices led through, of what its tours pass in the model."""
    table = Table(title="visited, of what the tours pass in the model", title_justify="left")
    for heading in ("profile", "scope", "tours", "states", "transitions", "tours that left the scope"):
        table.add_column(heading)
    for profile, scopes in visited.items():
        for name, row in scopes.items():
            states = f"{row['states']:,} of {row['of_states']:,}"
            transitions = f"{row['transitions']:,} of {row['of_transitions']:,}"
            table.add_row(profile, name, str(row["tours"]), states, transitions, str(row["left"]))
    output().print(table)
