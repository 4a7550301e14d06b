"""Every screen on every entity of a history; a crash or a timeout of one leaves its requirements open."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from time import monotonic
from types import FrameType
from typing import Final

from partq.conformance.facts.index import Facts, facts_of
from partq.conformance.history import History, collector
from partq.conformance.history.lost_connections import with_lost_connections
from partq.conformance.history.partition_names import named_by_numbers
from partq.conformance.screens.protocol import Report, Screen
from partq.conformance.screens.registry import ALL
from partq.conformance.screens.unsupported import left_open
from partq.conformance.verdict import Inspection, not_applicable
from partq.model.profiles import profile

SCREEN_LIMIT = 60.0
"""Seconds one screen may take on one history before its verdict is `unknown`."""


SOON = 1e-6
"""Seconds until the end of a timer that should have ended while it was suspended."""

LOOKS: Final = 4
"""How often, within the limit, it is looked at whether a screen takes longer."""


class ScreenTimeout(Exception):
    """A screen took longer than its limit."""


def inspect(history: History, screens: Sequence[Screen] = ALL, limit: float = SCREEN_LIMIT) -> Inspection:
    """Run every screen on every entity of the history. Rows that do not apply are left out."""
    question = history.header.profile, tuple(screens), history.header.lacks
    exempt = not_applicable(*question).keys()
    with collector.paused():
        inspection = _inspected(history, _in_question(*question), exempt, limit)
    for requirement in exempt & (inspection.exercised.keys() | inspection.doubts.keys()):
        inspection.drop(requirement)
    return inspection


def _inspected(history: History, screens: Sequence[Screen], exempt: Set[str], limit: float) -> Inspection:
    """The reports of these screens on every entity. The facts are dropped when it returns."""
    inspection = Inspection()
    records = named_by_numbers(history.records, profile(history.header.profile))
    with _alarm(limit) as alarm:
        for facts in facts_of(History(history.header, with_lost_connections(records))):
            for screen in screens:
                take_in(inspection, _guarded(screen, facts, exempt, alarm))
            facts.forget()
    return inspection


def take_in(inspection: Inspection, report: Report) -> None:
    """Add one screen's report."""
    exercised = inspection.exercised
    for requirement, count in report.exercised.items():
        exercised[requirement] = exercised.get(requirement, 0) + count
    for finding in report.findings:
        inspection.doubt(finding.requirement).findings.append(finding)
    for requirement, causes in report.found.items():
        inspection.doubt(requirement).found.update(causes)
    for requirement, why in report.open.items():
        doubt = inspection.doubt(requirement)
        doubt.crashed |= report.crashed
        doubt.leave_open(why, report.candidates.get(requirement, ()))


@cache
def _in_question(
    profile_name: str, screens: tuple[Screen, ...], lacks: tuple[str, ...]
) -> tuple[Screen, ...]:
    """The screens of which some requirement applies."""
    exempt = not_applicable(profile_name, screens, lacks).keys()
    return tuple(screen for screen in screens if not exempt >= set(screen.requirements))


def _guarded(screen: Screen, facts: Facts, exempt: Set[str], alarm: _Alarm) -> Report:
    """The screen's report; its crash or timeout is a report too, which leaves all its rules undecided."""
    try:
        try:
            alarm.since = monotonic()
            report = screen.check(facts)
            report.settle(exempt)
            return left_open(facts, report)
        finally:
            alarm.since = None
    except Exception as error:
        reason = f"screen {screen.name}: {type(error).__name__}: {error}"
        return Report(open=dict.fromkeys(screen.requirements, reason), crashed=True)


_start_timer: Final = partial(signal.setitimer, signal.ITIMER_REAL)
"""Seconds to the end, and from then on to every further one."""


@dataclass(slots=True)
class _Alarm:
    """Raises `ScreenTimeout` in what takes longer than ``seconds`` from ``since`` on; None: nothing is timed.
    One timer runs all the while and looks at the clock, for setting one costs more than many a check."""

    seconds: float
    since: float | None = None

    def look(self, signum: int, frame: FrameType | None) -> None:
        """Handle the timer's signal."""
        if self.since is not None and monotonic() - self.since >= self.seconds:
            raise ScreenTimeout(f"no verdict within {self.seconds:g} s")


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
    handler = signal.signal(signal.SIGALRM, alarm.look)
    _start_timer(seconds / LOOKS, seconds / LOOKS)
    try:
        yield alarm
    finally:
        _start_timer(0)
        signal.signal(signal.SIGALRM, handler)
        if left:
            _start_timer(max(left - (monotonic() - began), SOON), every)
