"""What translating an operation goes by: where messages are, which locks were given; and the steps so far."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from itertools import groupby
from typing import Any, Final, NamedTuple, TypeVar

from .places import Places, renamed
from .recording import FOREVER, Operation, Recording
from .steps import DEAD, Step

T = TypeVar("T")

NOBODY: Final = "nobody"
"""Who receives without a flow, where flows are needed."""

FULL: Final = frozenset({"quota", "too_large", "invalid_operation"})
"""The errors of what is refused because there is too much already."""

LOST: Final = frozenset({"lock_lost", "not_found", "invalid_operation"})
"""The errors of what is refused for good."""

_REASONED: Final = frozenset({"commit refused", "rollback refused", "bind refused", "unbind refused"})
"""Refusals that may have other reasons than a passing one."""

_OF_THE_DEAD: Final = frozenset(
    {"receive", "delete", "peek", "peek nothing", "complete", "abandon", "renew", "renew_lock", "drained"}
)
"""What is a step of another kind in the dead-letter queue."""


class Given(NamedTuple):
    """A lock that was given: of which message, in which step, to whom."""

    m: int
    step: int
    who: str
    client: str
    dead: bool


class Sight(NamedTuple):
    """When a message was shown for the first time: by when, at which place of the answer, and from when on it
    may have been."""

    ret: int = FOREVER
    place: int = 0
    call: int = 0


class Building:
    """The steps of one recording, as far as they are made."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.operations = [one for one in recording.operations if one.op != "advance"]
        self.flows = "flows" in recording.words
        self.expiry = "expiry" in recording.words
        self.places = Places(recording)
        self.sent = self.places.sent
        self.first_shown = self._first_shown()
        self.unnumbered: list[list[int]] = []  # what was sent in one batch to one partition
        self.bound = {one.flow: one.client for one in self.operations if one.op == "bind" and one.flow}
        self.steps: list[Step] = []
        self.given: dict[str, Given] = {}
        self.events: dict[int, int] = {}  # of each partition the last that was told of it
        self.some_locks_hidden = any(
            shown.lock is None
            for one in self.operations
            if one.op in ("receive", "receive_deferred") and not one.deletes
            for shown in one.shown
        )
        self.cursors: dict[str, list[int]] = {}
        self.keys = renamed(self.places.messages, self.operations)
        self.texts: dict[str, str] = {"": "-"}

    def _first_shown(self) -> dict[int, Sight]:
        found: dict[int, Sight] = {}
        for one in self.operations:
            for place, shown in enumerate(one.shown):
                m = self.sent.get(shown.id)
                if m is not None and one.ret is not None:
                    found[m] = min(found.get(m, Sight()), Sight(one.ret, place, one.call))
        return found

    def session(self, one: Operation) -> str:
        """The session of an operation, or ""."""
        return "" if one.session is None else self.keys[one.session]

    def text(self, one: Operation) -> str:
        """The state that is written, or shown; "" for none."""
        return "" if one.state is None else self.texts.setdefault(one.state, f"t{len(self.texts)}")

    def put(
        self, one: Operation, steps: Iterable[Step], optional: bool = False, ret: int | None = None
    ) -> int:
        """Add steps of one instant; the number of the first. ``ret``: by when, if not by the return."""
        head = len(self.steps) + 1
        if ret is None:
            ret = FOREVER if optional or one.ret is None else one.ret
        steps = list(steps)
        for k, step in enumerate(steps):
            step.record, step.call, step.ret, step.late = one.record, one.call, ret, one.late
            if one.dead and step.op in _OF_THE_DEAD:
                step.op += DEAD
            step.head, step.first, step.optional = head, k == 0, optional
            step.then = head + k + 1 if k + 1 < len(steps) else 0
            step.txn = one.txn or ""
            if step.who == "-" and one.client:
                step.who = one.client
            self.steps.append(step)
        return head

    def refuse(self, op: str, one: Operation, **more: Any) -> None:
        """Add the step of an operation that was refused."""
        error = "passing" if one.passing else "lost" if one.error in LOST else "other"
        free = more.pop("free", False) or one.error == "connection_lost"
        self.put(one, [Step(op, error=error, passing=one.passing, free=free, **more)])

    def simple(self, op: str, refused: str, one: Operation, **more: Any) -> None:
        """Add the one step of an operation that has one action for each outcome."""
        if one.refused:
            self.refuse(refused if one.passing or refused in _REASONED else "impossible", one, **more)
        else:
            self.put(one, [Step(op, **more)], optional=not one.happened)


Translated = Mapping[str, Callable[[Building, Operation], None]]
"""By operation, what makes steps of it."""


def runs(items: Iterable[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """The items in their order, those with equal keys that follow each other together."""
    return [list(run) for _, run in groupby(items, key)]


def grouped(items: Iterable[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """The items with equal keys together, in order of first appearance."""
    groups: dict[Hashable, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())
