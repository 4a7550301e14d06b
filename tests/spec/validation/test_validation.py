"""Recorded histories, followed by TLC through the specification."""

import sys

import pytest
from recordings import (
    FLOWS,
    REB_3,
    WITH_CONNECTIONS,
    abandon,
    check_told_apart,
    complete,
    did,
    receive,
    recording,
    send,
    show,
    told,
)
from test_tlc import needs_tlc

from partq.spec.validation import (
    Operation,
    Recording,
    Sent,
    Shown,
    Status,
    batches,
    prefix,
    trace_of,
    validate,
)
from partq.spec.validation.batches import Limits
from partq.spec.validation.verdict import IN_PART

module = sys.modules["partq.spec.validation.batches"]  # of the package a function has that name


def bind(flow: str) -> Operation:
    return did("bind", flow, flow=flow)


def assigned(flow: str, partition: int, state: str = "ready") -> Operation:
    return did("assignment", "env", partition=partition, flow=flow, state=state)


def delivered(flow: str, *ids: str) -> Operation:
    """What a flow is delivered: nothing shows its partition."""
    return did("receive", flow, flow=flow, limit=9, shown=tuple(Shown(id, lock=f"{id}/{flow}") for id in ids))


def by_flows(*operations: Operation, partitions: int = 2) -> Recording:
    return recording(*operations, partitions=partitions, words=FLOWS, rules=REB_3)


def over_connections(*operations: Operation) -> Recording:
    return recording(*operations, words=WITH_CONNECTIONS, rules=REB_3)


LAWFUL = recording(
    send("a"),
    send("b"),
    receive(show("a", 1, lock="x"), show("b", 2, lock="y")),
    complete("x"),
    complete("y"),
)
TWICE = recording(
    send("a"),
    receive(show("a", 1, lock="x")),
    complete("x"),
    send("b"),
    receive(show("a", 1, 1, "y")),
    complete("y"),
)
UNKNOWN_SEND = recording(
    send("a", outcome="unknown"), send("b"), receive(show("b", 1, lock="x"), show("a", 2, lock="y"))
)
UNKNOWN_END = recording(
    send("a"), receive(show("a", 1, lock="x")), complete("x", outcome="unknown"),
    complete("x", outcome="error", error="lock_lost"),
    did("peek", "c2", limit=5),
)  # fmt: skip
OVERTAKEN = recording(send("a"), send("b"), receive(show("b", 2, 1, "x")), receive(show("a", 1, 0, "y")))
TWO_PLACES = recording(
    send("a"), send("b"), receive(show("a", 1, lock="x")), receive(show("b", 1, lock="y", partition=8))
)


def test_histories_of_one_batch_are_told_apart() -> None:
    needs_tlc()
    found = validate([LAWFUL, TWICE, UNKNOWN_SEND, UNKNOWN_END, OVERTAKEN, TWO_PLACES])

    assert [one.status for one in found] == [
        Status.ACCEPTED, Status.REJECTED, Status.ACCEPTED, Status.ACCEPTED, Status.ACCEPTED, Status.REJECTED,
    ]  # fmt: skip
    assert (found[1].record, found[1].explained) == (4, 4)  # the second delivery of a completed message
    assert (found[5].record, found[5].explained) == (3, 3)  # equal keys in two partitions


ABANDONS = did("begin", "c2", txn="t"), abandon("x", txn="t"), did("commit", "c2", txn="t")
GIVEN_BACK = recording(
    send("a"), receive(show("a", 1, lock="x")), *ABANDONS, receive(show("a", 1, 1, lock="y"))
)
GIVEN_BACK_UNCOUNTED = recording(
    send("a"), receive(show("a", 1, lock="x")), *ABANDONS, receive(show("a", 1, 0, lock="y"))
)
COMMITTED_LATE = recording(
    send("a"), receive(show("a", 1, lock="x")), did("begin", "c2", txn="t"), complete("x", txn="t"),
    did("commit", "c2", txn="t", outcome="error", error="not_found"), receive(show("a", 1, 1, lock="y")),
)  # fmt: skip


