"""Themes in which mechanisms meet, and so the one place of programs that names several. What a mechanism's
own programs do is in its `programs`."""

from __future__ import annotations

from typing import Any, Final

from partq.conformance.workload.weights import Theme, weighed
from partq.model.profiles import SECOND

_MET: Final = (
    "later 4, race 2, together 3, defer 4, by_number 4, mortal 5, over 2, a_while 2, dead_letter 4, "
    "take_dead 3, buried 2, dead_together 2, repeat 3, copies_in_a_batch 2, copies_together 2, "
    "transaction 4, complete 6, abandon 4, peek 6, advance 2, outage 2, front_end 1, kill 1"
)

_OTHERS: Final = (
    "other_created 4, other_deleted 2, management_get 5, management_rest 4, management_repartition 1"
)
_QUOTAS: Final[dict[str, Any]] = {"max_partitioned_entities": 3, "max_entities": 5}
_IN_SESSIONS: Final = (
    "session_send 16, session_work 10, session_receive 4, session_hand_over 3, session_struck 3"
)


def _meeting(
    name: str,
    rule: str,
    words: str,
    needs: str = "",
    one_in: int = 24,
    copies: tuple[bool, ...] = (False, True),
    **settings: Any,
) -> Theme:
    """A theme of what may meet in a queue, and of more. ``copies``: whether duplicates are detected."""
    return Theme(
        name,
        rule,
        weighed(f"{_MET}, {words}"),
        wears=True,
        settings={**settings, "duplicate_window": 6 * SECOND},
        choices={"duplicate_detection": copies},
        needs=needs,
        one_in=one_in,
    )


MEETINGS: Final = (
    _meeting(
        "meetings",
        "DUP-1",
        "send 8, receive 12, twice 6, copies_scheduled 6, a_window 3, reconsidered 2, "
        "deferred_together 2, mortal_together 2, mortal_scheduled 2, settle_transaction 3",
        one_in=12,
    ),
    _meeting(
        "meetings-in-sessions",
        "SES-1",
        "session_send 22, session_accept 4, session_receive 6, session_work 12, "
        "session_close 2, session_outlast 2, session_hand_over 3, session_struck 3, session_together 3, "
        "session_renew 1, session_second 3, session_unfit 2, session_settle_two 2, "
        "cancel 2, look_at_dead 1",
        needs="accept_session",
        one_in=12,
        requires_session=True,
    ),
    _meeting(
        "meetings-without-ids",
        "KEY-6",
        "without_ids 24, without_ids_together 8, receive 14, twice 3, a_window 3, reconsidered 2",
        one_in=12,
        copies=(True, True, False),
    ),
    _meeting(
        "meetings-beside-others",
        "ENT-1",
        f"{_OTHERS}, send 20, receive 12, twice 4, a_window 2",
        needs="create",
        **_QUOTAS,
    ),
    _meeting(
        "meetings-in-sessions-beside-others",
        "ENT-1",
        f"{_OTHERS}, {_IN_SESSIONS}",
        needs="create",
        **_QUOTAS,
        requires_session=True,
    ),
    _meeting(
        "meetings-in-a-full-queue",
        "ENT-6",
        f"{_OTHERS}, capacity_heat 14, capacity_flood 6, send 8, receive 10, twice 6, "
        "copies_scheduled 4, without_ids 4",
        needs="create",
        **_QUOTAS,
        max_size=4_000,
    ),
    _meeting(
        "meetings-in-full-sessions",
        "ENT-6",
        f"{_OTHERS}, {_IN_SESSIONS}, capacity_in_session 16, capacity_flood 1",
        needs="create",
        **_QUOTAS,
        max_size=4_000,
        requires_session=True,
    ),
    Theme(
        "meetings-of-copies",
        rule="TOPIC-1",
        weights=weighed(
            "send 20, batch 8, mortal 4, receive_copy 10, take_copy 3, settle_copy 6, copy_set_aside 20, "
            "look_at_copies 10, each_copy 6, advance 5, front_end 1, kill 1"
        ),
        wears=True,
        settings={"subscriptions": (("blue", "true"), ("red", "true"))},
        needs="add_rule",
        one_in=24,
    ),
    Theme(
        "meetings-of-forwarded-sessions",
        rule="FWD-1",
        weights=weighed(
            "session_send 30, session_send_without 1, forwarded_session 30, settle_copy 4, "
            "look_at_copies 10, advance 2, held_up 2, front_end 1, kill 2"
        ),
        settings={"requires_session": True},
        choices={"forward_to": (("a",), ("a", "b"), ("a:1", "b"), ("a", "b:1"))},
        needs="add_rule",
        one_in=24,
    ),
    Theme(
        "meetings-of-forwarded-copies",
        rule="FWD-1",
        weights=weighed(
            "send 10, send_coloured 24, batch 6, receive_copy 20, take_copy 8, settle_copy 10, "
            "look_at_copies 12, each_copy 8, ruled 5, advance 4, front_end 1, kill 2, mortal 2"
        ),
        settings={"subscriptions": (("all", "true"), ("red", "sql:colour IS NOT NULL"))},
        choices={
            "forward_to": (
                ("Subscriptions/red", "a"),
                ("Subscriptions/red", "a:1", "b"),
                ("Subscriptions/red", "a", "b", "c", "d", "e"),
                ("Subscriptions/all", "a", "b:1", "c"),
            )
        },
        needs="add_rule",
        one_in=24,
    ),
)
"""The same few messages are scheduled, deferred, of short life, dead-lettered, sent twice and in
transactions, in a queue without sessions and in one with them; and sent without an ID. Beside this other
entities are created and deleted, and counts are read; and the queue has little room. Copies in subscriptions
are dead-lettered, or forwarded, and so is what belongs to a session."""
