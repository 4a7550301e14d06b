"""Traces of the TLA+ specification (`partq.spec.simulation.behaviours`) as programs.

A trace is one behaviour that the specification allows, or one of a wrong variant of it. Its program does what
its clients and its environment did; where the broker chooses otherwise (another partition, another message,
none) the run goes another way. Nothing here knows what a broker should answer.

What a program can't say is left out, or said by another client: a lock is settled by the client that was
given it, and the one transaction is that of the client which settles in it first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from partq.conformance.workload.cases.steps import program
from partq.conformance.workload.program import Program, Step
from partq.conformance.workload.program_writer import Move, Writer
from partq.model.actions import INVALID, LOST, OK, Action, Answer, failure
from partq.model.messages import SOLACE_KEY, Delivery, KeyRule, Message
from partq.model.operations import UNAVAILABLE
from partq.model.profiles import Profile, profile
from partq.model.scope import PRODUCER
from partq.spec.simulation.itf import Trace

NO_KEY: Final = "-"
"""The specification's word for a message without a key."""

_TXN: Final = "t"


class NoProgram(ValueError):
    """The trace is none of the specification's; the message says what is missing or wrong."""


_Count = Annotated[int, msgspec.Meta(ge=1, le=2**31)]
_Key = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
_Client = Annotated[str, msgspec.Meta(pattern=r"^(-|c[0-9]{1,3})$")]


class _Scope(msgspec.Struct, frozen=True):
    """The constants of a trace, as `Traced.tla` has them."""

    KeyOf: tuple[_Key, ...]
    TwoKeys: frozenset[int]
    PeekMax: _Count
    MaxDeliveryCount: _Count
    FirstNumber: int
    Modulus: _Count
    Profile: frozenset[str]


class _Seen(msgspec.Struct, frozen=True):
    """`answer` of `ClientHistory.tla`."""

    op: str
    by: _Client
    ms: frozenset[int]
    turn: int
    out: str


class _Message(msgspec.Struct, frozen=True):
    """A message of `PartitionLog.tla`: where it is, and which of its locks was the last."""

    at: str
    turn: int


class _State(msgspec.Struct, frozen=True):
    answer: _Seen
    msg: tuple[_Message, ...]
    up: Annotated[tuple[bool, ...], msgspec.Meta(min_length=1, max_length=1024)]

    def turned(self, after: _State) -> list[int]:
        """The partitions (0 …) that went down or came up on the way to the next state."""
        return [p for p, (was, now) in enumerate(zip(self.up, after.up, strict=True)) if was != now]


class Behaviour(NamedTuple):
    """What a trace shows, checked: of any profile that it fits a program can be made."""

    scope: _Scope
    states: tuple[_State, ...]

    def fits(self, profile_name: str) -> bool:
        """Whether it is one of a family like that: partitioned or not, with flows or without."""
        words, family = self.scope.Profile, profile(profile_name)
        return ("partitioned" in words, "flows" in words) == (family.partitioned, family.flows)

    def program(self, profile_name: str, lacks: Collection[str] = (), seed: int = 0) -> Program:
        """Its program for a profile that it fits: equal arguments give equal programs. ``lacks``: steps that
        are left out. ``seed``: by which a simulated broker makes its choices."""
        family = profile(profile_name)
        reader, writer = _Reader(self, family), Writer(profile_name, lacks)
        steps = [
            step for before, after in pairwise(self.states) for step in reader.steps(before, after, writer)
        ]
        return program(profile_name, *steps, seed=seed, **self._settings(family))

    def _settings(self, family: Profile) -> dict[str, Any]:
        """The entity's settings. Numbers roll over in the program if the trace has messages enough for it."""
        scope, count = self.scope, len(self.states[0].up)
        left = scope.Modulus - scope.FirstNumber
        found: dict[str, Any] = {"max_delivery_count": scope.MaxDeliveryCount}
        if not family.partitions or count in family.partitions:
            found["partitions"] = count
        if family.shows_seq and len(scope.KeyOf) > left:
            found["seq_start"] = (1 << family.counter_bits) - left
        return found


