"""Where a queue forwards to: what its entity says of the queues of its chain."""

from __future__ import annotations

from typing import Any

import pytest

from partq.model.profiles import Destination, Entity, InvalidEntity


@pytest.mark.parametrize("wrong", ["b", [""], ["a b"], ["a/b"], [1], ["b", "B"], ["b:1", "b"]])
def test_a_chain_is_of_different_names(wrong: Any) -> None:
    with pytest.raises(InvalidEntity, match=r"^forward_to "):
        Entity(forward_to=wrong)


COPIES = (("all", "true"), ("red", "id=m1"))


@pytest.mark.parametrize(
    "wrong", [["b"], ["Subscriptions/red"], ["Subscriptions/none", "b"], ["Subscriptions/red", "ALL"]]
)
def test_a_topic_forwards_by_one_of_its_subscriptions(wrong: list[str]) -> None:
    with pytest.raises(InvalidEntity, match=r"^forward_to "):
        Entity(subscriptions=COPIES, forward_to=tuple(wrong))
    with pytest.raises(InvalidEntity, match=r"^forward_to "):
        Entity(forward_to=("Subscriptions/red", "b"))


def test_a_subscription_forwards_what_its_rule_matches() -> None:
    topic = Entity(subscriptions=COPIES, forward_to=("Subscriptions/red", "b", "c"))
    last = topic.outlet("ForwardTo/c")

    assert topic.outlets == ("Subscriptions/all", "ForwardTo/c")
    assert isinstance(last, Destination)
    assert (last.subscriptions, last.hops, last.forward_to) == ((("red", "id=m1"),), 2, ())
    assert topic.outlet("Subscriptions/all").forward_to == ()


def test_one_queue_of_a_chain_may_have_a_single_partition() -> None:
    queue = Entity(partitions=16, max_delivery_count=3, forward_to=("b:1", "c"))
    first, last = (queue.outlet(f"ForwardTo/{name}") for name in queue.chain)

    assert queue.outlets == ("ForwardTo/c",)
    assert isinstance(first, Destination) and isinstance(last, Destination)
    assert (first.partitions, first.hops, last.partitions, last.hops) == (1, 1, 16, 2)
    assert first.max_delivery_count == last.max_delivery_count == 3
