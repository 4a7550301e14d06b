"""``partq compare``: brokers, profiles or runs side by side, what differs first."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.text import Text

from partq.conformance.adapters import UnknownBroker, is_built_in, open_broker, public_name
from partq.conformance.adapters.names import BROKERS
from partq.conformance.frontends.cli import comparison_table as tables
from partq.conformance.frontends.cli import options
from partq.conformance.frontends.cli.common import CODE_STYLES, Format, end, fail, failing, profiles_for
from partq.conformance.frontends.cli.listing import complete_broker
from partq.conformance.frontends.cli.report import write_comparison
from partq.conformance.frontends.cli.run import verdicts_by_run
from partq.conformance.frontends.cli.stored import columns_in, columns_of
from partq.conformance.frontends.cli.streams import note, output, printable, say
from partq.conformance.history.codec_profiles import named_profile
from partq.conformance.verdict import Column, Comparison, Group, comparison_to_plain
from partq.conformance.verdict import compare as compared

SOURCES: Final = (
    "What run or fuzz stored with --out, a file of verdicts (run --format json), or a broker, which is then "
    f"run: {BROKERS}."
)


def compare(
    sources: Annotated[
        list[str], typer.Argument(metavar="SOURCE", help=SOURCES, autocompletion=complete_broker)
    ],
    profile: options.Profiles = None,
    programs: Annotated[
        int | None,
        typer.Option(
            min=0, help="Seeded programs for each profile of a broker that is run, as in partq run."
        ),
    ] = None,
    seed: options.Seed = 1,
    strict: Annotated[bool, typer.Option("--strict", help="A newly violated SHOULD fails too.")] = False,
    every: Annotated[
        bool, typer.Option("--all", "-v", help="Also show the rules on which all agree.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Also write the comparison as one HTML file.")] = None,
    format: options.Output = Format.TABLE,
) -> None:
    """Put brokers, profiles or runs side by side, what differs first.

    To compare brokers is no verdict on any: the exit code is 0, or 2 where a source cannot be used.

    Of two runs of one broker, the earlier first, it is 1 where the last newly violates a binding rule.

    It is 3 where one is newly undecided in the last, or that exercised nothing or did not finish."""
    found = compared(_columns(sources, profile, programs, seed, strict), strict)
    if out is not None:
        write_comparison(found, out)
    end(found.code, format, comparison_to_plain(found), lambda: _show(found, every, out))


# --- sources ------------------------------------------------------------------------------------------


def _columns(
    sources: Sequence[str], asked: Sequence[str] | None, programs: int | None, seed: int, strict: bool
) -> list[tuple[Column, ...]]:
    """The columns of each source. All that is stored is read, and every broker looked up, before one is
    run."""
    stored = {source: _stored(source, asked) for source in sources if _is_stored(source)}
    profiles = {source: profiles_for(source, asked) for source in sources if source not in stored}
    if sum(len(stored.get(source) or profiles[source]) for source in sources) < 2:
        fail("there is only one column: give two sources or more")
    return [
        stored[source] if source in stored else _run(source, profiles[source], programs, seed, strict)
        for source in sources
    ]


def _is_stored(source: str) -> bool:
    """Whether it is a folder or a file; ends with one line where it is no broker either. What a broker of
    partq is called is that broker."""
    there = os.path.exists(source)  # unlike a Path's, of a long URL, too
    if there and not is_built_in(source):
        return True
    if there:
        note(f"{source} is the broker here; ./{source} is the folder")
    try:
        open_broker(source)
    except UnknownBroker as error:
        fail(f"neither a folder nor a file, and {error}")
    return False


def _stored(source: str, asked: Sequence[str] | None) -> tuple[Column, ...]:
    with failing(source, inside=True):
        columns = columns_in(Path(source))
    names = [named_profile(word) for word in asked or ()]
    found = tuple(column for column in columns if not names or column.profile in names)
    return found or fail(f"{source} has no verdicts under {', '.join(asked or ())}")


def _run(
    source: str, profiles: Sequence[str], programs: int | None, seed: int, strict: bool
) -> tuple[Column, ...]:
    name = public_name(source)
    note(f"running {name}")
    return columns_of(name, name, verdicts_by_run(source, profiles, programs, seed, strict))


# --- output -------------------------------------------------------------------------------------------


def _show(found: Comparison, every: bool, report: Path | None) -> None:
    """Print the columns, what became of the rules of one broker, and the tables of what differs."""
    out = output()
    out.print(tables.columns_table(found))
    out.print()
    out.print(tables.legend())
    for regression in found.regressions:
        if regression.changes:
            out.print(Text(f"\n{regression.profile}, from the first run to the last", style="bold"))
            out.print(tables.changes_table(regression))
    for group in Group:
        rows = found.of(group)
        if rows and (every or group is not Group.AGREED):
            out.print(Text(f"\n{group.words.capitalize()}", style="bold"))
            for table in tables.rows_tables(rows, len(found.columns), out.width):
                out.print(table)
    for heading, lines in tables.spoken([*found.of(Group.BY_SOME), *found.of(Group.BY_ALL)]):
        out.print(Text(f"\n{heading}", style="bold red"))
        for line in lines:
            out.print(Text(f"  {printable(line)}"))
    if (rows := found.of(Group.AGREED)) and not every:
        out.print(Text(f"\nAgreed rules: {tables.agreed(rows)} (--all lists them)", style="dim"))
    out.print()
    if report is not None:
        say(printable(f"report {report}"))
    style = CODE_STYLES[found.code] if found.regressions else "bold"
    out.print(Text(printable(found.conclusion), style=style), soft_wrap=True)