def behaviour_of(trace: Trace) -> Behaviour:
    """What the trace shows. Raises `NoProgram` where that is not what the specification does."""
    try:
        scope = msgspec.convert(trace.params, _Scope)
    except msgspec.ValidationError as error:
        raise NoProgram(f"params: {error} (`partq spec simulate` writes them)") from None
    if not 0 <= scope.FirstNumber < scope.Modulus:
        raise NoProgram("params: FirstNumber is not below Modulus")
    states: list[_State] = []
    for number, state in enumerate(trace.states):
        try:
            states.append(msgspec.convert(state, _State))
            _check(scope, states)
        except (msgspec.ValidationError, NoProgram) as error:
            raise NoProgram(f"states[{number}]: {error}") from None
    return Behaviour(scope, tuple(states))


def _check(scope: _Scope, states: Sequence[_State]) -> None:
    """Whether the last state may follow. Raises `NoProgram`."""
    before, last = states[max(0, len(states) - 2)], states[-1]
    seen = last.answer
    if (len(last.msg), len(last.up)) != (len(scope.KeyOf), len(before.up)):
        raise NoProgram("not as many messages as KeyOf has, or partitions as before")
    if unknown := seen.ms - {*range(1, len(scope.KeyOf) + 1)}:
        raise NoProgram(f"answer.ms: there is no message {min(unknown)}")
    if len(states) == 1:
        return
    if seen.op not in _READERS:
        raise NoProgram(f"answer.op: there is no operation {seen.op!r}")
    if seen.op in _SENDS.keys() | _SETTLES.keys() and not seen.ms:
        raise NoProgram(f"answer.ms: {seen.op} names no message")
    if seen.op in _OUTAGES and len(before.turned(last)) != 1:
        raise NoProgram(f"up: {seen.op} changes it in one place")


