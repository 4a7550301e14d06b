"""An exploration: operations, one at a time, followed through the specification by Apalache's explorer.

What is asked is a function of what was asked before; who answers is given (`Call`): a server or a recording.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from partq.spec import MODULES
from partq.spec.tools.errors import SpecError
from partq.spec.validation import Operation

from .module import INIT, LAST_CHANCE, NEXT, OWN, Setting, label, sources
from .observed import Candidate, Impossible, Known, candidates


class ExplorerFailed(SpecError):
    """The explorer did not do what it should; the message says what, in one line."""


Call = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""One request: a method and its parameters; its result. Raises `ExplorerFailed`."""

OWN_MOVES: Final = 2
"""How many of the broker's own moves may come before an operation, unless more are allowed."""

SOLVER_SECONDS: Final = 60
"""How long the solver may take over one question, unless more time is given."""


class Verdict(StrEnum):
    """What became of an operation."""

    EXPLAINED = "explained"
    DIVERGES = "diverges"
    UNDECIDED = "undecided"


class Followed(NamedTuple):
    """``actions``: of the specification, by which the last operation is explained, the broker's own moves
    first. ``reason``: why it is not."""

    verdict: Verdict
    actions: tuple[str, ...] = ()
    reason: str = ""


class _Attempt(NamedTuple):
    """An explanation of one operation: the actions, and what is known after it."""

    actions: tuple[str, ...]
    known: Known


class Exploration:
    """A session with the explorer. ``own``: how many own moves of the broker may come before an operation.
    ``spent``: asked before each question; true ends the search undecided.

    An operation is explained by an action that shows it. The broker's own moves are made just before the
    first operation that is not explained without them, no more of them than it needs, but for those of which
    that was the last chance. Where nothing explains an operation, other explanations of the ones before it
    are tried, the latest first.

    Raises `ExplorerFailed` where the explorer does not do what it should.
    """

    def __init__(
        self,
        call: Call,
        setting: Setting,
        own: int = OWN_MOVES,
        solver: int = SOLVER_SECONDS,
        spent: Callable[[], bool] = lambda: False,
        modules: Path = MODULES,
    ) -> None:
        self._ask = call
        self._setting = setting
        self._most_own = own
        self._solver = solver
        self._spent = spent
        self._operations: list[Operation] = []
        self._open: list[Iterator[_Attempt]] = []
        self._found: list[_Attempt] = []
        self._unsure = False
        self._load(modules)

    def _load(self, modules: Path) -> None:
        texts = sources(self._setting, modules)
        encoded = [base64.b64encode(text.encode()).decode() for text in texts]
        loaded = self._ask("loadSpec", {"sources": encoded, "init": INIT, "next": NEXT})
        self._session: str = _field(loaded, "sessionId", str)
        self._transitions = _transitions(loaded)
        self._assume(0)
        self._at = _field(self._call("nextStep"), "snapshotId", int)

    @property
    def transitions(self) -> int:
        """How many transitions the specification has there."""
        return sum(map(len, self._transitions.values()))

    def follow(self, operation: Operation) -> Followed:
        """Whether the specification allows the operation with its answer, after all before it. Where it is
        not explained nothing more can be followed. Raises `NotFollowed`."""
        try:
            candidates(operation, self._setting, self._known)
        except Impossible as why:
            return Followed(Verdict.DIVERGES, reason=str(why))
        self._operations.append(operation)
        try:
            explained = self._search()
        except _Spent:
            return Followed(
                Verdict.UNDECIDED, reason="no explanation was found in the time for one operation"
            )
        if explained:
            return Followed(Verdict.EXPLAINED, self._found[-1].actions)
        if self._unsure:
            return Followed(Verdict.UNDECIDED, reason="the solver did not decide every question in its time")
        return Followed(Verdict.DIVERGES, reason="no behaviour of the specification explains it")

    @property
    def _known(self) -> Known:
        return self._found[-1].known if self._found else Known()

    def _search(self) -> bool:
        """Explain all operations: depth first, back to the last that has another explanation."""
        while len(self._found) < len(self._operations):
            if len(self._open) == len(self._found):
                self._open.append(self._attempts(self._operations[len(self._found)]))
            found = next(self._open[-1], None)
            if found is not None:
                self._found.append(found)
                continue
            self._open.pop()
            if not self._open:
                return False
            self._found.pop()
        return True

    def _attempts(self, operation: Operation) -> Iterator[_Attempt]:
        """The explanations of an operation from here, the explorer at its end; resumed, it goes back."""
        try:
            ways = candidates(operation, self._setting, self._known)
        except Impossible:
            return
        here, moves = self._at, tuple(OWN)
        for own in range(self._most_own + 1):
            some = False
            for found in self._after(own, moves, (), ways):
                some = True
                yield found
            self._back(here)
            moves = LAST_CHANCE.get(ways[0].action, ()) if some else moves
            if not moves:
                return

    def _after(
        self, own: int, moves: tuple[str, ...], made: tuple[str, ...], ways: list[Candidate]
    ) -> Iterator[_Attempt]:
        """The explanations after so many own moves more."""
        here = self._at
        if not own:
            for way in ways:
                for transition in self._transitions.get(label(way.action), ()):
                    if self._take(transition, way.seen):
                        yield _Attempt((*made, way.action), way.known)
                    self._back(here)
            return
        for action in moves:
            for transition in self._transitions.get(label(action), ()):
                if self._take(transition, {}):
                    yield from self._after(own - 1, moves, (*made, action), ways)
                self._back(here)

    # The explorer

    def _take(self, transition: int, seen: Mapping[str, Any]) -> bool:
        """Take a transition after which that holds; False, if there is none such."""
        if self._spent():
            raise _Spent
        if self._assume(transition) == "DISABLED":
            return False
        self._call("nextStep")
        answer = self._call("assumeState", equalities=dict(seen), checkEnabled=True, timeoutSec=self._solver)
        self._at = _field(answer, "snapshotId", int)
        self._unsure |= _status(answer) == "UNKNOWN"
        return _status(answer) == "ENABLED"

    def _assume(self, transition: int) -> str:
        return _status(self._call("assumeTransition", transitionId=transition, checkEnabled=False))

    def _back(self, snapshot: int) -> None:
        self._call("rollback", snapshotId=snapshot)
        self._at = snapshot

    def _call(self, method: str, **parameters: Any) -> Mapping[str, Any]:
        return self._ask(method, {"sessionId": self._session, **parameters})


class _Spent(Exception):
    """The time is over."""


# Answers

T = TypeVar("T")

_STATUSES: Final = frozenset({"ENABLED", "DISABLED", "UNKNOWN"})


def _field(answer: Mapping[str, Any], name: str, kind: type[T]) -> T:
    value = answer.get(name)
    if not isinstance(value, kind):
        raise ExplorerFailed(f"the explorer's answer has no {name}: {str(dict(answer))[:200]}")
    return value


def _status(answer: Mapping[str, Any]) -> str:
    status = _field(answer, "status", str)
    if status not in _STATUSES:
        raise ExplorerFailed(f"the explorer answered with an unknown status: {status[:80]!r}")
    return status


def _transitions(loaded: Mapping[str, Any]) -> dict[str, list[int]]:
    """The transitions that have each label."""
    found: dict[str, list[int]] = {}
    for one in _field(_field(loaded, "specParameters", dict), "nextTransitions", list):
        for name in _field(one, "labels", list):
            found.setdefault(name, []).append(_field(one, "index", int))
    return found
