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

from partq.conformance.evaluation.endings import left_behind, unreceivable
from partq.conformance.history import History, Record
from partq.conformance.history.notation_writer import line
from partq.conformance.oracle.blame import Blame, blame
from partq.conformance.oracle.judge import Judged, Judgement, judge
from partq.conformance.oracle.prefix import shortest_rejected
from partq.conformance.screens.assess import inspect
from partq.conformance.screens.protocol import Screen
from partq.conformance.screens.registry import ALL
from partq.conformance.verdict import Doubt, Finding, Inspection, Verdict, verdicts_of
from partq.model import clauses
from partq.model.profiles import profile, requirements_of
from partq.model.requirements import requirement

ALIKE: Final = 2
"""So many histories in which screens suspect the same have to be blamed for the same."""

WAIVED: Final = 0.25
"""The share of the judge's budget that each search with a requirement waived has: there are some dozens."""

START: Final = 3_000
"""How many nodes suspects and blame may cost before any history has added its allowance."""

EACH: Final = 2
"""How many nodes each record of a history adds to the judge's budget: the straightest way to an answer visits
about one for each, and the first attempts have half of the budget."""

WITNESSES: Final = 8
"""How many records a finding names at the most."""

LINE: Final = 200
"""Characters of an operation that a finding's sentence shows; the witness below it shows all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exactness:
    """How much the judge is asked. ``share``: of how many histories in 100, by number, besides those that a
    screen suspects. ``seconds``: its budget for each history. ``nodes``: how many nodes it visits at the
    most, besides `EACH` for each record; with it the answer does not depend on the machine, as long as the
    seconds suffice. ``after``: the same once some requirement was blamed, and for a search with one waived.
    ``allowance``: how many nodes each history adds to what suspects, and blame, may cost; None: whatever they
    cost."""

    share: int = 100
    seconds: float = 1.0
    nodes: int | None = None
    after: int | None = None
    allowance: int | None = None

    @property
    def waived(self) -> int | None:
        """How many nodes each search with a requirement waived visits at the most."""
        return self.after if self.nodes is None or self.after else int(WAIVED * self.nodes)


EVERY: Final = Exactness()
"""One history: the judge and blame have all the time they need."""

SUITE: Final = Exactness(seconds=10.0, nodes=10_000, after=1_000, allowance=100)
"""Many histories of one broker: the judge is asked about every one; blame, which costs some hundred times as
much, may take about as long as the rest. Nodes count, not seconds, so that equal seeds give equal results."""

NONE: Final = Exactness(share=-1)
"""The screens alone, whatever they suspect."""


@dataclass(slots=True)
class Decision(Inspection):
    """What is said of one history. ``judged``: what the judge said, or why it was not asked. ``undecided``:
    why it did not decide. ``overruled``: requirement -> how many findings of screens it overruled."""

    judged: Counter[str] = field(default_factory=Counter)
    undecided: Counter[str] = field(default_factory=Counter)
    overruled: Counter[str] = field(default_factory=Counter)

    def overrule(self) -> None:
        """Drop what the screens said of what is modelled: the model explains the history."""
        for id, doubt in self._modelled():
            if dropped := doubt.drop_findings():
                self.overruled[id] += dropped
            if not doubt.crashed:
                doubt.close()

    def replace(self, finding: Finding, undecided: tuple[str, ...] = ()) -> Finding:
        """Put the finding in the place of what the screens said of what is modelled, and answer which finding
        stands there now. Where a screen found one of its candidates violated, or one of which blame is
        ``undecided``, and no other, its evidence tells which it is, as it counts the messages that complied
        (KEY-1, KEY-2, KEY-8, ROUTE-2, TXN-8)."""
        found = self.findings
        indicated = [id for id in (*finding.requirements, *undecided) if id in found]
        certain = indicated[0] if len(indicated) == 1 else None
        for id, doubt in self._modelled():
            doubt.close()
            if id != certain:
                doubt.drop_findings()
        if certain is not None:
            return found[certain][0]
        self.add(finding)
        return finding

    def _modelled(self) -> list[tuple[str, Doubt]]:
        return [(id, self.doubts[id]) for id in clauses.covered() if id in self.doubts]


def check_history(
    history: History, exact: Exactness = EVERY, screens: Sequence[Screen] = ALL
) -> dict[str, Verdict]:
    """The verdict of every requirement of the catalogue on this history alone."""
    return Decider(exact, screens).check(history)


@dataclass(slots=True)
class Decider:
    """Decides history after history of one broker, in an order of which the results may depend. With an
    allowance, a suspect outside of the judge's share is judged, and a rejection blamed, only as long as
    something is ``left`` of what was allowed so far. Where screens suspect what they suspected in `ALIKE`
    histories before, and blame named the same of all, it is not asked again. ``blamed``: the requirement that
    was blamed last, alone or before others."""

    exact: Exactness = EVERY
    screens: Sequence[Screen] = ALL
    left: int = START
    alike: dict[tuple[object, ...], list[Finding]] = field(default_factory=dict)
    blamed: str | None = None

    def check(self, history: History, number: int = 0) -> dict[str, Verdict]:
        """`decide`, as a verdict for every requirement of the catalogue."""
        decision = self.decide(history, number)
        return verdicts_of(decision, history.header.profile, tuple(self.screens), history.header.lacks)

    def decide(self, history: History, number: int = 0) -> Decision:
        """What is said of one history. ``number``: decides whether it is in the judge's share."""
        seen, exact = inspect(history, self.screens), self.exact
        decision = Decision(seen.exercised, seen.doubts)
        self.left += exact.allowance or 0
        shared = number % 100 < exact.share
        if exact.share < 0 or not (shared or decision.suspect):
            decision.judged["not asked"] += 1
        elif not shared and (known := self._known(decision)) is not None:
            decision.judged["as before"] += 1
            decision.replace(known)
        elif not shared and self._spent:
            decision.judged["too many suspects"] += 1
        else:
            self._follow_judge(decision, history, 0 if shared else 1)
        if not decision.broken and (finding := unreceivable(history)) is not None:
            decision.add(finding)
        elif why := left_behind(history):
            decision.leave_open("RCV-2", why)
        return decision

    @property
    def _spent(self) -> bool:
        return self.exact.allowance is not None and self.left <= 0

    def _known(self, decision: Decision) -> Finding | None:
        """What blame said of histories alike, if that is known well enough, with this history's evidence."""
        before = self.alike.get(_signature(decision), ())
        named = {finding.requirements for finding in before}
        return _restated(before[0], decision) if len(before) >= ALIKE and len(named) == 1 else None

    def _follow_judge(self, decision: Decision, history: History, price: int) -> None:
        """Ask the judge, at ``price`` for a node, and do as it says."""
        judgement = self._judgement_of(history, price)
        decision.judged[judgement.status.value] += 1
        if judgement.status is Judged.ACCEPTED:
            decision.overrule()
        elif judgement.status is Judged.UNKNOWN:
            decision.undecided[judgement.kind] += 1
        elif (known := self._known(decision)) is not None:
            decision.replace(known)
        elif not self._spent or (self.blamed is None and not decision.findings):
            self._blame(decision, history)
        elif self.blamed is not None and not decision.broken:
            why = f"{judgement.reason}; too many histories were rejected to tell of each what it violates"
            decision.leave_open(self.blamed, why, (self.blamed,))

    def _blame(self, decision: Decision, history: History) -> None:
        """Put the violation that blame finds in the place of the screens' suspects; these stay where it finds
        none."""
        signature = _signature(decision)
        cut = shortest_rejected(history, self._rejects)
        blamed = blame(cut, WAIVED * self.exact.seconds, nodes=self.exact.waived, whole=history)
        self.left -= blamed.visited
        if (finding := _attribution(cut, blamed)) is not None:
            standing = decision.replace(finding, blamed.open)
            self.blamed = standing.requirement
            if signature:
                self.alike.setdefault(signature, []).append(standing)
        elif not decision.broken:
            which = "by no single requirement" if blamed.complete else "by which requirement is not known"
            several = blamed.consulted or _enforced(history)
            for id in several:
                decision.leave_open(id, f"violated, {which}: {_where(cut, blamed)}", several)

    def _rejects(self, history: History) -> bool:
        return self._judgement_of(history).status is Judged.REJECTED

    def _judgement_of(self, history: History, price: int = 1) -> Judgement:
        exact = self.exact
        nodes = exact.nodes if self.blamed is None or exact.after is None else exact.after
        most = None if nodes is None else nodes + EACH * len(history)
        judgement = judge(history, exact.seconds, nodes=most)
        self.left -= price * judgement.visited
        return judgement


