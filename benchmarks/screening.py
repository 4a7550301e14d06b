"""The screens on randomly edited histories of the reference: what they miss of what the judge rejects, and
what they suspect though the judge accepts it.

Each history is that of a campaign's program, with one random edit. What no clause of the model is about the
judge cannot reject, so that it says nothing of a screen's finding there. It also rejects what only breaks
requirements that the family is not bound by (a lost lock that settles, RCV-8, on solace); no verdict follows
from that, so no screen has to find it, and it is counted apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Final, NamedTuple

from partq.conformance.history import History
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.screens.assess import inspect
from partq.conformance.verdict import Inspection
from partq.conformance.workload.generator import trace_seed
from partq.model import clauses
from partq.model.profiles import requirements_of

from .edited import drawn, edited
from .figure import Figure

SEED: Final = 4_052
PROFILES: Final = ("azure-standard", "azure-premium", "azure-flat", "solace")
HISTORIES: Final = 600
"""How many of each profile."""
LENGTH: Final = 12
"""Phrases in each program: of longer ones the judge leaves many undecided, and those mostly where it would
reject."""
NODES: Final = 5_000
"""How many nodes the judge may visit for each: counted, so that equal seeds give equal figures."""
TIME_LIMIT: Final = 30.0
"""Seconds after which the judge gives up whatever the nodes; never reached."""
MISSED: Final = 0.03


class Screened(NamedTuple):
    """An edited history, and what judge and screens say of it. ``unbound``: it is rejected only for what the
    family is not bound by; looked at where no screen suspects anything."""

    history: History
    judged: Judged
    inspection: Inspection
    unbound: bool = False

    @property
    def missed(self) -> bool:
        """Whether the judge rejects what passes all screens."""
        return self.judged is Judged.REJECTED and not self.inspection.broken and not self.unbound

    @property
    def false_alarm(self) -> bool:
        """Whether the judge accepts what a screen says violates what is modelled."""
        said = self.inspection.findings.keys() | self.inspection.candidates.keys()
        return self.judged is Judged.ACCEPTED and bool(said & set(clauses.covered()))


def figures() -> list[Figure]:
    """Of each profile the share that the screens miss, and the number of false alarms."""
    return [figure for profile in PROFILES for figure in _figures(profile)]


def _figures(profile: str) -> Iterator[Figure]:
    found: Counter[str] = Counter()
    for screened in screenings(profile, HISTORIES):
        found[screened.judged] += 1
        found["missed"] += screened.missed
        found["unbound"] += screened.unbound
        found["false alarms"] += screened.false_alarm
    missed, rejected, alarms = (
        found["missed"],
        found[Judged.REJECTED] - found["unbound"],
        found["false alarms"],
    )
    share = missed / rejected
    what = f"screens, {profile}, {HISTORIES:,} edited histories"
    shown = (
        f"{share:.1%} ({missed} of {rejected}; {found['unbound']} more break nothing that binds; "
        f"{found[Judged.UNKNOWN]} undecided)"
    )
    yield Figure(f"{what}: rejected, and missed", shown, f"≤ {MISSED:.0%}", share, share <= MISSED)
    yield Figure(f"{what}: false alarms", f"{alarms} of {found[Judged.ACCEPTED]}", "0", alarms, not alarms)


def screenings(profile: str, count: int, first: int = 0) -> Iterator[Screened]:
    """Judge and screens on ``count`` edited histories, from number ``first`` on."""
    unbinding = frozenset(clauses.covered()) - requirements_of(profile)
    for history in histories(profile, count, first):
        judged, inspection = judge(history, TIME_LIMIT, nodes=NODES).status, inspect(history)
        unbound = judged is Judged.REJECTED and not inspection.broken
        if unbound:
            again = judge(history, TIME_LIMIT, waived=unbinding, nodes=NODES)
            unbound = again.status is Judged.ACCEPTED
        yield Screened(history, judged, inspection, unbound)


def histories(profile: str, count: int, first: int = 0) -> Iterator[History]:
    """Edited histories, each the same whichever are asked for."""
    for number in range(first, first + count):
        history = drawn(profile, trace_seed(SEED, number), LENGTH)
        yield edited(history, Random(f"{profile}/{SEED}/{number}"))
