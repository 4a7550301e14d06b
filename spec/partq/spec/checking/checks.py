"""The questions of the manifest put to TLC, several at a time, and the answers compared with it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from partq.spec import MODULES
from partq.spec.tools.configuration import Configuration, text
from partq.spec.tools.labels import STEPS, WITNESSED, actions, module_of, witnessed
from partq.spec.tools.pruning import pruned
from partq.spec.tools.tlc import LIVENESS, Answer, check

from .figures import Figures
from .manifest import Check, Expected

LIMIT: Final = 900.0
"""The time limit of one check, in seconds; `HOURS` is that of one by hand."""

HOURS: Final = 6 * 3600.0

MANY: Final = 200_000
"""States generated in the last run, from which on it pays to have Java compile again what runs often."""

COMPILED: Final = ("-XX:TieredStopAtLevel=4",)


class Checked(NamedTuple):
    """A check, its answer, and how many seconds it took. ``wrong``: how the answer differs from the manifest;
    empty if it does not."""

    check: Check
    answer: Answer
    seconds: float
    wrong: str


def run(checks: Sequence[Check], jobs: int = 1) -> Iterator[Checked]:
    """Each check's outcome, as they end; those that take longest begin first. ``jobs``: how many run at a
    time. Raises `ToolMissing`."""
    return several(_run, sorted(checks, key=lambda one: -one.figures.seconds), jobs)


T = TypeVar("T")
R = TypeVar("R")


def several(work: Callable[[T], R], items: Sequence[T], jobs: int) -> Iterator[R]:
    """The result for each item, as they end. ``jobs``: how many are worked on at a time."""
    with ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(work, item) for item in items]
        try:
            for done in as_completed(waiting):
                yield done.result()
        finally:
            for one in waiting:
                one.cancel()


def started_on(one: Configuration) -> Path:
    """The module that TLC is started on: `MC`, or that of a mechanism with an `Init` of its own."""
    return MODULES / (f"{module_of(one.steps)}Checked.tla" if "Init" in one.variants else "MC.tla")


def written(one: Check, folder: Path) -> Path:
    """The check's configuration as a file in that folder. Raises `OSError`."""
    file = folder / f"{one.name}.cfg"
    file.write_text(f"\\* {one.question}\n{text(_merged(one))}", encoding="utf-8")
    return file


def _merged(one: Check) -> Configuration:
    """The configuration, with states merged that differ only in which client is which: where all states are
    searched and clients have flows. (Without flows TLC finds hardly any alike, and searches longer; what
    happens in the end it does not follow through merged states.)"""
    found = one.configuration
    several_flows = "flows" in found.values.get("Profile", "") and "," in found.values["Clients"]
    return found._replace(symmetric=one.expected is Expected.HOLDS and not found.fair and several_flows)


def _run(one: Check) -> Checked:
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="partq-check-") as folder:
        module, file = _given(one, Path(folder))
        machine = COMPILED if one.by_hand or one.figures.generated > MANY else ()
        limit = HOURS if one.by_hand else LIMIT
        answer = named(one, check(module, file, timeout=limit, machine=machine))
    return Checked(one, answer, time.perf_counter() - start, compared(one, answer))


def _given(one: Check, folder: Path) -> tuple[Path, Path]:
    """The module that TLC is started on and the configuration, in one folder, where TLC looks for both. Where
    all states are searched the actions that are taken are printed; else what is not needed is left out."""
    root, found = started_on(one.configuration), one.configuration
    if found.fair or one.expected is not Expected.HOLDS:
        module, file = folder / root.name, written(one, folder)
        words = pruned(root, file.read_text(encoding="utf-8"))
    else:
        module, words = folder / "Witnessed.tla", witnessed(root.stem, found.steps)
        file = written(one._replace(configuration=found._replace(steps=WITNESSED)), folder)
    module.write_text(words, encoding="utf-8")
    return module, file


def untaken(done: Iterable[Checked]) -> list[str]:
    """The actions that are taken in no scope in which all states were searched: what a property says of them
    is vacuous."""
    taken = {line for one in done for line in one.answer.printed}
    names = {action.name for steps in STEPS for action in actions(steps=steps)}
    return sorted(name for name in names if f'<<"taken", "{name}">>' not in taken)


def named(one: Check, answer: Answer) -> Answer:
    """The answer, with the names of properties where TLC gives none."""
    if answer.violated != LIVENESS:
        return answer
    return answer._replace(violated=" or ".join(one.configuration.properties))


def compared(one: Check, answer: Answer) -> str:
    """How an answer differs from the manifest, in words."""
    if answer.error:
        return answer.error
    if one.expected is Expected.HOLDS:
        if answer.violated:
            return f"{answer.violated} is violated"
        counts = ("distinct", "generated", "depth")
        return "; ".join(
            _off(name, getattr(answer, name), getattr(one.figures, name))
            for name in counts
            if getattr(one.figures, name) not in (0, getattr(answer, name))
        )
    if answer.violated != one.breaks:
        found = f"{answer.violated} is violated" if answer.violated else "nothing is violated"
        return f"{found}, where {one.breaks} has to be"
    steps = len(answer.trace)
    return _off("depth", steps, one.figures.depth) if one.figures.depth not in (0, steps) else ""


def recorded(one: Checked, date: str) -> Figures:
    """The figures of a check that ended as it has to, for the record. How long a behaviour is in which
    something never happens is chance."""
    if one.check.expected is Expected.HOLDS:
        seconds = round(one.seconds, 1)
        return Figures(one.answer.distinct, one.answer.generated, one.answer.depth, seconds, date)
    return Figures(depth=0 if one.check.configuration.fair else len(one.answer.trace))


def _off(name: str, found: int, expected: int) -> str:
    return f"{name} is {found:,}, not {expected:,}"
