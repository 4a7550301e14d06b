"""The TLA+ specification, followed by TLC, against the judge: reference histories and edited ones.

What TLC rejects the judge has to reject; reference histories are accepted by both. The specification has no
clock: what the judge rejects for times alone (SEQ-7, RCV-13) TLC cannot. Histories that TLC does not follow,
or not within its limit, say nothing. Disagreements are printed with the seed, so that they can be settled by
the catalogue."""

from __future__ import annotations

import os
from collections import Counter
from random import Random
from time import perf_counter, thread_time
from typing import Final, NamedTuple

from rich.console import Console

from partq.conformance.adapters import open_broker
from partq.conformance.execution.runner import run
from partq.conformance.history import History
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.oracle.specified import recordings_of
from partq.conformance.workload.generator import generate, trace_seed
from partq.spec.validation import BATCH, NotFollowed, Recording, Status, Validated, validate

from .edited import edited_somehow
from .figure import Figure

SEED: Final = 2_026
HISTORIES: Final = int(os.environ.get("PARTQ_VALIDATION", "100"))
"""How many reference histories a profile; as many edited ones."""

PROFILES: Final = ("azure-premium", "azure-standard", "azure-flat")
CLOCK: Final = frozenset({"SEQ-7", "RCV-13"})
"""What only a clock can tell."""

LENGTH: Final = 28
SECONDS: Final = 10.0
STATES: Final = 12_000


class Case(NamedTuple):
    """A history and how it was made."""

    name: str
    edit: str
    history: History


def figures() -> list[Figure]:
    """Each profile's agreement, and how much faster the judge is."""
    return [figure for profile in PROFILES for figure in _compared(profile)]


def _cases(profile: str) -> list[Case]:
    broker = open_broker("reference")
    broker.profile = profile
    lacks = broker.lacks()
    found = []
    for number in range(HISTORIES):
        history = run(broker, generate(profile, trace_seed(SEED, number), length=LENGTH, lacks=lacks))
        edit, other = edited_somehow(history, Random(number))
        found += [Case(f"{profile} {number}", "", history), Case(f"{profile} {number}", edit, other)]
    return found


def _compared(profile: str) -> list[Figure]:
    out = Console(highlight=False, stderr=True)
    cases = _cases(profile)
    recordings = [next(iter(recordings_of(case.history).values())) for case in cases]
    answers, seconds = _validated(recordings)
    table: Counter[tuple[str, str, str]] = Counter()
    classes: Counter[str] = Counter()
    wrong, spent, events = 0, 0.0, 0
    for case, answer in zip(cases, answers, strict=True):
        began = thread_time()
        status = judge(case.history, SECONDS).status
        took = thread_time() - began
        table["edited" if case.edit else "reference", str(status), str(answer.status)] += 1
        if answer.status in (Status.ACCEPTED, Status.REJECTED) and status is not Judged.UNKNOWN:
            spent, events = spent + took, events + len(case.history)
        if answer.status is Status.REJECTED and (status is Judged.ACCEPTED or not case.edit):
            wrong += 1
            out.print(
                f"DISAGREE {case.name} [{case.edit}]: judge {status}, TLC rejects record {answer.record}",
                markup=False,
            )
        if answer.status is Status.ACCEPTED and status is Judged.REJECTED:
            waived = judge(case.history, SECONDS, waived=CLOCK).status
            kind = "times" if waived is Judged.ACCEPTED else f"other: {case.edit}"
            classes[kind] += 1
            if kind != "times":
                out.print(f"MISSED {case.name} [{case.edit}]", markup=False)
    for (kind, judged, followed), count in sorted(table.items()):
        out.print(f"{profile}: {kind}: judge {judged}, TLC {followed}: {count}", markup=False)
    for kind, count in sorted(classes.items()):
        out.print(f"{profile}: judge rejected, TLC accepted: {kind}: {count}", markup=False)
    decided = sum(n for (_, _, status), n in table.items() if status in ("accepted", "rejected"))
    ratio = seconds / spent if spent else 0.0
    other = sum(count for kind, count in classes.items() if kind != "times")
    return [
        Figure(
            f"TLC follows histories, {profile}",
            f"{decided} of {len(cases)} decided; {wrong} rejected that the judge accepts; "
            f"{sum(classes.values())} only the judge rejects, {other} of them not for times",
            "0 rejected that the judge accepts",
            float(wrong),
            wrong == 0,
        ),
        Figure(
            f"judge / TLC, events a second, {profile}",
            f"{events / spent:,.0f} / {events / seconds:,.0f} = {ratio:,.0f}" if spent else "nothing decided",
            "none",
            ratio,
            True,
        ),
    ]


def _validated(recordings: list[Recording | NotFollowed]) -> tuple[list[Validated], float]:
    """What TLC says, and the seconds that took."""
    followed = [(n, one) for n, one in enumerate(recordings) if isinstance(one, Recording)]
    followed.sort(key=lambda pair: (sorted(pair[1].words), pair[1].partitions, len(pair[1].operations)))
    answers = [Validated(Status.NOT_FOLLOWED, reason=str(one)) for one in recordings]
    began = perf_counter()
    for start in range(0, len(followed), BATCH):
        batch = followed[start : start + BATCH]
        for (n, _), answer in zip(
            batch, validate([one for _, one in batch], STATES, locate=False), strict=True
        ):
            answers[n] = answer
    return answers, perf_counter() - began
