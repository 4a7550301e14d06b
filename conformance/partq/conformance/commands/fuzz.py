"""``partq fuzz``: a campaign of seeded traces on Spark."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import (
    Format,
    console,
    fail,
    print_json,
    printable,
    profiles_for,
    show_verdicts,
    verdicts_document,
)

if TYPE_CHECKING:
    from partq.conformance.campaign.run import Campaign
    from partq.conformance.campaign.spark import Progress

DEFAULT_MASTER = "local[*]"


def fuzz(
    broker: Annotated[str, typer.Argument(help="reference, mutant:NAME, rabbitmq://…, my_module:MyBroker")],
    traces: Annotated[int, typer.Option(min=1, help="How many traces, shared out among the profiles.")],
    out: Annotated[
        Path, typer.Option(help="Output folder; must not exist, or hold the same campaign (--resume).")
    ],
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same verdict rows.")] = 1,
    profile: Annotated[list[str] | None, typer.Option(help="Only this profile; may be repeated.")] = None,
    master: Annotated[
        str, typer.Option(help="Spark master, e.g. local[2] or spark://host:7077.")
    ] = DEFAULT_MASTER,
    length: Annotated[int, typer.Option(min=1, max=100_000, help="Phrases in each program.")] = 24,
    resume: Annotated[bool, typer.Option(help="Finish what is missing in the folder.")] = False,
    strict: Annotated[bool, typer.Option(help="A violated SHOULD fails too.")] = False,
    format: Annotated[Format, typer.Option(help="What to print.")] = Format.TABLE,
) -> None:
    """Run many random programs against a broker on Spark and judge every history."""
    from partq.conformance.adapters import Unreachable
    from partq.conformance.campaign.examples import write_examples
    from partq.conformance.campaign.plan import Plan, even
    from partq.conformance.campaign.run import run_campaign
    from partq.conformance.campaign.store import CampaignError
    from partq.conformance.shrink import BUDGET

    plan = Plan(even(broker, profiles_for(broker, profile), traces), seed, length)
    try:
        with progress_bar(plan.traces) as progress:
            campaign = run_campaign(plan, out, master, resume, progress, strict)
    except CampaignError as error:
        fail(str(error))
    examples: list[Path] = []
    try:
        write_examples(campaign, broker, out, _tell, BUDGET, examples.append)
    except Unreachable as error:
        _tell(f"no further counterexamples: {error}")
    _show(campaign, broker, out, examples, strict, format)


def _tell(text: str) -> None:
    console.print(printable(text), markup=False)


@contextmanager
def progress_bar(traces: int) -> Iterator[Progress]:
    """A bar on standard error with rate and violations so far."""
    from rich import progress

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[rate]} traces/s"),
        progress.TextColumn("{task.fields[bad]} violations"),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=console) as bar:
        task = bar.add_task("traces", total=traces, rate="-", bad=0)

        def told(done: int, violations: int) -> None:
            speed = bar.tasks[task].finished_speed or bar.tasks[task].speed
            bar.update(task, completed=done, bad=violations, rate=f"{speed:,.0f}" if speed else "-")

        yield told


def _show(
    campaign: Campaign, broker: str, out: Path, examples: list[Path], strict: bool, format: Format
) -> None:
    from partq.conformance.adapters import public_name
    from partq.conformance.counterexample import replay_command

    results = {profile: result for (_, profile), result in campaign.results.items()}
    document = verdicts_document(public_name(broker), results, strict)
    if format is Format.JSON:
        figures: dict[str, Any] = {
            "digest": campaign.digest,
            "traces": campaign.traces,
            "operations": campaign.operations,
            "out": str(out),
            "counterexamples": [str(path) for path in examples],
        }
        print_json({**document, "campaign": figures})
        raise typer.Exit(document["exit"])
    show_verdicts(public_name(broker), results)
    rate = f", {campaign.rate:,.0f} traces/s" if campaign.rate else ""
    told = f"{campaign.traces} traces, {campaign.operations} operations, {campaign.violations} violations"
    print(f"{told}{rate}")
    print(f"digest {campaign.digest}")
    for path in examples:
        command = replay_command(path, public_name(broker))
        print(printable(f"counterexample {path} ({command})"))
    print(printable(f"stored in {out} ({shlex.join(['partq', 'report', str(out)])})"))
    raise typer.Exit(document["exit"])
