"""What ``partq run --out`` leaves in its folder, and the lines about it. Runs programs only to shrink
them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partq.conformance.frontends.cli.common import console, opened
from partq.conformance.verdict import ambiguities

if TYPE_CHECKING:
    from partq.conformance.evaluation.suite import Run, SuiteResult
    from partq.conformance.verdict import Finding
    from partq.conformance.workload.program import Program

PROGRAMS: Final = "programs"
"""Where in the folder the programs lie that violate one of several rules, not known which."""

_LIVE: Final = "not shrunk: the broker is a live one"
_GONE: Final = "not shrunk: it does not show again"


class Target(NamedTuple):
    """Where results go. ``shown``: as the user typed it. ``place``: where it is, wherever an adapter makes
    the current folder be meanwhile."""

    shown: Path
    place: Path

    @classmethod
    def of(cls, typed: Path) -> Target:
        """What has that name in what is the current folder now."""
        return cls(typed, typed.absolute())

    def as_shown(self, path: Path) -> Path:
        """A path in it, as the user would type it."""
        return self.shown / path.relative_to(self.place)


class StoredFile(NamedTuple):
    """A file, what it holds, of which size, and the command that runs it again. ``cause``: profile,
    requirement and key of the finding that it is of; empty where it is of several requirements."""

    path: Path
    what: str
    size: str
    command: str
    cause: tuple[str, ...] = ()


def summary_lines(out: Path | None, stored: Sequence[StoredFile], found: bool) -> Iterator[str]:
    """Where everything is and what can be done with it, in lines. ``found``: whether there was anything."""
    from partq.conformance.verdict import FILE

    for one in stored:
        yield f"{one.what} {one.path}, {one.size} ({one.command})"
    if out is not None:
        yield f"verdicts in {out / FILE} ({shlex.join(['partq', 'report', str(out)])})"
    elif found:
        yield "with --out FOLDER what was found is kept, for partq replay and partq report"


def store(
    out: Target, broker: str, document: Mapping[str, Any], results: Mapping[str, SuiteResult]
) -> list[StoredFile]:
    """Write ``verdicts.json``, and a program of each cause in each profile, and of each set of rules of which
    one is violated."""
    from partq.conformance.verdict import FILE

    (out.place / FILE).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    stored = []
    for profile, result in results.items():
        causes: dict[tuple[str, str], tuple[Run, Finding]] = {}
        for done in result.kept:
            for finding in done.findings:
                causes.setdefault((finding.requirement, finding.key), (done, finding))
        for done, finding in causes.values():
            console.print(f"storing a counterexample of {finding.requirement}", markup=False)
            stored.append(_example(out, profile, broker, done, finding))
        shown = {finding.candidates for _, finding in causes.values()}
        for candidates in ambiguities(result.verdicts):
            if candidates not in shown and (seen := result.evidence_of(candidates)) is not None:
                stored.append(_program(out, profile, broker, seen, candidates))
    return stored


def _example(out: Target, profile: str, broker: str, done: Run, finding: Finding) -> StoredFile:
    """Shrunk where the broker is simulated; from a live one, the program and history it was seen in."""
    from partq.conformance.adapters import SimulatedBroker, public_name
    from partq.conformance.evaluation import counterexample

    name, steps, how, example = public_name(broker), len(done.program.steps), _LIVE, None
    target = opened(broker)
    target.profile = done.program.profile
    if isinstance(target, SimulatedBroker):
        example, how = counterexample.make(broker, target, done.program, finding), _GONE
    if example is None:
        example = counterexample.Counterexample(name, done.program, finding, done.history, None, steps)
        size = f"{steps} steps, {how}"
    else:
        size = f"{len(example.program.steps)} steps of {steps}"
    path = out.as_shown(counterexample.write(out.place / counterexample.FOLDER / profile, example))
    command = counterexample.replay_command(path, name)
    return StoredFile(path, "counterexample", size, command, (profile, finding.requirement, finding.key))


def _program(out: Target, profile: str, broker: str, done: Run, candidates: tuple[str, ...]) -> StoredFile:
    """The program alone, for a counterexample has one rule. Shrunk where the broker is simulated."""
    from partq.conformance.adapters import SimulatedBroker, public_name
    from partq.conformance.evaluation.decision import NONE, check_history
    from partq.conformance.execution.runner import run
    from partq.conformance.workload.program import dumps
    from partq.conformance.workload.shrinker import shrink

    target, small = opened(broker), done.program
    target.profile = small.profile

    def shows(program: Program) -> bool:
        return candidates in ambiguities(check_history(run(target, program), NONE))

    size = f"{len(small.steps)} steps"
    if not isinstance(target, SimulatedBroker):
        size = f"{size}, {_LIVE}"
    elif not shows(small):
        size = f"{size}, {_GONE}"
    else:
        small = shrink(small, shows)
        size = f"{len(small.steps)} steps of {len(done.program.steps)}"
    path = out.place / PROGRAMS / profile / f"{'-or-'.join(candidates)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dumps(small) + "\n", encoding="utf-8")
    path = out.as_shown(path)
    command = shlex.join(["partq", "replay", str(path), "--broker", public_name(broker)])
    return StoredFile(path, "program", size, command)
