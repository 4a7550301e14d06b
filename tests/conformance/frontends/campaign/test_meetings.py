"""Which mechanisms met in one message: each pair counts once a message, by whatever names it."""

from __future__ import annotations

import pytest

from partq.conformance.frontends.campaign.meetings import met, names
from partq.conformance.history.notation import history

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
    "another message": ("p send m1 at=9s\np send m2 txn=t", {}),
    "a drain's": ("p send m1 at=9s\ndrain receive 1 dead -> m1#1", {}),
}


@pytest.mark.parametrize("name", MET)
def test_a_pair_counts_once_a_message(name: str) -> None:
    text, expected = MET[name]
    assert met(history(text, "azure-flat")) == expected


def test_a_profile_has_what_its_rules_speak_of() -> None:
    assert names("solace") == ("batch", "fault")
    assert {"deferral", "sessions", "sent twice", "transaction"} < {*names("azure-premium")}
