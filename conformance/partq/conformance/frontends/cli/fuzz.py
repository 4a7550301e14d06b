"""``partq fuzz``: a campaign of seeded traces on Spark."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, islice
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.table import Table

from partq.conformance.adapters import Unreachable, open_broker, public_name
from partq.conformance.frontends.campaign.plan import CHUNK, LIVE_CHUNK, Plan, even
from partq.conformance.frontends.cli import campaigns, options
from partq.conformance.frontends.cli.common import Format, fail, is_live, profiles_for
from partq.conformance.frontends.cli.lazy import lazily
from partq.conformance.frontends.cli.one_trace import Trace, run_trace, trace_of
from partq.conformance.frontends.cli.project import baseline_of
from partq.conformance.frontends.cli.publishing import held, new_file
from partq.conformance.frontends.cli.shown import Detail, Evidence
from partq.conformance.frontends.cli.streams import note, output, printable, say
from partq.conformance.frontends.cli.table import titled
from partq.conformance.history import History
from partq.conformance.verdict import OPEN, Finding, Focus, Verdict, Verdicts, in_words, plural, required

with lazily():
    from partq.conformance.evaluation import counterexample
    from partq.conformance.frontends.campaign import meetings
    from partq.conformance.workload import shrinker

if TYPE_CHECKING:
    from partq.conformance.frontends.campaign.examples import StoredExample
    from partq.conformance.frontends.campaign.run import Campaign
    from partq.conformance.frontends.campaign.totals import Totals

LISTED: Final = 5
"""How many undecided traces are printed."""

RAREST: Final = 3
"""So many combinations are named."""


def fuzz(
    broker: options.Broker,
    traces: Annotated[
        int | None, typer.Option(min=1, help="How many traces, shared out among the profiles.")
    ] = None,
    out: Annotated[str | None, typer.Option(help=options.OUT_HELP)] = None,
    trace: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Only this trace of a campaign, without Spark and with a generous judge; --out: its files.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same verdicts.")] = 1,
    profile: options.Profiles = None,
    master: Annotated[
        str, typer.Option(help="Spark master, e.g. local[2] or spark://host:7077.")
    ] = campaigns.DEFAULT_MASTER,
    length: Annotated[int | None, typer.Option(min=1, max=100_000, help=options.LENGTH_HELP)] = None,
    exact: options.TraceExact = campaigns.EXACT,
    wave: options.Wave = None,
    trace_timeout: Annotated[
        float,
        typer.Option(
            min=0,
            help="Seconds that a simulated broker may take for a trace: one that takes longer ends the "
            "command; with 0 none does.",
        ),
    ] = campaigns.TRACE_TIMEOUT,
    resume: options.Resume = False,
    break_lock: options.BreakLock = False,
    strict: options.Strict = False,
    require: options.Require = None,
    rule: options.Rules = None,
    exclude: options.Exclude = None,
    open: Annotated[str, typer.Option(metavar="N%", help=options.OPEN_HELP)] = OPEN,
    baseline: options.Baseline = None,
    write_baseline: options.NewBaseline = None,
    junit: options.JUnit = None,
    verbose: options.Verbose = False,
    format: options.Output = Format.TABLE,
) -> None:
    """Run many random programs against a broker on Spark and judge every history."""
    if trace is not None:
        if traces is not None:
            fail("give --traces for a campaign, or --trace for one trace of it")
        one = trace_of(broker, profiles_for(broker, profile), trace, seed, length, out)
        run_trace(one, out, strict, verbose, format, trace_timeout)
    if traces is None or out is None:
        fail("a campaign needs --traces and --out; --trace N runs one trace of it")
    campaigns.check_extra()
    wanted, profiles = options.requirements_to_meet(require), profiles_for(broker, profile)
    known, xml = baseline_of(baseline, write_baseline), new_file(junit)
    focus = options.focus_of(rule, exclude)
    target = open_broker(broker)
    chunk = LIVE_CHUNK if is_live(target) else CHUNK
    plan = Plan(even(broker, profiles, traces, chunk), seed, length, exact, trace_timeout)
    share = options.share_left_open(open)
    how = {"wave": wave, "strict": strict, "share": share, "break_lock": break_lock}
    with campaigns.done(plan, out, master, resume, **how) as campaign:
        results = {profile: focus.of(result) for (_, profile), result in campaign.totals.results.items()}
        shown = public_name(broker)
        besides = [*campaign.totals.besides, *required(results, strict, wanted)]
        known = known and known.of(target)
        answer = held(known, shown, results, strict, besides, whole=not focus)
        words = options.words_of(
            {"--require": wanted, "--open": None if open == OPEN else open}
            | {"--baseline": known and known.shown, "--rule": rule, "--exclude": exclude}
        )
        undecided = {"count": campaign.totals.open, "first": list(_undecided(campaign, broker))}
        said = ("exit", "conclusion", "baseline")
        ended = {name: answer.document[name] for name in said if name in answer.document}
        campaign.conclude({**ended, "options": words, "undecided_traces": undecided})
        examples = _examples(campaign, broker, focus)

    def rest() -> None:
        _show(campaign, shown, examples, verbose)
        _show_undecided(undecided)
        say(campaigns.stored_line(out))

    evidence = _evidence(examples)
    answer.publish(evidence, partial(_again, shown, out, examples), xml)
    answer.results = _shrunk(results, examples)  # what is shown in words
    figures = _figures(campaign.totals, out, examples, undecided)
    answer.end(format, partial(answer.show, Detail(verbose), evidence, rest=rest), campaign=figures)


Examples = Mapping[tuple[str, str], "StoredExample"]
"""(requirement, key) -> the counterexample of that cause."""


def _examples(campaign: Campaign, broker: str, focus: Focus) -> Examples:
    """The counterexamples, shrunk and stored."""
    from partq.conformance.frontends.campaign.examples import write_examples

    examples: list[StoredExample] = []
    try:
        with campaigns.shrinking() as announce:
            kept = [row for row in campaign.totals.kept if focus.asks(row["requirement"])]
            write_examples(kept, broker, campaign.folder, announce, shrinker.BUDGET, examples.append)
    except Unreachable as error:
        note(f"no further counterexamples: {error}")
    return {(one.requirement, one.key): one for one in examples}


def _undecided(campaign: Campaign, broker: str) -> Iterator[dict[str, Any]]:
    """What was left undecided, trace by trace, each with the command that runs it; its program is stored."""
    from partq.conformance.frontends.campaign.examples import write_undecided

    for row in campaign.totals.undecided:
        one = Trace(broker, row["profile"], row["trace"], campaign.plan.seed, campaign.plan.length)
        place = write_undecided(campaign.folder, one.number, one.program(open_broker(broker)))
        about = {"trace": one.number, "profile": one.profile, "seed": int(row["seed"])}
        yield {**about, "why": row["undecided"], "command": one.command, "program": place}


def _figures(totals: Totals, out: str, examples: Examples, undecided: Mapping[str, Any]) -> dict[str, Any]:
    """What a campaign says besides its verdicts, as plain data."""
    return {
        "digest": totals.digest,
        "traces": totals.traces,
        "operations": totals.operations,
        "out": out,
        "counterexamples": [example.place for example in examples.values()],
        "combinations": _combinations(totals.combinations),
        "undecided_traces": undecided,
        **totals.counts,
    }


def _show(campaign: Campaign, broker: str, examples: Examples, verbose: bool) -> None:
    """Print a campaign's figures, and where its files are."""
    totals = campaign.totals
    did = f"{plural(totals.operations, 'operation')}, {plural(totals.violations, 'violation')}"
    rate = f", {campaigns.rate_in_words(campaign.state.rate)} traces/s" if campaign.state.rate else ""
    _show_combinations(_combinations(totals.combinations), table=verbose)
    _show_meetings(totals.counts["met"], {profile for _, profile in totals.results}, table=verbose)
    say(f"{plural(totals.traces, 'trace')}, {did}{rate}")
    for name, text in in_words(totals.counts, totals.traces):
        say(f"{name}: {text}")
    say(f"digest {totals.digest} (of all verdicts: the same traces and seed give the same)")
    for example in examples.values():
        again = counterexample.replay_command(example.place, broker)
        say(printable(f"counterexample {example.place} ({again})"))


