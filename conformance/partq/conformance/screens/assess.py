"""From a history to verdicts: every screen on every entity; a crash or a timeout of one is `unknown`."""

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

from partq.conformance.facts.index import Facts, facts_of
from partq.conformance.history import History
from partq.conformance.history.lost_connections import with_lost_connections
from partq.conformance.history.partition_names import named_by_numbers
from partq.conformance.screens.protocol import Report, Screen
from partq.conformance.screens.registry import ALL
from partq.conformance.screens.unsupported import left_open
from partq.conformance.verdict import Finding, Status, Verdict, kept, resolved
from partq.model.profiles import profile, requirements_of
from partq.model.requirements import catalogue

SCREEN_LIMIT = 60.0
"""Seconds one screen may take on one history before its verdict is `unknown`."""


SOON = 1e-6
"""Seconds until a timer ends that should have ended while it was put off."""


class ScreenTimeout(Exception):
    """A screen took longer than its limit."""


@dataclass(slots=True)
class Inspection:
    """What all screens together say of one history, before it is held against the profile: by requirement.
    ``found``: how many findings of each cause there were, kept or not. ``crashed``: of which
    a screen crashed. ``judged``: what the judge said,
    ``undecided``: why it said nothing, ``overruled``: how many findings of screens it overruled."""

    exercised: dict[str, int] = field(default_factory=dict)
    findings: dict[str, list[Finding]] = field(default_factory=dict)
    found: dict[str, Counter[str]] = field(default_factory=dict)
    open: dict[str, str] = field(default_factory=dict)
    candidates: dict[str, tuple[str, ...]] = field(default_factory=dict)
    crashed: set[str] = field(default_factory=set)
    judged: Counter[str] = field(default_factory=Counter)
    undecided: Counter[str] = field(default_factory=Counter)
    overruled: Counter[str] = field(default_factory=Counter)

    @property
    def violated(self) -> list[str]:
        """The requirements that are violated for certain, sorted."""
        return sorted(id for id, found in self.findings.items() if any(not one.candidates for one in found))

    def add(self, report: Report) -> None:
        """Take in one screen's report."""
        exercised = self.exercised
        for requirement, count in report.exercised.items():
            exercised[requirement] = exercised.get(requirement, 0) + count
        for finding in report.findings:
            self.findings.setdefault(finding.requirement, []).append(finding)
        for requirement, causes in report.found.items():
            self.found.setdefault(requirement, Counter()).update(causes)
        if report.crashed:
            self.crashed.update(report.open)
        for requirement, why in report.open.items():
            self.leave_open(requirement, why, report.candidates.get(requirement, ()))

    def leave_open(self, requirement: str, why: str, candidates: tuple[str, ...] = ()) -> None:
        """Note that the requirement is undecided, or one of several certainly violated ones. What is known
        first stays, but that something is violated counts for more."""
        if requirement not in self.open or (candidates and requirement not in self.candidates):
            self.open[requirement] = why
            if candidates:
                self.candidates[requirement] = candidates


def inspect(history: History, screens: Sequence[Screen] = ALL, limit: float = SCREEN_LIMIT) -> Inspection:
    """Run every screen on every entity of the history. Rows that do not apply are left out."""
    inspection = Inspection()
    question = history.header.profile, history.header.lacks, tuple(screens)
    asked = _in_question(*question)
    records = named_by_numbers(history.records, profile(history.header.profile))
    history = History(history.header, with_lost_connections(records))
    with _alarm(limit) as alarm, _no_collection():
        for facts in facts_of(history):
            for screen in asked:
                inspection.add(_guarded(screen, facts, alarm))
            facts.forget()
    exempt = not_applicable(*question).keys()
    for said in (
        inspection.exercised,
        inspection.findings,
        inspection.found,
        inspection.open,
        inspection.candidates,
    ):
        for requirement in said.keys() & exempt:
            del said[requirement]
    # Where a candidate does not apply to the profile, what it would explain is allowed: nothing is certain.
    for requirement in [one for one, several in inspection.candidates.items() if exempt & set(several)]:
        del inspection.candidates[requirement]
    return inspection


