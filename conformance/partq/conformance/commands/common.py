"""What the commands share: formats, the one way to fail, the verdict table and its JSON.

Everything a broker or file says is printed without markup.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from partq.conformance.history import History
from partq.conformance.terse import witness
from partq.conformance.verdict import (
    SCHEMA,
    Exit,
    Finding,
    Status,
    Verdict,
    Verdicts,
    exit_code,
    failing_rows,
    merge,
    plain,
    worst,
)
from partq.model.profiles import PROFILES, Profile, UnknownProfile, profile
from partq.model.requirements import catalogue

if TYPE_CHECKING:
    from partq.conformance.adapters import Broker

console: Final = Console(stderr=True, highlight=False)
"""For progress and errors; results go to standard output."""

STYLES: Final = {
    Status.PASS: "green",
    Status.VIOLATED: "bold red",
    Status.UNKNOWN: "yellow",
    Status.NOT_EXERCISED: "cyan",
    Status.NOT_APPLICABLE: "dim",
    Status.NOT_IMPLEMENTED: "dim",
}


PROFILE_NAMES: Final = ", ".join(PROFILES)
"""For the help of options that take a profile."""


class Format(StrEnum):
    """What a command prints."""

    TABLE = "table"
    JSON = "json"


def fail(message: str, code: int = Exit.BAD_INPUT) -> NoReturn:
    """Say in one line what is wrong and end with that exit code."""
    line = printable(message).replace("\n", " ")
    console.print(f"partq: error: {line}", markup=False, soft_wrap=True)
    raise typer.Exit(code)


def opened(name: str) -> Broker:
    """The broker of that name; ends with one line where there is none."""
    from partq.conformance.adapters import UnknownBroker, open_broker

    try:
        return open_broker(name)
    except UnknownBroker as error:
        fail(str(error))


def profiles_for(broker: str, asked: Sequence[str] | None) -> tuple[str, ...]:
    """The profiles to run under: those asked for, else the one the broker claims, else all it can take."""
    for name in asked or ():
        known_profile(name)
    if asked:
        return tuple(dict.fromkeys(asked))
    from partq.conformance.adapters import UnknownBroker, claimed_profiles

    try:
        return claimed_profiles(opened(broker)) or tuple(PROFILES)
    except UnknownBroker as error:
        fail(str(error))


def known_profile(name: str) -> Profile:
    """The profile of that name; ends with one line unless there is one."""
    try:
        return profile(name)
    except UnknownProfile as error:
        fail(str(error))


def print_json(document: Mapping[str, Any]) -> None:
    """Print the document on standard output, everything beyond ASCII escaped."""
    print(json.dumps(document, indent=1))


def outcome(verdicts: Verdicts, failing: Collection[str]) -> tuple[int, str]:
    """The exit code that these rows come to, and, where that is inconclusive, why."""
    code = exit_code(verdicts, failing)
    if code != Exit.INCONCLUSIVE:
        return code, ""
    unknown = [name for name in verdicts if name in failing and verdicts[name].status is Status.UNKNOWN]
    return code, f"left open: {', '.join(unknown)}" if unknown else "nothing was put to the test"


def verdicts_document(broker: str, results: Mapping[str, Verdicts], strict: bool) -> dict[str, Any]:
    """``partq.verdicts/1``: the verdicts of each profile, all of them merged, and the exit code."""
    rows = failing_rows(strict)
    return {
        "schema": SCHEMA,
        "broker": broker,
        "profiles": {name: plain(result) for name, result in results.items()},
        "requirements": plain(merge(results.values())),
        "exit": worst(exit_code(result, rows) for result in results.values()),
    }


Evidence = Callable[[str, Finding], tuple[str, History] | None]
"""For a profile's finding: where it was seen, and the history that its witness counts in."""


def show_verdicts(
    broker: str,
    results: Mapping[str, Verdicts],
    every_row: bool = False,
    evidence: Evidence = lambda profile, finding: None,
) -> None:
    """Print the verdict table, with a column for each of several profiles, then what was found."""
    out = output()
    table, hidden = _verdict_table(broker, results, every_row)
    out.print(table)
    for status, rows in hidden.items():
        out.print(f"{len(rows)} rows {status.value}: {' '.join(rows)}", style="dim")
    for name, result in results.items():
        for verdict in result.values():
            _show_findings(out, name, verdict, evidence)
    out.print(_summary(results))