def _show_undecided(undecided: Mapping[str, Any]) -> None:
    """The first undecided traces, why, and the commands that run and explain them."""
    for one in undecided["first"][:LISTED]:
        say(printable(f"undecided: trace {one['trace']} ({one['profile']}): {one['why']}"))
        say(printable(f"  {one['command']}; its program: {one['program']}"))
    if undecided["count"] > LISTED:
        say(f"undecided: {undecided['count']:,} traces in all; more in campaign.json and in the report")


def _again(broker: str, out: str, examples: Examples, profile: str, finding: Finding, place: str) -> str:
    """The command that replays the finding's counterexample, or else shows what there is of it."""
    one = examples.get((finding.requirement, finding.key))
    return counterexample.replay_command(one.place, broker) if one else shlex.join(["partq", "report", out])


def _shrunk(results: Mapping[str, Verdicts], examples: Examples) -> dict[str, Verdicts]:
    """The verdicts with the finding of the counterexample, where there is one, for the first of its cause."""
    known = {cause: example.found.finding for cause, example in examples.items()}

    def shown(verdict: Verdict) -> Verdict:
        firsts = [known.get((f.requirement, f.key), f)._replace(key=f.key) for f in verdict.causes]
        return replace(verdict, findings=tuple(firsts))

    return {
        profile: {requirement: shown(verdict) for requirement, verdict in result.items()}
        for profile, result in results.items()
    }


