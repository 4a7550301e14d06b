"""The TLA+ specification, followed by TLC, against the judge: campaign histories and edited ones, and the
time of both.

The specification has no clock, and no mark of redelivery, so TLC accepts what the judge rejects for times or
marks alone: that is so where the judge accepts the history `without_clock_and_marks`, in either way. All else
is a disagreement, printed with its seed, to be settled by the catalogue. What one of them does not decide
says nothing.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random
from time import process_time
from typing import Final, NamedTuple, TypeVar

from msgspec import structs
from rich.console import Console

from partq.conformance.history import History, Record
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.oracle.specified import recordings_of
from partq.conformance.workload.generator import trace_seed
from partq.model.profiles import SECOND
from partq.spec.validation import (
    Limits,
    NotFollowed,
    Recording,
    Status,
    Validated,
    batches,
    trace_of,
    validate,
)

from .edited import drawn, edited_somehow
from .figure import Figure

SEED: Final = 2_026
HISTORIES: Final = int(os.environ.get("PARTQ_VALIDATION", "280"))
"""How many campaign histories a profile, from the first on; as many edited ones."""

FIRST: Final = int(os.environ.get("PARTQ_VALIDATION_FIRST", "0"))
"""The first history's number, so that a long count can be made in parts."""

PROFILES: Final = {"azure-premium": 6, "azure-standard": 6, "azure-flat": 6, "solace": 4}
"""The profiles that are compared, and the phrases of a program of each: few, so that TLC decides most."""

CLOCK: Final = frozenset({"SEQ-7", "RCV-13"})
"""What only a clock can tell."""

NEVER: Final = 1_000_000 * SECOND
"""Longer than any history lasts, ns."""

TIMED: Final = 200
"""How many histories the times of both are measured on."""

TIMED_LENGTHS: Final = {"azure-premium": 20, "azure-standard": 16, "azure-flat": 21, "solace": 6}
"""The phrases of their programs: such as make histories of about 50 records."""

FASTER: Final = 50.0
"""How many times as many events a second the judge has to decide."""

SECONDS: Final = 3.0
"""Of the processor, for the judge and a history."""

BATCH: Final = 300
"""How many histories TLC is given at a time, at the most."""

LIMITS: Final = Limits(states=3_000, seconds=3_600.0)

FOLLOWED: Final = int(os.environ.get("PARTQ_VALIDATION_FOLLOWED", "40"))
"""On how many histories a profile that are followed `deciding` counts."""

DECIDED: Final = 0.95
"""The share of them that TLC has to decide."""

T = TypeVar("T")


class Case(NamedTuple):
    """A history and how it was made; ``edit`` is empty for one that was recorded so."""

    profile: str
    number: int
    edit: str
    history: History


def agreement() -> list[Figure]:
    """Each profile's agreement."""
    return [_agreement(profile) for profile in _asked()]


def _asked() -> Sequence[str]:
    return os.environ.get("PARTQ_VALIDATION_PROFILES", "").split() or [*PROFILES]


def deciding() -> list[Figure]:
    """How many histories of about 50 records TLC decides within the limits of `partq spec validate`, of each
    profile's first that the specification follows. What it does not follow is counted apart, and printed."""
    return [_deciding(profile) for profile in _asked()]


def _deciding(profile: str) -> Figure:
    followed: list[Recording] = []
    left_out: Counter[str] = Counter()
    numbers = itertools.count(FIRST)
    while len(followed) < FOLLOWED:
        history = drawn(profile, trace_seed(SEED, next(numbers)), TIMED_LENGTHS[profile])
        recording = next(iter(recordings_of(history).values()))
        try:
            if isinstance(recording, NotFollowed):
                raise recording
            trace_of(recording)
            followed.append(recording)
        except NotFollowed as why:
            left_out[str(why)] += 1
    limits = Limits(seconds=LIMITS.seconds)
    found = Counter(validate([one], limits, locate=False)[0].status for one in followed)
    out = Console(highlight=False, stderr=True, soft_wrap=True)
    out.print(f"{profile}: {dict(found)}; not followed: {dict(left_out)}", markup=False)
    decided = 1 - found[Status.UNKNOWN] / FOLLOWED
    return Figure(
        f"TLC decides, {profile}",
        f"{decided:.0%} of {FOLLOWED} that are followed; {left_out.total()} are not",
        f"{DECIDED:.0%}",
        decided,
        decided >= DECIDED,
    )