def test_a_transaction_gives_back_what_it_abandons_and_counts_it() -> None:
    needs_tlc()
    found = validate([GIVEN_BACK, GIVEN_BACK_UNCOUNTED])

    assert told(found[0]) == (Status.ACCEPTED, None)
    assert told(found[1]) == (Status.REJECTED, 5)


def test_a_commit_is_refused_where_a_lock_of_it_ran_out() -> None:
    needs_tlc()

    assert validate([COMMITTED_LATE])[0].status is Status.ACCEPTED


TWO_PARTITIONS = (
    send("a"), send("b", key="l"),
    receive(show("a", 1, lock="x"), show("b", 1, lock="y", partition=8)),
    did("begin", "c2", txn="t"), complete("x", txn="t"), did("partition_down", "env", partition=8),
    complete("y", txn="t", outcome="error", error="invalid_operation"),
    did("partition_up", "env", partition=8),
)  # fmt: skip
REFUSED_AT_THE_SECOND = recording(*TWO_PARTITIONS, complete("y"))
REFUSED_AT_THE_FIRST = recording(*(one for one in TWO_PARTITIONS if one.locks != ("x",)), complete("y"))


def test_a_second_partition_is_refused_in_a_transaction_also_while_it_is_down() -> None:
    needs_tlc()
    found = validate([REFUSED_AT_THE_SECOND, REFUSED_AT_THE_FIRST])

    assert told(found[0]) == (Status.ACCEPTED, None)
    assert told(found[1]) == (Status.REJECTED, 7)  # the refusal told that the lock was lost


DOWN = did("partition_down", "env", partition=7)
SERVED_ANYWAY = recording(
    send("a"), send("b"), receive(show("a", 1, lock="x")), DOWN, complete("x"), receive(show("b", 2))
)
STORED_ANYWAY = recording(send("a"), receive(show("a", 1, lock="x")), DOWN, send("b"), receive(show("b", 2)))


def test_a_partition_that_is_down_may_deliver_and_settle_all_the_same_but_not_store() -> None:
    needs_tlc()
    found = validate([SERVED_ANYWAY, STORED_ANYWAY])

    assert told(found[0]) == (Status.ACCEPTED, None)
    assert told(found[1]) == (Status.REJECTED, 3)  # ROUTE-5


def committed(id: str, txn: str) -> tuple[Operation, ...]:
    return did("begin", txn=txn), send(id)._replace(txn=txn), did("commit", txn=txn)


ONE_LAGS = recording(
    *committed("a", "t"),
    *committed("b", "u"),
    send("c"),
    receive(show("a", 1), show("c", 3)),
    receive(show("b", 2)),
)
DELETED_UNSEEN = recording(
    *committed("a", "t"), did("receive", "c2", deletes=True, outcome="unknown"), did("drained", "env")
)
LEFT_BEHIND = recording(*committed("a", "t"), did("drained", "env"))


def test_what_one_transaction_committed_may_be_seen_later_than_what_another_did() -> None:
    needs_tlc()
    found = validate([ONE_LAGS, DELETED_UNSEEN, LEFT_BEHIND])

    assert told(found[0]) == (Status.ACCEPTED, None)
    assert told(found[1]) == (Status.ACCEPTED, None)
    assert told(found[2]) == (Status.REJECTED, 3)  # RCV-2


TAKEN_OVER = by_flows(
    bind("f"), bind("g"), assigned("f", 1), send("a"), send("b"), delivered("f", "a", "b"),
    did("unbind", "f", flow="f"), assigned("f", 1, "unassigned"), assigned("g", 1), delivered("g", "a", "b"),
    partitions=1,
)  # fmt: skip
OUT_OF_ORDER = TAKEN_OVER._replace(
    operations=(*TAKEN_OVER.operations[:-1], TAKEN_OVER.operations[-1]._replace(
        shown=TAKEN_OVER.operations[-1].shown[::-1]))
)  # fmt: skip
NOT_ITS_OWN = by_flows(
    bind("f"), bind("g"), assigned("f", 1), assigned("g", 2), send("a"), send("b"),
    delivered("f", "a"), delivered("g", "b"),
)  # fmt: skip
TWO_OWNERS = by_flows(bind("f"), bind("g"), assigned("f", 1), assigned("g", 1))


