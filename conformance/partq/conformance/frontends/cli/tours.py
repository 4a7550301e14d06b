"""``partq tours``: the model's own test programs on one broker, and what of the model they visited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from partq.conformance.adapters import Broker, public_name
from partq.conformance.frontends.cli import options
from partq.conformance.frontends.cli.common import Format, fail, failing, opened_as, profiles_for
from partq.conformance.frontends.cli.lazy import lazily
from partq.conformance.frontends.cli.publishing import Answer
from partq.conformance.frontends.cli.shown import Detail, evidence_in
from partq.conformance.frontends.cli.streams import note, output
from partq.conformance.frontends.cli.table import titled
from partq.conformance.verdict import Verdicts, merge, plural
from partq.conformance.workload.program import Program, dumps

with lazily():
    from partq.conformance.evaluation import keeping, suite
    from partq.conformance.oracle import graph_coverage
    from partq.conformance.workload import tours as walks


def tours(
    broker: options.Broker,
    profile: options.Profiles = None,
    scope: Annotated[list[str] | None, typer.Option(help="Only this scope; may be repeated.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed lets a simulation choose otherwise.")] = 1,
    rounds: Annotated[
        int,
        typer.Option(min=1, help="Rounds at most. The second and later ones lead to what was not visited."),
    ] = 1,
    strict: options.Strict = False,
    out: Annotated[Path | None, typer.Option(help="New folder for the programs, for partq replay.")] = None,
    verbose: options.Verbose = False,
    whole_catalogue: options.WholeCatalogue = False,
    format: options.Output = Format.TABLE,
) -> None:
    """Run programs that pass every state and transition of small models, and count what was visited."""
    chosen = {name: _surveys(broker, name, scope) for name in profiles_for(broker, profile)}
    if out is not None and out.exists():
        fail(f"{out} exists: give a new folder")
    folder = None if out is None else keeping.Target.of(out)
    results = {name: _Result(name, seed, folder) for name in chosen}
    for name, surveys in chosen.items():
        for survey in surveys:
            results[name].run(opened_as(broker, name), survey, rounds)
    verdicts = {name: result.verdicts for name, result in results.items()}
    visited = {name: result.visited() for name, result in results.items()}
    evidence = evidence_in({name: result.kept for name, result in results.items()})
    answer, detail = Answer(public_name(broker), verdicts, strict), Detail(verbose, whole_catalogue)
    show = partial(answer.show, detail, evidence, rest=partial(_show, visited))
    answer.end(format, show, visited=visited)


def _surveys(broker: str, profile: str, scopes: Sequence[str] | None) -> tuple[walks.Survey, ...]:
    """The surveys asked for; ends with one line where there are none."""
    found = walks.surveys(profile, suite.lacks_of(opened_as(broker, profile)))
    if not found:
        fail(f"there are no tours for {profile}: they are of the profiles {', '.join(walks.SCOPES)}")
    unknown = sorted(set(scopes or ()) - {survey.name for survey in found})
    if unknown:
        fail(f"{profile} has no scope {', '.join(unknown)}; it has {', '.join(s.name for s in found)}")
    return tuple(survey for survey in found if not scopes or survey.name in scopes)


class _Scope(NamedTuple):
    """What came of one scope: ``left_out`` is what was not visited, by reason and kind."""

    tally: graph_coverage.Tally
    rounds: int
    left_out: Mapping[str, Counter[str]]


@dataclass(slots=True)
class _Result:
    """What came of one profile's tours. ``kept``: the runs that found something."""

    profile: str
    seed: int
    folder: keeping.Target | None
    verdicts: Verdicts = field(default_factory=dict)
    scopes: list[_Scope] = field(default_factory=list)
    kept: list[suite.Run] = field(default_factory=list)

    def run(self, target: Broker, survey: walks.Survey, rounds: int) -> None:
        """Run the tours of a survey, then further ones to what they did not visit, while there is any."""
        tally, title, number = graph_coverage.Tally(survey), f"{self.profile}, {survey.name}", 1
        note(f"{title}: {plural(len(survey.tours), 'tour')}")
        self._run(target, tally, survey.programs(self.seed))
        hidden = tally.hidden()
        while number < rounds and (programs := survey.further(tally.plan(hidden), self.seed, number + 1)):
            number += 1
            left = len(tally.plan(hidden).wanted)
            note(f"{title}, round {number}: {plural(len(programs), 'tour')} to {plural(left, 'transition')}")
            self._run(target, tally, programs)
        self.scopes.append(_Scope(tally, number, tally.left_out()))

    def _run(self, target: Broker, tally: graph_coverage.Tally, programs: Mapping[str, Program]) -> None:
        """Run these programs, and add up what comes of them."""
        if self.folder is not None:
            folder = self.folder.place / self.profile
            with failing(self.folder.shown):
                folder.mkdir(parents=True, exist_ok=True)
                for name, program in programs.items():
                    file = folder / f"{name.replace(' ', '-')}.json"
                    file.write_text(dumps(program) + "\n", encoding="utf-8")
        tasks = [suite.NamedProgram(name, program) for name, program in programs.items()]
        with closing(suite.runs(target, target.profile, tasks)) as ending:
            for _, done in ending:
                tally.add(done.history, programs[done.name].seed)
                if done.findings:
                    self.kept.append(done)
                self.verdicts = merge([self.verdicts, done.verdicts])

    def visited(self) -> dict[str, dict[str, Any]]:
        """Of each scope: its rounds and tours, how many of these left it before their end, its `Coverage`; of
        the transitions not visited how many nobody can see to be, by reason, how many are open, and of which
        kinds they all are (``left_out``)."""
        found: dict[str, dict[str, Any]] = {}
        for tally, rounds, left_out in self.scopes:
            reasons = {reason: kinds.total() for reason, kinds in left_out.items()}
            open_ = reasons.pop(graph_coverage.NO_RUN)
            counts = {"rounds": rounds, "tours": tally.runs, "left": tally.left, **tally.coverage._asdict()}
            kinds = {reason: dict(several) for reason, several in left_out.items() if several}
            found[tally.survey.name] = {**counts, "hidden": reasons, "open": open_, "left_out": kinds}
        return found


def _show(visited: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    """Of each scope how much this broker's choices led through, of what its tours pass in the model."""
    headings = ("profile", "scope", "rounds", "tours", "states", "transitions", "not to be seen", "open")
    table = titled("visited, of what the tours pass in the model", headings)
    reasons: Counter[str] = Counter()
    left = 0
    for profile, scopes in visited.items():
        for name, row in scopes.items():
            reasons.update(row["hidden"])
            left += row["left"]
            seen = (f"{row[what]:,} of {row[f'of_{what}']:,}" for what in ("states", "transitions"))
            rest = (f"{sum(row['hidden'].values()):,}", f"{row['open']:,}")
            table.add_row(profile, name, f"{row['rounds']:,}", f"{row['tours']:,}", *seen, *rest)
    output().print(table)
    told = "; ".join(f"{reason}: {count:,}" for reason, count in reasons.items())
    output().print(f"not to be seen: {reasons.total():,} transitions ({told})", markup=False)
    output().print(f"{plural(left, 'tour')} left the scope before the end", markup=False)
    for profile, scopes in visited.items():
        for name, row in scopes.items():
            for reason, kinds in row["left_out"].items():
                several = ", ".join(f"{what} ({count:,})" for what, count in kinds.items())
                output().print(f"{profile}, {name}: {reason}: {several}", markup=False)
