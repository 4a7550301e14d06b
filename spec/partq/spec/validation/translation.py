"""Operations become steps: which of the actions in `tla/Validation.tla` an answer stands for, and at what
instants.

An operation that touches several partitions has an instant in each; what a flow is handed in one answer
comes one by one. An operation of unknown outcome is optional, unless something later shows that it
happened.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import groupby, pairwise
from typing import Any, Final, NamedTuple, TypeVar

from .places import Places, renamed
from .recording import FOREVER, NotFollowed, Operation, Recording, Shown
from .scope import check_scope
from .steps import DEAD, Step, Trace, order_of

T = TypeVar("T")

NOBODY: Final = "nobody"
"""Who receives without a flow, where flows are needed."""

_LOST: Final = frozenset({"lock_lost", "not_found", "invalid_operation"})


def trace_of(recording: Recording) -> Trace:
    """The recording as a trace. Raises `NotFollowed`."""
    check_scope(recording)
    return _Translation(recording).trace()


class _Given(NamedTuple):
    """A lock that was given: of which message, in which step, to whom."""

    m: int
    step: int
    who: str
    client: str
    dead: bool


class _Sight(NamedTuple):
    """When a message was shown for the first time: by when, at which place of the answer, and from when on it
    may have been."""

    ret: int = FOREVER
    place: int = 0
    call: int = 0


class _Translation:
    """Makes the trace of one recording."""

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
        self.given: dict[str, _Given] = {}
        self.events: dict[int, int] = {}  # of each partition the last that was told of it
        self.some_locks_hidden = any(
            shown.lock is None
            for one in self.operations
            if one.op in ("receive", "receive_deferred") and not one.deletes
            for shown in one.shown
        )
        self.cursors: dict[str, list[int]] = {}

    def trace(self) -> Trace:
        """The whole trace."""
        for one in self.operations:
            self._add(one)
        self._note_cached()
        self._rename_clients()
        places = self.places
        return Trace(
            self.recording,
            places.count,
            renamed(places.messages),
            {n for n, message in enumerate(places.messages, 1) if message.conflicting},
            self._within(),
            places.births,
            {n for n, message in enumerate(places.messages, 1) if message.past and message.later},
            {n for n, message in enumerate(places.messages, 1) if message.mortal},
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

    # One operation

    def _add(self, one: Operation) -> None:
        if one.happened and one.record in self.places.impossible:
            self._put(one, [Step("impossible")])
        elif not (one.refused and one.error == "unsupported"):
            _TRANSLATED[one.op](self, one)

    def _put(
        self, one: Operation, steps: Iterable[Step], optional: bool = False, ret: int | None = None
    ) -> int:
        """Add steps of one instant; the number of the first. ``ret``: by when, if not by the return."""
        head = len(self.steps) + 1
        if ret is None:
            ret = FOREVER if optional or one.ret is None else one.ret
        steps = list(steps)
        for k, step in enumerate(steps):
            step.record, step.call, step.ret = one.record, one.call, ret
            if one.dead and step.op in _OF_THE_DEAD:
                step.op += DEAD
            step.head, step.first, step.optional = head, k == 0, optional
            step.then = head + k + 1 if k + 1 < len(steps) else 0
            step.txn = one.txn or ""
            if step.who == "-" and one.client:
                step.who = one.client
            self.steps.append(step)
        return head

    def _refuse(self, op: str, one: Operation, **more: Any) -> None:
        """Add the step of an operation that was refused."""
        error = "passing" if one.passing else "lost" if one.error in _LOST else "other"
        free = more.pop("free", False) or one.error == "connection_lost"
        self._put(one, [Step(op, error=error, passing=one.passing, free=free, **more)])

    def _simple(self, op: str, refused: str, one: Operation, **more: Any) -> None:
        """Add the one step of an operation that has one action for each outcome."""
        if one.refused:
            self._refuse(refused if one.passing or refused in _REASONED else "impossible", one, **more)
        else:
            self._put(one, [Step(op, **more)], optional=not one.happened)

    # Sending

    def _send(self, one: Operation) -> None:
        ms = [self.sent[message.id] for message in one.sent]
        keyless = (
            "partitioned" in self.recording.words
            and one.txn is None
            and all(message.key is None for message in one.sent)
        )
        if one.refused:
            self._send_refused(one, ms)
            return
        kind = "send" if one.txn is None else "txn schedule" if one.op == "schedule" else "txn send"
        if one.txn is not None and any(message.past for message in one.sent):
            raise NotFollowed("a message of a transaction whose time had come when it was sent")
        ret = one.ret
        if not one.happened:
            later = [birth for m in ms if (birth := self.places.births[m - 1])]
            ret = min(self.first_shown.get(m, _Sight()) for m in ms + later).ret
            if ret == FOREVER:
                self._put(one, [Step(kind, ms=ms, keyless=keyless)], optional=True)
                return
        for group in self._stored_together(one, ms, keyless):
            steps = [Step(kind, ms=[m, *(o for o in ms if o != m)], keyless=keyless) for m in group]
            self._put(one, steps, ret=ret)

    def _stored_together(self, one: Operation, ms: Sequence[int], keyless: bool) -> list[list[int]]:
        """The messages of one request, those of one instant together, in the order of their numbers. Those of
        other keys may be between them, if it is no rule that there are none (KEY-7)."""

        def instant(m: int) -> Hashable:
            if keyless:
                return self.places.part(m) or ("by itself", m)
            return "KEY-7" in self.recording.rules or self.places.messages[m - 1].key

        if one.txn is not None:
            return [list(ms)]
        together = _grouped if keyless or "KEY-7" in self.recording.rules else _runs
        groups = together(sorted(ms, key=self._turn), instant)
        for group in groups:
            self.unnumbered.append([m for m in group if m in self.first_shown and self.places.number(m) < 0])
        return groups

    def _turn(self, m: int) -> tuple[bool, int, _Sight]:
        """Where a message comes in its batch: by its number, else by when it was first shown. Those of one
        partition are delivered for the first time in the order of their numbers (RCV-3)."""
        number = self.places.number(m)
        return number < 0, number, self.first_shown.get(m, _Sight())

    def _send_refused(self, one: Operation, ms: Sequence[int]) -> None:
        invalid = one.error == "invalid_operation"
        if one.txn is not None:
            op = "txn send invalid" if invalid else "txn send refused"
        elif invalid:
            op = "send invalid"
        elif one.error in ("quota", "too_large"):
            op = "send full"
        else:
            op = "send fails" if one.passing else "impossible"  # KEY-9
        self._refuse(op, one, ms=ms, free=one.impatient and all(m.key is None for m in one.sent))

    # Receiving

    def _receive(self, one: Operation) -> None:
        op, who = "delete" if one.deletes else "receive", self._receiver(one)
        if one.refused:
            self._refuse("receive fails" if one.passing or self.flows else "impossible", one, who=who)
        elif not one.happened:
            if one.deletes or "caches" not in self.recording.words:
                self._put(one, [Step(op, who=who, max=one.limit)], optional=True)
        elif not one.shown:
            self._put(one, [Step("receive nothing", who=who)])
        else:
            self._delivered(op, who, one)

    def _receive_deferred(self, one: Operation) -> None:
        named, apart = [self.sent[id] for id in one.about], one.apart and "RCV-10" in self.recording.rules
        if one.refused:
            lost = one.error in _LOST or one.passing
            self._refuse(
                "by number refused" if lost else "impossible", one, ms=named, unknown=one.strange or apart
            )
        elif not one.happened:
            self._put(one, [Step("receive deferred", ms=named)] if named and not apart else [], optional=True)
        elif apart or not {self.sent.get(shown.id) for shown in one.shown} <= {*named}:
            self._put(one, [Step("impossible")])
        elif one.shown:
            self._delivered("receive deferred", one.client, one)
        else:
            self._put(one, [Step("receive nothing")])

    def _delivered(self, op: str, who: str, one: Operation) -> None:
        head = 0
        for group in self._delivered_together(one):
            prior = head if self.flows else 0
            head = self._put(
                one,
                (
                    Step(op, who=who, ms=[self.sent[shown.id]], counts=[self._count(shown)], prior=prior)
                    for shown in group
                ),
            )
            for n, shown in enumerate(group, head):
                if shown.lock is not None:
                    given = _Given(self.sent[shown.id], n, who, one.client, one.dead)
                    self.given.setdefault(shown.lock, given)

    def _receiver(self, one: Operation) -> str:
        """The flow by which a client receives; the client itself where there are none."""
        if not self.flows:
            return one.client
        return one.flow if one.flow and self.bound.get(one.flow) == one.client else NOBODY

    def _delivered_together(self, one: Operation) -> list[list[Shown]]:
        """What was delivered at one instant: a flow is handed its messages one by one, in the answer's
        order; others get those of one partition together."""

        def instant(item: tuple[int, Shown]) -> int:
            place, shown = item
            return (0 if self.flows else self.places.part(self.sent[shown.id])) or -1 - place

        groups = [[shown for _, shown in group] for group in _grouped(enumerate(one.shown), instant)]
        for group in groups:
            group.sort(key=lambda shown: self.places.number(self.sent[shown.id]))
        return groups

    def _count(self, shown: Shown) -> int:
        """The delivery count that is shown, where a rule is about it; else -1."""
        return -1 if shown.tries is None or "RCV-9" not in self.recording.rules else shown.tries

    def _state(self, shown: Shown) -> str:
        """What a peek shows of a message, where a rule is about it; else "-"."""
        known = shown.state is not None and "PEEK-7" in self.recording.rules
        return shown.state or "-" if known else "-"

    def _peek(self, one: Operation) -> None:
        if not self.expiry:
            return  # it was refused, as it has to be
        who = one.client + (DEAD if one.dead else "") if one.since is None else f"{one.client}~{one.record}"
        if one.since not in (None, (0, 0)):
            self.cursors[who] = self.places.cursor(one.since or (0, 0), one.dead)
        if not one.happened:
            self._simple("peek", "peek fails", one, who=one.client if one.refused else who, max=one.limit)
        elif not one.shown:
            self._put(one, [Step("peek nothing", who=who)])
        elif len(one.shown) > one.limit or any(shown.lock is not None for shown in one.shown):
            self._put(one, [Step("impossible")])
        else:
            for group in _grouped(one.shown, lambda shown: self.places.part(self.sent[shown.id])):
                ms = [self.sent[shown.id] for shown in group]
                if not self.places.part(ms[0]):
                    raise NotFollowed("a peek that does not show partitions")
                op = "peek" if len(set(ms)) == len(ms) else "impossible"
                counts = [self._count(shown) for shown in group]
                states = ["-" if one.dead else self._state(shown) for shown in group]
                self._put(one, [Step(op, who=who, ms=ms, counts=counts, states=states)])

    # Settling

    def _settle(self, one: Operation) -> None:
        tokens = list(dict.fromkeys(one.locks))
        known = [self.given[token] for token in tokens if token in self.given]
        strange = len(known) < len(tokens)
        if strange and self.some_locks_hidden:
            raise NotFollowed("a lock that no delivery shows")
        among_the_dead = any(lock.dead for lock in known)
        if among_the_dead and (one.txn is not None or one.op in ("dead_letter", "defer")):
            raise NotFollowed("dead letters that are settled in a transaction, dead-lettered, or deferred")
        if any(lock.dead != one.dead for lock in known):
            raise NotFollowed("a settlement of locks of both queues")
        kind = "renew" if one.op == "renew_lock" else one.op.replace("_", " ")
        kind = kind if one.txn is None else f"txn {kind}"
        if one.refused:
            op = "settlement refused" if one.txn is None else "txn settlement refused"
            self._refuse(op, one, **self._locks(one, known), unknown=strange)
        elif not one.happened:
            if len(tokens) > 1:
                raise NotFollowed("an unknown settlement of several locks")
            if known and kind != "renew":
                self._put(one, [Step(kind, **self._locks(one, known))], optional=True)
        elif (strange and "RCV-8" in self.recording.rules) or self._shows_another(one, known):
            self._put(one, [Step("impossible")])
        else:
            self._put(one, (self._settlement(kind, one, lock, known) for lock in known))

    def _shows_another(self, one: Operation, locks: Sequence[_Given]) -> bool:
        """Whether a renewal shows a message that the lock is not of."""
        return not {self.sent.get(shown.id) for shown in one.shown} <= {lock.m for lock in locks}

    def _settlement(self, kind: str, one: Operation, lock: _Given, among: Sequence[_Given]) -> Step:
        """The step that settles one lock of a request."""
        return Step(kind, **self._locks(one, [lock, *(other for other in among if other is not lock)]))

    def _locks(self, one: Operation, locks: Sequence[_Given]) -> dict[str, Any]:
        """The fields of a step that settles these locks. With flows a lock is used by the flow that was given
        it; by another client it is not."""
        users = [
            one.client if not self.flows else lock.who if lock.client == one.client else NOBODY
            for lock in locks
        ]
        return {
            "who": users[0] if users else one.client,
            "ms": [lock.m for lock in locks],
            "locks": [lock.step for lock in locks],
            "users": users,
        }

    def _cancel(self, one: Operation) -> None:
        ms = [self.sent[id] for id in one.about if id in self.sent]
        kind = "cancel" if one.txn is None else "txn cancel"
        if one.refused:
            self._refuse(f"{kind} refused", one, ms=ms, unknown=not ms)
        elif not (ms and self.places.births[ms[0] - 1]):
            self._put(one, [Step("impossible")] if one.happened else [])
        else:
            self._put(one, [Step(kind, ms=ms)], optional=not one.happened)

    # Transactions

    def _begin(self, one: Operation) -> None:
        if not (one.happened or one.refused):
            raise NotFollowed("a transaction that may not have begun")
        self._simple("begin", "begin fails", one)

    def _end(self, one: Operation) -> None:
        self._simple(one.op, f"{one.op} refused", one)

    # Flows

    def _bind(self, one: Operation) -> None:
        if one.partition is not None:  # REB-15
            self._put(one, [Step("impossible")] if one.happened else [])
        else:
            self._simple("bind", "bind refused", one, who=one.flow or NOBODY)

    def _unbind(self, one: Operation) -> None:
        mine = self.bound.get(one.flow or "") == one.client
        self._simple("unbind", "unbind refused", one, who=one.flow if mine and one.flow else NOBODY)

    def _assignment(self, one: Operation) -> None:
        part = self.places.names[one.partition or 0]
        event = Step("assigned", who=one.flow or NOBODY, part=part, state=one.state or "")
        event.prior = self.events.get(part, 0)
        self.events[part] = self._put(one, [event])

    def _events(self) -> list[list[tuple[str, str]]]:
        found: list[list[tuple[str, str]]] = [[] for _ in range(self.places.count)]
        for step in self.steps:
            if step.op == "assigned":
                found[step.part - 1].append((step.who, step.state))
        return found

    # The environment

    def _link(self, one: Operation) -> None:
        """A client's connection ends, or may have."""
        if self.flows:
            ends = [Step("flow lost", who=flow) for flow, owner in self.bound.items() if owner == one.client]
            for group in [ends] if one.happened else [[end] for end in ends]:
                self._put(one, group, optional=not one.happened)
        else:
            self._put(one, [Step("front end lost" if self.expiry else "link lost")])

    def _fault(self, one: Operation) -> None:
        if one.happened:
            self._put(
                one, [Step(one.op.replace("_", " "), part=self.places.names.get(one.partition or 0, 0))]
            )

    def _event(self, one: Operation) -> None:
        if one.happened:
            self._put(one, [Step({"broker_kill": "kill", "broker_start": "start"}.get(one.op, one.op))])

    def _nothing(self, one: Operation) -> None:
        """Without effect."""

    # What the whole trace says

    def _first_shown(self) -> dict[int, _Sight]:
        found: dict[int, _Sight] = {}
        for one in self.operations:
            for place, shown in enumerate(one.shown):
                m = self.sent.get(shown.id)
                if m is not None and one.ret is not None:
                    found[m] = min(found.get(m, _Sight()), _Sight(one.ret, place, one.call))
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

    def _rename_clients(self) -> None:
        """Give clients names that are TLA+ names."""
        who = dict.fromkeys(name for step in self.steps for name in (step.who, *step.users) if name != "-")
        names = {name: f"c{n}" for n, name in enumerate(who, 1)}
        for step in self.steps:
            step.who = names.get(step.who, step.who)
            step.users = [names[name] for name in step.users]
        self.cursors = {names[name]: cursor for name, cursor in self.cursors.items() if name in names}


