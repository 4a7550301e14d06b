"""The executable model: `steps(state, action)` yields every allowed (answer, next state).

The API on one page
===================
``state = initial("azure-premium", Entity(partitions=2))`` (see `state.initial` for its switches) is an empty
entity. States are immutable, hashable and canonical: equal situations are equal states.

``steps(state, action)``: every allowed ``(Answer, State)`` for an `Action`. Nothing is yielded for what
cannot happen now (a fault that is already there, a move of the broker that is not due). Every freedom of the
catalogue is one of the pairs: which partition takes a keyless message or a new key (`State.keys` grows), what
a receive or peek answers, what a fault does. An `Answer` has ``status`` ok or error, for an error the set of
``errors`` kinds that a broker may choose from, and the messages shown as `Delivery`. Within one answer
messages stand in the order of partitions and numbers: another mix is the same answer.

``internal(state)``: the broker's own moves that may happen now, as actions that `steps` accepts:
``expire`` ``release`` ``lapse`` ``exhaust`` ``prefetch`` ``appear`` on one message (`settling.norm.OWN`),
``activate`` a scheduled one, ``bury`` one that is dead-lettered, ``number`` a message that waits for a
commit, ``forget`` an open transaction that a fault hit, ``reset`` a cursor that a fault hit, ``rebalance``,
``handoff``.
Any sequence of `steps` and `internal` moves is a behaviour that the catalogue allows, and vice versa.

``explain(state, action, observed)``: the states after those steps that agree with what a history shows of the
operation (`Observed`), and after just those of the broker's own moves on messages, cursors and transactions
that the observation needs, made at the last moment. So a search over the orders of a history needs no
`internal` moves but ``rebalance`` and ``handoff``, and a receive of 10 out of 20 messages is found
without trying the others. The contract:

- Messages are compared by ID; bodies, and IDs sent twice, are the caller's.
- ``observed.messages`` of a receive, peek or renewal is the answer of the record, as it is. Partitions go by
  their shown names (`initial(names=…)`: those that the history shows; the others stay anonymous), numbers are
  the shown ones: what number a partition's counter began at is learned from the first.
- ``observed.messages`` of an accepted send is one appearance of each of its messages that the history shows
  anywhere (later or by others), so that partition and number are picked and not guessed. Messages without
  one are taken never to be shown with a number.
- Lock tokens in an answer are the history's; settlements name them so. ``locked_until`` is trusted
  (RCV-13); where it is absent the lock's end is a range.
- Times: the state's clock is the history's. Move it with ``Action("advance", by=…)`` to the instant at which
  the operation shall take effect, at the latest its return; ``Action.slack`` is how much later that may have
  been. `advance` yields nothing where a timer is due before: make that move first.
- An outcome ``unknown``: try it as not happened, and as ``steps(state, action)``'s ok answers (for a receive:
  any of them; for a send: with hints, ``explain`` with status ok).
- Requirements waived (`initial(waived=…)`), and those that do not bind the profile, are relaxed in `explain`,
  which then allows what breaks only them, besides all that it allows otherwise. `steps` yields conforming
  behaviour only, apart from what both share; `explain` adds deviations that fit the observation: what
  a broken rule may do is mostly not enumerated finitely (any count, any loss). A delayed store is an
  action of its own, `STORE`, one for each such message that the history shows, at any time after its send.
- A broker may refuse as busy what no partition fault touches (ROUTE-7 speaks of faults): `Action.calm`. That
  a connection ended is told at any time; what it did to the client's flows, cursors and transactions is a
  `disconnect` by itself.
- ``locked_until`` of `Answer` messages is the latest end, ``lock`` the model's token.

Which rules a function implements: `clauses.of`. This file only dispatches: what an operation does is in
tables of its mechanism's norm, or, for a move that only a broken rule allows, of its deviations:

- `CLIENT_OPS`: operations of clients; `IN_TRANSACTION`, `WITH_FLOWS`: what they are instead in a
  transaction, or where consumers are bound as flows; `BY_SETTING`: what they are where an entity's settings
  say so, each with the test of these settings. Two mechanisms that give the same operation in one of these
  tables are refused;
- `BROKER_OPS`: what the environment and the broker do;
- `AFTERWARDS`: what a mechanism makes of the state after an operation of another;
- `moves` and `due_moves`, functions: the broker's own moves that may happen now, and those that `explain`
  does not make by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, TypeVar

from . import mechanisms
from .actions import GONE, NOWHERE, OK, Action, Answer, Observed, agrees, failure
from .admission import norm as requests
from .configuration import Config, InvalidScope
from .departures import load
from .edits import with_client
from .operations import OPS
from .routing import norm as routing
from .state import State, Steps, client, initial, range_of

__all__ = [
    "Action",
    "Answer",
    "InvalidScope",
    "Observed",
    "State",
    "due_moves",
    "explain",
    "initial",
    "internal",
    "joined",
    "sources",
    "steps",
]

load()

Mechanism = Callable[[State, Action, Observed | None], Steps]
Afterwards = Callable[[State, Action, Answer, State], State]
Setting = Callable[[Config], bool]
T = TypeVar("T")


def steps(state: State, action: Action) -> Steps:
    """Every allowed answer to an action with the state it leads to. Raises `KeyError` for an operation that
    is not modelled."""
    return _TABLE[action.op](state, action, None)


def explain(state: State, action: Action, observed: Observed) -> Iterator[State]:
    """Every state after a step that agrees with what was observed; see the module's contract."""
    for answer, after in _TABLE[action.op](state, action, observed):
        if agrees(answer, observed):
            yield after


