"""When effects most likely took place."""

from random import Random

import pytest

from partq.conformance.history.notation import history
from partq.conformance.oracle.estimates import FINE
from partq.conformance.oracle.guidance import Guide
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.oracle.reading import Reading


def test_of_flows_that_bind_at_once_those_that_get_partitions_come_first() -> None:
    text = (
        "a bind f @1-9\nb bind g @2-8\nc bind h @3-7\nd bind k @20-21\n"
        "env assignment 1 h ready @5000000010\nenv assignment 2 k ready @5000000010"
    )
    question = Reading(history(text, "solace", partitions=2)).entities[0].question()
    instants = Guide(question.known(False)).guidance().estimates

    first, second, third = instants[:3]
    assert third < min(first, second)


def test_a_settlement_of_unknown_outcome_comes_after_what_still_shows_the_lock() -> None:
    text = (
        "p send m1\nq receive 1 -> m1 lock=l\nq complete l -> unknown timeout\nq renew_lock l -> m1\n"
        "env advance 60s\nenv drained"
    )
    question = Reading(history(text, "azure-flat")).entities[0].question()
    guidance = Guide(question.known(False)).guidance()

    _, _, complete, renew, drained = guidance.estimates
    assert guidance.likely == (2,)
    assert renew < complete < drained


def test_drawn_estimates_stay_within_their_spans() -> None:
    text = (
        "p send m1 @1-9\nq receive 1 -> m1 lock=l @10-20\nq complete l -> unknown timeout @21-30\n"
        "q receive 1 -> nothing @40-50"
    )
    question = Reading(history(text, "azure-flat")).entities[0].question()
    guide = Guide(question.known(False))
    drawn = [guide.guidance(random=Random(seed)) for seed in range(20)]

    assert {one.likely for one in drawn} == {(), (2,)}
    assert drawn == [guide.guidance(random=Random(seed)) for seed in range(20)]
    sends, completes = ([one.estimates[n] // FINE for one in drawn] for n in (0, 2))
    assert 1 <= min(sends) < max(sends) <= 9
    assert 21 <= min(completes) < max(completes) <= 45


def test_a_send_that_is_never_shown_does_not_wait_for_peeks_to_find_something() -> None:
    text = (
        "p send m1 key=a @1-2\np receive 1 delete -> m1#1.1 @3-4\np send m2 key=a -> unknown timeout @5-6\n"
        "q peek 1 -> nothing @11-12"
    )
    question = Reading(history(text, "azure-premium")).entities[0].question()
    _, _, sent, *peeks = Guide(question.known(False)).guidance().estimates
    assert sent < min(peeks)


def test_what_a_transaction_stores_is_numbered_when_it_is_committed() -> None:
    text = (
        "p send m1 key=a -> unknown timeout @1-9\nq begin t @2-3\n"
        "q send m2 key=a txn=t -> unknown timeout @4-5\nq commit t @10-30\n"
        "p send m3 key=a @11-28\nr receive 3 -> m1#1.0, m2#1.1, m3#1.2 @40-41"
    )
    question = Reading(history(text, "azure-premium")).entities[0].question()
    first, _, joined, commit, last, _ = Guide(question.known(False)).guidance().estimates
    assert max(first, joined) < commit < last


def test_a_connection_most_likely_ended_where_a_flow_of_it_is_gone() -> None:
    lost = "p bind f\np receive 1 flow=f -> error connection_lost\n"
    gone = "p receive 1 flow=f -> error not_found"
    assert likely(lost + gone) == ("disconnect",)
    assert likely(f"{lost}p receive 1 flow=f -> nothing") == ()
    assert likely(f"{lost}env broker_kill\nenv broker_start\n{gone}") == ()
    assert likely(f"{lost}p unbind f\n{gone}") == ()


def likely(text: str) -> tuple[str, ...]:
    question = Reading(history(text, "solace", partitions=2)).entities[0].question()
    return tuple(question.effects[n].action.op for n in question.known(False).likely)


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("order", ["as sent", "reversed", "shuffled"])
def test_forty_messages_are_forwarded_in_any_order(order: str, numbered: bool) -> None:
    came = sorted(range(40), key=lambda n: -n if order == "reversed" else n)
    if order == "shuffled":
        Random(1).shuffle(came)
    text = "\n".join(f"p send m{n} key=k{n % 5}" for n in range(40))
    text += "\nc peek 5 entity=ForwardTo/b -> nothing"
    counters = [0] * 5
    for n in came:
        number = f"#{n % 5}.{counters[n % 5]}" if numbered else ""
        counters[n % 5] += 1
        text += f"\nc receive 1 delete entity=ForwardTo/b -> m{n}{number}"
    text += "\nenv drained entity=ForwardTo/b"

    found = judge(history(text, "azure-standard", forward_to=["b"]), nodes=20_000)

    assert found.status is Judged.ACCEPTED and found.visited < 300


def test_a_dead_letter_comes_to_its_queue_just_before_it_is_shown_there() -> None:
    text = (
        "p send a key=k\nc receive 1 -> a#0.1 lock=l\nc dead_letter l\np send b key=k\n"
        "d peek 5 dead -> nothing\nd receive 1 dead delete -> a#0.1\nc receive 1 delete -> b#0.2"
    )
    question = Reading(history(text, "azure-standard")).entities[0].question()
    instants = Guide(question.known(False)).guidance().estimates

    at = {
        (e.action.op, e.action.entity): instant for e, instant in zip(question.effects, instants, strict=True)
    }
    assert at["peek", "dead_letter"] < at["bury", ""] < at["receive", "dead_letter"]
    assert judge(history(text, "azure-standard"), nodes=60).status is Judged.ACCEPTED


def test_what_a_peek_leaves_out_is_on_its_way_to_the_dead_letter_queue() -> None:
    sends = "\n".join(f"p send a{n} key=k{n}\np send b{n} key=k{n}" for n in range(6))
    taken = "\n".join(f"c receive 1 -> a{n}#{n}.1 lock=l{n}" for n in range(6))
    peeks = "\n".join(f"d peek 1 from={n}.1 -> b{n}#{n}.2" for n in range(6))
    dead = "\n".join(f"d receive 1 dead delete -> a{n}#{n}.1" for n in range(6))
    text = f"{sends}\n{taken}\nenv advance 60s\n{peeks}\n{dead}"

    found = judge(history(text, "azure-standard", max_delivery_count=1), nodes=100)

    assert found.status is Judged.ACCEPTED
