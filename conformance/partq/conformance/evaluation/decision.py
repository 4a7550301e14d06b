"""What is said of one history, by every command alike: screens on all, and the judge's word where it decides.

The screens look at every history; the judge is asked about a share of them, and about all that a screen
suspects. What it accepts violates nothing that is modelled, whatever a screen suspected. What it rejects is a
violation, and blame says of what. Where it does not decide, the screens' suspects stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from partq.conformance.evaluation.endings import unreceivable
from partq.conformance.history import History, Record
from partq.conformance.history.notation_writer import line
from partq.conformance.oracle.blame import Blame, blame
from partq.conformance.oracle.judge import Judged, Judgement, judge
from partq.conformance.oracle.prefix import shortest_rejected
from partq.conformance.screens.assess import Inspection, inspect, verdicts
from partq.conformance.screens.protocol import Screen
from partq.conformance.screens.registry import ALL
from partq.conformance.verdict import Finding, Verdict
from partq.model import clauses
from partq.model.profiles import profile
from partq.model.requirements import requirement

ALIKE: Final = 2
"""So many histories in which screens suspect the same have to be blamed for the same."""

WAIVED: Final = 0.25
"""The share of the judge's budget that each search with a requirement waived has: there are some dozens."""

START: Final = 3_000
"""How many nodes suspects and blame may cost before any history has added its allowance."""

WITNESSES: Final = 8
"""How many records a finding names at the most."""

LINE: Final = 200
"""Characters of an operation that a finding's sentence shows; the witness below it shows all."""


@dataclass(frozen=True, slots=True)
class Exactness:
    """How much the judge is asked. ``share``: of how many histories in 100, by number, besides those that a
    screen suspects. ``seconds``: its budget for each history. ``nodes``: how many nodes it visits at the
    most; with it the answer does not depend on the machine, as long as the seconds suffice. ``allowance``:
    how many nodes each history adds to what suspects, and blame, may cost; None: whatever they cost."""

    share: int = 100
    seconds: float = 1.0
    nodes: int | None = None
    allowance: int | None = None


EVERY: Final = Exactness()
"""The judge is asked about every history."""

NONE: Final = Exactness(share=-1)
"""The screens alone, whatever they suspect."""


def decide(
    history: History, exact: Exactness = EVERY, number: int = 0, screens: Sequence[Screen] = ALL
) -> Inspection:
    """Screens, judge and blame on one history. ``number``: decides whether it is in the judge's share."""
    return Decider(exact, screens).decide(history, number)


@dataclass(slots=True)
class Decider:
    """Decides history after history of one broker. With an allowance, a suspect is judged, and a rejection
    blamed, only as long as something is ``left`` of what was allowed so far; and where screens suspect what
    they suspected in `ALIKE` histories before, and blame said the same of all, it is not asked again."""

    exact: Exactness = EVERY
    screens: Sequence[Screen] = ALL
    left: int = START
    alike: dict[tuple[object, ...], list[Finding]] = field(default_factory=dict)

    def decide(self, history: History, number: int = 0) -> Inspection:
        """What is said of one history. ``number``: decides whether it is in the judge's share."""
        inspection, exact = inspect(history, self.screens), self.exact
        self.left += exact.allowance or 0
        suspect = bool(inspection.findings or inspection.open)
        if exact.share < 0 or not (suspect or number % 100 < exact.share):
            inspection.judged["not asked"] += 1
        elif (known := self._known(inspection)) is not None:
            inspection.judged["as before"] += 1
            _replace(inspection, known)
        elif self._spent and not number % 100 < exact.share:
            inspection.judged["too many suspects"] += 1
        else:
            self._judge(inspection, history)
        if not (inspection.findings or inspection.candidates):
            _add_unreceivable(inspection, history)
        return inspection

    @property
    def _spent(self) -> bool:
        return self.exact.allowance is not None and self.left <= 0

    def _known(self, inspection: Inspection) -> Finding | None:
        """What blame said of histories alike, if that is known well enough."""
        before = self.alike.get(_signature(inspection), ())
        causes = {(finding.key, finding.candidates) for finding in before}
        return before[0] if self.exact.allowance and len(before) >= ALIKE and len(causes) == 1 else None

    def _judge(self, inspection: Inspection, history: History) -> None:
        judgement = self._judgement(history)
        inspection.judged[judgement.status.value] += 1
        if judgement.status is Judged.ACCEPTED:
            _overrule(inspection)
        elif judgement.status is Judged.UNKNOWN:
            inspection.undecided[judgement.kind] += 1
        elif not self._spent or not inspection.findings:
            self._blame(inspection, history)

    def _blame(self, inspection: Inspection, history: History) -> None:
        """Put the violation that blame finds in the place of the screens' suspects; these stay where it finds
        none."""
        signature = _signature(inspection)
        cut = shortest_rejected(history, self._is_rejected)
        nodes = None if self.exact.nodes is None else int(WAIVED * self.exact.nodes)
        blamed = blame(cut, WAIVED * self.exact.seconds, nodes=nodes)
        self.left -= blamed.visited
        finding = _attributed(inspection, cut, blamed)
        if finding is not None and signature:
            self.alike.setdefault(signature, []).append(finding)

    def _is_rejected(self, history: History) -> bool:
        return self._judgement(history).status is Judged.REJECTED

    def _judgement(self, history: History) -> Judgement:
        judgement = judge(history, self.exact.seconds, nodes=self.exact.nodes)
        self.left -= judgement.visited
        return judgement


