"""From a history to verdicts: every checker on every entity, a crash or a timeout of one is `unknown`."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from partq.model.profiles import profile
from partq.model.requirements import catalogue

from .checkers import ALL, Checker, Report
from .facts import Facts, facts_of
from .history import Header, History
from .verdict import Finding, Status, Verdict

CHECKER_LIMIT = 60.0
"""Seconds one checker may take on one history before its verdict is `unknown`."""


class CheckerTimeout(Exception):
    """A checker took longer than its limit."""


def assess(
    history: History, checkers: Sequence[Checker] = ALL, limit: float = CHECKER_LIMIT
) -> dict[str, Verdict]:
    """The verdict of every requirement of the catalogue on this history, in the catalogue's order."""
    exercised: dict[str, int] = {}
    findings: dict[str, list[Finding]] = {}
    unsettled: dict[str, str] = {}
    for facts in facts_of(history):
        for checker in checkers:
            try:
                report = _run(checker, facts, limit)
            except Exception as error:  # noqa: BLE001 - a checker's crash is a verdict, not the run's end
                reason = f"checker {checker.name}: {type(error).__name__}: {error}"
                unsettled.update(dict.fromkeys(checker.requirements, reason))
                continue
            for requirement, count in report.exercised.items():
                exercised[requirement] = exercised.get(requirement, 0) + count
            for finding in report.findings:
                findings.setdefault(finding.requirement, []).append(finding)
            unsettled.update(report.open)
    return _verdicts(history, checkers, exercised, findings, unsettled)


def _verdicts(
    history: History,
    checkers: Sequence[Checker],
    exercised: dict[str, int],
    findings: dict[str, list[Finding]],
    unsettled: dict[str, str],
) -> dict[str, Verdict]:
    checked = {requirement for checker in checkers for requirement in checker.requirements}
    exempt = not_applicable(history.header, checkers)
    verdicts = {}
    for requirement in catalogue():
        times = exercised.get(requirement, 0)
        if requirement in exempt:
            verdict = Verdict(Status.NOT_APPLICABLE, reason=exempt[requirement])
        elif requirement in findings:
            verdict = Verdict(Status.VIOLATED, times, tuple(findings[requirement]))
        elif requirement in unsettled:
            verdict = Verdict(Status.UNKNOWN, times, reason=unsettled[requirement])
        elif requirement not in checked:
            verdict = Verdict(Status.NOT_IMPLEMENTED, reason="no checker yet")
        else:
            verdict = Verdict(Status.PASS if times else Status.NOT_EXERCISED, times)
        verdicts[requirement] = verdict
    return verdicts


def not_applicable(header: Header, checkers: Sequence[Checker] = ALL) -> dict[str, str]:
    """The requirements that the header's profile, or what its broker lacks, puts out of question: ID -> why."""
    family = profile(header.profile)
    exempt = {
        requirement: f"not a rule of {family.title}"
        for requirement, row in catalogue().items()
        if (
            requirement not in family.overrides
            if family.column is None
            else family.column not in row.profiles
        )
    }
    lacks = set(header.lacks)
    for checker in checkers:
        for requirement, needs in checker.needs.items():
            if lacks.intersection(needs):
                missing = ", ".join(need for need in needs if need in lacks)
                exempt.setdefault(requirement, f"the broker lacks {missing}")
    return exempt


def _run(checker: Checker, facts: Facts, limit: float) -> Report:
    with _time_limit(limit):
        return checker.check(facts)


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise `CheckerTimeout` in the body after ``seconds``; without effect off the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def expired(signum: int, frame: FrameType | None) -> None:
        raise CheckerTimeout(f"no verdict within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
