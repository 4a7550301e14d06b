"""Verdicts as JUnit XML, as GitLab, Jenkins and test reporters of GitHub read it. Pure.

A test suite for each profile, in it a test case for each rule; and the conclusion as one of its own, so that
the file has a failure or an error if and only if the exit code is not 0. What is known is skipped.

Rules share their programs, so the time of one is split among the rules that it exercised: a rule's time is
its share of all programs that exercised it, and the times of all rules add up to that of the programs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from time import monotonic
from typing import Final
from xml.etree import ElementTree as xml

from partq.conformance.frontends.cli.rule_outcomes import Outcome, RuleOutcome
from partq.conformance.frontends.cli.streams import printable
from partq.conformance.verdict import Exit, Verdicts

_TAGS: Final = {
    Outcome.FAILED: "failure",
    Outcome.ERROR: "error",
    Outcome.KNOWN: "skipped",
    Outcome.SKIPPED: "skipped",
}
"""What stands in a test case that did not pass."""

_COUNTS: Final = {"failures": "failure", "errors": "error", "skipped": "skipped"}

_CONCLUDED: Final = {Exit.CONFORMANT: Outcome.PASSED, Exit.VIOLATED: Outcome.FAILED}


Place = tuple[str, str]
"""A profile and a rule under it."""


class RuleTimes:
    """A stopwatch, started when it is made. ``seconds``: those of each rule under each profile so far."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._begun = self._last = clock()
        self.seconds: dict[Place, float] = {}

    def lap(self, results: Mapping[str, Verdicts]) -> None:
        """Split the time since the last lap among the rules that these verdicts (of each profile) are based
        on, by the number of traces that exercised each."""
        now = self._clock()
        traces = {
            (profile, id): one.traces for profile, found in results.items() for id, one in found.items()
        }
        total = sum(traces.values())
        for place, number in traces.items():
            if number:
                share = (now - self._last) * number / total
                self.seconds[place] = self.seconds.get(place, 0.0) + share
        self._last = now

    @property
    def rest(self) -> float:
        """The seconds since the start that are no rule's."""
        return max(0.0, self._clock() - self._begun - sum(self.seconds.values()))


def junit(
    broker: str, outcomes: Iterable[RuleOutcome], code: int, conclusion: str, times: RuleTimes
) -> bytes:
    """The XML document. ``broker``: its name as it may be shown. ``times``: how long each rule took; the rest
    of the time is the conclusion's."""
    by_profile: dict[str, list[xml.Element]] = {}
    for one in outcomes:
        seconds = times.seconds.get((one.profile, one.requirement), 0.0)
        about = f"{one.requirement} {one.title}", f"partq.{one.profile}"
        rule = _case(*about, one.outcome, one.message, one.text, seconds)
        by_profile.setdefault(one.profile, []).append(rule)
    ended = _CONCLUDED.get(code, Outcome.ERROR)
    end = _case("conclusion", "partq", ended, printable(conclusion), "", times.rest)
    name = printable(broker)
    suites = [_group("testsuite", f"{name}, {profile}", cases) for profile, cases in by_profile.items()]
    root = _group("testsuites", "partq", [*suites, _group("testsuite", name, [end])])
    xml.indent(root)
    document: bytes = xml.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _group(tag: str, name: str, inside: Iterable[xml.Element]) -> xml.Element:
    group = xml.Element(tag, name=name)
    group.extend(inside)
    tags = Counter(one.tag for one in group.iter())
    group.set("tests", str(tags["testcase"]))
    for count, counted in _COUNTS.items():
        group.set(count, str(tags[counted]))
    group.set("time", f"{sum(float(one.get('time', '')) for one in group.iter('testcase')):.3f}")
    return group


def _case(name: str, group: str, outcome: Outcome, message: str, text: str, seconds: float) -> xml.Element:
    case = xml.Element("testcase", name=name, classname=group, time=f"{seconds:.3f}")
    if outcome in _TAGS:
        said = xml.SubElement(case, _TAGS[outcome], message=message, type=outcome.value)
        said.text = text or message
    return case
