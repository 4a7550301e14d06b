"""The decision on one history, the same in every command: the screens', overruled by the judge if it decides.

The screens look at every history; the judge is asked about a share of them, and about all that a screen
suspects. A history that it accepts violates no modelled rule, whatever a screen suspected. A history that it
rejects is a violation, and blame names the rule. Where it gives up, the screens' suspects stand; in a single
history the rules that only the judge could have found violated are undecided, as are suspects after the
allowance is spent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from partq.conformance.evaluation import circumstances
from partq.conformance.evaluation.activity import only_drained, without_drain
from partq.conformance.evaluation.attribution import attribution, observed, one_of
from partq.conformance.evaluation.endings import left_behind, unreceivable
from partq.conformance.history import History
from partq.conformance.oracle.blame import blame_shortest
from partq.conformance.oracle.judge import NOT_MODELLED, OVER_BUDGET, Judged, Judgement, judge
from partq.conformance.oracle.long_histories import RETRIED, SHORT, AtLength, blame_excerpts, judge_any
from partq.conformance.oracle.prefix import shortest_rejected
from partq.conformance.oracle.reading import Reading
from partq.conformance.oracle.search import Tell, untold
from partq.conformance.oracle.uses import unmet
from partq.conformance.screens.assess import inspect
from partq.conformance.screens.protocol import Screen
from partq.conformance.screens.registry import ALL
from partq.conformance.verdict import Doubt, Finding, Inspection, Judging, Verdict, verdicts_of
from partq.model import clauses
from partq.model.profiles import requirements_of
from partq.model.requirements import Level, requirement

CONFIRMATIONS: Final = 2
"""After so many histories confirmed a suspicion in the same way, blame is no longer asked about it."""

TIME_LIMIT: Final = 600.0
"""Seconds of processor time after which the judge gives up on a history: more than its nodes take."""

WAIVED: Final = 0.25
"""The share of the judge's budget for each search with a requirement waived: there are some dozens."""

BROKEN: Final = 20
"""Once some requirement was blamed, a second look has this part of its nodes: less depends on it, and what a
broken broker does is often to be rejected, for which it is of little use."""

UNSUSPECTED: Final = 20
"""Where no screen suspects anything in one of many histories, a second look has this part of its nodes: no
verdict depends on it."""

START: Final = 3_000
"""How many nodes suspects and blame may cost before any history has added its allowance."""

EACH: Final = 2
"""How many nodes each record of a history adds to the judge's budget: the straightest way to an answer visits
about one for each, and the first attempts have half of the budget."""


