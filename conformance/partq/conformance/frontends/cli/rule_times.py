"""How long each rule took, for test reports.

Rules share their programs, so the time of one is split among the rules that it exercised: a rule's time is
its share of all programs that exercised it, and the times of all rules add up to that of the programs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic

from partq.conformance.verdict import Verdicts

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
