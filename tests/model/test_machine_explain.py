"""`explain` finds exactly what `steps` and the broker's own moves lead to: neither more nor less."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import permutations, product

import pytest
from acts import D, abandon, advance, closure, complete, down, msg, peek, receive, send, up

from partq.model.actions import Action, Answer, Observed
from partq.model.errors import TooManyWays
from partq.model.machine import State, explain, initial, internal, steps
from partq.model.messages import Delivery
from partq.model.operations import Outcome
from partq.model.profiles import Entity
from partq.model.state import entries

IDS = ("m0", "m1", "m2")
Shape = tuple[tuple[str, int | None], ...]


def start(profile: str, hindsight: int) -> State:
    partitions = 1 if profile == "azure-flat" else 2
    return initial(profile, Entity(partitions), hindsight=hindsight, gaps=0, early=0)


def alphabet(state: State) -> list[Action]:
    """What may happen next, small."""
    known = {entry.id for _, entry in entries(state)} | {id for t in state.txns for id, *_ in t.sends}
    fresh = [id for id in IDS if id not in known]
    found = [
        receive(1, proc="c"),
        receive(2, proc="d"),
        receive(1, delete=True),
        peek(2, proc="c"),
        advance(D // 2),
        advance(D),
        Action("frontend_lost", victim="c"),
        Action("broker_start" if state.dead else "broker_kill"),
        *([up(0)] if state.down else [down(0)]),
    ]
    for id in fresh[:1]:
        found += [send(id, key="k"), send(id, key="q"), send(id, key="k", txn="t")]
    found += [Action(op, "p", txn="t") for op in (("commit", "rollback") if state.txns else ("begin",))]
    for _, entry in entries(state):
        if entry.lock is not None and entry.lock.token is not None:
            token = entry.lock.token
            found += [complete(token), abandon(token), complete(token, txn="t")]
            found.append(Action("renew_lock", "c", locks=(token,)))
    return found


def walks(seed: int, count: int) -> Iterator[State]:
    """States after some steps and moves of the broker, most of them with messages."""
    rng = random.Random(seed)
    for _ in range(count):
        state = start(rng.choice(["azure-premium", "azure-premium", "azure-flat"]), rng.randrange(2))
        for n in range(rng.randrange(3, 12)):
            actions = internal(state) if rng.randrange(4) == 0 else []
            actions = actions or alphabet(state)
            if n < 3:
                actions = [a for a in alphabet(state) if a.op in ("send", "begin", "commit")]
            found = [s for action in [rng.choice(actions)] for _, s in steps(state, action)]
            if found:
                state = rng.choice(found)
        yield state


def shape(answer: Answer) -> Shape:
    return tuple((d.id, d.delivery_count) for d in answer.messages)


def reached(state: State, action: Action) -> set[Shape]:
    """The ok answers that the broker's own moves and then the step can give, with equivalent mixes."""
    found: set[Shape] = set()
    for then in closure(state):
        for answer, _ in steps(then, action):
            if answer.status == "ok":
                found.update(mixes(state, action, answer))
    return found


def mixes(state: State, action: Action, answer: Answer) -> list[Shape]:
    """The same answer in its other orders: any for a receive, for a peek any that keeps partitions' own."""
    one = shape(answer)
    if action.op == "receive":
        return list(permutations(one))
    home = {d.id: d.partition for d in answer.messages}
    kept = [[x for x in one if home[x[0]] == p] for p in set(home.values())]
    return [
        mix
        for mix in permutations(one)
        if all([x for x in mix if home[x[0]] == home[own[0][0]]] == own for own in kept)
    ]


def candidates(limit: int) -> list[Shape]:
    shapes: list[Shape] = [()]
    for size in range(1, limit + 1):
        for ids in permutations(IDS, size):
            shapes += [tuple(zip(ids, counts, strict=True)) for counts in product(range(3), repeat=size)]
    return shapes


ANSWERS = {limit: candidates(limit) for limit in (1, 2)}


@pytest.mark.parametrize(
    "action",
    [receive(1), receive(2), receive(2, delete=True), peek(2), peek(2, from_seq=0)],
    ids=["receive 1", "receive 2", "delete 2", "peek 2", "peek 2 from 0"],
)
def test_explained_answers_are_the_reachable_ones(action: Action) -> None:
    for state in walks(1, 400):
        allowed = reached(state, action)
        for wanted in ANSWERS[action.max]:
            messages = tuple(Delivery(id, delivery_count=count) for id, count in wanted)
            explained = any(True for _ in explain(state, action, Observed(messages=messages)))
            assert explained == (wanted in allowed), (state, wanted, sorted(allowed))


def test_what_follows_an_explained_receive_is_reachable_too() -> None:
    """Two receives: the moves that the first one's explanation put off are neither lost nor invented."""
    first, second = receive(1, proc="c"), receive(1, proc="d")
    for state in walks(2, 300):
        allowed = {
            (one, two)
            for before in closure(state)
            for answer, then in steps(before, first)
            for one in [shape(answer)]
            for two in reached(then, second)
        }
        for one, two in product(ANSWERS[1], repeat=2):
            explained = any(
                True
                for then in explain(state, first, observed(one))
                for _ in explain(then, second, observed(two))
            )
            assert explained == ((one, two) in allowed), (state, one, two)


def observed(wanted: Shape) -> Observed:
    return Observed(messages=tuple(Delivery(id, delivery_count=count) for id, count in wanted))


