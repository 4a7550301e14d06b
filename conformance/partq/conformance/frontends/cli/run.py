"""``partq run``: the directed cases and some seeded programs on one broker."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import typer

from partq.conformance.adapters import open_broker, public_name
from partq.conformance.frontends.cli import kept, options
from partq.conformance.frontends.cli.common import Format, fail, failing, is_live, opened_as, profiles_for
from partq.conformance.frontends.cli.lazy import lazily
from partq.conformance.frontends.cli.listing import Kind, completing
from partq.conformance.frontends.cli.programs import Stored, programs_in
from partq.conformance.frontends.cli.project import baseline_of, broker_of, settings_for
from partq.conformance.frontends.cli.publishing import Answer, NewFile, held, new_file
from partq.conformance.frontends.cli.run_progress import ProblemPrinter, progress
from partq.conformance.frontends.cli.shown import Detail, evidence_in
from partq.conformance.frontends.cli.streams import note, printable, say
from partq.conformance.history.codec import write_history
from partq.conformance.history.codec_profiles import typed
from partq.conformance.verdict import EVERYTHING, OPEN, Finding, Focus, added, came_about, required, share_of
from partq.conformance.workload.cases import case as cases_of
from partq.conformance.workload.cases.case import Case
from partq.spec.simulation.itf import TRACES

with lazily():
    from partq.conformance.evaluation import keeping, suite
    from partq.conformance.workload.cases import table


def run(
    broker: options.ProjectBroker = None,
    profile: options.Profiles = None,
    programs: Annotated[
        int | None,
        typer.Option(
            min=0, help="Seeded programs for each profile, after the cases [200; of a live broker 3]."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, help="The same seed gives the same programs; a trace's, the same choices in it [1]."
        ),
    ] = None,
    case: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this case (partq list cases), and no programs unless asked; may be repeated.",
            autocompletion=completing(Kind.CASES),
        ),
    ] = None,
    program: Annotated[
        list[Path] | None,
        typer.Option(
            help="Only this program, or trace of the specification (.itf.json), or all in this folder; no "
            "cases unless asked; may be repeated."
        ),
    ] = None,
    traces: Annotated[
        bool, typer.Option("--traces", help="Only the traces of the specification that come with partq.")
    ] = False,
    exact: options.Exact = None,
    exact_nodes: options.ExactNodes = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, max=100, help="Programs of a live broker run at once, if it allows that [8]."),
    ] = None,
    strict: options.StrictOrNot = None,
    require: options.Require = None,
    rule: options.Rules = None,
    exclude: options.Exclude = None,
    open: Annotated[
        str | None, typer.Option(metavar="N%", help=f"{options.OPEN_HELP} [{OPEN}]", show_default=False)
    ] = None,
    baseline: options.Baseline = None,
    write_baseline: options.NewBaseline = None,
    junit: options.JUnit = None,
    out: Annotated[Path | None, typer.Option(help="New folder for verdicts and counterexamples.")] = None,
    shrink_seconds: Annotated[
        float,
        typer.Option(
            min=0, help="Seconds that shrinking what a live broker showed may take in all, for --out."
        ),
    ] = 60.0,
    save_histories: Annotated[
        bool, typer.Option("--save-histories", help="Store every history under --out.")
    ] = False,
    verbose: options.Verbose = False,
    whole_catalogue: options.WholeCatalogue = False,
    format: options.Output = Format.TABLE,
) -> None:
    """Check a broker with the directed cases and some seeded programs.

    Or with programs of your own, and traces of the TLA+ specification (`partq spec simulate`). What is not
    given is taken from the table tool.partq in pyproject.toml (docs/ci.md)."""
    begun, settings = keeping.made(), settings_for(broker)
    broker = broker or broker_of(settings)
    profile = profile or list(settings.profile) or None
    seed, strict = _given(seed, settings.seed, 1), _given(strict, settings.strict, False)
    chosen = programs_in([*(program or ()), *([TRACES] if traces else ())])
    only = bool(case or chosen)
    word = _given(open, settings.open, OPEN)
    share = options.share_left_open(word)
    focus = options.focus_of(rule, exclude)
    whole = not only and not focus
    wanted_rules = options.requirements_to_meet(require or (settings.require if whole else ()))
    programs = _given(programs, 0 if only else settings.programs, None)
    cases = _cases(case) if case or not chosen else ()
    wanted = _Wanted(cases, chosen, programs, seed, exact, exact_nodes, jobs, share, focus)
    names = _profiles(broker, profile, chosen)
    if only:
        names = _fitting(names, wanted, profile)
    known = baseline_of(baseline, write_baseline, settings)
    _prepare(out, save_histories)
    xml = new_file(junit)
    folder = None if out is None else keeping.Target.of(out)
    detail = Detail(verbose, whole_catalogue)
    seen = None if format is Format.JSON else detail
    with kept.kept_if_interrupted(partial(kept.tell_ended, broker, folder, strict, seen)) as ended:
        results = _suites(broker, names, wanted, ended, folder, save_histories, xml)
    verdicts = {name: result.verdicts for name, result in results.items()}
    besides = [one for result in results.values() for one in result.besides]
    besides += required(verdicts, strict, wanted_rules)
    known = known and known.of(open_broker(broker))
    answer = held(known, public_name(broker), verdicts, strict, besides, whole)
    done = _came_about(results)
    words = options.words_of(
        {"--profile": profile, "--case": case, "--program": program, "--traces": traces}
        | {"--require": wanted_rules, "--programs": programs, "--seed": seed, "--jobs": jobs}
        | {"--strict": strict, "--rule": rule, "--exclude": exclude, "--exact": exact}
        | {"--exact-nodes": exact_nodes, "--open": None if word == OPEN else word}
        | {"--baseline": known and known.shown}
    )
    stored: list[keeping.StoredFile] = []
    if folder is not None:
        document = {**answer.document, **done, "options": words, "made": begun}
        stored = kept.store(folder, broker, document, results, shrink_seconds)
    files = {} if out is None else {"out": str(out), "counterexamples": [str(one.path) for one in stored]}

    def rest() -> None:
        for line in kept.summary_lines(out, stored, any(result.kept for result in results.values())):
            say(printable(line))
        say(str(added(result.judging for result in results.values())))

    evidence = evidence_in({name: result.kept for name, result in results.items()})
    answer.publish(evidence, partial(_again, public_name(broker), stored, words), xml)
    then = kept.next_steps(out, stored, verdicts, verbose or whole_catalogue)
    show = partial(answer.show, detail, evidence, partial(_place, results), rest, then)
    answer.end(format, show, **done, **files)


def _again(
    broker: str,
    stored: Sequence[keeping.StoredFile],
    words: Sequence[str],
    profile: str,
    finding: Finding,
    run: str,
) -> str:
    """The command that replays the finding where it is stored; else that runs the case, or all of it."""
    for one in stored:
        if one.cause == (profile, finding.requirement, finding.key):
            return one.command
    only = ("--profile", typed(profile), "--case", run) if run in table.ALL_CASES else words
    return shlex.join(["partq", "run", broker, *only])


Value = TypeVar("Value")


def _given(asked: Value | None, settled: Value | None, usual: Value) -> Value:
    """The command line wins over the project's settings, these over what is usual."""
    return next((value for value in (asked, settled) if value is not None), usual)


