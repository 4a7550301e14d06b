"""What the commands share: formats, the one way to fail, the verdict table and its JSON.

Everything a broker or file says is printed without markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from partq.conformance.verdict import Exit, Finding, Status, Verdict, Verdicts, exit_code, plain
from partq.model.profiles import PROFILES, UnknownProfile, profile
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


class Format(StrEnum):
    """What a command prints."""

    TABLE = "table"
    JSON = "json"


def fail(message: str, code: int = Exit.BAD_INPUT) -> NoReturn:
    """Say in one line what is wrong and end with that exit code."""
    console.print(f"partq: error: {message}", markup=False, soft_wrap=True)
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
        try:
            profile(name)
        except UnknownProfile as error:
            fail(str(error))
    if asked:
        return tuple(dict.fromkeys(asked))
    claimed = opened(broker).profiles()
    return claimed or tuple(PROFILES)


def failing_rows(strict: bool) -> set[str]:
    """The requirements whose violation fails a run: MUST rows, with ``strict`` the SHOULD rows too."""
    levels = {"MUST", "SHOULD"} if strict else {"MUST"}
    return {requirement for requirement, row in catalogue().items() if row.level.value in levels}


def verdicts_document(broker: str, results: Mapping[str, Verdicts], strict: bool) -> dict[str, Any]:
    """``partq.verdicts/1``: the verdicts of each profile, all of them merged, and the exit code."""
    from partq.conformance.verdict import merge

    merged = merge(results.values())
    rows = failing_rows(strict)
    codes = [exit_code(result, rows) for result in results.values()]
    worst = next((code for code in (Exit.VIOLATED, Exit.INCONCLUSIVE) if code in codes), Exit.CONFORMANT)
    return {
        "schema": "partq.verdicts/1",
        "broker": broker,
        "profiles": {name: plain(result) for name, result in results.items()},
        "requirements": plain(merged),
        "exit": worst if codes else Exit.INCONCLUSIVE,
    }


def show_verdicts(broker: str, results: Mapping[str, Verdicts], every_row: bool = False) -> None:
    """Print one table with a column for each profile, then what was found."""
    table = Table(title=Text(f"partq: {broker}"), title_justify="left")
    for heading in ("ID", "level", "rule", *results):
        table.add_column(heading, no_wrap=heading == "ID")
    hidden = 0
    for requirement, row in catalogue().items():
        cells = [result[requirement] for result in results.values()]
        if not every_row and all(cell.status in _QUIET for cell in cells):
            hidden += 1
            continue
        table.add_row(requirement, row.level.value, Text(row.title), *(_cell(cell) for cell in cells))
    out = Console(highlight=False)
    out.print(table)
    if hidden:
        out.print(f"{hidden} further rows are not implemented or not applicable (--all shows them)")
    for name, result in results.items():
        for verdict in result.values():
            for finding in verdict.findings[:3]:
                _show_finding(out, name, finding)


_QUIET: Final = frozenset({Status.NOT_APPLICABLE, Status.NOT_IMPLEMENTED})


def _cell(verdict: Verdict) -> Text:
    times = f" {verdict.exercised:,}×" if verdict.exercised else ""
    return Text(f"{verdict.status.value}{times}", style=STYLES[verdict.status])


def _show_finding(out: Console, profile_name: str, finding: Finding) -> None:
    witness = ", ".join(map(str, finding.witness))
    out.print(Text(f"{finding.requirement} violated ({profile_name}): {finding.title}", style="bold red"))
    out.print(Text(f"  {finding.detail}\n  allowed: {finding.allowed}\n  witness: records {witness}"))
