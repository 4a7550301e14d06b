"""Flows and partition assignment (REB): not modelled yet; every hook leaves the state as it is."""

from __future__ import annotations

from collections.abc import Iterator

from .actions import OK, Action, Answer, Observed
from .state import State

Steps = Iterator[tuple[Answer, State]]


def killed(state: State) -> Iterator[State]:
    yield state


def lost(state: State, proc: str, slack: int) -> Iterator[State]:
    yield state


def overdue(state: State, then: int) -> bool:
    return False


def moves(state: State) -> list[Action]:
    return []


def _no(state: State, action: Action, seen: Observed | None) -> Steps:
    yield OK, state


receive = bind = unbind = assignment = rebalance = handoff = _no
