"""Flows and partitions (REB)."""

from __future__ import annotations

import pytest
from acts import D, advance, after, answers, closure, explains, seen, solace, stored, text, token

from partq.model.actions import Action, Observed
from partq.model.errors import TooManyWays
from partq.model.machine import State, explain, internal, steps
from partq.model.messages import SOLACE_KEY, Message
from partq.model.profiles import SECOND
from partq.model.state import Deadline, Flows

DELAY, HANDOFF = 5 * SECOND, 3 * SECOND
REFUSED = "error invalid_operation|lock_lost|not_found|unsupported"


def bind(flow: str) -> Action:
    return Action("bind", f"c-{flow}", flow=flow)


def unbind(flow: str) -> Action:
    return Action("unbind", f"c-{flow}", flow=flow)


def receive(flow: str, max: int = 1) -> Action:
    return Action("receive", f"c-{flow}", flow=flow, max=max)


def complete(flow: str, lock: str) -> Action:
    return Action("complete", f"c-{flow}", locks=(lock,))


def send(id: str, key: str, only: int | None = None) -> Action:
    return Action("send", "p", messages=(Message(id, properties=((SOLACE_KEY, key),)),), only=only)


def flows(state: State) -> Flows:
    assert state.flows is not None
    return state.flows


def owners(state: State) -> list[str]:
    return ["-" if pair is None else " ".join(pair) for pair in flows(state).owner]


def rebalanced(state: State) -> list[State]:
    """The states after the delay's end and the rebalance."""
    return [s for _, s in steps(after(state, advance(DELAY)), Action("rebalance"))]


def owned(state: State, *pairs: str) -> State:
    """The one of the states after the next rebalance in which the partitions are so."""
    [found] = [s for s in rebalanced(state) if owners(s) == list(pairs)]
    return found


def loaded(partitions: int = 2) -> State:
    """Flow f has every partition; x1, x2 in the first, y1 in the second."""
    state = owned(after(solace(partitions), bind("f")), *["f ready"] * partitions)
    return after(state, send("x1", "x", 0), send("x2", "x"), send("y1", "y", 1))


def took(state: State, flow: str, *ids: str) -> State:
    return after(state, receive(flow, len(ids)), answer=" ".join(["ok", *ids]))


def test_a_bind_starts_the_delay_then_the_flow_has_its_share() -> None:
    state = after(solace(), bind("f"))
    assert owners(state) == ["-", "-"]
    assert answers(state, receive("f")) == ["ok"]
    assert internal(state) == []
    assert [owners(s) for s in rebalanced(state)] == [["f ready", "f ready"]]
    second = after(loaded(), bind("g"))
    assert sorted(owners(s) for s in rebalanced(second)) == [["f paused", "f ready"], ["f ready", "f paused"]]


def test_time_cannot_pass_a_rebalance_that_is_due() -> None:
    state = after(solace(), bind("f"))
    assert answers(state, advance(DELAY + 1)) == []
    assert answers(after(solace(late=7), bind("f")), advance(DELAY + 7)) == ["ok"]
    assert answers(after(solace(late=7), bind("f")), advance(DELAY + 8)) == []


def test_a_bind_when_there_are_enough_flows_is_a_standby() -> None:
    state = after(loaded(), bind("g"))
    state = owned(state, "f ready", "f paused")
    state = after(state, Action("handoff", partition=1), bind("h"))
    assert flows(state).timer is None
    assert [name for name, _ in flows(state).standby] == ["h"]
    assert answers(state, receive("h")) == ["ok"]


def test_a_second_bind_may_or_may_not_restart_the_delay() -> None:
    state = after(solace(3), bind("f"), advance(SECOND))
    assert {flows(s).timer.hi for _, s in steps(state, bind("g")) if flows(s).timer} == {  # type: ignore[union-attr]
        DELAY,
        DELAY + SECOND,
    }


