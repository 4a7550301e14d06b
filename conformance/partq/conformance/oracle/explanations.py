"""The model asked about one effect: the states in which it may have left the broker.

Here are the clock, the broker's timers, and the few things that no state of the model has: a fault may strike
what is down already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final

from partq.conformance.oracle.effects import BUSY, MAYBE, Effect
from partq.conformance.oracle.rebalances import Target
from partq.conformance.oracle.roles import DELIVERS, LOOKS
from partq.model.actions import Action, Answer, Observed, passing
from partq.model.configuration import position
from partq.model.machine import due_moves, explain, steps
from partq.model.messages import Delivery, message_id
from partq.model.operations import OPS, UNDOES, Outcome
from partq.model.peeking.observed import unseen
from partq.model.profiles import OrderDomain
from partq.model.routing.norm import failed
from partq.model.sequencing.norm import burn
from partq.model.state import Part, State
from partq.model.statuses import LOOSE

SHOWN: Final = 6
"""The limit of allowed answers that are named for an effect that does not fit."""

TRIED: Final = 100
"""How many of its answers, and of the states before it, the model is asked for, to name them."""

FEW: Final = 2
"""How many messages these answers have where order domains rule: of more it may take for ever to find one
that they allow."""

ANSWERING: Final = frozenset(name for name, op in OPS.items() if op.answers)
"""The operations that show messages."""


def explanations(
    state: State,
    effect: Effect,
    horizon: int,
    busy: bool = False,
    tried: int = 0,
    goes_on: Callable[[], bool] = lambda: True,
) -> Iterator[State]:
    """The states after the effect, which takes place at ``horizon`` (ns) at the latest. ``busy``: a refusal
    need not be due to a partition that is down; no requirement forbids it while none is. ``tried``: of the
    messages that waited for the end of an outage, those not stored yet. ``goes_on``: whether to try a further
    one of the states that the time until then may have left, of which there may be very many. Of a receive of
    unknown outcome it is the likely ones; all are `unseen_receives`' business."""
    instant = max(state.now, effect.call)
    calm = busy or (effect.doubt == BUSY and not state.down)
    action = effect.action.within(horizon - instant, instant - effect.call, calm)
    for n, moved in enumerate(at(_after_tries(state, effect, tried), instant)):
        if n and not goes_on():
            return
        if effect.doubt & MAYBE and action.op in DELIVERS:
            yield from _taken(moved, action, effect.missed)
            continue
        if effect.doubt & MAYBE and action.op in LOOKS:
            yield from unseen(moved, action)
        if action.op in _AGAIN and _struck(moved, action.partition) is _AGAIN[action.op]:
            yield moved
        yield from explain(moved, action, effect.observed)


def _after_tries(state: State, effect: Effect, tried: int) -> State:
    """The state after so many keyless messages may have been tried in the partition whose outage ends now,
    and go to another, or to this one later (SEQ-4)."""
    p = position(state.cfg, effect.action.partition)
    return state if not tried or p is None else burn(state, p, "", tried)


def _taken(state: State, action: Action, missed: frozenset[str]) -> Iterator[State]:
    """The states after a receive took as many of these messages as it can, of each partition alone or behind
    those before them."""
    taken: tuple[Delivery, ...] = ()
    for part in state.parts:
        for ids in _runs(part, missed):
            more = (*taken, *map(Delivery, ids[: action.max - len(taken)]))
            if next(explain(state, action, showing(more)), None) is not None:
                taken = more
                break
    if taken:
        yield from explain(state, action, showing(taken))


def _runs(part: Part, missed: frozenset[str]) -> Iterator[list[str]]:
    """These messages of the partition, and with them those before them that nobody holds."""
    here = [index for index, entry in enumerate(part.log) if entry.id in missed]
    if here:
        yield [part.log[index].id for index in here]
        yield [entry.id for entry in part.log[: here[-1] + 1] if entry.status in LOOSE or entry.id in missed]


def showing(messages: tuple[Delivery, ...]) -> Observed:
    """An ok answer with these messages."""
    return Observed(Outcome.OK, None, messages)


def failed_send(state: State, action: Action) -> State:
    """The state after a send of unknown outcome failed."""
    return failed(state, action.messages)


def at(state: State, instant: int) -> Iterable[State]:
    """The state with its clock moved to that instant; nothing if a timer is due before."""
    if instant == state.now:
        return (state,)
    return (after for _, after in steps(state, passing(instant - state.now)))


def events(state: State, effect: Effect) -> Iterator[State]:
    """The states after an assignment event that tells of a change which was made before."""
    for moved in at(state, max(state.now, effect.call)):
        yield from (after for _, after in steps(moved, effect.action))


def left_to_itself(
    state: State, horizon: int, targets: Callable[[], Iterator[Target]] | None = None, late: int = 0
) -> Iterator[State]:
    """The states after each timer of the broker that may end before the horizon. ``targets``: gives the
    distributions that a rebalance may have chosen; None for any."""
    flows = state.flows
    if flows is None:
        return
    due = {waiting[1] for waiting in flows.handoff if waiting is not None}
    if flows.timer is not None:
        due.add(flows.timer.lo)
    for instant in sorted({max(state.now, lo, than) for lo in due for than in (late, 0)}, reverse=True):
        if instant <= horizon:
            for moved in at(state, instant):
                for move in due_moves(moved):
                    for one in _chosen(move, targets):
                        yield from (after for _, after in steps(moved, one))


def _chosen(move: Action, targets: Callable[[], Iterator[Target]] | None) -> Iterator[Action]:
    if move.op == "rebalance" and targets is not None:
        yield from (move._replace(target=target) for target in targets())
    else:
        yield move


def allowed_answers(state: State, effect: Effect, horizon: int) -> tuple[str, ...]:
    """What the model would have answered instead, in words; a few of them, for a step may go on in millions
    of ways that differ in nothing a client sees."""
    instant = max(state.now, effect.call)
    found: dict[str, None] = {}
    for moved in islice(at(state, instant), TRIED):
        action = effect.action._replace(slack=horizon - instant)
        if state.cfg.profile.order is not OrderDomain.NONE:
            action = action._replace(max=min(action.max, FEW))
        for answer, _ in islice(steps(moved, action), TRIED):
            found[_in_words(answer, effect.action.op in ANSWERING)] = None
            if len(found) == SHOWN:
                return tuple(found)
    return tuple(found)


def _in_words(answer: Answer, shows: bool) -> str:
    """``shows``: whether the operation shows messages."""
    if answer.status != Outcome.OK:
        return f"error: {' or '.join(sorted(answer.errors))}"
    if not shows:
        return "ok"
    return f"ok: {', '.join(message_id(one.id) for one in answer.messages) or 'nothing shown'}"


def _struck(state: State, partition: int | None) -> bool:
    """Whether the partition is down; None: whether the broker is."""
    if partition is None:
        return state.dead
    place = position(state.cfg, partition)
    return place is not None and bool(state.down >> place & 1)


_AGAIN: Final = {**dict.fromkeys(UNDOES.values(), True), **dict.fromkeys(UNDOES, False)}
"""Faults and repairs that change nothing where the state is so already."""