def test_flows_are_followed_by_what_assignments_tell() -> None:
    needs_tlc()
    found = validate([TAKEN_OVER, OUT_OF_ORDER, NOT_ITS_OWN, TWO_OWNERS])

    assert told(found[0]) == (Status.ACCEPTED, None)
    assert told(found[1]) == (Status.REJECTED, 9)  # REB-3: the younger first, at the flow that took over
    assert told(found[2]) == (Status.REJECTED, 7)  # one key at the flows of two partitions
    assert told(found[3]) == (Status.REJECTED, 3)  # REB-1


REBALANCED_TWICE = by_flows(
    bind("f"), bind("g"), assigned("f", 1), assigned("f", 2), assigned("f", 2, "unassigned"), assigned("g", 2)
)  # fmt: skip
EVEN_AT_ONCE = by_flows(bind("f"), bind("g"), assigned("f", 1), assigned("g", 2))


def test_a_rebalance_may_come_before_the_next_bind_and_be_told_of_later() -> None:
    needs_tlc()
    found = validate([REBALANCED_TWICE, EVEN_AT_ONCE])

    assert [one.status for one in found] == [Status.ACCEPTED] * 2


def unbind(flow: str, **more: str) -> Operation:
    return did("unbind", flow, flow=flow, **more)


GONE = by_flows(bind("f"), unbind("f"), unbind("f"), unbind("f", outcome="error", error="not_found"))
STILL_THERE = by_flows(bind("f"), bind("g"), unbind("f", outcome="error", error="not_found"))


def test_an_unbind_of_a_flow_that_is_gone_is_answered_either_way() -> None:
    needs_tlc()
    found = validate([GONE, STILL_THERE])

    assert told(found[0]) == (Status.ACCEPTED, None)
    assert told(found[1]) == (Status.REJECTED, 2)


def batch(*ids: str, key: str | None = "k") -> Operation:
    return did("send_batch", sent=tuple(Sent(id, key) for id in ids))


READY = bind("f"), assigned("f", 1)
ANY_ORDER = by_flows(*READY, batch("a", "b"), delivered("f", "b", "a"), partitions=1)
TOLD_APART = by_flows(*READY, send("a"), send("b"), delivered("f", "b", "a"), partitions=1)
LATER_IN_ORDER = by_flows(
    *READY, bind("g"), batch("a", "b"), delivered("f", "b", "a"), did("unbind", "f", flow="f"),
    assigned("f", 1, "unassigned"), assigned("g", 1), delivered("g", "a", "b"), partitions=1,
)  # fmt: skip
KEY_BETWEEN = (
    *READY, bind("g"), did("send_batch", sent=(Sent("a", "k"), Sent("b", "l"), Sent("c", "k"))),
    delivered("f", "a", "b", "c"), did("unbind", "f", flow="f"), assigned("f", 1, "unassigned"),
    assigned("g", 1),
)  # fmt: skip
SAME_AGAIN = by_flows(*KEY_BETWEEN, delivered("g", "a", "b", "c"), partitions=1)
OTHER_AGAIN = by_flows(*KEY_BETWEEN, delivered("g", "b", "a", "c"), partitions=1)
UNSEEN = LATER_IN_ORDER._replace(
    operations=(*LATER_IN_ORDER.operations, did("receive", "g", flow="g", outcome="unknown")._replace(
        record=9, call=200, ret=None))
)  # fmt: skip


def test_messages_of_a_batch_with_one_key_may_have_another_key_between_them() -> None:
    needs_tlc()
    found = validate([SAME_AGAIN, OTHER_AGAIN])

    assert told(found[0]) == (Status.ACCEPTED, None)
    assert told(found[1]) == (Status.REJECTED, 8)  # REB-3