def verdicts_by_run(
    broker: str, names: Sequence[str], programs: int | None, seed: int, strict: bool
) -> dict[str, Any]:
    """What ``partq run`` says of a broker under the profiles of these names, as ``partq.verdicts/1``. Its
    progress is on standard error; ends with one line where the broker can't be run."""
    wanted = _Wanted(_cases(None), (), programs, seed)
    results = {name: _suite(broker, name, wanted) for name in names}
    verdicts = {name: result.verdicts for name, result in results.items()}
    besides = [one for result in results.values() for one in result.besides]
    return Answer(public_name(broker), verdicts, strict, besides).document | _came_about(results)


def _came_about(results: Mapping[str, suite.SuiteResult]) -> dict[str, Any]:
    """What was done to the broker under each profile, and what the judge did, as plain data."""
    done = {name: result.done for name, result in results.items()}
    return came_about(done, added(result.judging for result in results.values()))


class _Wanted(NamedTuple):
    """What is run: cases, programs by file, and so many seeded ones with that seed (None: as many as the
    broker usually has), ``jobs`` at once; how much the judge is asked (`options.exactness`); what counts: see
    `suite.run_suite`."""

    cases: tuple[Case, ...]
    chosen: Sequence[Stored]
    programs: int | None
    seed: int
    exact: int | None = None
    exact_nodes: int | None = None
    jobs: int | None = None
    share: Fraction = share_of(OPEN)
    focus: Focus = EVERYTHING

    def has_any(self, profile: str) -> bool:
        """Whether there is a case, or a program by file, for that profile."""
        cases = (one.fits(profile) for one in self.cases)
        return any(cases) or any(one.fits(profile) for one in self.chosen)

    def named(self, profile: str, lacks: Collection[str]) -> list[suite.NamedProgram]:
        """The programs by file for that profile, those of traces without the steps that the broker lacks."""
        fitting = [one for one in self.chosen if one.fits(profile)]
        return [suite.NamedProgram(one.name, one.program(profile, lacks, self.seed)) for one in fitting]


