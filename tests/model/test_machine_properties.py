"""What holds in every state and over every step: on whole small graphs, and on long walks in larger ones."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from acts import D, abandon, advance, complete, down, msg, peek, receive, send, txn, up

from partq.model import clauses
from partq.model.actions import Action, Answer
from partq.model.explore import reach
from partq.model.machine import State, initial, internal, steps
from partq.model.operations import Outcome
from partq.model.profiles import Entity
from partq.model.requirements import catalogue
from partq.model.scope import Scope
from partq.model.state import Entry, entries
from partq.model.statuses import LAGGING, RESERVED

Step = tuple[State, Action, Answer, State]

BASIC = ("receive", "complete", "abandon")
SCOPES = [
    Scope(messages=("a", "b"), operations=(*BASIC, "delete", "prefetch", "peek"), clients=1),
    Scope(
        messages=("a",), operations=(*BASIC, "transactions", "stale"), clients=1, freedoms=("lag", "early")
    ),
    Scope(messages=("a", "-"), operations=("receive", "complete", "partition faults"), clients=1),
    Scope("azure-flat", 1, ("a",), operations=("receive", "complete", "broker faults", "lost front ends")),
    Scope("solace", 2, ("a", "b"), operations=BASIC, clients=1),
    Scope("solace", 2, ("a",), operations=BASIC),
]


def graph_steps(scope: Scope) -> Iterator[Step]:
    graph = reach(scope)
    for found in graph.edges:
        for edge in found:
            yield graph.nodes[edge.source].state, edge.action, edge.answer, graph.nodes[edge.target].state


def walk_steps(seed: int, profile: str, length: int = 60) -> Iterator[Step]:
    """One long walk with a clock and every freedom."""
    rng = random.Random(seed)
    state = initial(profile, Entity({"azure-standard": 16, "azure-flat": 1}.get(profile, 4)))
    sent = 0
    for _ in range(length):
        actions = [*internal(state), *anything(state, sent)]
        action = rng.choice(actions)
        found = list(steps(state, action))
        if not found:
            continue
        answer, after = rng.choice(found[:50])
        sent += len(action.messages)
        yield state, action, answer, after
        state = after


def anything(state: State, sent: int) -> list[Action]:
    proc = f"c{sent % 2}"
    held = [e.lock.token for _, e in entries(state) if e.lock is not None and e.lock.token is not None]
    found = [
        send(f"m{sent}", key="k"),
        send(f"m{sent}", key=f"k{sent % 5}"),
        send(f"m{sent}"),
        send(f"m{sent}", f"n{sent}", key="k"),
        Action("send", "p", messages=(msg(f"m{sent}", "k", "s"),)),
        send(f"m{sent}", key=f"k{sent % 5}", txn="t"),
        txn("begin"),
        txn("commit"),
        txn("rollback"),
        receive(2, proc=proc, flow=f"f-{proc}" if state.flows else None),
        receive(1, proc=proc, delete=True, flow=f"f-{proc}" if state.flows else None),
        peek(2),
        peek(2, from_seq=0),
        advance(D // 3),
        advance(D),
        down(sent % len(state.parts)),
        up(sent % len(state.parts)),
        Action("bind", proc, flow=f"f-{proc}"),
        Action("frontend_lost", victim=proc),
    ]
    if sent % 7 == 0:
        found.append(Action("broker_start" if state.dead else "broker_kill"))
    for token in held[:3]:
        found += [complete(token, proc=proc), abandon(token, proc=proc), complete(token, txn="t")]
    return found


PROFILES = ("azure-standard", "azure-premium", "azure-flat", "solace")
ALL = [
    pytest.param(lambda s=s: graph_steps(s), id=f"{s.profile} {' '.join(s.operations)}") for s in SCOPES
] + [pytest.param(lambda p=p, n=n: walk_steps(n, p), id=f"walk {n} {p}") for p in PROFILES for n in range(12)]


@pytest.mark.parametrize("found", ALL)
def test_every_step_keeps_the_rules(found) -> None:  # type: ignore[no-untyped-def]
    count = 0
    for before, action, answer, after in found():
        count += 1
        numbered(after)
        one_partition_a_key(after)
        exclusive(after)
        kept(before, action, answer, after)
        if answer.status == Outcome.ERROR:
            unchanged(before, action, after)
        if action.op == "peek":
            assert settled_counts(after) == settled_counts(before)
        shown(before, action, answer)
        owned(after)
        hash(after)
    assert count > 20


def settled_counts(state: State) -> list[list[Entry]]:
    """What is stored, but for whether the last lock's end is counted already, which a peek may settle."""
    return [[entry._replace(owed=0) for entry in part.log] for part in state.parts]


