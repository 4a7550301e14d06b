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

Which rules a function implements: `clauses.of`. Mechanisms are one file each, the norm, and one beside it for
how a broker breaks its rules (`departures`); this file only dispatches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from . import mechanisms
from .actions import ACTIVATE, BURY, GONE, NOWHERE, OK, STORE, Action, Answer, Observed, agrees, failure
from .admission import norm as requests
from .deadletters import norm as deadletters
from .deferral import norm as deferral
from .delivery import norm as delivery
from .departures import load
from .edits import with_client
from .faults import norm as faults
from .operations import Outcome
from .peeking import cursors
from .rebalancing import events as assignment_events
from .rebalancing import norm as rebalancing
from .routing import deviations as routing_deviations
from .routing import norm as routing
from .scheduling import norm as scheduling
from .settling import norm as settling
from .state import InvalidScope, State, client, initial, position
from .transactions import norm as transactions

__all__ = ["Action", "Answer", "InvalidScope", "Observed", "State", "explain", "initial", "internal", "steps"]

load()

Steps = Iterator[tuple[Answer, State]]
Mechanism = Callable[[State, Action, Observed | None], Steps]


def steps(state: State, action: Action) -> Steps:
    """Every allowed answer to an action with the state it leads to. Raises `KeyError` for an operation that
    is not modelled."""
    return _TABLE[action.op](state, action, None)


def explain(state: State, action: Action, observed: Observed) -> Iterator[State]:
    """Every state after a step that agrees with what was observed; see the module's contract."""
    for answer, after in _TABLE[action.op](state, action, observed):
        if agrees(answer, observed):
            yield after


def internal(state: State) -> list[Action]:
    """The broker's own moves that may happen now."""
    found = list(settling.moves(state))
    found += scheduling.moves(state)
    found += deadletters.moves(state)
    found += transactions.moves(state)
    for known in state.clients:
        loose = (p for p in range(len(known.cursor)) if known.loose >> p & 1)
        found += [Action("reset", known.proc, partition=state.cfg.names[p]) for p in loose]
    found += rebalancing.moves(state)
    return found


def _reset(state: State, action: Action, seen: Observed | None) -> Steps:
    known, p = client(state, action.proc), position(state.cfg, action.partition)
    if p is not None and known.loose >> p & 1:
        yield OK, cursors.restarted(state, action.proc, p)


def _of_client(mechanism: Mechanism) -> Mechanism:
    """The operation as a client's: with the broker dead it fails, after a fault on the way to it it may."""

    def run(state: State, action: Action, seen: Observed | None) -> Steps:
        anywhere = action.only in (None, NOWHERE)
        if state.dead:
            if anywhere:
                yield failure(GONE), routing.failed(state, action.messages)
            if action.op in _MAY_BE_EMPTY and (anywhere if seen is None else not seen.messages):
                yield OK, state
            if requests.reaches_the_dead(state, action):
                yield from mechanism(state, action, seen)
            return
        known = client(state, action.proc)
        if known.shaky:
            if anywhere:
                yield failure(GONE), routing.failed(state, action.messages)
            state = with_client(state, known._replace(shaky=False))
        yield from mechanism(state, action, seen)
        yield from requests.turned_away(state, action, seen)

    return run


_MAY_BE_EMPTY: Final = frozenset({"receive", "peek"})


def _send(state: State, action: Action, seen: Observed | None) -> Steps:
    mechanism = routing.send if action.txn is None else transactions.send
    return mechanism(state, action, seen)


def _schedule(state: State, action: Action, seen: Observed | None) -> Steps:
    for answer, after in _send(state, action, seen):
        shows = answer.status == Outcome.OK and seen is None
        yield answer._replace(messages=scheduling.shown(after, action.messages)) if shows else answer, after


def _cancel(state: State, action: Action, seen: Observed | None) -> Steps:
    mechanism = scheduling.cancel if action.txn is None else transactions.cancel
    return mechanism(state, action, seen)


def _settle(state: State, action: Action, seen: Observed | None) -> Steps:
    mechanism = settling.settle if action.txn is None else transactions.settle
    for answer, after in mechanism(state, action, seen):
        yield answer, rebalancing.settled(after, action.slack)


def _receive(state: State, action: Action, seen: Observed | None) -> Steps:
    mechanism: Mechanism = delivery.receive if state.flows is None else rebalancing.receive
    return _delivered(mechanism, state, action, seen)


def _delivered(mechanism: Mechanism, state: State, action: Action, seen: Observed | None) -> Steps:
    """A delivery, with what it does to open transactions that settle what it delivers."""
    for answer, after in mechanism(state, action, seen):
        yield answer, transactions.received(state, after) if answer.messages else after


_NORMS: Final = mechanisms.parts(__package__, "norm").values()

_CLIENT_OPS: Final[dict[str, Mechanism]] = {
    "send": _send,
    "send_batch": _send,
    "schedule": _schedule,
    "cancel_scheduled": _cancel,
    "receive": _receive,
    **dict.fromkeys(settling.settlements(), _settle),
    **{op: mechanism for norm in _NORMS for op, mechanism in getattr(norm, "CLIENT_OPS", {}).items()},
    "receive_deferred": partial(_delivered, deferral.receive),
}
"""Those that several mechanisms share; any other is in the table of its norm."""

_TABLE: Final[dict[str, Mechanism]] = {
    **{op: _of_client(mechanism) for op, mechanism in _CLIENT_OPS.items()},
    "disconnect": faults.disconnect,
    "reconnect": faults.reconnect,
    "partition_down": faults.partition_down,
    "partition_up": faults.partition_up,
    "frontend_lost": faults.frontend_lost,
    "connection_lost": faults.frontend_lost,
    "broker_kill": faults.broker_kill,
    "broker_start": faults.broker_start,
    "advance": faults.advance,
    "drained": faults.drained,
    "assignment": assignment_events.assignment,
    **dict.fromkeys(settling.OWN, settling.own),
    ACTIVATE: scheduling.activate,
    BURY: deadletters.bury,
    STORE: routing_deviations.store_withheld,
    "forget": transactions.forget,
    "number": transactions.number,
    "reset": _reset,
    "rebalance": rebalancing.rebalance,
    "handoff": rebalancing.handoff,
}

OPERATIONS: Final = frozenset(_TABLE)
"""What is modelled."""
