"""Adequacy: over all small histories of a scope, right ones and wrong ones, screens against judge.

A `Scope` is a row of slots; each slot lists what may stand there, in the terse notation, and the scope is
every choice of one alternative a slot, under every overlap of neighbours. A history that the screens suspect,
by a finding or by one of several rules that is broken certainly, and the judge accepts is a false alarm. The
judge decides, so that they need not suspect all that it rejects; how much they do is counted, and the tests
bound it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, Final

from msgspec.structs import replace

from partq.conformance.history import Header, History, Record, notation
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.oracle.roles import TELLS
from partq.conformance.screens.assess import inspect
from partq.conformance.screens.protocol import Screen
from partq.conformance.screens.registry import ALL
from partq.model.operations import CLOCK

STEP: Final = 100
"""ns from one slot's call to the next one's."""

JUDGE_SECONDS: Final = 10.0
"""How long the judge may take for one history."""


@dataclass(frozen=True, slots=True)
class Slot:
    """What may stand at one place of a history: alternatives, each one or more lines of the notation with
    ``;`` between them, an empty one for nothing. Assignment events in it follow at once what is before them;
    ``env advance`` only lets time pass.

    ``after``: ns that pass before it. ``overlaps``: whether it is also tried overlapping what stands before.
    """

    alternatives: tuple[str, ...]
    after: int = 0
    overlaps: bool = False


def answers(prefix: str, *given: str) -> tuple[str, ...]:
    """Alternatives: one operation with each of these answers."""
    return tuple(f"{prefix} -> {answer}" for answer in given)


Records = tuple[Record, ...]


@dataclass(frozen=True)
class Scope:
    """All histories of these slots. ``about``: what it is to show, in a sentence. ``late``: by how many ns
    the broker's timers may be late."""

    name: str
    profile: str
    about: str
    slots: tuple[Slot, ...]
    settings: tuple[tuple[str, Any], ...] = ()
    late: int = 0

    @cached_property
    def header(self) -> Header:
        """The header of every history of the scope."""
        return self._read("").header

    @cached_property
    def _choices(self) -> list[list[Records]]:
        return [[self._read(text).records for text in slot.alternatives] for slot in self.slots]

    def _read(self, text: str) -> History:
        return notation.history(text.replace(";", "\n"), self.profile, **dict(self.settings))

    def histories(self, part: int = 0, of: int = 1) -> Iterator[History]:
        """Every history; or each ``of``-th from the ``part``-th on, to share the work."""
        overlapping = [n for n, slot in enumerate(self.slots) if slot.overlaps]
        patterns = [
            dict(zip(overlapping, bits, strict=True))
            for bits in product((False, True), repeat=len(overlapping))
        ]
        for number, (choice, pattern) in enumerate(product(product(*self._choices), patterns)):
            if number % of == part:
                history = self._assembled(choice, pattern)
                if history is not None:
                    yield history

    def _assembled(self, choice: Sequence[Records], pattern: Mapping[int, bool]) -> History | None:
        """The history of one choice, or None where the overlap asked for makes no difference."""
        now, records = 0, list[Record]()
        for n, (slot, chosen) in enumerate(zip(self.slots, choice, strict=True)):
            now += slot.after + STEP
            if pattern.get(n):
                if not (records and chosen) or slot.after or not _may_overlap(records[-1], chosen[0]):
                    return None
                records[-1] = replace(records[-1], ret=now + STEP // 4)
            for record in chosen:
                if record.op == CLOCK:
                    now += record.args["by"]
                    continue
                instant = record.op == TELLS
                if instant and record is not chosen[0]:
                    now = (records[-1].ret or now) + 1
                ret = None if record.ret is None else now if instant else now + STEP // 2
                records.append(replace(record, i=len(records), call=now, ret=ret))
                now += STEP
        return History(self.header, tuple(records))


def _may_overlap(before: Record, after: Record) -> bool:
    if before.ret is None or "assignment" in (before.op, after.op):
        return False
    return before.proc != after.proc and not (before.is_env and after.is_env)


@dataclass(slots=True)
class Comparison:
    """What came of comparing. ``suspected``: of the ``rejected``. ``false_alarms``: the first few."""

    compared: int = 0
    rejected: int = 0
    suspected: int = 0
    undecided: int = 0
    false_alarms: list[History] = field(default_factory=list)


KEPT: Final = 20


def compare(histories: Iterator[History], screens: Sequence[Screen] = ALL, late: int = 0) -> Comparison:
    """Hold the screens against the judge on every one of the histories. ``late``: see `Scope`."""
    result = Comparison()
    for history in histories:
        status = judge(history, JUDGE_SECONDS, late).status
        if status is Judged.UNKNOWN:
            result.undecided += 1
            continue
        suspect = inspect(history, screens).broken
        rejected = status is Judged.REJECTED
        result.compared += 1
        result.rejected += rejected
        result.suspected += rejected and suspect
        if suspect and not rejected and len(result.false_alarms) < KEPT:
            result.false_alarms.append(history)
    return result
