"""What a history shows of a step of the specification: the question as an action of the model, and of the
answer its messages with their partitions, numbers, delivery counts and locks.

`spec_side.words_of` says what an action's instances are called; the rest is in the states around the step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from partq.model.actions import INTERNAL, Action, Observed
from partq.model.configuration import COUNTER_BITS
from partq.model.messages import Delivery
from partq.model.operations import Outcome
from partq.model.scope import PRODUCER, TXN, Scope
from partq.spec.tools.labels import Instance
from partq.spec.tools.values import Function

from .graphs import SILENT
from .model_side import outbox
from .spec_side import SpecScope, words_of

_ENDS: Final = ("begin", "commit", "rollback")


class Shown(NamedTuple):
    """What a history shows of one operation."""

    action: Action
    observed: Observed

    @property
    def words(self) -> str:
        """The step in words."""
        asked, answer = self
        where = () if asked.partition is None else (f"partition {asked.partition + 1}",)
        transaction = () if asked.txn is None or asked.op in _ENDS else ("in the transaction",)
        question = (asked.op, asked.victim or asked.proc, *asked.locks, *(m.id for m in asked.messages))
        shown = (
            f"{one.id}{'' if one.seq is None else f' #{one.seq & (1 << COUNTER_BITS) - 1}'}"
            f"{'' if one.partition is None else f' in partition {one.partition + 1}'}"
            f"{'' if one.delivery_count is None else f', delivered {one.delivery_count} times before'}"
            for one in answer.messages
        )
        return f"{' '.join([*question, *where, *transaction])} -> {'; '.join([answer.status, *shown])}"


class Reading:
    """What a history shows of the steps of a scope."""

    def __init__(self, spec: SpecScope, family: str) -> None:
        self._outbox = outbox(Scope(family, spec.partitions, spec.keys, operations=()).outbox, spec)
        self._partitioned = "partitioned" in spec.profile
        self._flows = "flows" in spec.profile
        self._numbers = "numbers" in spec.profile

    def shown(self, one: Instance, before: Function, after: Function) -> Shown | str:
        """What a history shows of an instance of an action, between these states; `SILENT`: nothing. What is
        sent in a transaction may get its number later, so that no send there shows it."""
        asked, _, answered = words_of(one.name).partition(" -> ")
        op, *words = asked.split()
        if op in INTERNAL or one.name in UNSEEN:
            return SILENT
        action = self._asked(op, words, one.arguments)
        if answered == "error":
            return Shown(action, Observed(Outcome.ERROR))
        places = before if op == "peek" or "delete" in words else after
        ids: list[int] = []
        if one.name in _SHOWING:
            named = one.arguments[-1]
            ids = sorted(named) if isinstance(named, frozenset) else [named]
        shown = [self._delivery(n, places["msg"][n - 1], op, action) for n in ids]
        return Shown(action, Observed(messages=tuple(sorted(shown, key=lambda one: one.seq or 0))))

    def _asked(self, op: str, words: list[str], arguments: tuple[Any, ...]) -> Action:
        client = arguments[0] if "{c}" in words else PRODUCER
        in_transaction = "transaction" in words or op in _ENDS
        action = Action(op, client, txn=TXN if in_transaction else None)
        if op == "send":
            return action._replace(messages=(self._outbox[arguments[-1] - 1],))
        if "{lock}" in words:
            m, turn = arguments[-2:]
            return action._replace(locks=(_token(m, turn, client),))
        if "{p}" in words:
            return Action(op, partition=arguments[-1] - 1)
        if op == "receive_deferred":
            (named,) = arguments[1]
            return action._replace(about=(self._outbox[named - 1].id,))
        if op in ("broker_kill", "broker_start", "drained", "frontend_lost"):
            return Action(op, victim=client if "{c}" in words else None)
        if op in ("receive", "bind", "unbind") and self._flows:
            action = action._replace(flow=f"f-{client}")
        return action._replace(mode="receive_and_delete") if "delete" in words else action

    def _delivery(self, number: int, known: Mapping[str, Any], op: str, action: Action) -> Delivery:
        part, num = known["part"] - 1, known["num"]
        seq = part << COUNTER_BITS | num if self._partitioned else num
        counted = op != "send" and not self._flows
        locked = op in ("receive", "receive_deferred") and action.mode != "receive_and_delete"
        return Delivery(
            self._outbox[number - 1].id,
            seq=seq if self._numbers and num >= 0 else None,
            partition=part if self._partitioned and not self._flows else None,  # REB-15
            delivery_count=known["count"] if counted else None,
            lock=_token(number, known["turn"], action.proc) if locked else None,
        )


UNSEEN: Final = frozenset({"LifeEnds", "Vanish"})
"""Moves of the broker, or of time, of which a history of operations shows nothing."""

_SHOWING: Final = frozenset({"Send", "TxnSend", "Receive", "ReceiveAndDelete", "ReceiveDeferred", "Peek"})
"""The actions whose answers show messages, or that store one which may be shown later."""


def _token(message: int, turn: int, client: str) -> str:
    """The lock that a client was given, or never was."""
    return f"m{message}/{turn}/{client}"