AT_ONCE = send("a")._replace(call=30, ret=44), send("b")._replace(call=31, ret=45)
EITHER_ORDER = by_flows(*READY, *AT_ONCE, delivered("f", "b", "a"), partitions=1)


def test_what_is_sent_at_once_is_stored_in_any_order_which_stays() -> None:
    needs_tlc()
    found = validate([ANY_ORDER, TOLD_APART, LATER_IN_ORDER, UNSEEN, EITHER_ORDER])

    assert told(found[0]) == (Status.ACCEPTED, None)
    assert told(found[1]) == (Status.REJECTED, 4)  # REB-3: they were sent one after the other
    assert told(found[2]) == (Status.REJECTED, 8)  # REB-3: they go back to their places
    assert told(found[3]) == (Status.UNKNOWN, None)  # one may have been delivered unseen
    assert "order" in found[3].reason
    assert told(found[4]) == (Status.ACCEPTED, None)


def outage(partition: int, *during: Operation) -> tuple[Operation, ...]:
    return (
        did("partition_down", "env", partition=partition),
        *during,
        did("partition_up", "env", partition=partition),
    )


def refused(id: str, *more: str) -> Operation:
    op = "send_batch" if more else "send"
    return did(op, sent=tuple(Sent(name, "k") for name in (id, *more)), outcome="error", error="unavailable")


BOTH_SHOWN = (
    send("a", None), send("b", None),
    *(did("peek", "c2", limit=5, shown=(shown,)) for shown in (show("a", 1), show("b", 1, partition=8))),
)  # fmt: skip
BLOCKED_TWICE = recording(
    *BOTH_SHOWN, *outage(7, refused("p", "q"), refused("r", "s")), *outage(8, refused("t", "u"))
)
BLOCKED_BY_BOTH = recording(
    *BOTH_SHOWN, *outage(7, refused("p", "q"), refused("r", "s")), *outage(8, refused("t"), refused("u"))
)


def test_a_batch_that_is_refused_for_the_partition_of_its_key_tells_which_that_is() -> None:
    needs_tlc()
    found = validate([BLOCKED_TWICE, BLOCKED_BY_BOTH])

    assert told(found[0]) == (Status.ACCEPTED, None)  # one refusal amid faults is no proof
    assert told(found[1]) == (Status.REJECTED, 10)  # ROUTE-2


def refused_sends(*sent: tuple[str, str], error: str = "unavailable") -> Operation:
    op = "send" if len(sent) == 1 else "send_batch"
    return did(op, sent=tuple(Sent(*one) for one in sent), outcome="error", error=error)


def peeked(*shown: Shown) -> tuple[Operation, ...]:
    return tuple(did("peek", "c2", limit=5, shown=(one,)) for one in shown)


KEYED = recording(send("a"), refused_sends(("p", "k")), send("b"), *peeked(show("a", 1), show("b", 3)))
OF_ANOTHER_KEY = recording(
    send("a"), send("b", "l"), refused_sends(("p", "k")), send("c", "l"),
    *peeked(show("a", 1), show("b", 1, partition=8), show("c", 3, partition=8)),
)  # fmt: skip
BY_TWO_KEYS = recording(
    send("a"), send("b", "l"), refused_sends(("p", "k"), ("q", "l"), error="invalid_operation"),
    send("c"), send("d", "l"),
    *peeked(show("a", 1), show("c", 3), show("b", 1, partition=8), show("d", 3, partition=8)),
)  # fmt: skip
LIVES_THERE = recording(
    send("a"), refused_sends(("p", "n")), send("b"), send("c", "n"),
    *peeked(show("a", 1), show("b", 3), show("c", 1, partition=8)),
)  # fmt: skip


