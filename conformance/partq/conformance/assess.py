"""From a history to verdicts: every checker on every entity; a crash or a timeout of one is `unknown`."""

from __future__ import annotations

import gc
import signal
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from time import monotonic
from types import FrameType
from typing import Final

from partq.model.profiles import profile
from partq.model.requirements import catalogue

from .checkers import ALL, Checker, Report
from .checkers.unfollowed import left_open
from .facts import Facts, facts_of
from .history import History
from .verdict import Finding, Status, Verdict, kept, told_once

CHECKER_LIMIT = 60.0
"""Seconds one checker may take on one history before its verdict is `unknown`."""


SOON = 1e-6
"""Seconds until a timer ends that should have ended while it was put off."""


class CheckerTimeout(Exception):
    """A checker took longer than its limit."""


@dataclass(slots=True)
class Inspection:
    """What all checkers together say of one history, before it is held against the profile: by
    requirement. ``found``: how many findings of each cause there were, kept or not."""

    exercised: dict[str, int] = field(default_factory=dict)
    findings: dict[str, list[Finding]] = field(default_factory=dict)
    found: dict[str, Counter[str]] = field(default_factory=dict)
    open: dict[str, str] = field(default_factory=dict)
    among: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def add(self, report: Report) -> None:
        """Take in one checker's report."""
        exercised = self.exercised
        for requirement, count in report.exercised.items():
            exercised[requirement] = exercised.get(requirement, 0) + count
        for finding in report.findings:
            self.findings.setdefault(finding.requirement, []).append(finding)
        for requirement, causes in report.found.items():
            self.found.setdefault(requirement, Counter()).update(causes)
        for requirement, why in report.open.items():
            self.leave_open(requirement, why, report.among.get(requirement, ()))

    def leave_open(self, requirement: str, why: str, among: tuple[str, ...] = ()) -> None:
        """Note that the requirement is undecided, or one of several surely violated ones. What is known first
        stays, but that something is violated counts for more."""
        if requirement not in self.open or (among and requirement not in self.among):
            self.open[requirement] = why
            if among:
                self.among[requirement] = among


def inspect(history: History, checkers: Sequence[Checker] = ALL, limit: float = CHECKER_LIMIT) -> Inspection:
    """Run every checker on every entity of the history. Rows that do not apply are left out."""
    inspection = Inspection()
    question = history.header.profile, history.header.lacks, tuple(checkers)
    asked = _in_question(*question)
    with _alarm(limit) as alarm, _no_collection():
        for facts in facts_of(history):
            for checker in asked:
                inspection.add(_guarded(checker, facts, alarm))
            facts.forget()
    exempt = not_applicable(*question).keys()
    for said in (
        inspection.exercised,
        inspection.findings,
        inspection.found,
        inspection.open,
        inspection.among,
    ):
        for requirement in said.keys() & exempt:
            del said[requirement]
    # What one rule explains that is none of the profile's is allowed: then nothing is sure.
    for requirement in [rule for rule, rules in inspection.among.items() if exempt & set(rules)]:
        del inspection.among[requirement]
    return inspection


def assess(
    history: History, checkers: Sequence[Checker] = ALL, limit: float = CHECKER_LIMIT
) -> dict[str, Verdict]:
    """The verdict of every requirement of the catalogue on this history, in the catalogue's order."""
    inspection = inspect(history, checkers, limit)
    return verdicts(inspection, history.header.profile, history.header.lacks, tuple(checkers))


def verdicts(
    inspection: Inspection,
    profile_name: str,
    lacks: tuple[str, ...] = (),
    checkers: tuple[Checker, ...] = ALL,
) -> dict[str, Verdict]:
    """An inspection (of one history, or many added up) as a verdict for every row of the catalogue."""
    checked = {requirement for checker in checkers for requirement in checker.requirements}
    exempt = not_applicable(profile_name, lacks, checkers)
    return told_once(
        {
            requirement: _verdict(requirement, inspection, exempt, requirement in checked)
            for requirement in catalogue()
        }
    )


