"""Emptying the entity at the end of a program, as steps, so that losses can be judged afterwards.

One generator for every driver: it yields the next `Step`, the driver does it (through the client's
`Script`, recorded like any other) and sends back what came of it. Pure: nothing here waits or calls a
broker. The generator's value are the arguments of the events ``drained`` that the driver records: one for
each entity that was found empty::

    plan = Plan(profile, entity, lacks, clients, faults, sent)
    for args in play(drain(plan), perform):
        record(ENV, "drained", args)
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, NamedTuple

from msgspec import Struct

from partq.conformance.of_mechanisms import given
from partq.conformance.workload.cases import steps as do
from partq.conformance.workload.operations.record import Args
from partq.conformance.workload.program import Program, Step
from partq.model.messages import Delivery
from partq.model.operations import CONNECTION_LOST, DRAINER, ENV, OPS, Outcome
from partq.model.profiles import SECOND, Entity, Profile

ROUNDS: Final = 8
"""So many rounds in a row show nothing new, though the entity is not yet empty, until the drain gives up."""

UNSEEN_ROUNDS: Final = 24
"""The same in virtual time where front ends may fetch, and lock, what a round asks for (RCV-5): in each round
some of them may again, so that a few in vain say nothing."""

REPEATS: Final = 2
"""So many rounds are enough that show again what had gone, while all that was accepted has gone."""

TRIES: Final = 3
"""So often is a step tried whose outcome is not ok."""

BATCH: Final = 64

MAIN: Final[Args] = {}
"""How a step, or an event, says that it is about no other entity."""


class StepResult(Struct, frozen=True, gc=False):
    """What came of a step, as it was recorded. The driver sends None where there was nothing to do."""

    outcome: str
    error: str | None = None
    messages: tuple[Delivery, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether it happened."""
        return self.outcome == Outcome.OK


Drain = Generator[Step, StepResult | None, bool]
Emptied = tuple[Args, ...]
"""The arguments of the events that tell what was found empty."""
Emptying = Generator[Step, StepResult | None, Emptied]
Taking = Generator[Step, StepResult | None, set[str]]
Receiving = Generator[Step, StepResult | None, tuple[set[str], int]]


class Leftover(NamedTuple):
    """What to do about messages that a peek shows in a ``state`` when no receive finds any more: ``take``
    them, by steps whose value is which messages came; or let time pass, where the broker ``waits``. Those of
    a mechanism are in its `programs`."""

    state: str
    take: Callable[[], Taking] | None = None
    waits: bool = False


class Emptier(NamedTuple):
    """How a drain receives from an entity that has ``chosen`` something, if that is asked so: by these steps,
    given how long one waits (ns), how many in vain are enough, how many there may be, and which entity is
    asked. Their value: which messages came, and how many steps are left."""

    chosen: Callable[[Entity, Args], bool]
    receive: Callable[[int, int, int, Args], Receiving]


@dataclass(frozen=True, slots=True)
class DrainPlan:
    """What a drain has to know.

    ``clients``: those of the program that still answer. ``faults``: the environment's steps that took
    effect, in order. ``sent``: how many messages were sent at most; it bounds the work. ``patience``: ns
    that one receive waits. ``quiet``: so many receives in a row must find nothing. ``most_flows``: so
    many a client may have. ``is_empty``: what the broker itself says, where it can. ``locks_left``: ns until
    every lock that was given has ended, where the driver knows that. ``all_gone``: whether every message that
    was accepted has certainly gone. ``rounds``: so many in vain are enough. ``sets_aside``: whether messages
    may be left that come by number alone. ``others``: the other
    entities that are to be emptied, too.
    """

    profile: Profile
    entity: Entity
    lacks: frozenset[str]
    clients: tuple[str, ...]
    faults: tuple[Step, ...] = ()
    sent: int = 0
    patience: int = SECOND
    quiet: int = 3
    most_flows: int = 1
    is_empty: Callable[[], bool | None] = lambda: None
    locks_left: Callable[[], int] | None = None
    all_gone: Callable[[], bool] = lambda: False
    rounds: int = ROUNDS
    sets_aside: bool = False
    others: tuple[str, ...] = ()

    @property
    def first_wait(self) -> int:
        """ns until every lock that a client was given, or every handoff, has certainly ended. Front ends may
        have locked what no client was given."""
        if self.locks_left is None or self.profile.flows or self.profile.caching_front_ends:
            return self.settling_time
        return min(self.settling_time, self.locks_left())

    @property
    def settling_time(self) -> int:
        """ns until every lock, or every handoff, has certainly ended."""
        if self.profile.flows:
            return self.entity.rebalance_delay + self.entity.max_handoff + 1
        return self.entity.lock_duration + 1 if self.profile.locks_expire else 0


