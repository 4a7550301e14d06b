"""What the judge did with histories: decided them, was not asked, does not model them, or gave up; and what a
campaign counts of that, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from partq.conformance.verdict.exit_codes import Exit
from partq.conformance.verdict.types import plural

NAMES: Final = {
    "decided": "decided",
    "not_asked": "not asked about",
    "not_modelled": "not modelled",
    "undecided": "gave up on",
}
"""What the judge may do with a history, and the words for it."""


class Judging(NamedTuple):
    """In how many histories the judge ``decided``; about how many it was ``not_asked``; how many hold what is
    ``not_modelled``; how many it gave up on (``undecided``). ``why``: of the first of these that it did not
    decide though it was asked, the reason, and how far it came."""

    decided: int = 0
    not_asked: int = 0
    not_modelled: int = 0
    undecided: int = 0
    why: str = ""

    def of(self, name: str) -> Judging:
        """The same, with the history's name in the reason, if there is one."""
        return self._replace(why=f"{name}: {self.why}") if self.why else self

    @property
    def total(self) -> int:
        """How many histories there were."""
        return self.decided + self.not_asked + self.not_modelled + self.undecided

    def __str__(self) -> str:
        """All of that in words."""
        counts = [f"{words} {number:,}" for name, words in NAMES.items() if (number := getattr(self, name))]
        histories = plural(self.total, "history", "histories")
        why = f" ({self.why})" if self.why else ""
        return f"judge, {histories}: {', '.join(counts) or 'nothing to judge'}{why}"

    def besides(self, code: int = Exit.CONFORMANT) -> list[tuple[int, str]]:
        """What a conclusion says of it: nothing where all was decided. ``code``: the exit code where the
        judge gave up on any; what that means for the rules is in their verdicts."""
        if self.decided == self.total:
            return []
        few = f"the judge decided {self.decided:,} of {self.total:,} histories"
        return [(code if self.undecided else Exit.CONFORMANT, str(self) if self.total == 1 else few)]


NOTHING_JUDGED: Final = Judging()


def added(several: Iterable[Judging]) -> Judging:
    """All of these together."""
    every = list(several)
    counts = (sum(getattr(one, name) for one in every) for name in NAMES)
    return Judging(*counts)._replace(why=next((one.why for one in every if one.why), ""))


# --- what a campaign counts ---------------------------------------------------------------------------

Counts = Mapping[str, Mapping[str, int]]
"""``judged``: of how many traces the judge said what, or why it was not asked · ``again``: the same of its
second looks · ``undecided``: why it did not decide · ``overruled``: findings of screens that it contradicted,
by requirement · ``endings``: of traces · ``met``: of which two mechanisms how many messages made use."""

COUNTS: Final = ("judged", "again", "undecided", "overruled", "endings", "met")

ANSWERS: Final = ("accepted", "rejected", "unknown")


def in_words(counts: Counts, traces: int) -> Iterator[tuple[str, str]]:
    """What is worth saying of them, each with its name."""
    judged = counts.get("judged", {})
    asked = sum(judged.get(answer, 0) for answer in ANSWERS)
    if asked:
        said = f"{judged.get('accepted', 0):,} accepted, {judged.get('rejected', 0):,} rejected"
        again = counts.get("again", {})
        looks = again.get("accepted", 0) + again.get("rejected", 0)
        said += f" ({looks:,} at a second look)" if looks else ""
        reasons = sorted(counts.get("undecided", {}).items())
        why = "".join(f", {n:,} undecided ({reason})" for reason, n in reasons)
        yield "judged exactly", f"{asked:,} of {plural(traces, 'trace')}: {said}{why}"
    if overruled := counts.get("overruled"):
        listed = ", ".join(f"{id} {n:,}" for id, n in sorted(overruled.items()))
        yield "findings overruled by the judge", listed
    endings = counts.get("endings", {})
    for name in ("never drained", "got nowhere"):
        if endings.get(name):
            yield name, f"{endings[name]:,} of {plural(traces, 'trace')}"
