"""Verdicts held against a baseline: what of them is known, what is new, and what of the baseline has gone.
Pure.

A baseline lists violations that a team knows of, and rules that it knows to be undecided. What counts is what
the exit code counts: a violated requirement's causes, sets of requirements of which one is violated, and
undecided requirements. Nothing is excused but what an entry names: a violation by its rule, its cause and the
conditions that hold for each of its findings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, Final, NamedTuple

from partq.conformance.verdict.merging import ambiguities
from partq.conformance.verdict.types import Finding, Status, Verdict, Verdicts, explained_together
from partq.model.conditions import ALWAYS, narrowest
from partq.model.profiles import bare
from partq.model.profiles import known as known_profile

ANOTHER: Final = "another rule"
"""Among the rules of an entry: that it may be none of the others that is violated."""


class Kind(StrEnum):
    """What is wrong: a rule, or one of several, is violated; or it is undecided whether a rule is."""

    VIOLATED = "violated"
    OPEN = "open"


class Entry(NamedTuple):
    """Something known. ``rules``: the one it is about, or those of which one is violated. ``reason``: why
    that is accepted for now. ``profile``, ``cause``: under which, and by which `Finding.key`; where empty,
    under each and by any. ``sometimes``: not every run shows it, so that its absence says nothing, and that
    it may show by another cause. ``conditions``: those that hold for each finding that it covers; where
    empty, as in files of older versions, none has to."""

    kind: Kind
    rules: tuple[str, ...]
    reason: str
    profile: str = ""
    cause: str = ""
    sometimes: bool = False
    conditions: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What it is about, in words."""
        about = [*filter(None, (self.profile, self.cause)), *self._conditions]
        return f"{named(self.rules)} ({', '.join(about)})" if about else named(self.rules)

    @property
    def hides(self) -> str:
        """Why it may cover more than is known; empty where it does not."""
        if self.kind is Kind.OPEN or (self.conditions and (self.cause or self._conditions)):
            return ""
        return "it has no cause" if self.conditions else "it has no condition"

    @property
    def _conditions(self) -> list[str]:
        """The conditions that do not always hold."""
        return [name for name in self.conditions if name != ALWAYS]

    def covers(self, fault: Fault) -> bool:
        """Whether the fault is what this entry knows of. A rule that is known to be violated may also be
        undecided; one of several may be one of fewer, but no single one that is violated for certain."""
        if fault.kind is Kind.OPEN:
            return self.fits(fault.profile) and set(self.rules) >= set(fault.rules)
        certain = len(fault.rules) == 1
        rules = {*self.rules} - {ANOTHER} == {*fault.rules} if certain else {*self.rules} >= {*fault.rules}
        return self.kind is fault.kind and self.fits(fault.profile) and rules and self._explains(fault)

    def _explains(self, fault: Fault) -> bool:
        """Whether cause and conditions are those of the fault. Where causes vary from run to run, conditions
        decide."""
        cause = self.cause in ("", fault.cause) or (self.sometimes and bool(self._conditions))
        return cause and all({*self._conditions} <= {*names} for names in fault.circumstances)

    def fits(self, profile: str) -> bool:
        """Whether it is about that profile, too."""
        return self.profile in ("", profile, bare(profile))


class Fault(NamedTuple):
    """Something wrong under one profile, ``times`` times. ``cause``: the `Finding.key`; empty where nothing
    was found that has one. ``circumstances``: the conditions that hold for a finding of it, each set once."""

    kind: Kind
    profile: str
    rules: tuple[str, ...]
    cause: str = ""
    times: int = 0
    circumstances: tuple[tuple[str, ...], ...] = ((),)

    def binds(self, binding: Collection[str]) -> bool:
        """Whether it counts for the exit code."""
        return all(rule in binding for rule in self.rules if rule != ANOTHER)


class State(StrEnum):
    """What a run says of an entry that nothing in it matches."""

    GONE = "gone"
    SILENT = "silent"


class Absent(NamedTuple):
    """An entry that nothing matches, and why that is all, or not all, there is to say."""

    entry: Entry
    state: State
    why: str