def drain(plan: DrainPlan) -> Emptying:
    """The steps that empty the entity, and others of the plan. The value: those certainly found empty.

    Everything is repaired; the clients roll back what they have open and, where locks do not expire,
    leave; time passes until locks and handoffs ended; a client of its own receives until nothing comes, and
    then takes what a peek still shows in a state from which it comes in another way (`Leftover`).
    The driver connects that client when its first step comes. All this is repeated until the broker says
    that it is empty or, where it cannot say, until a whole round and a peek show nothing more.
    """
    for repair in repairs(plan.faults):
        if not (yield from _insist(repair)):
            return ()
    left = True
    for client in plan.clients:
        left = (yield from _leave(plan, client)) and left
    if plan.profile.flows and not (yield from _insist(do.bind(DRAINER))):
        return ()
    outlets = plan.entity.outlets
    if not (left and (outlets or (yield from _empty(plan)))):
        return ()
    emptied, others = [] if outlets else [MAIN], dict.fromkeys((*outlets, *plan.others))
    silent = replace(plan, is_empty=lambda: None) if others else plan
    for entity in others:
        if (yield from _empty(silent, {"entity": entity})):
            emptied.append({"entity": entity})
    under_way = plan.entity.forward_to and plan.is_empty() is False
    return () if under_way else tuple(emptied)


def others_asked(steps: Iterable[Step]) -> tuple[str, ...]:
    """The other entities that a program has to do with, so that a drain empties them, too."""
    words = {OPS[step.op].moves_to or step.args.get("entity", "") for step in steps}
    return tuple(sorted(words - {""}))


def sets_aside(program: Program) -> bool:
    """Whether a program may leave messages that come by number alone."""
    return any(OPS[step.op].sets_aside for step in program.steps)


def rounds_of(profile: Profile, virtual: bool) -> int:
    """How many rounds in vain are enough: in real time each takes as long as a lock."""
    return UNSEEN_ROUNDS if virtual and profile.caching_front_ends else ROUNDS


def repairs(faults: Iterable[Step]) -> tuple[Step, ...]:
    """What has to be brought up again after these faults: the broker first, then its partitions."""
    left: dict[tuple[str, Any], Step] = {}
    for step in faults:
        index = step.args.get("index")
        if repair := OPS[step.op].undone_by:
            left[repair, index] = Step(ENV, repair, step.args)
        else:
            left.pop((step.op, index), None)
    return tuple(sorted(left.values(), key=lambda step: "index" in step.args))


def play(steps: Emptying, perform: Callable[[Step], StepResult | None]) -> Emptied:
    """Do all the steps by the function given; the drain's value."""
    try:
        step = next(steps)
        while True:
            step = steps.send(perform(step))
    except StopIteration as end:
        emptied: Emptied = end.value
        return emptied


def _insist(step: Step) -> Drain:
    for _ in range(TRIES):
        did = yield step
        if did is None or did.ok:
            return True
    return False


