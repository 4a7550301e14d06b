"""``partq search``: programs until one shows a violation, and the smallest that does."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final, NamedTuple, NoReturn

import typer

from partq.conformance.adapters import open_broker, public_name
from partq.conformance.frontends.cli import options
from partq.conformance.frontends.cli.common import (
    Format,
    created,
    fail,
    failing,
    is_live,
    print_json,
    profiles_for,
)
from partq.conformance.frontends.cli.lazy import lazily
from partq.conformance.frontends.cli.project import Baseline, baseline_of
from partq.conformance.frontends.cli.run_progress import ProblemPrinter
from partq.conformance.frontends.cli.streams import bar, console, note, printable, say
from partq.conformance.verdict import (
    Besides,
    Exit,
    Focus,
    Verdicts,
    binding_requirements,
    match_known,
    outcome,
    plural,
    stalled,
    verdicts_document,
)
from partq.conformance.workload.program import dumps, to_json
from partq.model.profiles import profile as profile_named

with lazily():
    from partq.conformance.evaluation import keeping, suite
    from partq.conformance.frontends import search_state, stateful

LIVE_SECONDS: Final = 120
"""How long a live broker is searched unless asked otherwise."""


def search(
    broker: options.Broker,
    profile: options.Profiles = None,
    examples: Annotated[int, typer.Option(min=1, help="Programs for each profile.")] = 200,
    length: Annotated[int, typer.Option(min=1, help="Steps in a program at the most.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="The same seed makes the same search.")] = 1,
    seconds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Search no longer for each profile (live brokers: 120), nor shrink longer (60 at the most).",
        ),
    ] = None,
    rule: options.Rules = None,
    exclude: options.Exclude = None,
    baseline: options.Baseline = None,
    out: Annotated[Path | None, typer.Option(help="New file for the program that is found.")] = None,
    format: options.Output = Format.TABLE,
) -> None:
    """Search for the smallest program that a broker answers wrongly, on simulated brokers by Hypothesis, on
    live ones by seeded programs.

    Where nothing is found, and the time was over before all programs were run, the exit code is 3."""
    names = _modelled(profiles_for(broker, profile), asked=profile is not None)
    _check(out)
    past = _Past(options.focus_of(rule, exclude), baseline_of(baseline, None))
    target = None if out is None else keeping.Target.of(out)
    seen: dict[str, search_state.SearchState] = {}
    try:
        for name in names:
            seen[name] = _searched(broker, name, examples, length, seed, seconds, past)
            if format is Format.TABLE:
                say(printable(_nothing(name, seen[name])))
    except search_state.NotConformant as found:
        _conclude(broker, seen, found, target, format)
    _conclude(broker, seen, None, target, format)


def _nothing(name: str, seen: search_state.SearchState) -> str:
    """That a profile's search found nothing, in a line."""
    _, why = outcome(seen.verdicts, binding_requirements(strict=False))
    words = [f"{name}: nothing found in {seen.programs} programs{_cut_short(seen)}", why]
    words += [f"INCONCLUSIVE: {text}" for _, text in stalled(name, seen.activity)]
    return "; ".join(filter(None, words))


def _cut_short(seen: search_state.SearchState) -> str:
    """That the time was over before all programs were run, in words; empty where it was not."""
    return f" of {seen.examples}, then the {seen.seconds:g} s were over" if seen.over else ""


class _Past(NamedTuple):
    """What a search goes past: rules that it is not asked about, and what is known."""

    focus: Focus
    known: Baseline | None

    def of(self, profile: str, verdicts: Verdicts) -> Verdicts:
        """The verdicts of a program as far as they count."""
        asked = self.focus.of(verdicts)
        entries = None if self.known is None else self.known.entries
        matched = match_known({profile: asked}, entries, whole=False)
        return asked if matched is None else matched.beyond(profile, asked)