def _verdict(requirement: str, inspection: Inspection, exempt: Mapping[str, str], checked: bool) -> Verdict:
    times = inspection.exercised.get(requirement, 0)
    if requirement in exempt:
        return Verdict(Status.NOT_APPLICABLE, reason=exempt[requirement])
    if requirement in inspection.findings:
        findings, found = kept(inspection.findings[requirement]), inspection.found[requirement]
        return Verdict(Status.VIOLATED, times, findings, found=found)
    if requirement in inspection.open:
        among = inspection.among.get(requirement, ())
        return Verdict(Status.UNKNOWN, times, reason=inspection.open[requirement], among=among)
    if not checked:
        return Verdict(Status.NOT_IMPLEMENTED, reason="no checker yet")
    return Verdict(Status.PASS if times else Status.NOT_EXERCISED, times)


@cache
def not_applicable(
    profile_name: str, lacks: tuple[str, ...] = (), checkers: tuple[Checker, ...] = ALL
) -> Mapping[str, str]:
    """The requirements that the profile, or what its broker lacks, puts out of question: ID -> why."""
    family = profile(profile_name)
    exempt = {
        requirement: f"not a rule of {family.title}"
        for requirement, row in catalogue().items()
        if not (requirement in family.overrides if family.column is None else family.column in row.profiles)
    }
    for checker in checkers:
        for requirement, needs in checker.needs.items():
            missing = [need for need in needs if need in lacks]
            if missing:
                exempt.setdefault(requirement, f"the broker lacks {', '.join(missing)}")
    return exempt


@cache
def _in_question(
    profile_name: str, lacks: tuple[str, ...], checkers: tuple[Checker, ...]
) -> tuple[Checker, ...]:
    """The checkers of which some row applies."""
    exempt = not_applicable(profile_name, lacks, checkers).keys()
    return tuple(checker for checker in checkers if not exempt >= set(checker.requirements))


def _guarded(checker: Checker, facts: Facts, alarm: _Alarm) -> Report:
    """The checker's report; its crash or timeout is a report too, which leaves all its rows open."""
    try:
        try:
            alarm.start()
            report = checker.check(facts)
            return left_open(facts, report) if facts.unfollowed else report
        finally:
            alarm.meant = False
    except Exception as error:
        reason = f"checker {checker.name}: {type(error).__name__}: {error}"
        return Report(open=dict.fromkeys(checker.requirements, reason))


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without garbage collection: one comes with every so many objects made, goes through all of a long
    history, and finds nothing, for what a checker leaves is not in cycles."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


_start_timer: Final = partial(signal.setitimer, signal.ITIMER_REAL)
"""Seconds to the end, and from then on to every further one."""


class _Alarm:
    """Raises `CheckerTimeout` in what takes longer than ``seconds`` from its `start` on, if it is still
    ``meant`` then. The timer runs on from one start to the next; only its end looks at the clock twice, for
    setting one costs more than many a check."""

    __slots__ = ("meant", "seconds", "since")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.since = 0.0
        self.meant = False

    def start(self) -> None:
        """Give it all the seconds from now on."""
        self.since = monotonic()
        self.meant = True

    def ended(self, signum: int, frame: FrameType | None) -> None:
        """The handler of its signal."""
        left = self.since + self.seconds - monotonic() if self.meant else self.seconds
        if left <= 0:
            raise CheckerTimeout(f"no verdict within {self.seconds:g} s")
        _start_timer(left)


@contextmanager
def _alarm(seconds: float) -> Iterator[_Alarm]:
    """An alarm for whatever is done meanwhile.

    A process has one such timer. Somebody else's (pytest-timeout's) is put off meanwhile, and set again for
    the same instant.
    """
    alarm = _Alarm(seconds)
    if threading.current_thread() is not threading.main_thread():
        yield alarm  # without effect: off the main thread no timer can interrupt
        return
    (left, every), began = _start_timer(0), monotonic()
    handler = signal.signal(signal.SIGALRM, alarm.ended)
    _start_timer(seconds)
    try:
        yield alarm
    finally:
        _start_timer(0)
        signal.signal(signal.SIGALRM, handler)
        if left:
            _start_timer(max(left - (monotonic() - began), SOON), every)
