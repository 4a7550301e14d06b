"""``partq replay``: run a stored counterexample, or any stored program, again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from partq.conformance.verdict import Exit, Finding

from .common import Format, fail, opened, print_json, printable, verdicts_document

if TYPE_CHECKING:
    from partq.conformance.adapters import Broker
    from partq.conformance.program import Program
    from partq.conformance.verdict import Verdict


def replay(
    file: Annotated[
        Path, typer.Argument(help="A counterexample, or a program.", exists=True, dir_okay=False)
    ],
    broker: Annotated[str | None, typer.Option(help="Another broker than the one it was found on.")] = None,
    tries: Annotated[int, typer.Option(min=1, help="How often; a live broker's races need several.")] = 1,
    format: Annotated[Format, typer.Option(help="What to print.")] = Format.TABLE,
) -> None:
    """Run a stored counterexample again: REPRODUCED (exit code 1) or FIXED (0)."""
    from partq.conformance.adapters import public_name

    stored = _read(file)
    name = broker or stored.broker
    if name is None:
        fail(f"{file} is a program, which names no broker: say which with --broker")
    target = opened(name)
    target.profile = stored.program.profile
    verdicts = _verdicts(target, stored, tries)
    found = _findings(verdicts, stored.rule)
    code = Exit.VIOLATED if found else Exit.CONFORMANT
    if format is Format.JSON:
        document = verdicts_document(public_name(name), {stored.program.profile: verdicts}, strict=True)
        print_json({**document, "replay": _word(found), "rule": stored.rule, "exit": code})
    else:
        _show(public_name(name), stored, found)
    raise typer.Exit(code)


@dataclass(frozen=True, slots=True)
class _Stored:
    """What a file holds. ``rule``: the requirement it showed violated; None for a mere program: any."""

    program: Program
    broker: str | None = None
    rule: str | None = None


def _read(file: Path) -> _Stored:
    from partq.conformance import counterexample
    from partq.conformance import program as programs

    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(data, dict) and data.get("schema") == programs.SCHEMA:
            return _Stored(programs.from_json(data))
        example = counterexample.read(file)
    except programs.InvalidProgram as error:
        fail(f"{file}: {error}")
    except (ValueError, RecursionError, OSError) as error:
        fail(str(error) if str(file) in str(error) else f"{file}: {error}")
    return _Stored(example.program, example.broker, example.finding.requirement)


def _verdicts(target: Broker, stored: _Stored, tries: int) -> dict[str, Verdict]:
    """The verdicts of the first run that shows it again, or of the last one."""
    from partq.conformance.adapters import Unreachable
    from partq.conformance.assess import assess
    from partq.conformance.runner import run

    verdicts: dict[str, Verdict] = {}
    for _ in range(tries):
        try:
            verdicts = assess(run(target, stored.program))
        except Unreachable as error:
            fail(str(error))
        if _findings(verdicts, stored.rule):
            break
    return verdicts


def _findings(verdicts: dict[str, Verdict], rule: str | None) -> list[Finding]:
    return [f for name, verdict in verdicts.items() if rule in (None, name) for f in verdict.findings]


def _word(found: list[Finding]) -> str:
    return "REPRODUCED" if found else "FIXED"


def _show(name: str, stored: _Stored, found: list[Finding]) -> None:
    print(f"{_word(found)} {stored.rule or 'any rule'} on {printable(name)} ({stored.program.profile})")
    for finding in found:
        print(f"  {finding.requirement}: {printable(finding.title)}")
        print(f"    {printable(finding.detail)}\n    allowed: {printable(finding.allowed)}")