class _Output(Console):
    """Standard output. That nobody reads on is not an exit code of ours (rich makes it 1)."""

    def on_broken_pipe(self) -> None:
        """Leave it to `cli.main`."""
        raise BrokenPipeError


def output() -> Console:
    """Standard output; wide enough for a table where it is no terminal."""
    wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120
    return _Output(highlight=False, markup=False, width=wide)


def printable(text: str) -> str:
    """A broker's or a file's text without anything that would steer a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def _verdict_table(
    broker: str, results: Mapping[str, Verdicts], every_row: bool
) -> tuple[Table, dict[Status, list[str]]]:
    table = Table(title=Text(printable(broker)), title_justify="left", title_style="bold")
    verdict_columns = ("status", "exercised", "findings") if len(results) == 1 else tuple(results)
    for heading in ("ID", "level", "rule", *verdict_columns):
        right = heading in ("exercised", "findings")
        table.add_column(heading, no_wrap=heading == "ID", justify="right" if right else "left")
    cells = _columns if len(results) == 1 else _cells
    hidden: dict[Status, list[str]] = {}
    for requirement, row in catalogue().items():
        verdicts = [result[requirement] for result in results.values()]
        best = max((verdict.status for verdict in verdicts), key=_loudness)
        if best in _QUIET and not every_row:
            hidden.setdefault(best, []).append(requirement)
            continue
        table.add_row(requirement, row.level.value, Text(row.title), *cells(verdicts))
    return table, hidden


_QUIET: Final = (Status.NOT_APPLICABLE, Status.NOT_IMPLEMENTED)


def _loudness(status: Status) -> int:
    return _QUIET.index(status) if status in _QUIET else len(_QUIET)


def _columns(verdicts: Sequence[Verdict]) -> tuple[Text, ...]:
    (verdict,) = verdicts
    status = Text(verdict.status.value, style=STYLES[verdict.status])
    if verdict.reason:
        status.append(f"\n{printable(verdict.reason)}", style="dim")
    return status, _number(verdict.exercised), _number(verdict.times)


def _number(count: int) -> Text:
    return Text(f"{count:,}" if count else "")


def _cells(verdicts: Sequence[Verdict]) -> tuple[Text, ...]:
    cells = []
    for verdict in verdicts:
        times = f" {verdict.exercised:,}×" if verdict.exercised else ""
        found = f", {verdict.times:,} found" if verdict.findings else ""
        word = "–" if verdict.status is Status.NOT_APPLICABLE else verdict.status.value
        cells.append(Text(f"{word}{times}{found}", style=STYLES[verdict.status]))
    return tuple(cells)


def _show_findings(out: Console, name: str, verdict: Verdict, evidence: Evidence) -> None:
    """The first finding of each cause, with the operations that show it, and how many there were."""
    for first in verdict.causes:
        out.print()
        out.print(Text(f"{first.requirement} violated: {printable(first.title)}", style="bold red"))
        number = verdict.found[first.key]
        times = f", {number:,} times" if number > 1 else ""
        found = evidence(name, first)
        where = f", {printable(found[0])}" if found else ""
        out.print(Text(f"  {name}{where}{times}", style="dim"))
        out.print(Text(f"  {printable(first.detail)}\n  allowed: {printable(first.allowed)}"))
        for text in witness(first, found[1]) if found else [f"records {', '.join(map(str, first.witness))}"]:
            out.print(Text(f"    {text}", style="cyan"), soft_wrap=True)


def _summary(results: Mapping[str, Verdicts]) -> Text:
    """How many rows ended how, profile by profile."""
    text = Text()
    for name, result in results.items():
        counts = Counter(verdict.status for verdict in result.values())
        text.append(f"{name}: " if len(results) > 1 else "")
        for number, status in enumerate(status for status in STYLES if counts[status]):
            text.append(", " if number else "")
            text.append(f"{counts[status]} {status.value}", style=STYLES[status])
        text.append("\n")
    text.rstrip()
    return text