def _conclude(
    broker: str,
    seen: Mapping[str, search_state.SearchState],
    found: search_state.NotConformant | None,
    out: keeping.Target | None,
    format: Format,
) -> NoReturn:
    """Print what was found, or the document of all, and end with the exit code."""
    verdicts = {name: state.verdicts for name, state in seen.items()}
    besides: list[Besides] = [one for name, state in seen.items() for one in stalled(name, state.activity)]
    besides += [
        (Exit.INCONCLUSIVE, f"nothing found in {state.programs} programs{_cut_short(state)} ({name})")
        for name, state in seen.items()
        if state.over
    ]
    if found is not None:
        verdicts[found.program.profile] = found.verdicts
        steps = len(found.program.steps)
        besides.append((Exit.VIOLATED, f"a program of {plural(steps, 'step')} shows it"))
    document = verdicts_document(public_name(broker), verdicts, strict=False, besides=besides)
    if found is not None and format is Format.TABLE:
        say(printable(f"{found.program.profile}: {found.story}"))
        say(printable(_kept(found, broker, out)))
    if format is Format.JSON:
        searched = {
            name: {"programs": state.programs, "time is up": state.over} for name, state in seen.items()
        }
        print_json({**document, "searched": searched, "found": _found(found, broker, out)})
    raise typer.Exit(document["exit"])


def _found(
    found: search_state.NotConformant | None, broker: str, out: keeping.Target | None
) -> dict[str, Any] | None:
    """What was found, as plain data."""
    if found is None:
        return None
    return {
        "violations": found.trouble,
        "steady": found.steady,
        "program": to_json(found.program),
        "rerun": _kept(found, broker, out).partition("\n")[0],
    }


def _modelled(names: Sequence[str], asked: bool) -> tuple[str, ...]:
    """Those of the profiles that are modelled; ends with one line if there are none, or one was asked for."""
    known = tuple(name for name in names if profile_named(name).modelled)
    without = [name for name in names if name not in known]
    if without and (asked or not known):
        fail(f"{', '.join(without)}: not modelled, so that there is no search; partq run and fuzz check it")
    return known


def _check(out: Path | None) -> None:
    """End with one line unless the file can be made."""
    if out is None:
        return
    with failing(out):
        if not created(out, ""):
            fail(f"{out} exists: give another file")
        out.unlink()


def _searched(
    broker: str, profile: str, examples: int, length: int, seed: int, seconds: int | None, past: _Past
) -> search_state.SearchState:
    """What a search saw that found nothing. Raises `NotConformant`; ends with one line where the broker can't
    be run."""
    target, problems = open_broker(broker), ProblemPrinter()
    ways = suite.Ways(
        lambda: open_broker(broker), on_problem=problems.report, focus=partial(past.of, profile)
    )
    live = is_live(target)
    most = LIVE_SECONDS if live and seconds is None else seconds
    try:
        with _no_traces(), _progress(profile, examples, live) as advance:
            return stateful.search_on(
                target, profile, examples, length, seed, ways=ways, on_program=advance, seconds=most
            )
    finally:
        problems.summarise()


@contextmanager
def _no_traces() -> Iterator[None]:
    """Hypothesis leaves nothing in the current folder meanwhile."""
    from hypothesis.configuration import set_hypothesis_home_dir

    with TemporaryDirectory(prefix="partq-") as folder:
        set_hypothesis_home_dir(folder)
        try:
            yield
        finally:
            set_hypothesis_home_dir(None)


@contextmanager
def _progress(
    profile: str, examples: int, live: bool
) -> Iterator[Callable[[search_state.SearchState], None]]:
    """A bar on standard error, gone when all is done. Of a live broker, which takes its time, the first
    failure is shown at once, and some lines where that is no terminal."""
    often = max(1, examples // 10)
    told: list[search_state.NotConformant] = []
    with bar() as shown:
        task = shown.add_task(profile, total=examples)

        def advance(seen: search_state.SearchState) -> None:
            if live and seen.failing and not told:
                told.append(seen.failing)
                note(f"{profile}: found, and being shrunk:\n{seen.failing.story}")
            doing = f"{profile}: {'shrinking what was found' if seen.failing else 'searching'}"
            shown.update(task, completed=min(seen.programs, examples), description=doing)
            if live and not console.is_terminal and seen.programs % often == 0:
                note(f"{doing} (program {seen.programs}, {examples} to search)")

        yield advance


def _kept(found: search_state.NotConformant, broker: str, out: keeping.Target | None) -> str:
    """Store what was found, if asked to, and say how to run it again."""
    name = shlex.quote(public_name(broker))
    if out is None:
        return search_state.again(found.program, name)
    try:
        out.place.write_text(dumps(found.program) + "\n", encoding="utf-8")
    except OSError as error:
        say(printable(search_state.again(found.program, name)))
        note(f"partq: error: {out.shown}: {error.strerror}")
        raise typer.Exit(Exit.VIOLATED) from None
    command = ["partq", "replay", str(out.shown), "--broker", public_name(broker)]
    return f"To run it again: {shlex.join(command)}"