def _signature(inspection: Inspection) -> tuple[object, ...]:
    """What the screens suspect, without how often."""
    causes = (key for found in inspection.found.values() for key in found)
    return (*sorted(causes), *sorted(set(inspection.candidates.values())))


def decided(
    history: History, exact: Exactness = EVERY, screens: Sequence[Screen] = ALL
) -> dict[str, Verdict]:
    """The verdict of every requirement of the catalogue on this history."""
    inspection = decide(history, exact, 0, screens)
    return verdicts(inspection, history.header.profile, history.header.lacks, tuple(screens))


def _overrule(inspection: Inspection) -> None:
    """Drop what the screens said of what is modelled: the model explains the history."""
    for id in clauses.covered():
        if id in inspection.findings:
            inspection.overruled[id] += len(inspection.findings.pop(id))
            inspection.found.pop(id, None)
        if id in inspection.open and id not in inspection.crashed:
            del inspection.open[id]
            inspection.candidates.pop(id, None)


def _attributed(inspection: Inspection, cut: History, blamed: Blame) -> Finding | None:
    """The finding that blame comes to, put in the place of the screens' suspects, or None."""
    candidates = blamed.candidates or tuple(dict.fromkeys(id for pair in blamed.pairs for id in pair))
    if candidates:
        finding = _finding(cut, blamed, candidates)
        _replace(inspection, finding, blamed.open)
        return finding
    if not (inspection.findings or inspection.candidates):
        why = "violated, by no single requirement: " + _where(cut, blamed)
        for id in blamed.consulted:
            inspection.leave_open(id, why, blamed.consulted)
    return None


def _replace(inspection: Inspection, finding: Finding, undecided: tuple[str, ...] = ()) -> None:
    """The finding in the place of what the screens said. Where a screen found one of its candidates violated,
    or one of which blame is ``undecided``, and no other, its evidence tells which it is, as it counts the
    messages that complied (KEY-1, KEY-2, KEY-8, ROUTE-2, TXN-8)."""
    indicated = [id for id in (*finding.requirements, *undecided) if id in inspection.findings]
    certain = indicated[0] if len(indicated) == 1 else None
    for id in clauses.covered():
        inspection.open.pop(id, None)
        inspection.candidates.pop(id, None)
        if id != certain:
            inspection.findings.pop(id, None)
            inspection.found.pop(id, None)
    if certain is not None:
        return
    _add(inspection, finding)


def _add(inspection: Inspection, finding: Finding) -> None:
    inspection.findings[finding.requirement] = [finding]
    inspection.found[finding.requirement] = Counter({finding.key: 1})
    for id in finding.candidates:
        inspection.leave_open(id, finding.detail, finding.candidates)


def _add_unreceivable(inspection: Inspection, history: History) -> None:
    """What no order of operations contradicts, for the model owes no message to anybody, and yet is wrong."""
    finding = unreceivable(history)
    if finding is not None:
        _add(inspection, finding)


def _finding(history: History, blamed: Blame, candidates: tuple[str, ...]) -> Finding:
    first = candidates[0]
    stuck = _stuck(history, blamed)
    open_ones = () if blamed.violated else candidates
    how = "" if stuck is None else f"/{stuck.op} {stuck.error or stuck.outcome}"
    return Finding(
        first,
        requirement(first).title,
        _witness(history, stuck),
        _where(history, blamed) + _by(candidates, blamed),
        "; ".join(blamed.judgement.allowed) or "not this",
        f"{first}{how}",
        open_ones,
    )


def _stuck(history: History, blamed: Blame) -> Record | None:
    """The operation at which the model ran out of explanations."""
    numbers = set(blamed.judgement.stuck)
    return next((record for record in history.records if record.i in numbers), None)


def _where(history: History, blamed: Blame) -> str:
    stuck = _stuck(history, blamed)
    if stuck is None:
        return blamed.judgement.reason
    text = line(stuck, profile(history.header.profile))
    text = text if len(text) <= LINE else f"{text[: LINE - 1]}…"
    return f"{blamed.judgement.reason}; the model ran out of explanations at {stuck.i}: {text}"


def _by(candidates: tuple[str, ...], blamed: Blame) -> str:
    """Which clauses forbid it, in words."""
    if blamed.violated:
        return f" (forbidden by {', '.join(clauses.of(candidates[0]))})" if clauses.of(candidates[0]) else ""
    if blamed.pairs:
        pairs = ", ".join(" with ".join(pair) for pair in blamed.pairs)
        return f" (violated, by no single requirement; together: {pairs})"
    least = "" if blamed.complete else "at least "
    return f" (one of {least}these is violated: {', '.join(candidates)})"


def _witness(history: History, stuck: Record | None) -> tuple[int, ...]:
    """The operation and those before it that concern the same messages, locks or transaction."""
    if stuck is None:
        return ()
    names = _names(stuck)
    related = [r.i for r in history.records if r.i != stuck.i and names & _names(r)]
    return (*related[-WITNESSES + 1 :], stuck.i)


def _names(record: Record) -> set[object]:
    """The messages, locks, transactions and flows that the record names."""
    args = record.args
    names: set[object] = {("message", m.id) for m in (*args.get("messages", ()), *record.messages)}
    names |= {("lock", token) for token in (*args.get("locks", ()), args.get("lock"))}
    names |= {("lock", shown.lock) for shown in record.messages}
    names |= {(name, args.get(name)) for name in ("txn", "flow")}
    return {name for name in names if isinstance(name, tuple) and name[1] is not None}
