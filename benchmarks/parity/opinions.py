"""What screens, judge and blame say of one history, as plain data without a word of the code's own."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from partq.conformance.evaluation.decision import TIME_LIMIT
from partq.conformance.history import History
from partq.conformance.oracle.blame import Blame, blame_shortest
from partq.conformance.oracle.judge import Judged
from partq.conformance.oracle.long_histories import AtLength, blame_excerpts, judge_any
from partq.conformance.oracle.reading import Reading
from partq.conformance.screens.assess import inspect

NODES: Final = 2_000
EACH: Final = 10
"""The judge's nodes for a history, and for each of its records."""

WAIVED: Final = 200
"""The nodes of a search with one rule waived: many give up, and all of it has to take minutes."""

DECIDED: Final = frozenset({str(Judged.ACCEPTED), str(Judged.REJECTED)})

Opinions = dict[str, Any]


class Difference(NamedTuple):
    """What was said of a history about one thing, and what is; None: nothing."""

    history: str
    about: str
    was: object
    now: object

    @property
    def kind(self) -> str:
        """What differs, for counting: of the judge, whether it contradicts itself or decides more or less."""
        field = self.about.partition(" ")[0]
        if field != "judge":
            return field
        decided = self.was in DECIDED, self.now in DECIDED
        return {(True, True): "judge CONTRADICTED", (True, False): "judge gives up"}.get(
            decided, "judge decides"
        )


def opinions_of(history: History) -> Opinions:
    """``exercised``: rule -> how often. ``found``: cause -> how many findings of screens. ``open``: rule that
    they leave open -> those of which one is violated. ``judge``: its status. Of what it rejects, ``blame``:
    the candidates in order; ``level``, ``pairs`` and ``undecided`` as `Blame` has them."""
    seen = inspect(history)
    said = judge_any(history, TIME_LIMIT, NODES + EACH * len(history))
    opinions: Opinions = {
        "exercised": seen.exercised,
        "found": {cause: count for causes in seen.found.values() for cause, count in causes.items()},
        "open": {
            id: "crashed" if doubt.crashed else list(doubt.candidates)
            for id, doubt in seen.doubts.items()
            if doubt.why
        },
        "judge": str(said.judgement.status),
    }
    if said.judgement.status is Judged.REJECTED:
        blamed = _blamed(history, said)
        opinions |= {
            "blame": list(blamed.candidates),
            "level": list(blamed.level),
            "pairs": [list(pair) for pair in blamed.pairs],
            "undecided": list(blamed.open),
        }
    return opinions


def differences(name: str, was: Opinions, now: Opinions) -> list[Difference]:
    """Where they differ, rule by rule and cause by cause."""
    before, after = _flat(was), _flat(now)
    about = [one for one in {**before, **after} if before.get(one) != after.get(one)]
    return [Difference(name, one, before.get(one), after.get(one)) for one in about]


def _flat(opinions: Opinions) -> dict[str, object]:
    flat: dict[str, object] = {}
    for field, said in opinions.items():
        flat |= (
            {f"{field} {key}": value for key, value in said.items()}
            if isinstance(said, dict)
            else {field: said}
        )
    return flat


def _blamed(history: History, said: AtLength) -> Blame:
    if said.excerpts:
        return blame_excerpts(said.excerpts, history, WAIVED)[1]
    return blame_shortest(Reading(history), TIME_LIMIT, WAIVED)[1]