def _evidence(examples: Examples) -> Evidence:
    def seen(profile: str, finding: Finding) -> tuple[str, History] | None:
        example = examples.get((finding.requirement, finding.key))
        if example is None:
            return None
        program = example.found.program
        under = "" if program.profile == profile else f" under {program.profile}"
        steps = f"{example.found.found_steps} steps shrunk to {len(program.steps)}"
        return f"{example.found.name}: {steps}{under}", example.found.history

    return seen


# --- what came together: mechanisms by faults, and how rare what is rarest is ----------------------------


def _combinations(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A campaign's combinations of mechanism, fault and shape, all profiles together, the rarest first:
    ``traces``, ``times`` and ``ok``."""
    sums = ("traces", "times", "ok")
    totals: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows:
        key = row["mechanism"], row["fault"], row["shape"]
        total = totals.setdefault(key, {"mechanism": key[0], "fault": key[1], "shape": key[2]})
        for name in sums:
            total[name] = total.get(name, 0) + row[name]
    return sorted(totals.values(), key=lambda total: (total["traces"], total["mechanism"], total["fault"]))


def _show_combinations(rows: Sequence[dict[str, Any]], table: bool) -> None:
    """Print how many there are and the rarest, and in a table, if asked for, in how many operations each
    mechanism met each fault; ``rows``: as `_combinations` answers."""
    if not rows:
        return
    if table:
        output().print(_table(rows))
    parts = ((row["mechanism"], row["fault"], row["shape"], plural(row["traces"], "trace")) for row in rows)
    rarest = "; ".join(" / ".join(filter(None, one)) for one in islice(parts, RAREST))
    say(f"{plural(len(rows), 'combination')} of mechanism, fault and shape; the rarest: {rarest}")


def _show_meetings(times: Mapping[str, int], profiles: Iterable[str], table: bool) -> None:
    """Print how many pairs of mechanisms met in a message, or after one, which never did, and the rarest; in
    a table, if asked for, all of them, and why some cannot."""
    names = {profile: meetings.names(profile) for profile in profiles}
    every_pair = {meetings.pair(*two) for several in names.values() for two in combinations(several, 2)}
    declined = meetings.declined()
    pairs = every_pair - {name for name in declined if not times.get(name)}
    by_times = sorted(pairs, key=lambda name: (times.get(name, 0), name))
    if table:
        output().print(_of_pairs(sorted({name for several in names.values() for name in several}), times))
        for why in dict.fromkeys(declined.values()):
            if those := sorted(name for name in every_pair - pairs if declined[name] == why):
                say(f"- {why}: {', '.join(those)}")
    never = [name for name in by_times if not times.get(name)]
    rarest = "; ".join(f"{name} {times[name]:,}" for name in by_times[len(never) :][:RAREST])
    said = f"; never: {', '.join(never)}" if never else ""
    met = len(pairs) - len(never)
    if left := len(every_pair - pairs):
        said = f"; not modelled: {left}{said}"
    say(f"{met} of {plural(len(pairs), 'pair')} of mechanisms met in a message{said}; the rarest: {rarest}")


def _of_pairs(every: Sequence[str], times: Mapping[str, int]) -> Table:
    table = titled("messages, and operations after them, in which two mechanisms met", [""], right=every[1:])
    for n, one in enumerate(every[:-1]):
        counts = (times.get(meetings.pair(one, other), 0) for other in every[n + 1 :])
        table.add_row(one, *([""] * n), *(f"{count:,}" if count else "-" for count in counts))
    return table


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    faults = list(dict.fromkeys(row["fault"] for row in reversed(rows)))
    table = titled("operations by what was broken when they were called", ["mechanism"], right=faults)
    for mechanism in sorted({row["mechanism"] for row in rows}):
        times = dict.fromkeys(faults, 0)
        for row in rows:
            if row["mechanism"] == mechanism:
                times[row["fault"]] += row["times"]
        table.add_row(mechanism, *(f"{times[fault]:,}" if times[fault] else "-" for fault in faults))
    return table