class Matched(NamedTuple):
    """A run against a baseline. ``known``: what is wrong and in it, with the entry; ``new``: what is not. Of
    one cause some findings may be known and others, under other conditions, new."""

    known: tuple[tuple[Fault, Entry], ...]
    new: tuple[Fault, ...]
    absent: tuple[Absent, ...]

    @property
    def gone(self) -> tuple[Absent, ...]:
        """The entries to be removed."""
        return tuple(one for one in self.absent if one.state is State.GONE)

    def reason(self, profile: str, finding: Finding) -> str:
        """Why the finding is accepted; empty where it is not. Where one of its candidates is certainly
        violated and known, the finding says no more."""
        certain = (self._reason(profile, (id,)) for id in finding.candidates)
        return self._reason(profile, _named_by(finding), finding) or next(filter(None, certain), "")

    def reason_of(self, profile: str, candidates: tuple[str, ...]) -> str:
        """Why it is accepted that one of these is violated; empty where it is not."""
        return self._reason(profile, _rules(candidates))

    def _reason(self, profile: str, rules: tuple[str, ...], finding: Finding | None = None) -> str:
        """Of the first known violation of these rules, that the finding is of unless it is None."""
        return next(
            (
                entry.reason
                for fault, entry in self.known
                if (fault.kind, fault.profile, fault.rules) == (Kind.VIOLATED, profile, rules)
                and (finding is None or _is_of(finding, fault))
            ),
            "",
        )

    def reasons(self, profile: str, requirement: str) -> tuple[str, ...]:
        """Why what is wrong with the requirement is accepted, as far as it is."""
        found = (
            entry.reason
            for fault, entry in self.known
            if fault.profile == profile and requirement in fault.rules
        )
        return tuple(dict.fromkeys(found))

    def beyond(self, profile: str, verdicts: Verdicts) -> dict[str, Verdict]:
        """The verdicts as far as they are not known: what would hold but for that reads `pass`. For exit
        codes; nobody must be shown these as verdicts."""
        known = {rule for fault, _ in self.known if fault.profile == profile for rule in fault.rules}
        return {
            id: _beyond(verdict, [one for one in self.new if one.profile == profile and id in one.rules])
            if id in known
            else verdict
            for id, verdict in verdicts.items()
        }


def named(rules: Iterable[str]) -> str:
    """The rules of which one is meant."""
    return " or ".join(rules)


def match(results: Mapping[str, Verdicts], baseline: Iterable[Entry], whole: bool = True) -> Matched:
    """The verdicts of each profile against the baseline, and against the divergences that the profile itself
    names. ``whole``: they are of all that is usually run; of a part, or of histories from elsewhere, it
    cannot be said that something has gone."""
    entries = (*baseline, *_of_profiles(results))
    known: list[tuple[Fault, Entry]] = []
    new: list[Fault] = []
    met: set[Entry] = set()
    for fault in (fault for name, verdicts in results.items() for fault in faults(name, verdicts)):
        by_entry: dict[Entry | None, list[tuple[str, ...]]] = {}
        for names in fault.circumstances:
            alone = fault._replace(circumstances=(names,))
            covering = [entry for entry in entries if entry.covers(alone)]
            met.update(covering)
            by_entry.setdefault(next(iter(covering), None), []).append(names)
        for entry, circumstances in by_entry.items():
            part = fault._replace(circumstances=tuple(circumstances))
            if entry is None:
                new.append(part)
            else:
                known.append((part, entry))
    absent = tuple(_absent(entry, results, whole) for entry in entries if entry not in met)
    return Matched(tuple(known), tuple(new), absent)


def match_known(
    results: Mapping[str, Verdicts], baseline: Iterable[Entry] | None, whole: bool = True
) -> Matched | None:
    """`match`; None without a baseline, where no profile names a divergence either."""
    if baseline is None and not any(_of_profiles(results)):
        return None
    return match(results, baseline or (), whole)