def test_explained_settlements_are_the_reachable_ones() -> None:
    for state in walks(3, 600):
        tokens = [e.lock.token for _, e in entries(state) if e.lock is not None and e.lock.token is not None]
        todo = [Action("commit", "p", txn="t"), *([complete(*tokens[:2])] if tokens else [])]
        todo += [f(token) for token in tokens for f in (complete, abandon)]
        todo += [complete(token, txn="t") for token in tokens]
        for action in todo:
            allowed = {a.status for then in closure(state) for a, _ in steps(then, action)}
            for status in ("ok", "error"):
                explained = any(True for _ in explain(state, action, Observed(status)))
                assert explained == (status in allowed), (state, action, status)


def test_what_steps_yield_is_explained() -> None:
    for state in walks(4, 300):
        for action in alphabet(state):
            for answer, _ in steps(state, action):
                for kind in sorted(answer.errors) or [None]:
                    seen = Observed(answer.status, kind, unlocked(answer.messages))
                    assert next(explain(state, action, seen), None) is not None, (state, action, answer)


def unlocked(messages: tuple[Delivery, ...]) -> tuple[Delivery, ...]:
    """The answer as a broker shows it that does not tell when locks end."""
    return tuple(d._replace(locked_until=None) for d in messages)


Told = tuple[str, Shape]
"""The part of an answer that is compared: its status and the messages."""


@pytest.mark.parametrize("seed", range(30))
def test_along_whole_walks_explained_is_what_steps_and_moves_lead_to(seed: int) -> None:
    """Two sets of states followed side by side: those that `explain` yields, and all that `steps` and
    `internal` lead to. At every operation they allow the same answers; one of these is taken."""
    rng = random.Random(seed)
    profile = rng.choice(["azure-premium", "azure-premium", "azure-flat"])
    entity = Entity(1 if profile == "azure-flat" else 2, max_delivery_count=rng.choice([2, 10]))
    options = {name: rng.randrange(2) for name in ("owing", "lag")}
    begun = initial(profile, entity, gaps=0, early=0, **options)
    lazy, every = {begun}, {begun}
    for _ in range(14):
        action = rng.choice(alphabet(rng.choice(sorted(lazy, key=repr))))
        told = candidate_answers(action)
        found = {one: after for one, after in exactly(every, action).items() if one in told}
        wanted = {one: after for one in told for after in [explained_by(lazy, action, one)] if after}
        assert set(wanted) == set(found), (action, sorted(lazy, key=repr))
        if not found:
            continue
        one = rng.choice(sorted(found))
        lazy, every = wanted[one], {then for state in found[one] for then in closure(state)}
        if len(every) > 3_000:
            return


def exactly(states: set[State], action: Action) -> dict[Told, set[State]]:
    found: dict[Told, set[State]] = {}
    for state in states:
        for answer, then in steps(state, action):
            for mix in mixes(state, action, answer) if answer.status == "ok" else [()]:
                found.setdefault((answer.status, mix), set()).add(then)
    return found


def candidate_answers(action: Action) -> list[Told]:
    shapes = ANSWERS[action.max] if action.op in ("receive", "peek") else [()]
    return [("error", ()), *(("ok", shape) for shape in shapes)]


def explained_by(states: set[State], action: Action, told: Told) -> set[State]:
    status, wanted = told
    seen = Observed(status, messages=observed(wanted).messages)
    return {then for state in states for then in explain(state, action, seen)}


def test_an_error_of_another_kind_is_not_explained() -> None:
    state = start("azure-premium", 0)
    refused = Action("send", "p", messages=(msg("x", "k", "s"),))
    assert not list(explain(state, refused, Observed("error", "lock_lost")))
    assert list(explain(state, refused, Observed("error", "invalid_operation")))
    assert list(explain(state, refused, Observed("error")))
    assert not list(explain(state, refused, Observed("ok")))


def test_of_messages_that_are_never_shown_only_the_count_in_each_partition_matters() -> None:
    names = ("m0", "m1", "m2", "m3")
    state = initial("azure-premium", Entity(4))
    found = list(explain(state, send(*names), Observed(Outcome.OK)))
    assert len(found) == 35  # the ways to put four equal things into four places, of 256
    assert len({tuple(len(part.log) for part in after.parts) for after in found}) == 35


def test_a_batch_that_may_be_stored_in_too_many_ways_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("partq.model.routing.norm.MOST_WAYS", 34)
    ways = explain(initial("azure-premium", Entity(4)), send(*"abcd"), Observed(Outcome.OK))
    with pytest.raises(TooManyWays):
        list(ways)
    monkeypatch.setattr("partq.model.routing.norm.MOST_WAYS", 35)
    assert list(explain(initial("azure-premium", Entity(4)), send(*"abcd"), Observed(Outcome.OK)))


@pytest.mark.parametrize(("flows", "gives_up"), [(4, False), (13, True)])
def test_a_kill_that_ends_many_flows_is_followed_as_far_as_it_goes(flows: int, gives_up: bool) -> None:
    names = [f"f{n}" for n in range(flows)]
    state = initial("solace", Entity(2))
    for name in names:
        state = next(then for _, then in steps(state, Action("bind", f"c-{name}", flow=name)))
    fates = tuple((name, name == names[-1]) for name in names)
    ways = explain(state, Action("broker_kill", "env", fates=fates), Observed(Outcome.OK))
    if gives_up:
        with pytest.raises(TooManyWays):
            list(ways)
    else:
        assert {tuple(name for name, _ in then.flows.active) for then in ways if then.flows} >= {("f3",)}
