"""The manifest's questions put to Apalache: the calls for each, and their answers compared with it.
`tools.apalache` runs one call.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from partq.spec import MODULES
from partq.spec.tools.apalache import Answer, Outcome
from partq.spec.tools.apalache import run as run_apalache
from partq.spec.tools.roots import BEGINNING, INVARIANT, ROOT, bare, of_steps, root

from .checks import several
from .manifest import Expected, Kind, Symbolic

LIMIT: Final = 3600.0
"""The time limit of one call, in seconds."""

MEMORY: Final = 5 * 2**30
"""Bytes that one call may need: the heap of `apalache.HEAP`, and Z3's memory beside it."""


class Made(NamedTuple):
    """A call that was made: its words (without the module), the answer, and how many seconds it took."""

    words: tuple[str, ...]
    answer: Answer
    seconds: float


class Answered(NamedTuple):
    """A question, the calls that were made for it, and how they differ from what the manifest expects; empty
    if they do not."""

    question: Symbolic
    made: tuple[Made, ...]
    wrong: str


def run(
    questions: Sequence[Symbolic],
    jobs: int,
    begun: Callable[[Symbolic, Sequence[str]], None] = lambda question, words: None,
) -> Iterator[Answered]:
    """What becomes of each question, as they end. ``jobs``: how many run at a time. ``begun``: called before
    each call. Raises `InvalidConfiguration`, `ToolMissing`."""
    return several(lambda one: _answered(one, begun), questions, jobs)


def jobs_that_fit() -> int:
    """How many calls may run at a time: one a core, as many as there is memory for."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(os.cpu_count() or 1, memory // MEMORY))


def calls(question: Symbolic) -> tuple[tuple[str, ...], ...]:
    """The words of each call. Of a proof the step comes first: it is what most often fails.

    Raises `InvalidConfiguration`.
    """
    if question.kind is Kind.TYPES:
        return (("typecheck",),)
    configuration = question.configuration
    properties = [bare(name) for name in configuration.properties]
    if question.kind is Kind.BOUNDED:
        return (_check("Init", [*configuration.invariants, *properties], question.length),)
    implied = any(of_steps(name) for name in configuration.properties)
    return (
        _check(BEGINNING, [INVARIANT], 1),
        _check("Init", [INVARIANT], 0),
        _check(BEGINNING, properties, 1 if implied else 0),
    )


def _check(init: str, invariants: Sequence[str], length: int) -> tuple[str, ...]:
    asked = ",".join(invariants)
    return "check", "--no-deadlock", f"--init={init}", f"--inv={asked}", f"--length={length}"


def _answered(question: Symbolic, begun: Callable[[Symbolic, Sequence[str]], None]) -> Answered:
    made: list[Made] = []
    with tempfile.TemporaryDirectory(prefix="partq-apalache-") as folder:
        module = _module(question, Path(folder))
        for number, words in enumerate(calls(question), 1):
            begun(question, words)
            start = time.perf_counter()
            answer = run_apalache([*words, str(module)], Path(folder) / f"call{number}", LIMIT)
            made.append(Made(words, answer, time.perf_counter() - start))
            if answer.outcome is not Outcome.OK:
                break
    return Answered(question, tuple(made), compared(question, made))


def _module(question: Symbolic, folder: Path) -> Path:
    """The module that is asked: the specification, or a root in ``folder``."""
    if question.kind is Kind.TYPES:
        return MODULES / "MC.tla"
    module = folder / f"{ROOT}.tla"
    module.write_text(root(question.configuration), encoding="utf-8")
    return module


def compared(question: Symbolic, made: Sequence[Made]) -> str:
    """How the calls differ from what the manifest expects, in words; the last one decides."""
    words, answer, _ = made[-1]
    if answer.outcome is Outcome.ERROR:
        return answer.error
    found = answer.outcome is Outcome.COUNTEREXAMPLE
    if found and question.expected is Expected.HOLDS:
        return f"a counterexample: {' '.join(words)}"
    if not found and question.expected is not Expected.HOLDS:
        return "no counterexample, where there has to be one"
    return ""
