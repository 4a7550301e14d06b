"""The machine's input and output: actions, answers, and observations from a history.

Plain data. An action is one operation of a client, one fault, a stretch of time, or one of the broker's own
moves; its fields carry the names and units of the history's ``args``. Nothing here knows a state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from .messages import Delivery, Message
from .operations import CLOCK, ENV, OPS, UNAVAILABLE, Outcome
from .profiles import SECOND

LONG_SEND: Final = 15 * SECOND
"""A send that may wait longer than this outlasts the re-routing around a down partition (ROUTE-6)."""

NOWHERE: Final = -1
"""See `Action.only`."""

INVALID: Final = frozenset({"invalid_operation"})
GONE: Final = UNAVAILABLE | {"connection_lost"}
"""The error kinds of a client whose connection is broken."""
FULL: Final = frozenset({"quota", "too_large"})
"""A send beyond a limit; the limits themselves are not modelled."""
LOCK_LOST: Final = "lock_lost"
LOST: Final = frozenset({LOCK_LOST, "not_found", "invalid_operation"})
"""A settlement with a lock that is not, or no longer, held. No source specifies the kind."""
REFUSED: Final = frozenset({"invalid_operation", "unsupported", "not_found"})
"""A request that the interface does not offer."""
BROKEN_TXN: Final = frozenset({"invalid_operation", "not_found", "lock_lost"}) | UNAVAILABLE
"""A transaction that was rolled back, or cannot be committed."""

INTERNAL: Final = (
    "expire",
    "release",
    "lapse",
    "exhaust",
    "prefetch",
    "appear",
    "activate",
    "bury",
    "number",
    "forget",
    "reset",
    "rebalance",
    "handoff",
)
"""The broker's own moves, as operations of `Action`: see `machine`."""


ACTIVATE: Final = "activate"
"""The broker's own move by which a scheduled message is enqueued (SCH)."""

FORWARD: Final = "forward"
"""The broker's own move by which a message arrives that another queue forwards (FWD)."""

BURY: Final = "bury"
"""The broker's own move by which a message comes to the dead-letter queue (RCV-9)."""

STORE: Final = "store"
"""The broker's own move, under a waiver, that stores a single message after its send was refused, or made in
a transaction."""


class Action(NamedTuple):
    """One operation. Times and lengths are ns; ``partition`` and numbers are as shown to clients.

    ``slack``: the operation may have taken effect up to so much later than the state's clock reads (its
    return minus that clock); deadlines that it starts are loosened by it. ``early``: so much earlier than
    that clock reads may a message have got its enqueued time.
    ``victim``: the client that a fault hits. ``partition`` is the shown name, ``number`` a message's place in
    its partition, for the broker's own moves. ``only``: for exploration, restrict a receive or peek to
    answers out of the partition at this position (0 …), a send to storing there, a settlement to locks there;
    `NOWHERE`: to answers out of none. ``about``: the births that the arguments name, as far as that is known.
    ``seqs``: the numbers that do. ``target``: restrict a rebalance to those after which each partition is on
    its way to that flow; None: to any. ``calm``: no partition fault touches the operation, so that it may be
    refused as busy, which changes nothing. ``entity``: `operations.ENTITY`, of a receive, peek or drain.
    ``session_id``: the session that is meant, or, ``next``, that was the answer; None: not known.
    ``locked_until``: the end of the lock that the answer shows. ``told``: what else the answer says that is
    to be compared, by argument. ``state``: of an assignment; or the state of a session that is set, or that
    the answer shows. ``settings``: those that an update asks for, or another entity's. ``rule``: the one to
    be changed. ``idle``: for so long before it, ns, certainly nothing had been asked for in its transaction,
    nor a fault met that. ``taken``: so many messages were asked for in its transaction by then, at the most,
    with its own. ``held``: so many bytes the entity certainly holds with this send, ``ever``: so many it may
    have been sent by then. ``fates``: of a kill, whether flows outlived it; None: likely; of a
    bind, its own flow, where that may have outlived one.
    """

    op: str
    proc: str = ENV
    messages: tuple[Message, ...] = ()
    txn: str | None = None
    locks: tuple[str, ...] = ()
    max: int = 1
    mode: str = "peek_lock"
    from_seq: int | None = None
    partition: int | None = None
    flow: str | None = None
    by: int = 0
    timeout: int = 60 * SECOND
    state: str | None = None
    victim: str | None = None
    number: int | None = None
    only: int | None = None
    target: tuple[str | None, ...] | None = None
    about: tuple[str, ...] = ()
    seqs: tuple[int, ...] = ()
    entity: str = ""
    session_id: str | None = None
    next: bool = False
    locked_until: int | None = None
    told: tuple[tuple[str, Any], ...] = ()
    settings: tuple[tuple[str, Any], ...] = ()
    rule: tuple[tuple[str, Any], ...] = ()
    idle: int = 0
    taken: int = 0
    held: int = 0
    ever: int = 0
    fates: tuple[tuple[str, bool | None], ...] = ()
    slack: int = 0
    early: int = 0
    calm: bool = False

    def within(self, slack: int, early: int, calm: bool) -> Action:
        """The operation with these, its last fields; several times as fast as `_replace`."""
        return tuple.__new__(Action, (*self[:-3], slack, early, calm))


