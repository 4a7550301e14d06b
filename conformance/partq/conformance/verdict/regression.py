"""Two runs of one broker: what the last newly violates, what it fixes, what it does not exercise any more.
Pure.

Nothing is called fixed that merely was not exercised again, nor newly violated where the run before may have
violated just that ("one of several").
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from enum import Enum, StrEnum, auto
from typing import Final, NamedTuple

from partq.conformance.verdict.columns import Column
from partq.conformance.verdict.exit_codes import Exit, exit_code, worst
from partq.conformance.verdict.types import Status, Verdict, Verdicts


class Change(StrEnum):
    """What became of one requirement, in the order in which it is told."""

    NEW = "newly violated"
    OPENED = "left open now"
    LOST = "no longer exercised"
    STILL = "still violated"
    FIXED = "fixed"
    DECIDED = "decided now"
    GAINED = "exercised now"

    @property
    def words(self) -> str:
        """The change as a user reads it; its value is for data."""
        return "undecided now" if self is Change.OPENED else self.value


class _Says(Enum):
    """What a run says of a requirement. ``SILENT``: it did not exercise it, or it does not apply."""

    BAD = auto()
    OPEN = auto()
    GOOD = auto()
    SILENT = auto()


_CHANGES: Final[Mapping[tuple[_Says, _Says], Change | None]] = {
    **{(before, _Says.BAD): Change.NEW for before in _Says},
    **{(before, _Says.OPEN): Change.OPENED for before in _Says},
    **{(before, _Says.SILENT): Change.LOST for before in _Says},
    (_Says.BAD, _Says.BAD): Change.STILL,
    (_Says.BAD, _Says.GOOD): Change.FIXED,
    (_Says.OPEN, _Says.GOOD): Change.DECIDED,
    (_Says.SILENT, _Says.GOOD): Change.GAINED,
    **dict.fromkeys(((says, says) for says in _Says if says is not _Says.BAD), None),
}
"""What the first and the last run say -> what became of it; None where that is no news."""


class Changed(NamedTuple):
    """One requirement of which the runs do not say the same, or which both violate. ``binding``: whether it
    counts for the exit code."""

    requirement: str
    change: Change
    before: Verdict
    after: Verdict
    binding: bool


class Regression(NamedTuple):
    """What became of each requirement under one profile, the worst first. ``code``, ``why``: the exit code
    that this comes to, and its reason; of 0 there is none."""

    profile: str
    changes: tuple[Changed, ...]
    code: int
    why: str

    def of(self, *changes: Change) -> list[str]:
        """The requirements of which this became."""
        return [one.requirement for one in self.changes if one.change in changes]


def regression(before: Column, after: Column, binding: Collection[str]) -> Regression:
    """What became of the requirements from the first run to the last, under the same profile."""
    was_bad, is_bad = suspects(before.verdicts), suspects(after.verdicts)
    changes = []
    for id, verdict in after.verdicts.items():
        first, last = before.verdicts[id], verdict
        change = _CHANGES[_said(id, first, is_bad), _said(id, last, was_bad)]
        if change is not None:
            changes.append(Changed(id, change, first, last, id in binding))
    order = list(Change)
    changes.sort(key=lambda one: order.index(one.change))
    code, why = _ending(before, after, changes, binding)
    return Regression(after.profile, tuple(changes), code, why)


def suspects(verdicts: Verdicts) -> set[str]:
    """The requirements that are violated, and those of which one is."""
    certain = {id for id, verdict in verdicts.items() if verdict.status is Status.VIOLATED}
    return certain.union(*(verdict.candidates for verdict in verdicts.values()))


def _said(id: str, verdict: Verdict, others: AbstractSet[str]) -> _Says:
    """What one run says of the requirement. That it is one of several leaves it open where the other run
    suspects another one of these, and not it: that may be the same violation."""
    if not verdict.candidates:
        return _BY_STATUS.get(verdict.status, _Says.SILENT)
    return _Says.BAD if id in others or others.isdisjoint(verdict.candidates) else _Says.OPEN


_BY_STATUS: Final = {
    Status.VIOLATED: _Says.BAD,
    Status.UNKNOWN: _Says.OPEN,
    Status.PASS: _Says.GOOD,
    Status.SEEN: _Says.GOOD,
}

_SPOKEN: Final = frozenset({Status.PASS, Status.VIOLATED})


def _ending(
    before: Column, after: Column, changes: Iterable[Changed], binding: Collection[str]
) -> tuple[int, str]:
    """The exit code and its reason: newly violated before undecided before nothing to tell."""
    reasons = [*_reasons(changes, binding), *_reasons_of_run(before, after, binding)]
    if not reasons:
        return Exit.CONFORMANT, ""
    code = worst(code for code, _ in reasons)
    return code, "; ".join(why for found, why in reasons if found == code)


def _reasons(changes: Iterable[Changed], binding: Collection[str]) -> Iterable[tuple[int, str]]:
    """The codes that changes of what binds come to."""
    counted = [one for one in changes if one.binding]
    new = {one.requirement: one.after for one in counted if one.change is Change.NEW}
    if exit_code(new, binding) == Exit.VIOLATED:
        yield Exit.VIOLATED, _violated(new)
    elif new:  # one of several, of which not all bind
        yield Exit.INCONCLUSIVE, _violated(new)
    if opened := [one.requirement for one in counted if one.change is Change.OPENED]:
        yield Exit.INCONCLUSIVE, f"{', '.join(opened)} undecided now"


def _reasons_of_run(before: Column, after: Column, binding: Collection[str]) -> Iterable[tuple[int, str]]:
    """The codes of the last run as a whole. A violation that no verdict tells of is none where there was one
    before, too."""
    if not any(verdict.status in _SPOKEN for id, verdict in after.verdicts.items() if id in binding):
        yield Exit.INCONCLUSIVE, "the last run exercised nothing"
    if after.code and (after.code != Exit.VIOLATED or before.code != Exit.VIOLATED):
        yield after.code, f"the last run ended with {after.why}"


def _violated(new: Mapping[str, Verdict]) -> str:
    certain = [id for id, verdict in new.items() if not verdict.candidates]
    said = [f"{', '.join(certain)} newly violated"] if certain else []
    several = dict.fromkeys(verdict.ambiguity for verdict in new.values() if verdict.candidates)
    return "; ".join([*said, *(f"newly {text}" for text in several)])


_WORDS: Final = {
    Exit.CONFORMANT: "NOTHING NEWLY VIOLATED",
    Exit.VIOLATED: "REGRESSION",
    Exit.INCONCLUSIVE: "INCONCLUSIVE",
}

_TOLD: Final = (Change.STILL, Change.FIXED, Change.LOST, Change.GAINED)
"""What is counted in the conclusion where nothing is newly violated."""


def conclusion(regressions: Iterable[Regression], dropped: Iterable[str]) -> tuple[int, str]:
    """The exit code of two runs under all their profiles, and the same in a line of words. ``dropped``: the
    profiles of the first run that the last has not."""
    found = tuple(regressions)
    code = worst(one.code for one in found)
    if code == Exit.CONFORMANT:
        said = list(_counts(found))
    else:
        several = len(found) > 1
        said = [one.why + f" ({one.profile})" * several for one in found if one.code == code]
    said += [f"no longer run under {name}" for name in dropped]
    return code, f"{_WORDS[code]}: {'; '.join(said) or 'both runs say the same'}"


def _counts(found: Iterable[Regression]) -> Iterable[str]:
    changed = [one for each in found for one in each.changes]
    loose = dict.fromkeys(one.requirement for one in changed if one.change is Change.NEW)
    if loose:
        yield f"newly violated, but no MUST: {', '.join(loose)}"
    for change in _TOLD:
        if number := sum(one.change is change for one in changed):
            yield f"{number} {change.value}"