@pytest.mark.parametrize(("partitions", "consumers"), [(4, 2), (4, 3), (3, 2), (2, 2), (4, 4)])
def test_shares_differ_by_at_most_one(partitions: int, consumers: int) -> None:
    state = after(solace(partitions), *(bind(f"f{n}") for n in range(consumers)))
    found = rebalanced(state)
    for then in found:
        names = [pair[0] for pair in flows(then).owner if pair]
        shares = [names.count(f"f{n}") for n in range(consumers)]
        assert sum(shares) == partitions
        assert max(shares) - min(shares) <= 1
    assert len({tuple(owners(s)) for s in found}) == len(found) > 1


def test_only_the_flow_that_has_the_partition_receives() -> None:
    state = owned(after(loaded(), bind("g")), "f ready", "f paused")
    state = after(state, Action("handoff", partition=1))
    assert owners(state) == ["f ready", "g ready"]
    assert answers(state, receive("f", 3)) == ["ok", "ok x1", "ok x1 x2"]
    assert answers(state, receive("g", 3)) == ["ok", "ok y1"]
    assert not explains(state, receive("g", 3), seen("x1"))


def test_a_flow_receives_in_the_order_of_its_partitions() -> None:
    assert not explains(loaded(), receive("f", 3), seen("x2"))
    assert explains(loaded(), receive("f", 3), seen("y1"), seen("x1"))


def test_without_a_flow_nothing_is_received() -> None:
    for action in (receive("never"), Action("receive", "c", max=1), Action("receive", "other", flow="f")):
        assert answers(loaded(), action) == [REFUSED, "ok"]
    assert answers(loaded(), unbind("never")) == [REFUSED]


def test_a_consumer_neither_chooses_nor_sees_its_partition() -> None:
    action = bind("g")._replace(partition=1)
    assert answers(solace(), action) == ["error invalid_operation|not_found|unsupported"]
    assert not explains(loaded(), receive("f"), seen("x1", partition=0))
    assert all(
        d.partition is None and d.seq is None for a, _ in steps(loaded(), receive("f")) for d in a.messages
    )


def test_a_standby_takes_over_at_once() -> None:
    state = owned(after(loaded(), bind("g"), bind("h")), "f ready", "f paused")
    state = after(state, Action("handoff", partition=1))
    state = took(state, "f", "x1")
    gone = after(state, Action("disconnect", "c-f"))
    assert owners(gone) == ["h ready", "g ready"]
    assert flows(gone).timer is None
    assert explains(gone, receive("h", 2), seen("x1", redelivered=True), seen("x2", redelivered=False))
    assert not explains(gone, receive("h", 2), seen("x1", redelivered=False))
    assert not explains(gone, receive("h", 2), seen("x2"))


def test_without_a_standby_partitions_wait_unbound() -> None:
    state = owned(after(loaded(), bind("g")), "f ready", "f paused")
    state = after(state, Action("handoff", partition=1))
    gone = after(state, unbind("f"))
    assert owners(gone) == ["f unbound", "g ready"]
    assert answers(gone, receive("g", 3)) == ["ok", "ok y1"]
    assert answers(gone, advance(DELAY + 1)) == []
    assert [owners(s) for s in rebalanced(gone)] == [["g ready", "g ready"]]


def test_when_all_are_gone_partitions_are_unassigned_after_the_delay() -> None:
    gone = after(loaded(), unbind("f"))
    assert owners(gone) == ["f unbound", "f unbound"]
    assert [owners(s) for s in rebalanced(gone)] == [["-", "-"]]


def test_a_handoff_waits_for_what_is_unsettled_or_the_handoff_time() -> None:
    state = took(loaded(), "f", "x1")
    state = owned(after(state, bind("g")), "f paused", "f ready")
    assert answers(state, receive("f", 3)) == ["ok", "ok y1"]
    assert internal(state) == []
    assert not explains(state, receive("g", 3), seen("x1"))
    settled = after(state, complete("f", token(state, "x1")))
    assert [a.op for a in internal(settled)] == ["handoff"]
    assert answers(settled, advance(1)) == []
    done = after(settled, Action("handoff", partition=0))
    assert answers(done, receive("g", 3)) == ["ok", "ok x2"]
    late = after(state, advance(HANDOFF))
    assert [a.op for a in internal(late)] == ["handoff"]
    assert answers(late, advance(1)) == []
    taken = after(late, Action("handoff", partition=0))
    assert answers(taken, receive("g", 3)) == ["ok", "ok x1", "ok x1 x2"]
    assert answers(taken, complete("f", token(state, "x1"))) == [
        "error invalid_operation|lock_lost|not_found"
    ]


