"""Which mechanisms met in one message: each pair counts once a message, by whatever names it."""

from __future__ import annotations

from typing import Any

import pytest

from partq.conformance.frontends.campaign.meetings import declined, met, names
from partq.conformance.history.notation import history
from partq.conformance.oracle.judge import NOT_MODELLED, judge

CREATE = 'create settings="{\\"name\\":\\"x\\",\\"partitioned\\":true}"'
MET = {
    "by its lock": ("p send m1\nc receive 1 -> m1#1 lock=l\nc defer l txn=t", {"deferral × transaction": 1}),
    "by its number": (
        "p send m1 ttl=9s\nc receive 1 -> m1#1 lock=l\nc receive_deferred 1 -> m1#1 lock=k",
        {"deferral × expiry": 1},
    ),
    "in a batch with one that expires": (
        "p send_batch m1 ttl=9s, m2",
        {"batch × expiry": 2},
    ),
    "sent twice, once in a transaction": ("p send m1\np send m1 txn=t", {"sent twice × transaction": 1}),
    "asked about after a fault": (
        "p send m1 at=9s\np send m2\nenv broker_kill\nenv broker_start\nc receive 1 -> m1#1",
        {"fault × scheduling": 1},
    ),
    "gone before the fault": ("p send m1 at=9s\nenv broker_kill\nenv broker_start", {}),
    "in the dead-letter queue": (
        "p send m1 at=9s\nc receive 1 dead -> m1#1",
        {"dead letters × scheduling": 1},
    ),
    "copied for a subscription": (
        "p send_batch m1 ttl=9s, m2\nc receive 1 entity=Subscriptions/red -> m1#1",
        {"batch × expiry": 2, "batch × topics": 1, "expiry × topics": 1},
    ),
    "counted after a commit": (
        "p begin t\np send m1 txn=t\np commit t\nc get\nc get",
        {"management × transaction": 2},
    ),
    "created in an outage, and counted": (
        f"p send m1\nenv partition_down 0\nc {CREATE}\nc get",
        {"fault × namespaces": 1, "fault × management": 1, "management × namespaces": 1},
    ),
    "counted before": ("c get\np send m1 at=9s", {}),
    "of no size": ("p send m1 at=9s body=x", {}),
    "another message": ("p send m1 at=9s\np send m2 txn=t", {}),
    "a drain's": ("p send m1 at=9s\ndrain receive 1 dead -> m1#1", {}),
}


@pytest.mark.parametrize("name", MET)
def test_a_pair_counts_once_a_message(name: str) -> None:
    text, expected = MET[name]
    assert met(history(text, "azure-flat")) == expected


def test_what_has_a_size_meets_others_where_the_entity_has_one() -> None:
    text = "p send m1 at=9s body=x\np send m2 at=9s"
    assert met(history(text, "azure-standard", max_size=9)) == {"capacity × scheduling": 1}


TOPIC = {"subscriptions": [["red", "true"]]}
FORWARDS = {"forward_to": ["b"]}
DECLINED: dict[str, tuple[str, dict[str, Any]]] = {
    "deferral": ("p receive_deferred 1 -> error not_found", {}),
    "management": ("p get", {}),
    "namespaces": (f"p {CREATE}", {}),
    "capacity": ("p send m1 body=x", {"max_size": 9}),
}
HELD = ("p send m1", {"requires_session": True})
TOPICS = {**DECLINED, "sessions": HELD}
PAIRS = {
    **{f"{one} × topics": (text, {**TOPIC, **more}) for one, (text, more) in TOPICS.items()},
    **{f"{one} × forwarding": (text, {**FORWARDS, **more}) for one, (text, more) in DECLINED.items()},
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_said_to_be_declined_is(name: str) -> None:
    text, settings = PAIRS[name]
    assert " × ".join(sorted(name.split(" × "))) in declined()
    assert judge(history(text, "azure-standard", **settings)).kind == NOT_MODELLED


def test_each_pair_that_is_declined_has_its_history() -> None:
    assert {" × ".join(sorted(name.split(" × "))) for name in PAIRS} == declined().keys()


def test_a_profile_has_what_its_rules_speak_of() -> None:
    assert names("solace") == ("batch", "fault")
    assert {"deferral", "sessions", "sent twice", "transaction"} < {*names("azure-premium")}