def test_a_refused_send_may_use_up_a_number_in_the_partition_of_its_key_and_nowhere_else() -> None:
    needs_tlc()
    found = validate([KEYED, OF_ANOTHER_KEY, BY_TWO_KEYS, LIVES_THERE])

    assert told(found[0]) == (Status.ACCEPTED, None)
    assert found[1].status is Status.REJECTED  # SEQ-4
    assert told(found[2]) == (Status.ACCEPTED, None)
    assert found[3].status is Status.REJECTED  # ROUTE-2: the number that it used up tells where its key lives


def test_a_hidden_partition_was_ready_for_the_flow_that_received() -> None:
    trace = trace_of(NOT_ITS_OWN._replace(operations=NOT_ITS_OWN.operations[:-1]))

    assert [set(parts) for parts in trace.allowed] == [{1}, {1}]


SENT_AFTER_THE_HANDOFF = by_flows(
    *READY, assigned("f", 2), bind("g"), assigned("f", 1, "unassigned"), assigned("g", 1), send("a"),
    delivered("f", "a")._replace(call=36, ret=100),
)  # fmt: skip


def test_a_hidden_partition_was_ready_when_the_message_was_there() -> None:
    trace = trace_of(SENT_AFTER_THE_HANDOFF)

    assert [set(parts) for parts in trace.allowed] == [{2}]


TO_A_STANDBY = by_flows(*READY, bind("g"), send("a"), delivered("g", "a"), partitions=1)


def test_a_flow_that_no_partition_was_ready_for_is_delivered_nothing() -> None:
    needs_tlc()

    assert told(validate([TO_A_STANDBY])[0]) == (Status.REJECTED, 4)  # REB-2


BOTH_READY = bind("f"), assigned("f", 1), assigned("f", 2), send("a", None), send("b", None)


def test_where_nothing_can_be_out_of_order_a_hidden_partition_is_chosen() -> None:
    in_order = trace_of(by_flows(*BOTH_READY, delivered("f", "a", "b")))
    reversed = trace_of(by_flows(*BOTH_READY, delivered("f", "b", "a")))

    assert [set(parts) for parts in in_order.allowed] == [{1}, {1}]
    assert [set(parts) for parts in reversed.allowed] == [{1, 2}, {1, 2}]
    assert [set(parts) for parts in reversed.likely] == [{1}, {2}]


THREE_AT_ONCE = by_flows(
    *READY, assigned("f", 2), bind("g"), batch("a", "b", "c", key=None), delivered("f", "a", "b", "c"),
    assigned("f", 1, "unassigned"), assigned("g", 1), assigned("f", 2, "unassigned"), assigned("g", 2),
    delivered("g", "c", "a", "b"),
)  # fmt: skip


def test_what_was_delivered_in_both_orders_is_guessed_apart() -> None:
    assert [set(parts) for parts in trace_of(THREE_AT_ONCE).likely] == [{1}, {1}, {2}]


NUMBERED = send("a"), send("c"), receive(show("a", 1, lock="x")), receive(show("c", 3, lock="y"))
GAP = recording(*NUMBERED)
FILLED = recording(NUMBERED[0], send("b", "other"), *NUMBERED[1:])
IN_TXN = recording(
    *NUMBERED[::2], did("begin", txn="t"), did("send", sent=(Sent("b", "other"),), txn="t"),
    did("complete", "c2", locks=("x",), txn="t"),
)  # fmt: skip


def test_what_is_never_shown_is_first_taken_to_be_out_of_the_way() -> None:
    filled, in_txn = trace_of(FILLED), trace_of(IN_TXN)

    assert [set(parts) for parts in filled.allowed] == [{1}, {1, 2}, {1}]
    assert [set(parts) for parts in filled.likely] == [{1}, {2}, {1}]
    assert [set(parts) for parts in in_txn.likely] == [{1}, {1}]


def test_where_it_can_only_be_in_the_way_it_is_found_there() -> None:
    needs_tlc()
    found = validate([FILLED, GAP], locate=False)

    assert [one.status for one in found] == [
        Status.ACCEPTED,
        Status.REJECTED,
    ]  # SEQ-4: as nothing else was sent


