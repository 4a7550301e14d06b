"""The plain search: the yardstick of the guided one, for tests and small histories.

It is asked about the same effects and looks at nothing but the model's answers: no estimates, no places,
nothing left out. A memoised search in the manner of Wing and Gong, where an effect may come next if it was
called before every other one still to come had returned. It is slow, and simple enough to be read through.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from partq.conformance.oracle.effects import BUSY, MAYBE, Effect, tried_meanwhile
from partq.conformance.oracle.explanations import explanations, failed_send, left_to_itself
from partq.conformance.oracle.reading import Question
from partq.conformance.oracle.unseen_receives import Receivings, is_unseen, moves
from partq.model.configuration import FOREVER
from partq.model.state import State

NODES: Final = 200_000
"""How many nodes are visited at the most."""


class _Node(NamedTuple):
    """The effects placed, as bits; whether a refusal was taken for a passing one; the state after them; how
    far unseen receives have got."""

    done: int
    busy: bool
    state: State
    receivings: Receivings = ()


def is_explained(question: Question, nodes: int = NODES) -> bool | None:
    """Whether the model explains the effects; None where that is not known after so many nodes."""
    effects = question.effects
    needed = sum(1 << n for n, effect in enumerate(effects) if not effect.doubt & MAYBE)
    start = _Node(0, False, question.start)
    seen = {start}
    stack = [start]
    while stack:
        node = stack.pop()
        if node.done & needed == needed:
            return True
        if len(seen) > nodes:
            return None
        for after in _successors(effects, node):
            if after not in seen:
                seen.add(after)
                stack.append(after)
    return False


def _successors(effects: tuple[Effect, ...], node: _Node) -> Iterator[_Node]:
    """Every way to go on: an effect that may come next, one that never happened, or a timer of the broker."""
    left = [(1 << n, effect) for n, effect in enumerate(effects) if not node.done >> n & 1]
    horizon = min((effect.ret for _, effect in left), default=FOREVER)
    for bit, effect in left:
        if effect.call > horizon:
            continue
        if is_unseen(effect):
            for after in moves(node.state, bit.bit_length() - 1, effect, node.receivings, horizon):
                yield _Node(
                    node.done | bit if after.ended else node.done, node.busy, after.state, after.receivings
                )
            continue
        tried = tried_meanwhile(effects, effect, node.done, horizon)
        for state in explanations(node.state, effect, horizon, tried=tried):
            yield node._replace(done=node.done | bit, state=state)
        if effect.doubt & BUSY and effect.action.txn is None and not node.busy:
            for state in explanations(node.state, effect, horizon, busy=True):
                yield node._replace(done=node.done | bit, busy=True, state=state)
        if effect.doubt & MAYBE:
            yield node._replace(done=node.done | bit, state=failed_send(node.state, effect.action))
    for state in left_to_itself(node.state, horizon):
        yield node._replace(state=state)