def test_a_handoff_to_a_flow_that_is_gone_leaves_the_partition_to_the_next_rebalance() -> None:
    state = took(loaded(), "f", "x1")
    state = owned(after(state, bind("g")), "f paused", "f ready")
    waits, cancelled = {s for _, s in steps(state, unbind("g")) if flows(s).timer is not None}
    [state] = {s for s in (waits, cancelled) if owners(s) == ["f paused", "f ready"]}
    assert {tuple(owners(s)) for s in (waits, cancelled)} > {("f ready", "f ready")}
    state = after(state, complete("f", token(state, "x1")), Action("handoff", partition=0))
    assert owners(state) == ["-", "f ready"]
    assert [owners(s) for s in rebalanced(state)] == [["f ready", "f ready"]]


def test_of_handoffs_to_a_flow_that_is_gone_any_are_cancelled_and_of_many_it_is_not_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = after(loaded(4), send("z1", "z", 2), send("w1", "w", 3))
    state = rebalanced(after(took(state, "f", "x1", "x2", "y1", "z1", "w1"), bind("g")))[0]
    moved = [p for p, one in enumerate(flows(state).handoff) if one]
    cancelled = {tuple(p for p in moved if not flows(s).handoff[p]) for _, s in steps(state, unbind("g"))}
    assert sorted(cancelled) == sorted({(), (moved[0],), (moved[1],), tuple(moved)})
    monkeypatch.setattr("partq.model.rebalancing.handoffs.SOME", 1)
    with pytest.raises(TooManyWays):
        list(explain(state, unbind("g"), Observed("ok")))
    assert len(list(steps(state, unbind("g")))) == len(cancelled) - 1


def test_a_handoff_to_nobody_may_last_until_the_next_rebalance() -> None:
    state = took(loaded(4), "f", "x1", "y1")
    state = next(s for s in rebalanced(after(state, bind("g"))) if flows(s).handoff[0])
    left = {s for _, s in steps(state, unbind("g")) if flows(s).handoff[0]}

    assert {flows(s).handoff[0][0] for s in left} == {""}
    assert all(flows(s).timer is not None for s in left), "a partition without a flow needs a rebalance"
    assert [s for s in left if [*steps(s, advance(HANDOFF + 1))]], "nothing is due before the delay ends"


def test_a_standby_takes_over_what_its_flow_was_handing_off_to_nobody() -> None:
    state = took(loaded(), "f", "x1", "x2", "y1")
    state = next(s for s in rebalanced(after(state, bind("g"))) if flows(s).handoff[0])
    [state] = [s for _, s in steps(state, unbind("g")) if flows(s).handoff[0]]
    [state] = [s for _, s in steps(state, bind("h")) if flows(s).handoff[0]]
    state = after(state, bind("i"))
    assert [flow for flow, _ in flows(state).standby] == ["i"]
    assert owners(after(state, unbind("f"))) == ["i ready", "i ready"]


def test_a_bind_during_the_delay_may_cancel_handoffs() -> None:
    state = took(loaded(4), "f", "x1", "y1")
    state = next(s for s in rebalanced(after(state, bind("g"))) if flows(s).handoff[0])
    busy = after(state, bind("h"))
    kept = {flows(s).handoff[0] for _, s in steps(busy, bind("i"))}
    quiet = {flows(s).handoff[0] for _, s in steps(state, bind("h"))}

    assert None in kept, "as many flows as before, perhaps (REB-9 ?)"
    assert None not in quiet, "no flow was lost: no delay was running"