def _of_profiles(names: Iterable[str]) -> Iterator[Entry]:
    """The divergences that these profiles name. A run that does not show one says nothing of it."""
    for name in names:
        family = known_profile(name)
        for rule, condition, reason, cause in family.divergences if family else ():
            yield Entry(Kind.VIOLATED, (rule,), reason, name, cause, True, (condition,))


def faults(profile: str, verdicts: Verdicts) -> Iterator[Fault]:
    """All that is wrong by the verdicts of one profile."""
    for id, verdict in verdicts.items():
        if verdict.status is Status.VIOLATED:
            for key in _certain_causes(verdict) or [""]:
                certain = [one for one in verdict.findings if one.key == key and not one.candidates]
                yield Fault(
                    Kind.VIOLATED, profile, (id,), key, verdict.found.get(key, 0), _circumstances(certain)
                )
        elif verdict.status is Status.UNKNOWN and not verdict.candidates:
            yield Fault(Kind.OPEN, profile, (id,))
    for candidates, findings in _one_of_several(verdicts).items():
        found = verdicts[candidates[0]].found if candidates[0] in verdicts else {}
        for key in dict.fromkeys(one.key for one in findings) or [""]:
            met = _circumstances(one for one in findings if one.key == key)
            yield Fault(Kind.VIOLATED, profile, _rules(candidates), key, found.get(key, 0), met)


def _circumstances(findings: Iterable[Finding]) -> tuple[tuple[str, ...], ...]:
    """The conditions of the findings, each set once; without any finding nothing is known to hold."""
    return tuple(dict.fromkeys(one.conditions for one in findings)) or ((),)


def _is_of(finding: Finding, fault: Fault) -> bool:
    return finding.key == fault.cause and finding.conditions in fault.circumstances


def _certain_causes(verdict: Verdict) -> list[str]:
    """The causes of a violation. Without those of which every finding was kept and says "one of several": it
    says no more."""
    times = Counter(one.key for one in verdict.findings if one.candidates)
    return [key for key, number in verdict.found.items() if number > times[key]]


def _one_of_several(verdicts: Verdicts) -> dict[tuple[str, ...], list[Finding]]:
    """Each set of rules of which one is violated, with the findings that say so. None where one of them is
    violated for certain."""
    several: dict[tuple[str, ...], list[Finding]] = {candidates: [] for candidates in ambiguities(verdicts)}
    certain = {id for id, verdict in verdicts.items() if verdict.status is Status.VIOLATED}
    for finding in (one for verdict in verdicts.values() for one in verdict.findings):
        if finding.candidates and certain.isdisjoint(finding.candidates):
            several.setdefault(finding.candidates, []).append(finding)
    return several


def entries_for(new: Iterable[Fault], reason: str, sometimes: bool = False) -> tuple[Entry, ...]:
    """Entries that know of all these: of a violation by its cause, and under the narrowest conditions that
    hold for its findings, an entry for each. An undecided rule among them needs none of its own where it is
    known to be violated, too. ``sometimes``: runs are not the same each time, so that the next one may show
    another cause, or none."""
    found = tuple(new)
    violated = {
        (fault.profile, rule) for fault in found if fault.kind is Kind.VIOLATED for rule in fault.rules
    }
    entries = (
        Entry(
            fault.kind,
            fault.rules,
            reason,
            bare(fault.profile),
            fault.cause,
            sometimes,
            (condition,) if condition else (),
        )
        for fault in found
        if fault.kind is Kind.VIOLATED or (fault.profile, fault.rules[0]) not in violated
        for condition in (narrowest(fault.circumstances) if fault.kind is Kind.VIOLATED else ("",))
    )
    return tuple(dict.fromkeys(entries))


def narrower(entry: Entry, faults: Iterable[Fault]) -> tuple[str, ...] | None:
    """Of an entry that covers its violation under any condition, since some finding of it has none: the
    conditions that hold for others. None of any other entry."""
    if entry.conditions != (ALWAYS,):
        return None
    sets = [names for fault in faults if entry.covers(fault) for names in fault.circumstances]
    return tuple(dict.fromkeys(name for names in sets for name in names if name != ALWAYS))