def assess(
    history: History, screens: Sequence[Screen] = ALL, limit: float = SCREEN_LIMIT
) -> dict[str, Verdict]:
    """The verdict of every requirement of the catalogue on this history, in the catalogue's order."""
    inspection = inspect(history, screens, limit)
    return verdicts(inspection, history.header.profile, history.header.lacks, tuple(screens))


def verdicts(
    inspection: Inspection,
    profile_name: str,
    lacks: tuple[str, ...] = (),
    screens: tuple[Screen, ...] = ALL,
) -> dict[str, Verdict]:
    """An inspection (of one history, or many added up) as a verdict for every row of the catalogue."""
    checked = {requirement for screen in screens for requirement in screen.requirements}
    exempt = not_applicable(profile_name, lacks, screens)
    return resolved(
        {
            requirement: _verdict(requirement, inspection, exempt, requirement in checked)
            for requirement in catalogue()
        }
    )


def _verdict(requirement: str, inspection: Inspection, exempt: Mapping[str, str], checked: bool) -> Verdict:
    times = inspection.exercised.get(requirement, 0)
    if requirement in exempt:
        return Verdict(Status.NOT_APPLICABLE, reason=exempt[requirement])
    findings, found = inspection.findings.get(requirement, ()), inspection.found.get(requirement, Counter())
    if any(not finding.candidates for finding in findings):
        return Verdict(Status.VIOLATED, times, kept(findings), found=found)
    if requirement in inspection.open:
        candidates = inspection.candidates.get(requirement, ())
        why = inspection.open[requirement]
        return Verdict(Status.UNKNOWN, times, kept(findings), why, found, candidates)
    if not checked:
        return Verdict(Status.NOT_IMPLEMENTED, reason="no screen yet")
    return Verdict(Status.PASS if times else Status.NOT_EXERCISED, times)


@cache
def not_applicable(
    profile_name: str, lacks: tuple[str, ...] = (), screens: tuple[Screen, ...] = ALL
) -> Mapping[str, str]:
    """The requirements that the profile, or what its broker lacks, puts out of question: ID -> why."""
    title, own = profile(profile_name).title, requirements_of(profile_name)
    exempt = {requirement: f"not a rule of {title}" for requirement in catalogue() if requirement not in own}
    for screen in screens:
        for requirement, needs in screen.needs.items():
            missing = [need for need in needs if need in lacks]
            if missing:
                exempt.setdefault(requirement, f"the broker lacks {', '.join(missing)}")
    return exempt


@cache
def _in_question(
    profile_name: str, lacks: tuple[str, ...], screens: tuple[Screen, ...]
) -> tuple[Screen, ...]:
    """The screens of which some row applies."""
    exempt = not_applicable(profile_name, lacks, screens).keys()
    return tuple(screen for screen in screens if not exempt >= set(screen.requirements))


def _guarded(screen: Screen, facts: Facts, alarm: _Alarm) -> Report:
    """The screen's report; its crash or timeout is a report too, which leaves all its rows open."""
    try:
        try:
            alarm.start()
            report = screen.check(facts)
            return left_open(facts, report) if facts.unfollowed else report
        finally:
            alarm.meant = False
    except Exception as error:
        reason = f"screen {screen.name}: {type(error).__name__}: {error}"
        return Report(open=dict.fromkeys(screen.requirements, reason), crashed=True)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without garbage collection: one comes with every so many objects made, goes through all of a long
    history, and finds nothing, for what a screen leaves is not in cycles."""
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
    """Raises `ScreenTimeout` in what takes longer than ``seconds`` from its `start` on, if it is still
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
            raise ScreenTimeout(f"no verdict within {self.seconds:g} s")
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