def test_a_rebalance_amid_a_handoff_keeps_its_end_or_starts_it_anew() -> None:
    state = took(loaded(4), "f", "x1", "y1")
    state = after(state, bind("g"), advance(DELAY))
    target = ("g", "g", None, None)
    [state] = [s for _, s in steps(state, Action("rebalance", target=target))]
    first = state.now + HANDOFF
    state = after(state, Action("handoff", partition=2)) if flows(state).handoff[2] else state
    state = state._replace(flows=flows(state)._replace(timer=None))
    again = after(state, advance(HANDOFF - 1))
    again = again._replace(flows=flows(again)._replace(timer=Deadline(again.now, again.now)))
    found = [s for _, s in steps(again, Action("rebalance", target=target))]
    ends = {flows(s).handoff[0] for s in found}
    assert ends == {("g", first, first), ("g", again.now + HANDOFF, again.now + HANDOFF)}


def test_a_rebalance_goes_to_its_target() -> None:
    state = after(solace(5), bind("f"), bind("g"), bind("h"), advance(DELAY))
    every = [s for _, s in steps(state, Action("rebalance"))]
    for target in (("f", None, None, "f", None), ("g", "h", "f", "f", "h"), (None, "h", None, None, "g")):
        wanted = [
            s for s in every if all(t in (None, o.split()[0]) for t, o in zip(target, owners(s), strict=True))
        ]
        found = [s for _, s in steps(state, Action("rebalance", target=target))]
        assert len(found) == len(wanted) > 0
        assert set(found) == set(wanted)
    assert not list(steps(state, Action("rebalance", target=("f", "f", "f", None, None))))
    assert not list(steps(state, Action("rebalance", target=("x", None, None, None, None))))


def test_an_answer_keeps_the_order_of_each_partition() -> None:
    assert explains(loaded(), receive("f", 3), seen("x1"), seen("y1"), seen("x2"))
    assert not explains(loaded(), receive("f", 3), seen("x2"), seen("y1"), seen("x1"))
    assert explains(loaded(), receive("f", 2), seen("x1"), seen("y1"), seen("x2"))  # no rule bounds it


def test_what_a_flow_left_unsettled_comes_before_younger_messages() -> None:
    gone = after(took(loaded(), "f", "x1"), bind("g"), unbind("f"), advance(DELAY))
    [then] = [s for _, s in steps(gone, Action("rebalance")) if owners(s) == ["g ready", "g ready"]]
    assert explains(then, receive("g", 2), seen("x1", redelivered=True), seen("x2"))
    assert not explains(then, receive("g", 2), seen("x2"), seen("x1"))


def test_only_the_flow_that_got_a_lock_settles_it() -> None:
    state = took(loaded(), "f", "x1")
    lock = token(state, "x1")
    assert answers(state, complete("g", lock)) == ["error invalid_operation|lock_lost|not_found"]
    assert answers(after(state, advance(100 * D)), complete("f", lock)) == ["ok"]


def test_one_request_settles_in_several_partitions() -> None:
    state = took(loaded(), "f", "x1", "y1")
    both = Action("complete", "c-f", locks=(token(state, "x1"), token(state, "y1")))
    assert answers(state, both) == ["ok"]
    assert stored(after(state, both)) == [["x2"], []]


def test_an_abandoned_message_may_be_at_any_place() -> None:
    state = took(loaded(), "f", "x1")
    state = after(state, Action("abandon", "c-f", locks=(token(state, "x1"),)))
    assert explains(state, receive("f"), seen("x2"))


def test_a_kill_keeps_the_flows_or_ends_them_all() -> None:
    state = took(loaded(), "f", "x1")
    killed = [s for _, s in steps(state, Action("broker_kill"))]
    assert sorted(owners(s) for s in killed) == [["-", "-"], ["f ready", "f ready"]]
    assert all(stored(s) == [["x1", "x2"], ["y1"]] for s in killed)


def test_what_a_kill_gives_back_keeps_its_place() -> None:
    state = took(loaded(), "f", "x1")
    [kept] = [s for _, s in steps(state, Action("broker_kill")) if owners(s) == ["f ready", "f ready"]]
    alive = after(kept, Action("broker_start"))
    [release] = [move for move in internal(alive) if move.op == "release"]
    back = after(alive, release)
    assert "ok x1 x2" in answers(back, receive("f", 2))
    assert "ok x2" not in answers(back, receive("f", 2))
    assert not explains(back, receive("f"), seen("x2"))