class _Reader:
    """Reads one trace as moves. ``given``: of each lock the client that was given it last. ``owner``: who
    sends, and has the transaction."""

    def __init__(self, behaviour: Behaviour, family: Profile) -> None:
        self.scope = behaviour.scope
        self.rule = family.key_rule
        self.given: dict[str, str] = {}
        settles = [state.answer.by for state in behaviour.states if state.answer.op == "txn complete"]
        self.owner = settles[0] if settles else PRODUCER

    def steps(self, before: _State, after: _State, writer: Writer) -> list[Step]:
        """The steps of one step of the trace."""
        move = _READERS[after.answer.op](self, before, after)
        if move is None:
            return []
        known = self.given.keys() >= {*move.action.locks}
        return writer.steps(move) if known else writer.forged(move.action)

    def _unseen(self, before: _State, after: _State) -> None:
        """A move of the broker's own, to which the program leaves it."""

    def _send(self, before: _State, after: _State) -> Move:
        seen = after.answer
        op, txn = _SENDS[seen.op]
        messages = tuple(self._message(m) for m in sorted(seen.ms))
        return Move(Action(op, self.owner, messages=messages, txn=txn), _answer(seen))

    def _message(self, m: int) -> Message:
        id, key = f"m{m}", self.scope.KeyOf[m - 1]
        body = f"body of {id}"
        if m in self.scope.TwoKeys:
            return Message(id, body, session_id=f"not {key}", partition_key=key)
        if key == NO_KEY:
            return Message(id, body)
        if self.rule is KeyRule.USER_PROPERTY:
            return Message(id, body, properties=((SOLACE_KEY, key),))
        return Message(id, body, partition_key=key)

    def _receive(self, before: _State, after: _State) -> Move:
        seen = after.answer
        deletes = seen.op == "delete"
        shown = [self._delivery(m, seen.by, after, deletes) for m in sorted(seen.ms)]
        mode = "receive_and_delete" if deletes else "peek_lock"
        return Move(Action("receive", seen.by, mode=mode), _answer(seen, shown))

    def _delivery(self, m: int, client: str, after: _State, deletes: bool) -> Delivery:
        if deletes:
            return Delivery(f"m{m}")
        lock = _lock(m, after.msg[m - 1].turn)
        self.given[lock] = client
        return Delivery(f"m{m}", lock=lock)

    def _settle(self, before: _State, after: _State) -> Move:
        seen = after.answer
        op, txn = _SETTLES[seen.op]
        named = sorted(seen.ms)
        locks = tuple(_lock(m, seen.turn or before.msg[m - 1].turn) for m in named)
        by = self.given.get(locks[0], seen.by)
        return Move(Action(op, by, locks=locks, txn=txn), _answer(seen))

    def _peek(self, before: _State, after: _State) -> Move:
        return Move(Action("peek", after.answer.by, max=self.scope.PeekMax), _answer(after.answer))

    def _transaction(self, before: _State, after: _State) -> Move:
        return Move(Action(after.answer.op, self.owner, txn=_TXN), _answer(after.answer))

    def _flow(self, before: _State, after: _State) -> Move:
        return Move(Action(after.answer.op, after.answer.by), _answer(after.answer))

    def _passing(self, before: _State, after: _State) -> Move | None:
        """Time that ends a lock, a delay, or a handoff; one that ends when all is settled takes none."""
        if after.answer.out == "settled":
            return None
        held = {_lock(m, one.turn) for m, one in enumerate(after.msg, 1) if one.at == "locked"}
        return Move(Action(after.answer.op), OK, sorted(held & self.given.keys()))

    def _outage(self, before: _State, after: _State) -> Move:
        (turned,) = before.turned(after)
        return Move(Action(_OUTAGES[after.answer.op], partition=turned), OK)

    def _fault(self, before: _State, after: _State) -> Move:
        return Move(Action(_FAULTS[after.answer.op], victim=after.answer.by), OK)


def _lock(m: int, turn: int) -> str:
    return f"m{m}/{turn}"


_REFUSED: Final = {"refused": UNAVAILABLE, "invalid": INVALID, "lost": LOST}


def _answer(seen: _Seen, shown: Sequence[Delivery] = ()) -> Answer:
    if seen.out in _REFUSED:
        return failure(_REFUSED[seen.out])
    return OK._replace(messages=tuple(shown))


_SENDS: Final = {"send": ("send", None), "batch": ("send_batch", None), "txn send": ("send", _TXN)}
_SETTLES: Final = {
    "complete": ("complete", None),
    "complete both": ("complete", None),
    "abandon": ("abandon", None),
    "txn complete": ("complete", _TXN),
}
_OUTAGES: Final = {"partition down": "partition_down", "partition up": "partition_up"}
_FAULTS: Final = {"front end lost": "frontend_lost", "kill": "broker_kill", "start": "broker_start"}
_READERS: Final[Mapping[str, Callable[[_Reader, _State, _State], Move | None]]] = {
    **dict.fromkeys(_SENDS, _Reader._send),
    **dict.fromkeys(("receive", "delete"), _Reader._receive),
    **dict.fromkeys(_SETTLES, _Reader._settle),
    "peek": _Reader._peek,
    **dict.fromkeys(("begin", "commit", "rollback"), _Reader._transaction),
    **dict.fromkeys(("bind", "unbind"), _Reader._flow),
    **dict.fromkeys(("expire", "rebalance", "handoff"), _Reader._passing),
    **dict.fromkeys(_OUTAGES, _Reader._outage),
    **dict.fromkeys(_FAULTS, _Reader._fault),
    **dict.fromkeys(("prefetch", "number", "appear", "drained"), _Reader._unseen),
}
"""How each word that `answer.op` may be is read."""