def _leave(plan: DrainPlan, client: str) -> Drain:
    """End what the client holds, where time does not end it."""
    yield do.rollback(client)
    if plan.profile.locks_expire:
        return True
    if plan.profile.flows and (yield from _unbind(plan, client)):
        return True
    return (yield from _insist(do.disconnect(client)))


def _unbind(plan: DrainPlan, client: str) -> Drain:
    for _ in range(plan.most_flows):
        if not (yield from _insist(do.unbind(client))):
            return False
    return True


def _empty(plan: DrainPlan, of: Args = MAIN) -> Drain:
    wait = plan.first_wait if plan.is_empty() is None else 0
    budget = 2 * plan.sent // BATCH + 2 * plan.sent + plan.rounds * (plan.quiet + TRIES)
    met, vain, repeats = set[str](), 0, 0
    while vain < plan.rounds and repeats < REPEATS:
        if wait and (did := (yield do.pass_time(wait))) is not None and not did.ok:
            return False
        found, budget = yield from _receive_all(plan, budget, of)
        empty = plan.is_empty()
        if empty or budget <= 0:
            return bool(empty)
        look = not found and (empty is None or plan.sets_aside)
        left = (yield from _peek(plan, of)) if look else None
        if empty is None and left == ():
            return True
        found |= yield from _take(left or ())
        if found <= met:
            vain += 1
            repeats += bool(found) and plan.all_gone()
        else:
            vain, met = 0, met | found
            budget += plan.quiet + TRIES
        # Front ends may have fetched and locked what this round asked for; partitions may have moved.
        lingers = empty is False or plan.profile.caching_front_ends or plan.profile.flows
        lingers = lingers or any(how.waits for how in _ways(left or ()))
        wait = plan.settling_time if lingers else 0
    return False


@cache
def _emptiers() -> tuple[Emptier, ...]:
    return tuple(given("programs", "EMPTYING").values())


def _receive_all(plan: DrainPlan, budget: int, of: Args) -> Receiving:
    """Receive until nothing comes. Which messages came, and what is left of the budget of receives."""
    other = next((one for one in _emptiers() if one.chosen(plan.entity, of)), None)
    if other is not None:
        return (yield from other.receive(plan.patience, plan.quiet, budget, of))
    mode, found, quiet = "receive_and_delete", set[str](), 0
    while quiet < plan.quiet and budget > 0:
        budget -= 1
        did = yield do.asking(do.receive(DRAINER, BATCH, plan.patience, mode), of)
        if did is None or not did.ok:
            if did is not None and did.error == "unsupported":
                mode = "peek_lock"
            if did is not None and did.error == CONNECTION_LOST and plan.profile.flows:
                yield do.disconnect(DRAINER)
                yield do.bind(DRAINER)
            continue
        quiet = 0 if did.messages else quiet + 1
        found.update(message.id for message in did.messages)
        if did.messages and mode == "peek_lock":
            yield do.asking(do.complete(DRAINER, *range(len(did.messages))), of)
    return found, budget


@cache
def _leftovers() -> Mapping[str | None, Leftover]:
    return {one.state: one for table in given("programs", "LEFTOVERS").values() for one in table}


def _ways(left: Iterable[Delivery]) -> list[Leftover]:
    """What to do about these messages."""
    known = _leftovers()
    return [known[state] for state in dict.fromkeys(message.state for message in left) if state in known]


def _take(left: Iterable[Delivery]) -> Taking:
    """Take what no receive finds. Which messages came."""
    found = set[str]()
    for how in _ways(left):
        if how.take is not None:
            found |= yield from how.take()
    return found


def _peek(plan: DrainPlan, of: Args) -> Generator[Step, StepResult | None, tuple[Delivery, ...] | None]:
    """What a peek still shows, None if it fails; nothing where there is no peek, and nothing is set aside."""
    look = do.asking(do.peek(DRAINER, BATCH, "start"), of)
    if not plan.profile.peek or look.op in plan.lacks:
        return None if plan.sets_aside else ()
    did = yield look
    return did.messages if did is not None and did.ok else None