def test_what_a_kill_struck_is_delivered_again_in_one_way() -> None:
    state = took(loaded(), "f", "x1", "x2", "y1")
    [kept] = [s for _, s in steps(state, Action("broker_kill")) if owners(s) == ["f ready", "f ready"]]
    alive = after(kept, Action("broker_start"))
    shown = [seen(id, redelivered=True) for id in ("y1", "x1", "x2")]
    assert len(explains(alive, receive("f", 3), *shown)) == 1


# Assignment events


def told(partition: int, flow: str, state: str) -> Action:
    return Action("assignment", partition=partition, flow=flow, state=state)


def tells(states: list[State], *events: Action) -> list[State]:
    for event in events:
        states = [then for state in states for then in explains(state, event)]
    return states


def test_events_tell_of_every_change_and_of_nothing_else() -> None:
    state = after(solace(observed=1), bind("f"))
    assert not tells([state], told(0, "f", "ready"))
    due = after(state, advance(DELAY))
    for wrong in (told(0, "g", "ready"), told(0, "f", "paused"), told(0, "f", "unassigned")):
        assert not tells([due], wrong)
    [half] = tells([due], told(1, "f", "ready"))
    assert answers(half, advance(1)) == []
    [full] = tells([half], told(0, "f", "ready"))
    assert answers(full, advance(1)) == ["ok"]
    assert not tells([full], told(0, "f", "ready"))


def test_a_handoff_with_nothing_to_wait_for_need_not_be_told_of() -> None:
    state = after(solace(observed=1), bind("f"), advance(DELAY))
    [state] = tells([state], told(0, "f", "ready"), told(1, "f", "ready"))
    state = after(state, bind("g"), advance(DELAY))
    moved = (told(0, "f", "unassigned"), told(0, "g", "ready"))
    assert len(tells([state], *moved)) == 1
    assert len(tells([state], told(0, "f", "paused"), *moved)) == 1
    assert not tells([state], told(0, "g", "ready"))


def test_a_flow_that_came_back_under_its_name_may_be_told_of_as_another_one() -> None:
    state = after(solace(observed=1), bind("f"), advance(DELAY))
    [state] = tells([state], told(0, "f", "ready"), told(1, "f", "ready"))
    [state] = tells([after(state, unbind("f"))], told(0, "f", "unbound"), told(1, "f", "unbound"))
    state = after(state, bind("f"), advance(DELAY))
    again = told(0, "f", "ready")
    assert len(tells([state], again)) == 1
    assert len(tells([state], told(0, "f", "unassigned"), again)) == 1
    assert not tells([state], told(0, "f", "unassigned"), told(0, "f", "unassigned"))
    assert not tells([state], again, told(0, "f", "unassigned"))


def test_where_the_old_flow_goes_in_a_handoff_the_partition_may_be_told_to_be_unbound() -> None:
    state = after(solace(observed=1), bind("f"), advance(DELAY))
    [state] = tells([state], told(0, "f", "ready"), told(1, "f", "ready"))
    state = took(after(state, send("x1", "x", 0)), "f", "x1")
    [state] = tells([after(state, bind("g"), advance(DELAY))], told(0, "f", "paused"))
    unbound, moved = told(0, "f", "unbound"), (told(0, "f", "unassigned"), told(0, "g", "ready"))
    assert not tells([state], unbound)
    gone = after(state, unbind("f"))
    assert len(tells([gone], *moved)) == 1
    assert len(tells([gone], unbound, *moved)) == 1
    assert not tells([gone], unbound, unbound)
    assert not tells([gone], *moved, unbound)


def test_an_explained_event_is_one_that_the_moves_lead_to() -> None:
    state = after(solace(3, observed=1), bind("f"), bind("g"), advance(DELAY))
    for partition in range(3):
        for name in ("f", "g"):
            event = told(partition, name, "ready")
            by_moves = {s for reached in closure(state) for a, s in steps(reached, event)}
            assert set(explains(state, event)) == by_moves
            assert all(text(a) == "ok" for a, _ in steps(state, event))