_TRANSLATED: Final[dict[str, Callable[[_Translation, Operation], None]]] = {
    "send": _Translation._send,
    "send_batch": _Translation._send,
    "schedule": _Translation._send,
    "cancel_scheduled": _Translation._cancel,
    "receive": _Translation._receive,
    "receive_deferred": _Translation._receive_deferred,
    "peek": _Translation._peek,
    "complete": _Translation._settle,
    "abandon": _Translation._settle,
    "defer": _Translation._settle,
    "dead_letter": _Translation._settle,
    "renew_lock": _Translation._settle,
    "begin": _Translation._begin,
    "commit": _Translation._end,
    "rollback": _Translation._end,
    "bind": _Translation._bind,
    "unbind": _Translation._unbind,
    "assignment": _Translation._assignment,
    "disconnect": _Translation._link,
    "connection_lost": _Translation._link,
    "frontend_lost": _Translation._link,
    "reconnect": _Translation._nothing,
    "partition_down": _Translation._fault,
    "partition_up": _Translation._fault,
    "broker_kill": _Translation._event,
    "broker_start": _Translation._event,
    "drained": _Translation._event,
}

_REASONED: Final = frozenset({"commit refused", "rollback refused", "bind refused", "unbind refused"})
"""Refusals that may have other reasons than a passing one."""

_OF_THE_DEAD: Final = frozenset(
    {"receive", "delete", "peek", "peek nothing", "complete", "abandon", "renew", "renew_lock", "drained"}
)
"""What is a step of another kind in the dead-letter queue."""


def _runs(items: Iterable[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """The items in their order, those with equal keys that follow each other together."""
    return [list(run) for _, run in groupby(items, key)]


def _grouped(items: Iterable[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """The items with equal keys together, in order of first appearance."""
    groups: dict[Hashable, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())
