"""``partq fuzz``: a campaign of seeded traces on Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from partq.conformance.frontends.cli.campaigns import (
    DEFAULT_MASTER,
    EXACT,
    EXACT_HELP,
    LENGTH_HELP,
    OUT_HELP,
    WAVE_HELP,
    check_extra,
    done,
    rate_in_words,
    shrinking,
    stored_line,
)
from partq.conformance.frontends.cli.combinations import combinations, show_combinations
from partq.conformance.frontends.cli.common import (
    Format,
    Require,
    conclude,
    console,
    opened,
    print_json,
    printable,
    profiles_for,
    required,
    requirements_to_meet,
    say,
    verdicts_document,
)
from partq.conformance.frontends.cli.options import BrokerName, Output, Profiles, Strict
from partq.conformance.frontends.cli.shown import Detail, Verbose, show_verdicts
from partq.conformance.verdict import in_words

if TYPE_CHECKING:
    from partq.conformance.frontends.campaign.examples import StoredExample
    from partq.conformance.frontends.campaign.run import Campaign
    from partq.conformance.history import History
    from partq.conformance.verdict import Finding, Verdict, Verdicts


def fuzz(
    broker: BrokerName,
    traces: Annotated[int, typer.Option(min=1, help="How many traces, shared out among the profiles.")],
    out: Annotated[str, typer.Option(help=OUT_HELP)],
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same verdict rows.")] = 1,
    profile: Profiles = None,
    master: Annotated[
        str, typer.Option(help="Spark master, e.g. local[2] or spark://host:7077.")
    ] = DEFAULT_MASTER,
    length: Annotated[int | None, typer.Option(min=1, max=100_000, help=LENGTH_HELP)] = None,
    exact: Annotated[int, typer.Option(min=0, max=100, help=EXACT_HELP)] = EXACT,
    wave: Annotated[int | None, typer.Option(min=1, help=WAVE_HELP)] = None,
    resume: Annotated[bool, typer.Option(help="Finish what is missing in the folder.")] = False,
    strict: Strict = False,
    require: Require = None,
    verbose: Verbose = False,
    format: Output = Format.TABLE,
) -> None:
    """Run many random programs against a broker on Spark and judge every history."""
    check_extra()
    from partq.conformance.adapters import SimulatedBroker
    from partq.conformance.frontends.campaign.plan import CHUNK, LIVE_CHUNK, Plan, even

    wanted, profiles = requirements_to_meet(require), profiles_for(broker, profile)
    chunk = CHUNK if isinstance(opened(broker), SimulatedBroker) else LIVE_CHUNK
    plan = Plan(even(broker, profiles, traces, chunk), seed, length, exact)
    with done(plan, out, master, resume, wave, strict) as campaign:
        examples = _examples(campaign, broker)
    _show(campaign, broker, out, examples, strict, wanted, verbose, format)


def _examples(campaign: Campaign, broker: str) -> list[StoredExample]:
    """The counterexamples, shrunk and stored."""
    from partq.conformance.adapters import Unreachable
    from partq.conformance.frontends.campaign.examples import write_examples
    from partq.conformance.workload.shrinker import BUDGET

    examples: list[StoredExample] = []
    try:
        with shrinking() as announce:
            write_examples(campaign.totals.kept, broker, campaign.folder, announce, BUDGET, examples.append)
    except Unreachable as error:
        console.print(printable(f"no further counterexamples: {error}"), markup=False, soft_wrap=True)
    return examples


def _show(
    campaign: Campaign,
    broker: str,
    out: str,
    examples: list[StoredExample],
    strict: bool,
    wanted: tuple[str, ...],
    verbose: bool,
    format: Format,
) -> None:
    from partq.conformance.adapters import public_name
    from partq.conformance.evaluation.counterexample import replay_command

    totals = campaign.totals
    met = combinations(totals.combinations)
    results = {profile: result for (_, profile), result in totals.results.items()}
    besides = required(results, strict, wanted)
    document = verdicts_document(public_name(broker), results, strict, besides)
    if format is Format.JSON:
        figures: dict[str, Any] = {
            "digest": totals.digest,
            "traces": totals.traces,
            "operations": totals.operations,
            "out": out,
            "counterexamples": [example.place for example in examples],
            "combinations": met,
            **totals.counts,
        }
        print_json({**document, "campaign": figures})
        raise typer.Exit(document["exit"])
    show_verdicts(
        public_name(broker), _shrunk(results, examples), Detail(verbose), evidence=_evidence(examples)
    )
    did = f"{totals.operations:,} operations, {totals.violations:,} violations"
    rate = f", {rate_in_words(campaign.rate)} traces/s" if campaign.rate else ""
    show_combinations(met, table=verbose)
    say(f"{totals.traces:,} traces, {did}{rate}")
    for name, text in in_words(totals.counts, totals.traces):
        say(f"{name}: {text}")
    say(f"digest {totals.digest} (of all verdicts: the same traces and seed give the same)")
    for example in examples:
        command = replay_command(Path(example.place), public_name(broker))
        say(printable(f"counterexample {example.place} ({command})"))
    say(stored_line(out))
    conclude(results, strict, besides)
    raise typer.Exit(document["exit"])


def _shrunk(results: Mapping[str, Verdicts], examples: Sequence[StoredExample]) -> dict[str, Verdicts]:
    """The verdicts with the finding of the counterexample, where there is one, for the first of its cause."""
    known = {(example.requirement, example.key): example.found.finding for example in examples}

    def shown(verdict: Verdict) -> Verdict:
        firsts = [known.get((f.requirement, f.key), f)._replace(key=f.key) for f in verdict.causes]
        return replace(verdict, findings=tuple(firsts))

    return {
        profile: {requirement: shown(verdict) for requirement, verdict in result.items()}
        for profile, result in results.items()
    }


def _evidence(examples: Sequence[StoredExample]) -> Callable[[str, Finding], tuple[str, History] | None]:
    known = {(example.requirement, example.key): example for example in examples}

    def seen(profile: str, finding: Finding) -> tuple[str, History] | None:
        example = known.get((finding.requirement, finding.key))
        if example is None:
            return None
        program = example.found.program
        under = "" if program.profile == profile else f" under {program.profile}"
        steps = f"{example.found.found_steps} steps shrunk to {len(program.steps)}"
        return f"{example.found.name}: {steps}{under}", example.found.history

    return seen
