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
from rich.measure import Measurement
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
from partq.model.requirements import PROFILE_COLUMNS, catalogue

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


BROKERS: Final = "reference, reference:live, mutant:NAME, rabbitmq://…, my_module:MyBroker"
"""For the help of arguments that take a broker."""

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
    """The profiles to run under: those asked for, else the one the broker claims, else all it can take.

    Ends with one line where one asked for is no profile, or none that the reference broker is written after.
    """
    for name in asked or ():
        known_profile(name)
    if asked:
        _refuse_unwritten(broker, asked)
        return tuple(dict.fromkeys(asked))
    from partq.conformance.adapters import UnknownBroker, claimed_profiles

    try:
        return claimed_profiles(opened(broker)) or tuple(PROFILES)
    except UnknownBroker as error:
        fail(str(error))


def _refuse_unwritten(broker: str, asked: Sequence[str]) -> None:
    """The reference broker under a family that the catalogue has no column for: what it did would be nobody's
    fault."""
    from partq.conformance.adapters.reference import LiveReference, Reference

    strange = [name for name in asked if name not in PROFILE_COLUMNS]
    if strange and isinstance(opened(broker), Reference | LiveReference):
        fail(f"the reference broker has no profile {strange[0]}; it has {', '.join(PROFILE_COLUMNS)}")


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
    """The exit code that these rows come to, and why; there is nothing to say of a success."""
    code = exit_code(verdicts, failing)
    rows = {name: verdict for name, verdict in verdicts.items() if name in failing}
    if code == Exit.VIOLATED:
        surely = [name for name, verdict in rows.items() if verdict.status is Status.VIOLATED]
        either = [
            verdict.either for verdict in rows.values() if verdict.among and rows.keys() >= {*verdict.among}
        ]
        return code, "; ".join([f"{', '.join(surely)} violated"] * bool(surely) + list(dict.fromkeys(either)))
    if code == Exit.CONFORMANT:
        return code, ""
    unknown = [name for name, verdict in rows.items() if verdict.status is Status.UNKNOWN]
    return code, f"left open: {', '.join(unknown)}" if unknown else "nothing was put to the test"


Besides = tuple[int, str]
"""What else the exit code comes from beside the verdicts: a code, and why."""


def conclusion(
    results: Mapping[str, Verdicts], strict: bool, besides: Sequence[Besides] = ()
) -> tuple[int, str]:
    """The exit code of the profiles' verdicts and what else counts, and the same in a line of words."""
    rows = failing_rows(strict)
    whys: dict[Besides, list[str]] = {}
    for name, result in results.items():
        whys.setdefault(outcome(result, rows), []).append(name)
    code = worst([*(code for code, _ in whys), *(code for code, _ in besides)])
    if code == Exit.CONFORMANT:
        return code, f"{WORDS[code]}: {_held(merge(results.values()), rows)}"
    several = len(results) > 1
    said = [why + f" ({', '.join(names)})" * several for (c, why), names in whys.items() if c == code]
    said += [why for _, why in besides]
    return code, f"{WORDS[code]}: {'; '.join(said)}"


WORDS: Final = {
    Exit.CONFORMANT: "CONFORMANT",
    Exit.VIOLATED: "NOT CONFORMANT",
    Exit.INCONCLUSIVE: "INCONCLUSIVE",
}
"""The word for each exit code that is a verdict."""

_CODE_STYLES: Final = {
    Exit.CONFORMANT: "bold green",
    Exit.VIOLATED: "bold red",
    Exit.INCONCLUSIVE: "bold yellow",
}


def _held(total: Verdicts, failing: Collection[str]) -> str:
    """How many rules held, and which did not that need not."""
    held = sum(verdict.status is Status.PASS for verdict in total.values())
    text = f"{held} {'rule' if held == 1 else 'rules'} held"
    bad = [
        name for name, verdict in total.items() if verdict.status is Status.VIOLATED and name not in failing
    ]
    return f"{text}; violated, but no MUST: {', '.join(bad)}" if bad else text


def conclude(results: Mapping[str, Verdicts], strict: bool, besides: Sequence[Besides] = ()) -> None:
    """Print the verdict in words: the last line of a table."""
    code, text = conclusion(results, strict, besides)
    output().print(Text(printable(text), style=_CODE_STYLES[code]), soft_wrap=True)


def verdicts_document(
    broker: str, results: Mapping[str, Verdicts], strict: bool, besides: Sequence[Besides] = ()
) -> dict[str, Any]:
    """``partq.verdicts/1``: the exit code and its reason, the verdicts of each profile and all of them
    merged."""
    code, words = conclusion(results, strict, besides)
    return {
        "schema": SCHEMA,
        "broker": broker,
        "exit": code,
        "conclusion": words,
        "profiles": {name: plain(result) for name, result in results.items()},
        "requirements": plain(merge(results.values())),
    }


Evidence = Callable[[str, Finding], tuple[str, History] | None]
"""For a profile's finding: where it was seen, and the history that its witness counts in."""


def show_verdicts(
    broker: str,
    results: Mapping[str, Verdicts],
    every_row: bool = False,
    evidence: Evidence = lambda profile, finding: None,
) -> None:
    """Print the verdict table, with a column for each of several profiles (or a table for each, where that is
    too wide), then what was found, and how many rules ended how."""
    out = output()
    out.print(Text(printable(broker), style="bold"))
    table, hidden = _verdict_table(results, every_row, out.width)
    if len(results) == 1 or _fits(out, table):
        out.print(table)
    else:
        for name, result in results.items():
            out.print(Text(name, style="bold"))
            out.print(_verdict_table({name: result}, every_row, out.width)[0])
    for status, rows in hidden.items():
        out.print(f"{len(rows)} rules {status.value}: {' '.join(rows)}", style="dim")
    for name, result in results.items():
        for verdict in result.values():
            _show_findings(out, name, verdict, evidence)
        _show_either(out, name, result)
    out.print()
    out.print(_summary(results))