LOST_LINK = over_connections(
    send("a"), send("b"), receive(Shown("a", 7, lock="x")), did("disconnect", "c2"),
    did("receive", "c3", limit=9, shown=(Shown("a", 7, lock="y"), Shown("b", 7, lock="z"))),
)  # fmt: skip
HELD_LINK = over_connections(
    *(one for one in LOST_LINK.operations if one.op != "disconnect"),
)
OVERTAKING = over_connections(
    send("a"), send("b"), did("receive", "c3", limit=9, shown=(Shown("b", 7, lock="z"),)),
    did("receive", "c3", limit=9, shown=(Shown("a", 7, lock="y"),)),
)  # fmt: skip


def test_a_lock_may_end_with_its_connection_and_its_message_keeps_its_place() -> None:
    needs_tlc()
    found = validate([LOST_LINK, HELD_LINK, OVERTAKING])

    assert told(found[0]) == (Status.ACCEPTED, None)
    assert told(found[1]) == (Status.REJECTED, 3)  # RCV-6: nothing ended the first lock
    assert told(found[2]) == (Status.REJECTED, 2)  # REB-3


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (recording(send("a"), did("accept_session")), "no operation accept_session"),
        (recording(send("a"), send("a")), "sent twice"),
        (recording(did("begin", txn="t"), did("begin", txn="t")), "name is used twice"),
        (over_connections(did("broker_kill", "env")), "kill of a broker"),
        (by_flows(assigned("f", 1)), "no client bound"),
    ],
)
def test_what_is_not_specified_is_declined_with_the_reason(one: Recording, reason: str) -> None:
    (found,) = validate([one])

    assert (found.status, found.states) == (Status.DECLINED, 0)
    assert reason in found.reason


def test_a_batch_is_of_one_family_and_of_like_lengths() -> None:
    assert batches([TWICE, LOST_LINK, GIVEN_BACK, LAWFUL], size=2) == [[3, 0], [2], [1]]


def test_a_count_that_falls_is_impossible() -> None:
    peeks = (
        did("peek", "c2", limit=5, shown=(show("a", 1, 1),)),
        did("peek", "c2", limit=5, shown=(show("a", 1),)),
    )
    trace = trace_of(recording(send("a"), receive(show("a", 1, lock="x")), *peeks))

    assert [step.op for step in trace.steps] == ["send", "receive", "peek", "impossible"]


@pytest.mark.parametrize(("shown", "becomes"), [("a", "renew"), ("b", "impossible")])
def test_a_renewal_shows_the_message_of_its_lock(shown: str, becomes: str) -> None:
    given = receive(show("a", 1, lock="x"), show("b", 2, lock="y"))
    renewal = did("renew_lock", "c2", locks=("x",), shown=(show(shown, 1 if shown == "a" else 2),))
    trace = trace_of(recording(send("a"), send("b"), given, renewal))

    assert trace.steps[-1].op == becomes


def test_a_history_is_given_up_at_the_limit_of_states() -> None:
    needs_tlc()
    found = validate([LAWFUL], Limits(states=2))

    assert found[0].status is Status.UNKNOWN
    assert "states" in found[0].reason


