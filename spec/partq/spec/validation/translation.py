"""Operations become steps: which of the actions in `tla/Validation.tla` an answer stands for, and at what
instants.

An operation that touches several partitions has an instant in each; what a flow is handed in one answer
comes one by one. An operation of unknown outcome is optional, unless something later shows that it
happened.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from .building import Building, Translated
from .environment import ENVIRONMENT
from .receives import RECEIVES
from .recording import FOREVER, Operation, Recording
from .scope import check_scope
from .sends import SENDS
from .sessions import SESSIONS
from .settlements import SETTLEMENTS
from .steps import Step, Trace, order_of

_TRANSLATED: Final[Translated] = {**SENDS, **RECEIVES, **SETTLEMENTS, **SESSIONS, **ENVIRONMENT}


def trace_of(recording: Recording) -> Trace:
    """The recording as a trace. Raises `NotFollowed`."""
    check_scope(recording)
    return _Translation(recording).trace()


class _Translation(Building):
    """Makes the trace of one recording."""

    def trace(self) -> Trace:
        """The whole trace."""
        for one in self.operations:
            self._add(one)
        self._note_cached()
        self._note_ends()
        self._rename_clients()
        places = self.places
        return Trace(
            self.recording,
            places.count,
            [self.keys[message.key] for message in places.messages],
            {n for n, message in enumerate(places.messages, 1) if message.conflicting},
            self._within(),
            self._vain(),
            self._sights(),
            places.births,
            {n for n, message in enumerate(places.messages, 1) if message.past and message.later},
            {n for n, message in enumerate(places.messages, 1) if message.mortal},
            [self.keys[message.key] if self.recording.sessions else "-" for message in places.messages],
            {self.session(one) for one in self.operations if one.session is not None}
            | {self.keys[m.key] for m in places.messages if self.recording.sessions and m.key is not None},
            {n for n, message in enumerate(places.messages, 1) if message.lacking},
            [{self.sent[id] for id in message.copies} for message in places.messages],
            [{self.sent[id] for id in message.repeats} for message in places.messages],
            places.place,
            [places.graves[m] for m in range(1, len(places.place) + 1)],
            places.allowed,
            places.likely,
            places.owner,
            places.start,
            places.floor,
            places.top,
            self._events(),
            any(one.op == "assignment" for one in self.operations),
            {name for step in self.steps for name in (step.who, *step.users) if name != "-"},
            self.cursors,
            self.steps,
            order_of(self.steps, len(places.messages)),
            self._presumes_order(),
        )

    def _within(self) -> list[str]:
        sent = [one.txn or "" for one in self.operations for _ in one.sent]
        return sent + [""] * (len(self.places.messages) - len(sent))

    def _vain(self) -> list[int]:
        committed = {one.txn for one in self.operations if one.op == "commit" and not one.refused}
        ended = {one.txn: one.ret or FOREVER for one in self.operations}
        within = self._within()
        vain = [m for m, txn in enumerate(within) if txn and txn not in committed]
        vain.sort(key=lambda m: ended[within[m]])
        return [vain.index(m) + 1 if m in vain else 0 for m in range(len(within))]

    def _sights(self) -> list[int]:
        shown = sorted(self.first_shown, key=lambda m: self.first_shown[m])
        return [shown.index(m) if m in shown else len(shown) for m in range(1, len(self.places.messages) + 1)]

    def _add(self, one: Operation) -> None:
        if one.happened and one.record in self.places.impossible:
            self.put(one, [Step("impossible")])
        elif not (one.refused and one.error == "unsupported"):
            _TRANSLATED[one.op](self, one)

    def _events(self) -> list[list[tuple[str, str]]]:
        found: list[list[tuple[str, str]]] = [[] for _ in range(self.places.count)]
        for step in self.steps:
            if step.op == "assigned":
                found[step.part - 1].append((step.who, step.state))
        return found

    def _presumes_order(self) -> bool:
        """Whether messages of a batch, of which no number is shown, may have been delivered in another order
        than they were shown in: unseen, or at the same time."""
        unseen = any(one.op == "receive" and not (one.happened or one.refused) for one in self.operations)
        sights = [[self.first_shown[m] for m in group] for group in self.unnumbered]
        return any(
            unseen or (later.call != earlier.call and later.call <= earlier.ret)
            for group in sights
            for earlier, later in pairwise(group)
        )

    def _note_cached(self) -> None:
        """For each outage the messages that a front end may hand out in the meantime."""
        if "caches" not in self.recording.words:
            return
        for n, step in enumerate(self.steps):
            if step.op == "partition down":
                later = (s.ret for s in self.steps[n + 1 :] if s.op == "partition up" and s.part == step.part)
                end = next(later, FOREVER)
                step.cached = {
                    s.ms[0]
                    for s in self.steps
                    if s.op in ("receive", "delete") and s.shows and s.ret >= step.call and s.call <= end
                    and self.places.part(s.ms[0]) == step.part
                }  # fmt: skip

    def _note_ends(self) -> None:
        """The steps that are certainly the last of their transactions."""
        inside: dict[str, list[Step]] = {}
        for step in self.steps:
            inside.setdefault(step.txn, []).append(step)
        for txn, steps in inside.items():
            last = max(steps, key=lambda step: step.call)
            last.final = bool(txn) and all(step.ret < last.call for step in steps if step is not last)

    def _rename_clients(self) -> None:
        """Give clients names that are TLA+ names."""
        who = dict.fromkeys(name for step in self.steps for name in (step.who, *step.users) if name != "-")
        names = {name: f"c{n}" for n, name in enumerate(who, 1)}
        for step in self.steps:
            step.who = names.get(step.who, step.who)
            step.users = [names[name] for name in step.users]
        self.cursors = {names[name]: cursor for name, cursor in self.cursors.items() if name in names}