NOT_ASKED: Final = "not asked"
TOO_MANY: Final = "too many suspects"
"""Why the judge was not asked about a history: its number is not in the share; the allowance is spent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exactness:
    """How much the judge is asked. ``share``: of how many histories in 100, by number, besides those that a
    screen suspects. ``nodes``: its budget for each history, how many nodes it visits at the most, besides
    `EACH` for each record, so that the answer does not depend on the machine. ``seconds``: of the processor,
    for emergencies: where these end first, the history is undecided. ``after``: the nodes once some
    requirement was blamed, and for a search with one waived. ``allowance``: how many nodes each history adds
    to what suspects, and blame, may cost; None: whatever they cost. ``again``: how many nodes a second look
    visits at the most where the judge gave up, 0 if there is none; ``more``: how many each history adds to
    what second looks may cost, which is ``again`` at first. ``drained``: whether what only the drain
    received exercises a rule, as in a counterexample whose clients only send."""

    share: int = 100
    seconds: float = TIME_LIMIT
    nodes: int | None = None
    after: int | None = None
    allowance: int | None = None
    again: int = 0
    more: int = 0
    drained: bool = False

    @property
    def waived(self) -> int | None:
        """How many nodes each search with a requirement waived visits at the most."""
        return self.after if self.nodes is None or self.after else int(WAIVED * self.nodes)

    @property
    def alone(self) -> bool:
        """Whether each history is judged for itself: what the judge does not decide of it is undecided."""
        return self.share > 0 and self.allowance is None


EVERY: Final = Exactness(nodes=20_000, after=2_000, again=200_000, more=50_000)
"""One history: a second where it is decided at once, some ten with a second look, and minutes where ten
thousand records make it hard."""

SUITE: Final = Exactness(nodes=5_000, after=1_000, allowance=100, again=20_000, more=100)
"""Many histories of one broker: the judge is asked about every one; blame, which costs some hundred times as
much, may take about as long as the rest. Nodes count, not seconds, so that equal seeds give equal results."""

NONE: Final = Exactness(share=-1)
"""The screens alone, whatever they suspect."""


@dataclass(slots=True)
class Decision(Inspection):
    """What is said of one history. ``judged``: what the judge said, or why it was not asked. ``undecided``:
    why it did not decide. ``why``: the same in a sentence, and how far it came. ``again``: what a second look
    came to, if there was one. ``overruled``: requirement -> how many findings of screens it overruled."""

    judged: Counter[str] = field(default_factory=Counter)
    undecided: Counter[str] = field(default_factory=Counter)
    overruled: Counter[str] = field(default_factory=Counter)
    again: Counter[str] = field(default_factory=Counter)
    why: str = ""

    @property
    def judging(self) -> Judging:
        """The judge's work on this history."""
        not_asked = self.judged[NOT_ASKED] + self.judged[TOO_MANY]
        gave_up, not_modelled = self.undecided[OVER_BUDGET], self.undecided[NOT_MODELLED]
        decided = sum(self.judged.values()) - not_asked - gave_up - not_modelled
        return Judging(decided, not_asked, not_modelled, gave_up, self.why)

    def overrule(self) -> None:
        """Drop the screens' findings on modelled rules: the model explains the history."""
        for id, doubt in self._modelled():
            if dropped := doubt.drop_findings():
                self.overruled[id] += dropped
            if not doubt.crashed:
                doubt.close()

    def replace(self, finding: Finding, level: tuple[str, ...] = ()) -> Finding:
        """Replace the screens' findings on modelled rules by this one; return the one that stands. Of rules
        that blame puts ``level`` a screen breaks the tie if it found that one alone violated, as it counts
        the messages that complied (KEY-1, KEY-2, KEY-8, ROUTE-2)."""
        found = self.findings
        indicated = [id for id in level if id in found]
        certain = indicated[0] if len(indicated) == 1 else None
        for id, doubt in self._modelled():
            doubt.close()
            if id != certain:
                doubt.drop_findings()
        if certain is not None:
            return found[certain][0]
        self.add(finding)
        return finding

    def only_suspect(self) -> None:
        """Turn the screens' findings on modelled rules into suspicions, which are undecided."""
        for _, doubt in self._modelled():
            if doubt.findings or doubt.candidates:
                detail = doubt.findings[0].detail if doubt.findings else doubt.why
                doubt.close()
                doubt.drop_findings()
                doubt.leave_open(f"{TOO_MANY}: {detail}")

    def give_up(self, why: str, requirements: Iterable[str]) -> None:
        """The judge gave up: what only it could have found broken is undecided, where it was exercised and is
        not found broken."""
        for id in requirements:
            if self.exercised.get(id) and not self.doubt(id).findings:
                self.leave_open(id, why)

    def unexercise(self, requirements: Iterable[str]) -> None:
        """The judge did not accept the history, so that nobody says whether these were kept: they count as
        exercised only where something speaks against them."""
        for id in requirements:
            doubt = self.doubts.get(id)
            if doubt is None or not (doubt.findings or doubt.why):
                self.exercised.pop(id, None)

    def _modelled(self) -> list[tuple[str, Doubt]]:
        return [(id, self.doubts[id]) for id in clauses.covered() if id in self.doubts]


class Checked(NamedTuple):
    """The verdict on every requirement of the catalogue, and the judge's work."""

    verdicts: dict[str, Verdict]
    judging: Judging


def check_history(
    history: History, exact: Exactness = EVERY, screens: Sequence[Screen] = ALL
) -> dict[str, Verdict]:
    """The verdict on every requirement of the catalogue from this history alone."""
    return Decider(exact, screens).check(history).verdicts