def _enforced(history: History) -> tuple[str, ...]:
    """Every requirement that the model enforces on the history's profile: one of them is violated."""
    binding = requirements_of(history.header.profile)
    return tuple(id for id in clauses.covered() if id in binding)


def _signature(decision: Decision) -> tuple[object, ...]:
    """What the screens suspect, without how often."""
    causes = (key for found in decision.found.values() for key in found)
    return (*sorted(causes), *sorted(set(decision.candidates.values())))


def _restated(finding: Finding, decision: Decision) -> Finding:
    """What was found in a history alike, with what the screens saw in this one as its evidence."""
    own = next((one for found in decision.findings.values() for one in found), None)
    if own is None:
        return finding._replace(witness=(), detail=next(iter(decision.open.values())))
    return finding._replace(witness=own.witness, detail=own.detail, allowed=own.allowed)


def _attribution(cut: History, blamed: Blame) -> Finding | None:
    """The finding that blame comes to, if it comes to any."""
    candidates = blamed.candidates or tuple(dict.fromkeys(id for pair in blamed.pairs for id in pair))
    return _finding(cut, blamed, candidates) if candidates else None


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
    """The operation and those before it that concern the same messages, their locks or transactions."""
    if stuck is None:
        return ()
    names = _names(stuck)
    shown = (one for record in history.records for one in record.messages if ("message", one.id) in names)
    names |= {("lock", one.lock) for one in shown if one.lock is not None}
    names |= {name for r in history.records for name in _names(r) if name[0] == "txn" and names & _names(r)}
    related = [r.i for r in history.records if r.i != stuck.i and names & _names(r)]
    return (*related[-WITNESSES + 1 :], stuck.i)


def _names(record: Record) -> set[tuple[str, str | None]]:
    """The messages, locks, transactions and flows that the record names."""
    args = record.args
    names: set[tuple[str, str | None]] = {
        ("message", m.id) for m in (*args.get("messages", ()), *record.messages)
    }
    names |= {("lock", token) for token in (*args.get("locks", ()), args.get("lock"))}
    names |= {("lock", shown.lock) for shown in record.messages}
    names |= {(name, args.get(name)) for name in ("txn", "flow")}
    return {name for name in names if name[1] is not None}
