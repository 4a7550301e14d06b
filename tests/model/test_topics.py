"""The settings of a topic: subscriptions with a rule each."""

from __future__ import annotations

from typing import Any

import pytest

from partq.model import departures
from partq.model.profiles import Entity, InvalidEntity
from partq.model.state import initial
from partq.model.topics.norm import change


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


@pytest.mark.parametrize("topic_first", [True, False])
def test_what_is_in_force_does_not_depend_on_what_was_asked_before(
    topic_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(departures, "_in_force", {})
    entities = (Entity(subscriptions=(("a", "true"),)), Entity())
    asked = entities if topic_first else entities[::-1]
    of = {entity: initial("azure-flat", entity).cfg.departures for entity in asked}
    norm = change.__wrapped__  # type: ignore[attr-defined]  # of a point
    assert [norm in of[entity] for entity in entities] == [True, False], "no rule of flat says that it works"