def _named_by(finding: Finding) -> tuple[str, ...]:
    return _rules(finding.candidates) or (finding.requirement,)


def _rules(candidates: tuple[str, ...]) -> tuple[str, ...]:
    """The candidates as an entry names them: a single one is not the only one."""
    return (*candidates, ANOTHER) if len(candidates) == 1 else candidates


def _beyond(verdict: Verdict, new: Sequence[Fault]) -> Verdict:
    """A verdict of which something is known, as it would be by what is ``new`` alone."""
    if not new:
        return Verdict(Status.PASS, verdict.exercised)
    sets = [tuple(rule for rule in fault.rules if rule != ANOTHER) for fault in new]
    findings = tuple(
        one
        for one in verdict.findings
        if any(_named_by(one) == fault.rules and _is_of(one, fault) for fault in new)
    )
    causes = {fault.cause for fault in new}
    found = {key: times for key, times in verdict.found.items() if key in causes}
    several = bool(verdict.candidates) and verdict.candidates not in sets
    candidates = sets[0] if several else verdict.candidates
    together = explained_together(findings, candidates) if several else verdict.together
    return replace(verdict, findings=findings, found=found, candidates=candidates, together=together)


def _absent(entry: Entry, results: Mapping[str, Verdicts], whole: bool) -> Absent:
    """What the run says of an entry that nothing in it matches."""
    fitting = [verdicts for name, verdicts in results.items() if entry.fits(name)]
    rules = [rule for rule in entry.rules if rule != ANOTHER]
    found = [verdicts[rule] for verdicts in fitting for rule in rules if rule in verdicts]
    applying = [one for one in found if one.status is not Status.NOT_APPLICABLE]
    statuses = {one.status for one in applying}
    open = Status.UNKNOWN in statuses or any(one.undecided for one in applying)
    silent = (
        (not fitting, f"not run under {entry.profile}"),
        (not applying, "does not apply to what was run"),
        (
            Status.VIOLATED in statuses and (entry.kind is Kind.OPEN or len(rules) > 1),
            "violated for certain, or by another cause",
        ),
        (open, "undecided, so that it may still be violated"),
        (not statuses.isdisjoint((Status.NOT_EXERCISED, Status.NOT_IMPLEMENTED)), "not exercised"),
        (not whole, "not shown, but this may be only a part of the suite"),
        (entry.sometimes, f"not {_WRONG[entry.kind]} this time, as it may be"),
    )
    if why := next((why for holds, why in silent if holds), ""):
        return Absent(entry, State.SILENT, why)
    return Absent(entry, State.GONE, f"no longer {_WRONG[entry.kind]}: remove it")


_WRONG: Final = {Kind.VIOLATED: "violated", Kind.OPEN: "undecided"}


# --- in partq.verdicts/1 ------------------------------------------------------------------------------


def matched_to_plain(matched: Matched, file: str) -> dict[str, object]:
    """The field ``baseline`` of ``partq.verdicts/1``. ``file``: the one that the entries are from."""
    return {
        "file": file,
        "known": [{**_fault(fault), "reason": entry.reason} for fault, entry in matched.known],
        "new": [_fault(fault) for fault in matched.new],
        **{state.value: [_absence(one) for one in matched.absent if one.state is state] for state in State},
    }


def _fault(fault: Fault) -> dict[str, Any]:
    """A fault as plain data, with the conditions that hold for all its findings."""
    plain = {**fault._asdict(), "kind": fault.kind.value, "rules": list(fault.rules)}
    first, *others = plain.pop("circumstances")
    return {**plain, "conditions": [name for name in first if all(name in names for names in others)]}


def _absence(absent: Absent) -> dict[str, object]:
    entry = absent.entry
    return {
        "kind": entry.kind.value,
        "profile": entry.profile,
        "rules": list(entry.rules),
        "cause": entry.cause,
        "conditions": list(entry.conditions),
        "reason": entry.reason,
        "why": absent.why,
    }