NARROW: Final = 80
"""Columns of a terminal; where there are fewer, rules are named by their IDs alone."""

_TITLE: Final = 20
"""Columns that the title of a rule needs at least."""


def _fits(out: Console, table: Table) -> bool:
    """Whether the table is as wide as the output at the most, titles broken."""
    titles = max((len(row.title) for row in catalogue().values()), default=0)
    spare = titles - _TITLE if out.width >= NARROW else 0
    return Measurement.get(out, out.options.update(max_width=10 * NARROW), table).maximum - spare <= out.width


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
    results: Mapping[str, Verdicts], every_row: bool, width: int
) -> tuple[Table, dict[Status, list[str]]]:
    table = Table()
    about = ("ID", "level", "rule") if width >= NARROW else ("ID",)
    numbers = ("exercised", "violations")
    for heading in (*about, *(("status", *numbers) if len(results) == 1 else results)):
        wraps = heading in ("rule", "status")
        table.add_column(heading, no_wrap=not wraps, justify="right" if heading in numbers else "left")
    cells = _columns if len(results) == 1 else _cells
    hidden: dict[Status, list[str]] = {}
    for requirement, row in catalogue().items():
        verdicts = [result[requirement] for result in results.values()]
        best = max((verdict.status for verdict in verdicts), key=_loudness)
        if best in _QUIET and not every_row:
            hidden.setdefault(best, []).append(requirement)
            continue
        words = (requirement, row.level.value, row.title)[: len(about)]
        table.add_row(*words, *cells(verdicts))
    return table, hidden


_QUIET: Final = (Status.NOT_APPLICABLE, Status.NOT_IMPLEMENTED)


def _loudness(status: Status) -> int:
    return _QUIET.index(status) if status in _QUIET else len(_QUIET)


def _styled(verdict: Verdict, more: str = "") -> Text:
    style = STYLES[Status.VIOLATED if verdict.among else verdict.status]
    return Text(f"{verdict.either or verdict.status.value}{more}", style=style)


def _columns(verdicts: Sequence[Verdict]) -> tuple[Text, ...]:
    (verdict,) = verdicts
    status = _styled(verdict)
    if verdict.reason and not verdict.among:
        status.append(f"\n{printable(verdict.reason)}", style="dim")
    return status, _number(verdict.exercised), _number(verdict.times)


def _number(count: int) -> Text:
    return Text(f"{count:,}" if count else "")


def _cells(verdicts: Sequence[Verdict]) -> tuple[Text, ...]:
    cells = []
    for verdict in verdicts:
        times = f" {verdict.exercised:,}×" if verdict.exercised else ""
        found = f", {_violations(verdict.times)}" if verdict.findings else ""
        if verdict.status is Status.NOT_APPLICABLE:
            cells.append(Text("–", style=STYLES[verdict.status]))
        else:
            cells.append(_styled(verdict, f"{times}{found}"))
    return tuple(cells)


def _violations(number: int) -> str:
    return f"{number:,} violation{'' if number == 1 else 's'}"


def _show_findings(out: Console, name: str, verdict: Verdict, evidence: Evidence) -> None:
    """The first finding of each cause, with the operations that show it, and how many there were."""
    causes = verdict.causes
    for number, first in enumerate(causes, start=1):
        out.print()
        which = f" (cause {number} of {len(causes)})" if len(causes) > 1 else ""
        heading = f"{first.requirement} violated: {printable(first.title)}{which}"
        out.print(Text(heading, style="bold red"))
        found = evidence(name, first)
        where = f", {printable(found[0])}" if found else ""
        out.print(Text(f"  {name}{where}, {_violations(verdict.found[first.key])}", style="dim"))
        out.print(Text(f"  {printable(first.detail)}\n  allowed: {printable(first.allowed)}"))
        for text in witness(first, found[1]) if found else ():
            out.print(Text(f"    {text}", style="cyan"), soft_wrap=True)


def _show_either(out: Console, name: str, result: Verdicts) -> None:
    """Each set of rules of which one surely is violated, and why it is not known which."""
    for either, reason in {v.either: v.reason for v in result.values() if v.among}.items():
        out.print()
        out.print(Text(either, style="bold red"))
        out.print(Text(f"  {name}, one of them for sure", style="dim"))
        out.print(Text(f"  {printable(reason)}"))


def _summary(results: Mapping[str, Verdicts]) -> Text:
    """How many rules ended how, profile by profile."""
    text = Text()
    for name, result in results.items():
        counts = Counter(status_word(verdict) for verdict in result.values())
        text.append(f"{name}: " if len(results) > 1 else "")
        for number, word in enumerate(word for word in SUMMARY_STYLES if counts[word]):
            noun = "" if number else " rule" if counts[word] == 1 else " rules"
            text.append(", " if number else "")
            text.append(f"{counts[word]}{noun} {word}", style=SUMMARY_STYLES[word])
        text.append("\n")
    text.rstrip()
    return text


EITHER: Final = "perhaps violated"
"""The status, in summaries, of a rule that is one of those of which one surely is violated."""


def status_word(verdict: Verdict) -> str:
    """The verdict's status in a summary."""
    return EITHER if verdict.among else verdict.status.value


SUMMARY_STYLES: Final = {
    **{status.value: style for status, style in tuple(STYLES.items())[:2]},
    EITHER: STYLES[Status.VIOLATED],
    **{status.value: style for status, style in tuple(STYLES.items())[2:]},
}
"""The words of a summary, in order."""