_CLOCK: Final = Action(CLOCK)
_PLACES: Final = {name: place for place, name in enumerate(Action._fields)}
_BY: Final = _PLACES["by"]


def passing(by: int) -> Action:
    """So much time (ns) passes; several times as fast as the constructor."""
    return tuple.__new__(Action, (*_CLOCK[:_BY], by, *_CLOCK[_BY + 1 :]))


class Answer(NamedTuple):
    """What an operation may answer: ok with messages, or an error of one of these `operations.ERRORS`.

    Messages are as in a history; ``seq`` is None while the partition's first number is unknown, ``lock`` is
    the model's own token, and ``body`` is left to the reader, who has what was sent.
    """

    status: str
    errors: frozenset[str] = frozenset()
    messages: tuple[Delivery, ...] = ()


class Observed(NamedTuple):
    """What a history shows of one operation, to be explained by a step.

    For a receive or peek ``messages`` is the answer. For a send that was accepted it is, of each of its
    messages that the history shows *anywhere*, one appearance: its partition and number are hints.
    ``error`` None accepts any kind.
    """

    status: str = Outcome.OK
    error: str | None = None
    messages: tuple[Delivery, ...] = ()


OK: Final = Answer(Outcome.OK)


def failure(kinds: frozenset[str]) -> Answer:
    """An error answer of one of these kinds."""
    return Answer(Outcome.ERROR, kinds)


def agrees(answer: Answer, seen: Observed | None) -> bool:
    """Whether status and error kind of an answer are the observed ones. Mechanisms compare its messages: they
    know which parts a broker need not show."""
    if seen is None:
        return True
    if answer.status != seen.status:
        return False
    return answer.status == Outcome.OK or seen.error is None or seen.error in answer.errors


_RENAMED: Final = {"lock": "locks", "proc": "victim"}


def action_of(op: str, proc: str, args: Mapping[str, Any]) -> Action:
    """The action of a history's operation: its ``args``, with ``lock`` as a list of one."""
    fields: dict[str, Any] = {}
    for name, value in args.items():
        if name in _RENAMED:
            fields[_RENAMED[name]] = (value,) if name == "lock" else value
        elif name in ("settings", "rule"):
            fields[name] = tuple(sorted(value.items()))
        elif name in Action._fields:
            fields[name] = tuple(value) if isinstance(value, list) else value
    tells = OPS[op].tells if op in OPS else ()
    if told := tuple((name, args[name]) for name in tells if name in args and name not in fields):
        fields["told"] = told
    if "seqs" in fields:
        fields["max"] = len(fields["seqs"])
    made = [op, proc, *_CLOCK[2:]]
    for name, value in fields.items():
        made[_PLACES[name]] = value
    return Action._make(made)
