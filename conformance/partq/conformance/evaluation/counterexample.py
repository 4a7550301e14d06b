"""A counterexample: one file with the program, what it showed, and the history it showed it in.

Here are its making (shrunk, from a campaign's row or a run's finding), its storing and its replay. Schema
``partq.counterexample/1``.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any, Final

from partq.conformance.adapters import Broker, is_built_in, public_name
from partq.conformance.evaluation.shrinking import shown, shows_again, smallest
from partq.conformance.execution.runner import run
from partq.conformance.history import History
from partq.conformance.history.codec import dumps, loads
from partq.conformance.verdict import Finding, Recurrence, count_of, finding_of, finding_to_plain, text_of
from partq.conformance.workload import program as programs
from partq.conformance.workload.program import Program
from partq.conformance.workload.shrinker import BUDGET

SCHEMA: Final = "partq.counterexample/1"

FOLDER: Final = "counterexamples"
"""The folder of counterexamples within a folder of results."""


class InvalidCounterexample(ValueError):
    """A file is not a counterexample. The text names file and field."""


@dataclass(frozen=True, slots=True)
class Counterexample:
    """``trace``: the campaign's trace it came from, if any. ``found_steps``: its length before shrinking.
    ``seen``: how often a live broker showed it; None: it was not counted."""

    broker: str
    program: Program
    finding: Finding
    history: History
    trace: int | None = None
    found_steps: int = 0
    seen: Recurrence | None = None

    @property
    def name(self) -> str:
        """A file name made of requirement and cause."""
        cause = self.finding.key.removeprefix(f"{self.finding.requirement}/")
        cause = re.sub(r"[^a-z0-9]+", "-", cause.lower()).strip("-")[:60]
        return f"{self.finding.requirement}-{cause or 'finding'}.json"


def make(
    broker_name: str,
    broker: Broker,
    program: Program,
    finding: Finding,
    *,
    trace: int | None = None,
    budget: int = BUDGET,
) -> Counterexample | None:
    """The finding's smallest program, run once more. None if it does not show again (a live race)."""
    if not shows_again(run(broker, program), finding):
        return None
    small = smallest(broker, program, finding, budget)
    history = run(broker, small)
    again = shown(history, finding, same_cause=False)
    if again is None:
        return None
    return Counterexample(public_name(broker_name), small, again, history, trace, len(program.steps))


def write(folder: Path, example: Counterexample, name: str = "") -> Path:
    """Store it in the folder under that name, or its own, and answer the path."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / (name or example.name)
    target.write_text(json.dumps(to_json(example), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return target


def free_name(example: Counterexample, taken: set[str]) -> str:
    """Its name, numbered where that is ``taken``, which it is then: two findings may shrink to one cause."""
    stem = example.name.removesuffix(".json")
    names = chain((example.name,), (f"{stem}-{number}.json" for number in count(2)))
    free = next(name for name in names if name not in taken)
    taken.add(free)
    return free


def replay_command(file: Path | str, broker: str) -> str:
    """The command line that runs the stored counterexample of that broker again. It names the broker where
    the file may not choose it; where the password was left out, it has a place for it."""
    words = ["partq", "replay", str(file)]
    return shlex.join(words if is_built_in(broker) else [*words, "--broker", broker])


def to_json(example: Counterexample) -> dict[str, Any]:
    """The counterexample as plain data."""
    return {
        "schema": SCHEMA,
        "broker": example.broker,
        "trace": example.trace,
        "found_steps": example.found_steps,
        **({} if example.seen is None else {"seen": example.seen._asdict()}),
        "finding": finding_to_plain(example.finding),
        "program": programs.to_json(example.program),
        "history": [json.loads(line) for line in dumps(example.history).splitlines()],
    }


def read(path: Path) -> Counterexample:
    """The counterexample in the file. Raises `InvalidCounterexample`, or `OSError` where it can't be read."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InvalidCounterexample(f"{path}: not JSON: {error}") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise InvalidCounterexample(f"{path}: schema: expected {SCHEMA!r}")
    try:
        lines = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in data["history"])
        return Counterexample(
            text_of(data, "broker"),
            programs.from_json(data["program"]),
            finding_of(data["finding"]),
            loads(lines.encode()),
            count_of(data, "trace", None),
            count_of(data, "found_steps", 0) or 0,
            _seen(data["seen"]) if "seen" in data else None,
        )
    except KeyError as error:
        raise InvalidCounterexample(f"{path}: missing {error}") from None
    except (AttributeError, TypeError, ValueError) as error:
        raise InvalidCounterexample(f"{path}: {error}") from None


def _seen(data: Any) -> Recurrence:
    times, tries = count_of(data, "times", None), count_of(data, "tries", None)
    if not times or not tries or times > tries:
        raise ValueError(f"seen: expected times in tries, 1 or more: {data!r}"[:200])
    return Recurrence(times, tries)
