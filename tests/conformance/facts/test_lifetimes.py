"""Each message's lifetime, and why some messages have none."""

from __future__ import annotations

import pytest

from partq.conformance.facts.index import FOREVER, facts_of
from partq.conformance.facts.lifetimes import EXPIRING, SCHEDULED, SENT_TWICE, Lifetimes, Removal
from partq.conformance.history.notation import history


def lifetimes(text: str) -> Lifetimes:
    return facts_of(history(text))[0].derive(Lifetimes)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("p send m1\np send m1", SENT_TWICE),
        ("p send m1 at=1s", SCHEDULED),
        ("p send m1 ttl=1s\nenv advance 2s\np receive 1", EXPIRING),
    ],
)
def test_why_a_message_is_not_followed(text: str, why: str) -> None:
    assert lifetimes(text).left_out == {"m1": why}


def test_a_message_certainly_is_there_from_the_answer_to_its_send_or_its_first_appearance() -> None:
    lives = lifetimes(
        "p send m1\np send m2 -> unknown timeout\np send m3 -> unknown timeout\np peek 9 -> m2#2"
    )
    sent, seen, unsure = (lives.by_id[id] for id in ("m1", "m2", "m3"))
    assert sent.certainly_from == sent.record.ret
    assert seen.accepted == FOREVER and seen.certainly_from == seen.peeks[0].record.ret
    assert unsure.certainly_from == FOREVER and not unsure.seen


def test_how_a_message_was_shown_is_in_order_of_calls_either_way_and_both() -> None:
    text = "p send m1\np send m2\np peek 9 -> m1#1\np receive 1 -> m1#1 lock=k\np peek 9 -> m1#1"
    lives = lifetimes(text)
    shown = lives.by_id["m1"]
    assert [seen.record.op for seen in shown.appearances] == ["peek", "receive", "peek"]
    assert shown.first is shown.peeks[0]
    assert [life.id for life in lives.unseen] == ["m2"]


def test_what_may_have_removed_a_message() -> None:
    text = "p send m1\np receive 1 -> m1#1 lock=k\np complete k -> error lock_lost\np complete k"
    facts = facts_of(history(text))[0]
    refused, completed = facts.settlements
    life = facts.derive(Lifetimes).by_id["m1"]
    assert life.removal == Removal(completed.call, refused.call, completed.ret, completed.call)
