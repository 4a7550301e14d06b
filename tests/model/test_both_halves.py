"""`steps` and `explain` are one norm: at small scopes, in every state and for every action, what `explain`
allows is what `steps` yields after moves of the broker that an observation may need."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

import pytest

from partq.model.actions import FULL, Action, Answer, Observed, agrees
from partq.model.explore import reach
from partq.model.machine import State, explain, internal, steps
from partq.model.messages import Delivery
from partq.model.operations import ERRORS
from partq.model.peeking import observed as peeked
from partq.model.scope import Scope
from partq.model.settling import norm as settling
from partq.model.settling.norm import OWN

OPERATIONS = ("receive", "complete", "abandon", "stale")
SCOPES = {
    "peeks": Scope(
        partitions=1,
        messages=("a", "b"),
        operations=(*OPERATIONS, "delete", "expire", "prefetch", "peek"),
        clients=1,
    ),
    "two partitions": Scope(messages=("a", "b"), operations=(*OPERATIONS, "prefetch"), clients=1),
    "transactions": Scope(
        messages=("a",), operations=(*OPERATIONS, "transactions"), clients=1, freedoms=("lag", "early")
    ),
    "outages": Scope(
        messages=("a", "-"),
        operations=("receive", "partition faults"),
        clients=1,
        freedoms=("serving",),
    ),
    "faults": Scope("azure-flat", 1, ("a",), operations=(*OPERATIONS, "broker faults"), clients=1),
    "scheduling": Scope(
        partitions=1,
        messages=("a", "b"),
        operations=("receive", "complete", "scheduling", "transactions"),
        clients=1,
    ),
    "flows": Scope("solace", 2, ("a", "b"), operations=("receive", "complete", "abandon"), clients=1),
}
"""Left out is settling amid an outage: that a lock is refused as unavailable which only may have ended
`explain` does not allow; once it certainly has, both do."""

SHOWING = ("receive", "peek")
MOVES = {*OWN, "activate", "number", "forget", "reset", "rebalance", "handoff", "unbind"}
"""The broker's own moves, no operations; and what no source says the answer to where the flow is gone."""

TIMERS = ("rebalance", "handoff", "activate")
"""Of these those that no observation makes on its way."""

KINDS = sorted(ERRORS.keys() - FULL - {"connection_lost"})
"""Of the others `explain` alone knows: limits are not modelled, and a connection ends at any time."""


def observations(action: Action, counted: bool) -> Iterator[Observed]:
    """What a history may show of an operation, small: every kind of error, and every answer, with every count
    up to two if counts are shown, and of one message more than was asked for where a rule bounds them."""
    yield from (Observed("error", kind) for kind in KINDS)
    yield Observed()
    for size in range(1, action.max + 1 + counted) if action.op in SHOWING else ():
        for ids in permutations(("m1", "m2"), size):
            for counts in product(range(3) if counted else (None,), repeat=size):
                shown = (Delivery(id, delivery_count=n) for id, n in zip(ids, counts, strict=True))
                yield Observed(messages=tuple(shown))


def is_shown(answer: Answer, seen: Observed, action: Action) -> bool:
    """Whether the answer is the one that is observed."""
    shown = [(d.id, d.delivery_count) for d in seen.messages]
    counted = any(count is not None for _, count in shown)
    told = [(d.id, d.delivery_count if counted else None) for d in answer.messages]
    mixes = [list(mix) for mix in permutations(told)] if action.op in SHOWING else [shown]
    return agrees(answer, seen) and shown in mixes


def led_to(states: set[State], *but: str, only: str = "") -> set[State]:
    """The states that moves of the broker lead to, without these, or by one alone."""
    found, waiting = set(states), list(states)
    while waiting:
        state = waiting.pop()
        for move in internal(state):
            if move.op not in but and only in ("", move.op):
                after = {then for _, then in steps(state, move)} - found
                found |= after
                waiting += after
    return found


def differences(scope: Scope) -> Iterator[tuple[State, Action, Observed, bool]]:
    """Where the halves differ, and whether it is `explain` that allows more."""
    for node in reach(scope).nodes:
        # Last the caches fill: where there is no clock, no lock that nobody saw has run out there.
        before = led_to(led_to({node.state}, "prefetch", *TIMERS), only="prefetch")
        asked = (action._replace(only=None) for action in scope.actions(node) if action.op not in MOVES)
        for action in dict.fromkeys(asked):
            answers = [answer for state in before for answer, _ in steps(state, action)]
            for seen in observations(action, not scope.has_flows):
                stepped = any(is_shown(answer, seen, action) for answer in answers)
                explained = next(explain(node.state, action, seen), None) is not None
                if stepped != explained:
                    yield node.state, action, seen, explained


@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES)
def test_explain_is_steps_filtered(scope: Scope) -> None:
    assert next(differences(scope), None) is None


def test_a_lock_that_never_ends_by_itself_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in what `explain` alone uses: it allows too little."""
    monkeypatch.setattr(settling, "lost", lambda state, place, reach: iter(()))
    assert any(not more for *_, more in differences(SCOPES["peeks"]))


def test_a_peek_that_may_leave_out_anything_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one: it allows too much."""
    monkeypatch.setattr(peeked, "left_out", lambda state, entry, reach: [entry])
    assert any(more for *_, more in differences(SCOPES["peeks"]))
