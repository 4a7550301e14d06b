"""What is kept of a violation: a counterexample, or the program that shows that one of several rules is
violated; each a file, with the command that runs it again; and when, where and with which versions results
were made. Programs are run here only to shrink them."""

from __future__ import annotations

import platform
import shlex
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple

from partq.conformance.adapters import Broker, SimulatedBroker, public_name
from partq.conformance.evaluation import counterexample
from partq.conformance.evaluation.decision import NONE, check_history
from partq.conformance.evaluation.live_shrinking import LiveShrinking
from partq.conformance.evaluation.suite import Run
from partq.conformance.execution.runner import run
from partq.conformance.verdict import Finding, ambiguities, plural
from partq.conformance.workload.program import Program, dumps
from partq.conformance.workload.shrinker import shrink

PROGRAMS: Final = "programs"
"""The folder of programs that violate one of several rules, undecided which."""

_GONE: Final = "not shrunk: it does not show again"


def made() -> dict[str, str]:
    """The time, the machine and the versions of now, each with its name. No digest includes them."""
    return {
        "started": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        "host": platform.node(),
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "python": platform.python_version(),
        "partq": version("partq"),
    }


class Target(NamedTuple):
    """Where results go. ``shown``: as the user typed it. ``place``: where it is, wherever an adapter makes
    the current folder be meanwhile."""

    shown: Path
    place: Path

    @classmethod
    def of(cls, typed: Path) -> Target:
        """The target of that name in the present current folder."""
        return cls(typed, typed.absolute())

    def as_shown(self, path: Path) -> Path:
        """A path in the target, as the user would type it."""
        return self.shown / path.relative_to(self.place)


class StoredFile(NamedTuple):
    """A file, what it holds, of which size, and the command that runs it again. ``cause``: profile,
    requirement and key of the finding that it is of; empty where it is of several requirements. ``cut``:
    whether there was no time left to shrink it further."""

    path: Path
    what: str
    size: str
    command: str
    cause: tuple[str, ...] = ()
    cut: bool = False


def keep_example(
    out: Target,
    profile: str,
    name: str,
    target: Broker,
    done: Run,
    finding: Finding,
    seconds: float,
    taken: set[str],
) -> StoredFile:
    """Write the finding's counterexample, shrunk. ``name``, ``target``: the broker. ``seconds``: how long it
    is shrunk where that is a live one. ``taken``: the names of files that it does not overwrite, its own from
    then on. Raises `OSError`."""
    shown, steps, example, cut = public_name(name), len(done.program.steps), None, False
    target.profile = done.program.profile
    if isinstance(target, SimulatedBroker):
        example = counterexample.make(name, target, done.program, finding)
        size = _shrunk(steps, len(example.program.steps)) if example else f"{steps} steps, {_GONE}"
        example = example or counterexample.Counterexample(
            shown, done.program, finding, done.history, None, steps
        )
    else:
        small = LiveShrinking.of(target, done, finding, seconds)
        example = counterexample.Counterexample(
            shown, small.program, small.finding, small.history, None, steps, small.seen
        )
        size, cut = _shrunk(steps, len(small.program.steps)), small.over
        size += f", cut short after {seconds:.0f} s" if cut else ""
    if (rule := example.finding.requirement) != finding.requirement:
        size += f", found as {finding.requirement} and as {rule} when shrunk"
    folder, file = out.place / counterexample.FOLDER / profile, counterexample.free_name(example, taken)
    path = out.as_shown(counterexample.write(folder, example, file))
    command = counterexample.replay_command(path, shown)
    return StoredFile(path, "counterexample", size, command, (profile, finding.requirement, finding.key), cut)


def _shrunk(before: int, after: int) -> str:
    return f"shrunk from {plural(before, 'step')} to {after}"


def keep_program(
    out: Target, profile: str, name: str, target: Broker, done: Run, candidates: tuple[str, ...]
) -> StoredFile:
    """Write the program alone, for a counterexample has one rule. Shrunk where the broker is simulated.
    Raises `OSError`."""
    small = done.program
    target.profile = small.profile

    def shows(program: Program) -> bool:
        return candidates in ambiguities(check_history(run(target, program), NONE))

    size = plural(len(small.steps), "step")
    if not isinstance(target, SimulatedBroker):
        size = f"{size}, not shrunk: the broker is a live one"
    elif not shows(small):
        size = f"{size}, {_GONE}"
    else:
        small = shrink(small, shows)
        size = _shrunk(len(done.program.steps), len(small.steps))
    path = out.place / PROGRAMS / profile / f"{'-or-'.join(candidates)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dumps(small) + "\n", encoding="utf-8")
    path = out.as_shown(path)
    command = shlex.join(["partq", "replay", str(path), "--broker", public_name(name)])
    return StoredFile(path, "program", size, command)