def _profiles(broker: str, asked: Sequence[str] | None, chosen: Sequence[Stored]) -> tuple[str, ...]:
    """The profiles to run under; ends with one line where none of the programs chosen is for any of them."""
    names = profiles_for(broker, asked)
    if chosen and not any(one.fits(name) for one in chosen for name in names):
        what = str(chosen[0].file) if len(chosen) == 1 else f"each of the {len(chosen)} programs"
        fail(f"{what} is for another profile than {', '.join(names)}")
    return names


def _fitting(names: tuple[str, ...], wanted: _Wanted, asked: Sequence[str] | None) -> tuple[str, ...]:
    """Of these profiles those that a chosen case or program is for, unless profiles were asked for; ends with
    one line where there is none."""
    fitting = tuple(name for name in names if wanted.has_any(name))
    if not fitting:
        words = [word for name in names for word in ("--profile", typed(name))]
        command = shlex.join(["partq", "list", "cases", *words])
        fail(f"none of these cases is for {' or '.join(names)}; those that are: {command}")
    return names if asked else fitting


def _suites(
    broker: str,
    names: Sequence[str],
    wanted: _Wanted,
    ended: kept.Ended,
    folder: keeping.Target | None,
    save_histories: bool,
    xml: NewFile | None,
) -> dict[str, suite.SuiteResult]:
    """Run the suite under each profile. ``ended``: where its runs are put as they are judged. ``folder``:
    where their histories are, if they are saved. ``xml``: what times them."""
    hint = iter((kept.NOTHING_KEPT,) if folder is None and is_live(open_broker(broker)) else ())
    results = {}
    for name in names:
        hear = [ended.setdefault(name, []).append]
        if folder is not None and save_histories:
            hear.append(_saver(folder.place / "histories" / name))
        ends = [] if xml is None else [partial(_lap, xml, name)]
        results[name] = _suite(broker, name, wanted, hear, [partial(_say_once, hint), *ends])
    return results


def _tell(listeners: Sequence[Callable[[suite.Run], None]], done: suite.Run) -> None:
    for listener in listeners:
        listener(done)


def _say_once(lines: Iterator[str], done: suite.Run) -> None:
    for line in lines:
        note(line)


def _lap(xml: NewFile, profile: str, done: suite.Run) -> None:
    xml.times.lap({profile: done.verdicts})


def _cases(names: Sequence[str] | None) -> tuple[Case, ...]:
    return cases_of.chosen(table.ALL_CASES, names) if names else tuple(table.ALL_CASES.values())


def _prepare(out: Path | None, save_histories: bool) -> None:
    if out is None:
        if save_histories:
            fail("--save-histories needs --out, the folder to store them in")
        return
    with failing(out):
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):
            fail(f"{out} is not empty; give a new folder")


def _suite(
    broker: str,
    profile: str,
    wanted: _Wanted,
    on_run: Sequence[Callable[[suite.Run], None]] = (),
    on_end: Sequence[Callable[[suite.Run], None]] = (),
) -> suite.SuiteResult:
    """Run the suite under one profile; a broker that can't be run ends the command with one line. ``on_run``
    are called with each run in the order of the programs, ``on_end`` as they end."""
    target = opened_as(broker, profile)
    seeded = suite.default_programs(target) if wanted.programs is None else wanted.programs
    live, problems = is_live(target), ProblemPrinter()
    asked = options.exactness(suite.usual(target), wanted.exact, wanted.exact_nodes)
    at_once = wanted.jobs or suite.JOBS
    ways = suite.Ways(lambda: open_broker(broker), at_once, problems.report, asked, focus=wanted.focus.of)
    if live and wanted.jobs is not None and ways.at_once(target) < wanted.jobs:
        line = "one program at a time: the adapter does not say that more may run at once (its `shares`)"
        note(f"{profile}: {line}")
    cases = suite.cases_for(target, profile, wanted.cases)
    named = wanted.named(profile, suite.lacks_of(target))
    numbers = {"cases": len(cases), "seeded programs": seeded}
    numbers |= {"programs": len(named)} if named else {}
    with progress(profile, numbers, live) as advance:
        result = suite.run_suite(
            target,
            profile,
            cases,
            seeded,
            wanted.seed,
            partial(_tell, on_run),
            ways=ways,
            on_end=partial(_tell, (advance, *on_end)),
            named=named,
            share=wanted.share,
        )
    problems.summarise()
    return result


def _saver(folder: Path) -> Callable[[suite.Run], None]:
    folder.mkdir(parents=True)

    def save(done: suite.Run) -> None:
        write_history(folder / f"{kept.file_name(done.name)}.ndjson", done.history)

    return save


def _place(results: Mapping[str, suite.SuiteResult], profile: str, candidates: tuple[str, ...]) -> str:
    done = results[profile].evidence_of(candidates)
    return done.name if done else results[profile].undecided.get(candidates[0], "")
