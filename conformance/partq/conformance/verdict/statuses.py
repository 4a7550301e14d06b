"""From what was seen of each requirement to its status: the one place where a verdict's status is set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Final, Protocol

from partq.conformance.verdict.activity import FIELDS, Activity, absent
from partq.conformance.verdict.inspection import Doubt, Inspection
from partq.conformance.verdict.merging import resolved
from partq.conformance.verdict.types import Status, Verdict, Verdicts, kept
from partq.model.profiles import bare, profile, requirements_of
from partq.model.requirements import Level, catalogue


class Check(Protocol):
    """What a screen is to a verdict. ``requirements``: those that it puts to the test. ``needs``: requirement
    -> the operations, faults and `FIELDS` without which it does not apply to a broker."""

    @property
    def requirements(self) -> tuple[str, ...]: ...
    @property
    def needs(self) -> Mapping[str, tuple[str, ...]]: ...


def verdicts_of(
    inspection: Inspection, profile_name: str, checks: Sequence[Check], lacks: tuple[str, ...] = ()
) -> dict[str, Verdict]:
    """An inspection (of one history, or many added up) as a verdict for every requirement of the catalogue.
    ``checks``: what the histories were inspected by. ``lacks``: the operations that the broker lacks."""
    checked = {requirement for check in checks for requirement in check.requirements}
    exempt = not_applicable(profile_name, tuple(checks), lacks)
    return resolved(
        {
            requirement: Verdict(Status.NOT_APPLICABLE, reason=exempt[requirement])
            if requirement in exempt
            else _verdict(requirement, inspection, requirement in checked)
            for requirement in catalogue()
        }
    )


SHOWN_AS: Final = {"ROUTE-1": ("ROUTE-2", "equal keys were in two partitions")}
"""Requirement -> another one, whose violation contradicts it by the letter, and why: then it does not pass.
The violation is shown as the one that explains it better."""


_NOTHING: Final = Doubt()


def _verdict(requirement: str, inspection: Inspection, checked: bool) -> Verdict:
    times = inspection.exercised.get(requirement, 0)
    doubt = inspection.doubts.get(requirement, _NOTHING)
    one = int(bool(times or doubt.why)), int(doubt.undecided)
    traces, undecided = inspection.traces.get(requirement, one)
    of = partial(Verdict, exercised=times, traces=traces, undecided=undecided)
    if doubt.certain:
        return of(Status.VIOLATED, findings=kept(doubt.findings), found=doubt.found)
    if doubt.why:
        return of(
            Status.UNKNOWN,
            findings=kept(doubt.findings),
            reason=doubt.why,
            found=doubt.found,
            candidates=doubt.candidates,
            together=inspection.together(doubt.candidates),
        )
    if not checked:
        return Verdict(Status.NOT_IMPLEMENTED, reason="nothing checks it yet")
    other, why = SHOWN_AS.get(requirement, ("", ""))
    if times and inspection.doubts.get(other, _NOTHING).certain:
        return of(Status.UNKNOWN, reason=f"{why}: see {other}")
    return of(held(requirement) if times else Status.NOT_EXERCISED)


def held(requirement: str) -> Status:
    """The status of a requirement that was exercised, and against which nothing speaks: nothing can speak
    against a MAY, which therefore does not pass, but is seen."""
    row = catalogue().get(requirement)
    return Status.SEEN if row is not None and row.level is Level.MAY else Status.PASS


@cache
def not_applicable(
    profile_name: str, checks: tuple[Check, ...] = (), lacks: tuple[str, ...] = ()
) -> Mapping[str, str]:
    """The requirements that the profile, or what its broker lacks, puts out of question: ID -> why."""
    family, own = profile(profile_name), requirements_of(profile_name)
    lacks = (*lacks, *(() if family.partitioned else ("partitions",)))
    why = f"not a rule of the profile {bare(profile_name)}"
    exempt = {requirement: why for requirement in catalogue() if requirement not in own}
    for check in checks:
        for requirement, needs in check.needs.items():
            missing = [need for need in needs if need in lacks]
            if missing:
                verb = "shows no" if missing[0] in FIELDS else "lacks"
                exempt.setdefault(requirement, f"the broker {verb} {', '.join(missing)}")
    return exempt


def narrowed(
    verdicts: Verdicts, profile_name: str, checks: Sequence[Check], activity: Activity
) -> dict[str, Verdict]:
    """The verdicts of all histories of a broker, where a requirement that none exercised does not apply if
    the broker never had, or showed, what that takes."""
    exempt = not_applicable(profile_name, tuple(checks), absent(activity))
    return {
        id: Verdict(Status.NOT_APPLICABLE, reason=exempt[id])
        if verdict.status is Status.NOT_EXERCISED and id in exempt
        else verdict
        for id, verdict in verdicts.items()
    }