def test_a_narrow_search_accepts_or_says_that_it_left_states_out(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_tlc()
    traces = [trace_of(one) for one in (UNKNOWN_END, TWICE)]
    narrow = module._Follower(Limits(), {})._run(traces, 1, False)
    monkeypatch.setattr(module, "WIDTHS", ((1, False),))
    told_of: list[int] = []
    found = validate([UNKNOWN_END, TWICE], decided=lambda n, _: told_of.append(n))

    assert [one.reason for one in narrow] == [IN_PART, IN_PART]
    assert [one.status for one in found] == [Status.ACCEPTED, Status.REJECTED]
    assert told_of == [0, 1]


def test_a_hasty_search_rejects_nothing() -> None:
    """It takes the two sends to have been stored as they were shown; they were not."""
    needs_tlc()
    at_once = [send(id)._replace(call=10, ret=15) for id in "ab"]
    peek = did("peek", "c2", limit=1, since=(7, 2), shown=(show("b", 2),))
    lawful = recording(*at_once, peek, receive(show("a", 1, lock="x"), show("b", 2, lock="y")))
    hasty = module._Follower(Limits(), {})._run([trace_of(lawful)], 60, True)
    (found,) = validate([lawful])

    assert hasty[0].status is Status.REJECTED
    assert found.status is Status.ACCEPTED


def tried(limit: int, *after: Operation) -> Recording:
    """A message, dead-lettered beyond so many deliveries, that was received and given back; then more."""
    given_back = (send("a"), receive(show("a", 1, lock="x")), abandon("x"))
    return recording(*given_back, *after)._replace(maximum=limit)


def refused(*after: Operation) -> Recording:
    """Two messages that are held, a settlement of both that is refused for a lock that ended; then more."""
    held = receive(show("a", 1, lock="x"), show("b", 2, lock="y"))
    both = did("complete", "c2", locks=("x", "y"), outcome="error", error="lock_lost")
    return recording(send("a"), send("b"), held, both, *after)


PEEK = did("peek", "c2", limit=5, shown=(show("a", 1, 1),))
NOTHING = did("peek", "c3", limit=5)
AGAIN = receive(show("a", 1, 1, "z"))
DRAINED = did("drained", "env")


def test_the_broker_moves_as_what_is_shown_later_needs() -> None:
    lawful = (
        tried(1, send("b"), receive(show("b", 2, lock="y")), complete("y"), DRAINED),  # it is dead by then
        tried(1, AGAIN, complete("z"), DRAINED),  # at the maximum it may be delivered once more
        tried(1, PEEK, NOTHING, DRAINED),
        tried(1, AGAIN, DRAINED),
        recording(send("a"), receive(show("a", 1, lock="x")), AGAIN)._replace(maximum=1),  # a lock ran out
        refused(complete("y")),
        refused(AGAIN, receive(show("b", 2, 1, "u"))),
    )
    wrong = (
        tried(10, DRAINED),
        tried(1, NOTHING, AGAIN),
        tried(1, NOTHING, PEEK),
        refused(complete("y"), complete("x")),
        refused(complete("y"), PEEK, complete("x")),
    )
    check_told_apart(lawful, wrong)


def test_sends_that_make_no_difference_are_taken_in_one_order() -> None:
    needs_tlc()
    later = [
        did("send", sent=(Sent(id, key),))._replace(call=10, ret=20) for id, key in (("a", "k"), ("b", "q"))
    ]
    shown = receive(show("b", 1, lock="x")), receive(show("a", 1, lock="y", partition=8))
    apart = recording(*later, *(one._replace(call=30, ret=40) for one in shown))
    swapped = receive(show("b", 1, lock="x"), show("a", 2, lock="y"))._replace(call=30, ret=40)
    together = recording(*later, swapped)  # of one partition: the second was stored first
    found = validate([apart, together], locate=False)

    assert [one.status for one in found] == [Status.ACCEPTED, Status.ACCEPTED]


def test_a_fault_in_the_specification_rejects_a_lawful_history() -> None:
    needs_tlc()
    found = validate([LAWFUL], overrides={"Advance": "BugAdvanceByTwo"})

    assert found[0].status is Status.REJECTED


def test_a_prefix_leaves_open_what_had_not_returned() -> None:
    cut = prefix(LAWFUL, 30)

    assert [one.outcome for one in cut.operations] == ["ok", "ok", "unknown"]
    assert cut.operations[-1].shown == ()


def test_steps_of_one_instant_stand_together() -> None:
    trace = trace_of(LAWFUL)

    assert [step.op for step in trace.steps] == ["send", "send", "receive", "receive", "complete", "complete"]
    assert (trace.steps[2].then, trace.steps[3].then) == (4, 0)
    assert list(trace.order.heads) == [1, 2, 3, 5, 6]