@dataclass(slots=True)
class Decider:
    """Decides history after history of one broker, in an order of which the results may depend. With an
    allowance, a suspect outside of the judge's share is judged, and a rejection blamed, only as long as
    something is ``left`` of what was allowed so far. Where screens suspect what they suspected in
    `CONFIRMATIONS` histories before, and blame named the same of all, it is not asked again. ``blamed``: the
    requirement that was blamed last, alone or before others. ``tell``: called with how far the judge has
    come. ``spare``: how many nodes second looks may still cost."""

    exact: Exactness = EVERY
    screens: Sequence[Screen] = ALL
    left: int = START
    alike: dict[tuple[object, ...], list[Finding]] = field(default_factory=dict)
    blamed: str | None = None
    tell: Tell = untold
    spare: int = field(init=False)

    def __post_init__(self) -> None:
        self.spare = self.exact.again

    def check(self, history: History, number: int = 0) -> Checked:
        """Decide, and give a verdict on every requirement of the catalogue."""
        decision = self.decide(history, number)
        header = history.header
        verdicts = verdicts_of(decision, header.profile, tuple(self.screens), header.lacks)
        return Checked(verdicts, decision.judging)

    def decide(self, history: History, number: int = 0) -> Decision:
        """Decide one history. Its ``number`` says whether it is in the judge's share."""
        seen, exact = inspect(history, self.screens), self.exact
        if not exact.drained and only_drained(history):
            seen.exercised = inspect(without_drain(history), self.screens).exercised
        decision, either = Decision(seen.exercised, seen.doubts), {*seen.candidates.values()}
        self.left += exact.allowance or 0
        self.spare += exact.more
        shared = number % 100 < exact.share
        if exact.share < 0 or not (shared or decision.suspect):
            decision.judged[NOT_ASKED] += 1
        elif not shared and (known := self._known(decision)) is not None:
            decision.judged["as before"] += 1
            decision.replace(known)
        elif not shared and self._spent and (decision.broken or self.spare <= 0):
            decision.judged[TOO_MANY] += 1
            decision.only_suspect()
        else:
            self._follow_judge(decision, history, 0 if shared else 1)
        if not decision.broken and (finding := unreceivable(history)) is not None:
            decision.add(finding)
        elif why := left_behind(history):
            decision.leave_open("RCV-2", why)
        for several in sorted(either):
            self._witness(decision, several, history)
        if not decision.judged[Judged.ACCEPTED.value]:
            decision.unexercise(id for screen in self.screens for id in screen.judged)
        for id in decision.violated:  # exercised, whichever client saw it
            decision.exercised.setdefault(id, 1)
        circumstances.place(decision, history)
        return decision

    def _witness(self, decision: Decision, several: tuple[str, ...], history: History) -> None:
        """Make a finding of it that screens saw one of several rules violated, where that stands and none of
        them is known to be."""
        found = any(id in decision.findings for id in several)
        if decision.candidates.get(several[0]) == several and not found:
            cut = shortest_rejected(history, partial(_shows, several, self.screens))
            decision.add(one_of(several, cut, decision.open[several[0]]))

    @property
    def _spent(self) -> bool:
        return self.exact.allowance is not None and self.left <= 0

    def _known(self, decision: Decision) -> Finding | None:
        """Blame's answer for similar histories, if enough confirmed it, with this history's evidence."""
        before = self.alike.get(_signature(decision), ())
        named = {finding.requirements for finding in before}
        return _restated(before[0], decision) if len(before) >= CONFIRMATIONS and len(named) == 1 else None

    def _follow_judge(self, decision: Decision, history: History, price: int) -> None:
        """Ask the judge, at ``price`` for a node, and apply its answer."""
        reading = Reading(history)
        said = judge_any(reading, self.exact.seconds, self._nodes(history), self.tell)
        self.left -= price * said.judgement.visited
        if said.judgement.kind == OVER_BUDGET and self.spare > 0 and len(history) <= RETRIED:
            again = self._second_look(reading, decision.suspect)
            decision.again[again.status.value] += 1
            if again.status is not Judged.UNKNOWN or len(history) <= SHORT:
                said = AtLength(again)
        judgement = said.judgement
        decision.judged[judgement.status.value] += 1
        if judgement.status is Judged.ACCEPTED:
            decision.overrule()
        elif judgement.status is Judged.UNKNOWN:
            self._follow_none(decision, history, judgement)
        elif (known := self._known(decision)) is not None:
            decision.replace(known)
        elif not self._spent or (self.blamed is None and not decision.findings):
            self._blame(decision, reading, said.excerpts)
        elif self.blamed is not None and not decision.broken:
            seen = observed(history, judgement)
            why = f"{seen} Too many histories were rejected to ask of each which rule it violates."
            decision.leave_open(self.blamed, why, (self.blamed,))

    def _second_look(self, reading: Reading, suspect: bool) -> Judgement:
        """What the judge says with many more nodes, where it gave up. ``suspect``: whether a screen suspects
        anything."""
        part = 1 if suspect or self.exact.alone else UNSUSPECTED
        most = self.exact.again // (part if self.blamed is None else BROKEN)
        judgement = judge(reading, TIME_LIMIT, nodes=min(most, self.spare), again=True)
        self.spare -= judgement.visited
        return judgement

    def _follow_none(self, decision: Decision, history: History, judgement: Judgement) -> None:
        """The judge did not decide: the screens' suspects stand, and where it gave up on a history that is
        judged for itself, what they may miss is undecided. Of many histories it is told how many it gave up
        on (`Judging`): what one of them may hide, the others exercise, too."""
        decision.undecided[judgement.kind] += 1
        decision.why = judgement.reason
        if judgement.kind == OVER_BUDGET and self.exact.alone:
            complete = {id for screen in self.screens for id in screen.complete}
            decision.give_up(judgement.reason, (id for id in _enforced(history) if id not in complete))

    def _blame(self, decision: Decision, reading: Reading, excerpts: Sequence[History]) -> None:
        """Put the violation that blame finds in the place of the screens' suspects; these stay where it finds
        none. ``excerpts``: those of the history by which it is rejected, if it is."""
        history, signature = reading.history, _signature(decision)
        if excerpts:
            cut, blamed = blame_excerpts(excerpts, history, self.exact.waived)
        else:
            cut, blamed = blame_shortest(reading, WAIVED * self.exact.seconds, self.exact.waived)
        self.left -= blamed.visited
        if (finding := attribution(cut, blamed)) is not None:
            standing = decision.replace(finding, blamed.level)
            self.blamed = standing.requirement
            if signature:
                self.alike.setdefault(signature, []).append(standing)
        elif not decision.broken:
            which = "by no single rule" if blamed.complete else "by which rule is not known"
            several = blamed.consulted or _enforced(history)
            for id in several:
                decision.leave_open(id, f"violated, {which}: {observed(cut, blamed.judgement)}", several)

    def _nodes(self, history: History) -> int | None:
        """The judge's budget in nodes for the history."""
        exact = self.exact
        nodes = exact.nodes if self.blamed is None or exact.after is None else exact.after
        return None if nodes is None else nodes + EACH * len(history)


def _shows(several: tuple[str, ...], screens: Sequence[Screen], history: History) -> bool:
    """Whether the screens find that one of these rules certainly is violated."""
    return several in inspect(history, screens).candidates.values()


def _enforced(history: History) -> tuple[str, ...]:
    """Every requirement that the model enforces on the history's profile, and that can be violated."""
    binding = requirements_of(history.header.profile) - unmet(history)
    covered = (id for id in clauses.covered() if id in binding)
    return tuple(id for id in covered if requirement(id).level is not Level.MAY)


def _signature(decision: Decision) -> tuple[object, ...]:
    """The screens' suspicions, without counts."""
    causes = (key for found in decision.found.values() for key in found)
    return (*sorted(causes), *sorted(set(decision.candidates.values())))


def _restated(finding: Finding, decision: Decision) -> Finding:
    """The finding in a similar history, with the screens' evidence from this one."""
    own = next((one for found in decision.findings.values() for one in found), None)
    if own is None:
        return finding._replace(witness=(), detail=next(iter(decision.open.values())))
    return finding._replace(witness=own.witness, detail=own.detail, allowed=own.allowed)