def figures() -> list[Figure]:
    """How much faster the judge is than TLC, on the same histories. Both times are the processor's; TLC's
    has Java's start in it, once for each batch."""
    cases = [
        Case(profile, number, "", drawn(profile, trace_seed(SEED, number), length))
        for profile, length in TIMED_LENGTHS.items()
        for number in range(TIMED // len(TIMED_LENGTHS))
    ]
    judged, judging = _timed(lambda: [judge(case.history, SECONDS).status for case in cases])
    followed, following = _timed(lambda: _validated([case.history for case in cases]))
    events = sum(len(case.history) for case in cases)
    ratio = following / judging
    decided = sum(status is not Judged.UNKNOWN for status in judged), sum(one.decided for one in followed)
    return [
        Figure(
            "judge / TLC, events a second of the processor",
            f"{events / judging:,.0f} / {events / following:,.0f} = {ratio:,.0f} x on {len(cases)} histories "
            f"of {events / len(cases):.0f} records; decided {decided[0]} / {decided[1]}",
            f"{FASTER:g} x",
            ratio,
            ratio >= FASTER,
        )
    ]


def _timed(action: Callable[[], T]) -> tuple[T, float]:
    """What the action gives, and the seconds of the processor that it and its children took."""
    began = process_time() + _children()
    found = action()
    return found, process_time() + _children() - began


def _children() -> float:
    times = os.times()
    return times.children_user + times.children_system


# Histories


def _cases(profile: str) -> Iterator[Case]:
    for number in range(FIRST, FIRST + HISTORIES):
        history = drawn(profile, trace_seed(SEED, number), PROFILES[profile])
        yield Case(profile, number, "", history)
        edit, other = edited_somehow(history, Random(number))
        yield Case(profile, number, edit, other)


def without_clock_and_marks(history: History) -> tuple[History, History]:
    """The history as one who has no clock knows it, without the times that a broker showed, and whether a
    message is marked as redelivered: timers may end late, by any time; or each at any time, early or late."""
    late = dataclasses.replace(history.header, late_ns=NEVER)
    brief = {
        name: dataclasses.replace(entity, lock_duration=1, rebalance_delay=0, max_handoff=0)
        for name, entity in late.entities.items()
    }
    vague = dataclasses.replace(late, entities=brief, skew_ns=NEVER)
    return (
        History(late, tuple(_showing(record, None) for record in history.records)),
        History(vague, tuple(_showing(record, record.call) for record in history.records)),
    )


def _showing(record: Record, until: int | None) -> Record:
    """The record with this end of the locks that it gave, and no other times."""
    return structs.replace(
        record,
        messages=tuple(
            shown._replace(
                enqueued_at=None, locked_until=None if shown.lock is None else until, redelivered=None
            )
            for shown in record.messages
        ),
    )


def rejected_for_times_or_marks(history: History) -> bool:
    """Whether the judge accepts a history that it rejects, once it has no clock and no marks."""
    return any(
        judge(timeless, SECONDS, waived=CLOCK).status is Judged.ACCEPTED
        for timeless in without_clock_and_marks(history)
    )


# Agreement


def _agreement(profile: str) -> Figure:
    out = Console(highlight=False, stderr=True, soft_wrap=True)
    cases = list(_cases(profile))
    found = _validated([case.history for case in cases])
    table: Counter[tuple[str, ...]] = Counter()
    reasons: Counter[str] = Counter()
    wrong = both = 0
    for case, answer in zip(cases, found, strict=True):
        said = _said(case, answer)
        table["edited" if case.edit else "recorded", *said] += 1
        both += str(Judged.UNKNOWN) not in said
        if not answer.decided:
            reasons["a limit of states" if answer.reason.startswith("more than") else answer.reason] += 1
        if said[2] == "DISAGREE":
            wrong += 1
            out.print(
                f"DISAGREE {case.profile} {case.number} [{case.edit}]: judge {said[0]}, TLC {said[1]} "
                f"at record {answer.record}",
                markup=False,
            )
    for row, count in sorted(table.items()):
        kind, judged, followed, why = row
        out.print(f"{profile}: {kind}: judge {judged}, TLC {followed} {why}: {count}", markup=False)
    for reason, count in reasons.most_common():
        out.print(f"{profile}: TLC does not decide: {reason}: {count}", markup=False)
    return Figure(
        f"judge and TLC agree, {profile}",
        f"{both} of {len(cases)} decided by both, {wrong} disagreements",
        "0 disagreements",
        float(wrong),
        wrong == 0,
    )


def _said(case: Case, answer: Validated) -> tuple[str, str, str]:
    """What the judge and TLC say, and how it fits together: not at all, or but for times. The judge is not
    asked what TLC does not decide."""
    if not answer.decided:
        return "not asked", str(answer.status), ""
    judged = judge(case.history, SECONDS).status
    words = str(judged), str(answer.status)
    if judged is Judged.UNKNOWN or words[0] == words[1]:
        return *words, ""
    if answer.status is Status.ACCEPTED and rejected_for_times_or_marks(case.history):
        return *words, "for times or marks"
    return *words, "DISAGREE"


def _validated(histories: Sequence[History]) -> list[Validated]:
    """What TLC says of each."""
    recordings = [next(iter(recordings_of(history).values())) for history in histories]
    followed = {n: one for n, one in enumerate(recordings) if isinstance(one, Recording)}
    found = [Validated(Status.DECLINED, reason=str(one)) for one in recordings]
    places = list(followed)
    for batch in batches(list(followed.values()), BATCH):
        answers = validate([followed[places[k]] for k in batch], LIMITS, locate=False)
        for k, answer in zip(batch, answers, strict=True):
            found[places[k]] = answer
    return found
