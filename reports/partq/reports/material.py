"""What a report is made of, as plain data: everything a command gathers and hands over.

Nothing here is read from disk and nothing is derived; see `view.py` for that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from partq.conformance.history import History
from partq.conformance.verdict import Counts, Finding, Kill, Verdicts


@dataclass(frozen=True, slots=True)
class Lane:
    """One broker under one profile: each requirement's verdict, the exit code that these come to, and over
    how many traces (None: unknown)."""

    broker: str
    profile: str
    verdicts: Verdicts
    exit: int
    traces: int | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """One counterexample. ``program``: plain data of schema ``partq.program/1``. ``untaken``: position of
    each of its steps that was not taken in this history -> why. ``replay``: the command that runs it again.
    ``found_steps``: the program's length before it was shrunk."""

    finding: Finding
    broker: str
    profile: str
    history: History
    program: Mapping[str, Any]
    replay: str
    trace: int | None = None
    found_steps: int = 0
    untaken: Mapping[int, str] = field(default_factory=dict)


class Spread(NamedTuple):
    """How many messages, with or without a key, were in the fullest partition of each trace (``rank`` 1), in
    the second fullest, and so on."""

    broker: str
    profile: str
    rank: int
    keyed: bool
    messages: int


class Cell(NamedTuple):
    """How often a requirement was exercised beside an operation that ended so and a fault of that kind."""

    broker: str
    profile: str
    requirement: str
    outcome: str
    fault: str
    traces: int
    exercised: int


class Undecided(NamedTuple):
    """An undecided trace: its number, profile, why it is, and the ``command`` that runs it alone."""

    trace: int
    profile: str
    why: str
    command: str


@dataclass(frozen=True, slots=True)
class Figures:
    """A campaign's figures; what is not known is None. ``seconds``: the time the counted work took. ``open``:
    how many traces were left undecided; ``undecided``: the first of these."""

    traces: int | None = None
    operations: int | None = None
    violations: int | None = None
    seconds: float | None = None
    seed: int | None = None
    length: int | None = None
    digest: str = ""
    master: str = ""
    counts: Counts = field(default_factory=dict)
    open: int = 0
    undecided: tuple[Undecided, ...] = ()


@dataclass(frozen=True, slots=True)
class BlindSpots:
    """What one screen says it cannot see."""

    screen: str
    requirements: tuple[str, ...]
    sentences: tuple[str, ...]


class Opinions(NamedTuple):
    """Who in the project speaks of a requirement, independently of each other: how many mutants of the
    reference broker break it, the model's clauses, the screens, and the text of its TLA+ property (empty:
    none)."""

    mutants: int = 0
    clauses: tuple[str, ...] = ()
    screens: tuple[str, ...] = ()
    formula: str = ""


@dataclass(frozen=True, slots=True)
class Material:
    """Everything of one report. ``exit``: the exit code of the command that made the results. ``complete``:
    whether the campaign got to its end; if not, ``lanes`` have no verdicts, and ``stored`` is how many traces
    are done (None: unknown). ``command``: the command line that does the same again, or finishes it, or
    empty. ``kills``: of a campaign of mutants. ``opinions``: by requirement. ``notes``: what the reader
    should know of the data. ``made``: when, where and with what the results were made, each with its
    name. ``conclusion``: of results that were held against a baseline, what they come to in words."""

    lanes: tuple[Lane, ...]
    exit: int
    figures: Figures = Figures()
    examples: tuple[Example, ...] = ()
    spread: tuple[Spread, ...] = ()
    coverage: tuple[Cell, ...] = ()
    blind_spots: tuple[BlindSpots, ...] = ()
    command: str = ""
    complete: bool = True
    notes: tuple[str, ...] = ()
    made: Mapping[str, str] = field(default_factory=dict)
    version: str = ""
    stored: int | None = None
    kills: tuple[Kill, ...] = ()
    opinions: Mapping[str, Opinions] = field(default_factory=dict)
    conclusion: str = ""