def numbered(state: State) -> None:
    """Numbers are unique and increase; none is beyond the counter."""
    for part in state.parts:
        numbers = [entry.number for entry in part.log]
        assert numbers == sorted(set(numbers))
        assert all(number < part.next for number in numbers)


def one_partition_a_key(state: State) -> None:
    keys = [key for key, _ in state.keys]
    assert keys == sorted(set(keys))
    assert all(state.used >> p & 1 for _, p in state.keys)


def exclusive(state: State) -> None:
    """No message is there twice, no token on two messages, no lock without a status for it."""
    ids = [entry.id for _, entry in entries(state)]
    tokens = [e.lock.token for _, e in entries(state) if e.lock is not None and e.lock.token is not None]
    assert len(ids) == len(set(ids))
    assert len(tokens) == len(set(tokens))
    assert all((entry.lock is not None) == (entry.status in (3, 4)) for _, entry in entries(state))


def visible(state: State) -> set[str]:
    return {entry.id for _, entry in entries(state) if entry.status != RESERVED}


def kept(before: State, action: Action, answer: Answer, after: State) -> None:
    """Messages come by sends and commits alone, and go by completing and deleting alone."""
    came, gone = visible(after) - visible(before), visible(before) - visible(after)
    if came:
        assert answer.status == Outcome.OK
        pending = {id for t in before.txns for id, *_ in t.sends}
        assert came == ({m.id for m in action.messages} if action.op.startswith("send") else came & pending)
        assert action.op in ("send", "send_batch", "commit")
    if gone:
        assert answer.status == Outcome.OK
        assert action.op in ("complete", "commit", "receive")
        if action.op == "receive":
            assert gone == {d.id for d in answer.messages}
            assert action.mode == "receive_and_delete"


def unchanged(before: State, action: Action, after: State) -> None:
    """An error stores nothing, settles nothing, locks nothing."""
    if action.op not in ("commit", "rollback"):
        assert after.parts == before.parts
        assert after.flows == before.flows
        assert [t.sends for t in after.txns] == [t.sends for t in before.txns]
    else:
        assert visible(after) == visible(before)


def shown(before: State, action: Action, answer: Answer) -> None:
    """Only what is there is shown, no more than asked for, none twice."""
    ids = [d.id for d in answer.messages]
    assert len(ids) == len(set(ids)) <= action.max
    hidden = {e.id for _, e in entries(before) if e.status in (RESERVED, LAGGING)}
    assert set(ids) <= visible(before) - hidden


def owned(state: State) -> None:
    if state.flows is None:
        return
    bound = {name for name, _ in state.flows.active}
    for pair in state.flows.owner:
        assert pair is None or pair[1] in ("ready", "paused", "unbound")
        if pair is not None and pair[1] == "ready":
            assert pair[0] in bound
    names = [name for name, _ in (*state.flows.active, *state.flows.standby)]
    assert len(names) == len(set(names))
    assert not state.flows.standby or len(state.flows.active) >= len(state.parts)


# The clauses

COVERED = {
    *(f"KEY-{n}" for n in range(1, 10)),
    *(f"ROUTE-{n}" for n in (1, 2, 3, 5, 6, 7, 8, 9)),
    *(f"SEQ-{n}" for n in range(1, 8)),
    *(f"RCV-{n}" for n in (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)),
    *(f"PEEK-{n}" for n in range(1, 8)),
    *(f"TXN-{n}" for n in (1, 2, 3, 4, 5, 7, 8, 9, 10)),
    *(f"REB-{n}" for n in range(1, 19)),
    *(f"ORD-{n}" for n in range(1, 4)),
    *(f"SCH-{n}" for n in range(1, 7)),
    *(f"DUP-{n}" for n in (1, 2)),
    *(f"SES-{n}" for n in range(1, 6)),
    *(f"MGT-{n}" for n in (1, 2, 3)),
    *(f"ENT-{n}" for n in (1, 2, 3, 4, 5, 6, 7)),
    *("TXN-6", "TOPIC-1", "TOPIC-2", "FWD-1", "FWD-2"),
}


def test_every_row_of_the_model_has_a_clause_and_every_clause_a_row() -> None:
    assert set(clauses.covered()) == COVERED
    assert set(catalogue()) >= COVERED


def test_clauses_are_found_by_requirement() -> None:
    assert "routing.norm.rejected" in clauses.of("ROUTE-5")
    assert clauses.of("ROUTE-10") == ()
    assert "routing.norm.refusals" in clauses.of("KEY-3")