def sources(state: State, action: Action) -> Sequence[int]:
    """The partitions from which an operation that delivers messages may bring any, the others being closed to
    it."""
    narrow = _SOURCES.get(action.op)
    return range_of(state, action.entity) if narrow is None else narrow(state, action)


def internal(state: State) -> list[Action]:
    """The broker's own moves that may happen now."""
    return [*chain.from_iterable(moves(state) for moves in _MOVES), *due_moves(state)]


def due_moves(state: State) -> list[Action]:
    """Those of them that `explain` does not make by itself."""
    return list(chain.from_iterable(moves(state) for moves in _DUE))


def _of_client(mechanism: Mechanism) -> Mechanism:
    """The operation as a client's: with the broker dead it fails, after a fault on the way to it it may."""

    def run(state: State, action: Action, seen: Observed | None) -> Steps:
        if state.dead or (state.clients and client(state, action.proc).shaky):
            return amid_fault(state, action, seen)
        return chain(mechanism(state, action, seen), requests.turned_away(state, action, seen))

    def amid_fault(state: State, action: Action, seen: Observed | None) -> Steps:
        anywhere = action.only in (None, NOWHERE)
        if state.dead:
            if anywhere:
                yield failure(GONE), routing.failed(state, action.messages)
            if action.op in _MAY_BE_EMPTY and (anywhere if seen is None else not seen.messages):
                yield OK, state
            if requests.reaches_the_dead(state, action):
                yield from mechanism(state, action, seen)
            return
        if anywhere:
            yield failure(GONE), routing.failed(state, action.messages)
        state = with_client(state, client(state, action.proc)._replace(shaky=False))
        yield from mechanism(state, action, seen)
        yield from requests.turned_away(state, action, seen)

    return run


_MAY_BE_EMPTY: Final = frozenset(name for name, op in OPS.items() if "max" in op.args)


def _of_situation(op: str) -> Mechanism:
    """The operation as it is in a transaction or not, with flows or without, and what it means to others."""
    plain, joined, flowing = _CLIENT_OPS[op], _IN_TRANSACTION.get(op), _WITH_FLOWS.get(op)
    is_set, otherwise = _BY_SETTING.get(op, (_never, plain))

    def mechanism_in(state: State, action: Action) -> Mechanism:
        if joined is not None and action.txn is not None:
            return joined
        if flowing is not None and state.flows is not None:
            return flowing
        return otherwise if is_set(state.cfg) else plain

    def run(state: State, action: Action, seen: Observed | None) -> Steps:
        return mechanism_in(state, action)(state, action, seen)

    return _followed(op, run if joined or flowing or op in _BY_SETTING else plain)


def _followed(op: str, mechanism: Mechanism) -> Mechanism:
    """The operation, and what it means to other mechanisms."""
    tables = (getattr(norm, "AFTERWARDS", {}) for norm in _NORMS)
    follows: list[Afterwards] = [table[op] for table in tables if op in table]

    def run(state: State, action: Action, seen: Observed | None) -> Steps:
        for answer, after in mechanism(state, action, seen):
            for follow in follows:
                after = follow(state, action, answer, after)
            yield answer, after

    return run if follows else mechanism


def _never(cfg: Config) -> bool:
    return False


def joined(tables: Iterable[Mapping[str, T]]) -> dict[str, T]:
    """What these tables have together. Raises `ValueError` for an operation that is in two of them, as it
    would be the later one's without a word."""
    found: dict[str, T] = {}
    for table in tables:
        if twice := sorted(found.keys() & table.keys()):
            raise ValueError(f"two mechanisms give the same operation: {', '.join(twice)}")
        found.update(table)
    return found


def _tables(name: str) -> list[Any]:
    """The mechanisms' tables of that name."""
    parts = (*mechanisms.norms(), *mechanisms.deviations())
    return [getattr(part, name) for part in parts if hasattr(part, name)]


_NORMS: Final = mechanisms.parts(__package__, "norm").values()
_MOVES: Final = [norm.moves for norm in _NORMS if hasattr(norm, "moves")]
_DUE: Final = [norm.due_moves for norm in _NORMS if hasattr(norm, "due_moves")]
_CLIENT_OPS: Final[dict[str, Mechanism]] = joined(_tables("CLIENT_OPS"))
_IN_TRANSACTION: Final[dict[str, Mechanism]] = joined(_tables("IN_TRANSACTION"))
_WITH_FLOWS: Final[dict[str, Mechanism]] = joined(_tables("WITH_FLOWS"))
_SOURCES: Final[dict[str, Callable[[State, Action], Sequence[int]]]] = joined(_tables("SOURCES"))
_BY_SETTING: Final[dict[str, tuple[Setting, Mechanism]]] = joined(_tables("BY_SETTING"))
_OF_CLIENTS: Final = {op: _of_client(_of_situation(op)) for op in _CLIENT_OPS}
_OF_BROKER: Final = {op: _followed(op, run) for op, run in joined(_tables("BROKER_OPS")).items()}
_TABLE: Final[dict[str, Mechanism]] = joined([_OF_BROKER, _OF_CLIENTS])

OPERATIONS: Final = frozenset(_TABLE)
"""What is modelled."""
