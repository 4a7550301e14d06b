"""The settings of a topic: subscriptions with a rule each."""

from __future__ import annotations

from typing import Any

import pytest

from partq.model.profiles import Entity, InvalidEntity


def test_subscriptions_have_one_order_and_are_asked_by_their_words() -> None:
    topic = Entity(subscriptions=(("b", "false"), ("a", "id=m1")))
    assert topic == Entity(subscriptions={"a": "id=m1", "b": "false"})  # type: ignore[arg-type]
    assert topic.outlets == ("Subscriptions/a", "Subscriptions/b")
    assert topic.outlet("Subscriptions/b").subscriptions == (("b", "false"),)
    assert topic.outlet("Subscriptions/c") == Entity()


@pytest.mark.parametrize(
    "wrong", ["a", {"a/b": "true"}, {"": "true"}, {"a": "True"}, {"a": "colour=red"}, {"a": "id="}, 3]
)
def test_other_names_and_rules_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidEntity, match=r"^subscriptions "):
        Entity(subscriptions=wrong)
