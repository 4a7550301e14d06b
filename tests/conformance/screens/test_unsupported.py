"""What a broker may do beside the rules that are checked, or a recorder leave out: a good history, in which
nothing is found, beside a bad one that differs little and has its rule.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from inspections import inspected
from msgspec import structs

from partq.conformance.facts.index import facts_of
from partq.conformance.facts.lifetimes import TWO_KEYS, Lifetimes
from partq.conformance.history import Header, History
from partq.conformance.history.notation import history
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.screens.assess import inspect
from partq.conformance.screens.registry import ALL
from partq.conformance.screens.unsupported import TOUCHED
from partq.conformance.verdict import Inspection
from partq.model.operations import OPS, SETTLEMENTS
from partq.model.profiles import SECOND, Entity

FLAT: dict[str, Any] = {"profile": "azure-flat"}


# Entities with sessions, and operations that are not followed.


def test_where_there_are_sessions_screens_leave_what_these_explain_to_the_judge() -> None:
    plain, in_session = (
        "p send m1 session=s\nq receive 1 -> m1#1 lock=a count=0\nr receive 1 -> m1#1 lock=b count=0",
        "p send m1 -> error invalid_operation\nq receive 1 -> error invalid_operation",
    )
    assert inspected(plain, **FLAT).findings.keys() == {"RCV-6"}
    assert inspected(in_session, **FLAT).findings.keys() == {"KEY-9"}
    for text in (plain, in_session):
        said = inspected(text, **FLAT, requires_session=True)
        assert not (said.findings or said.open or said.candidates)


LOCKED = "p send m1\np receive 1 -> m1#1 lock=l count=0 until=30s\n"
AMID = {
    "accept_session": ("p accept_session s", "q receive 1 -> m1#1 lock=k count=0", "RCV-6"),
    "receive_session": ("p receive_session s 1", "q receive 1 -> m1#1 lock=k count=0", "RCV-6"),
    "renew_session": ("p renew_session s", "q receive 1 -> m1#1 lock=k count=0", "RCV-6"),
    "close_session": ("p close_session s", "q receive 1 -> m1#1 lock=k count=0", "RCV-6"),
    "receive_deferred": ("p receive_deferred 1 -> unknown", "q receive 1 -> m1#1 lock=k count=0", "RCV-6"),
    "update": ("p update", "env advance 40s\np complete l", "RCV-8"),
    "delete": ("p delete", "q receive 1 -> m1#1 lock=k count=0", "RCV-6"),
    "create": ("p create", "p receive 1 -> m9#2", "RCV-1"),
    "schedule": ("p schedule m9 at=9 txn=t", "q receive 9 -> m1#1", "TXN-5"),
    "cancel_scheduled": ("p cancel_scheduled 7 txn=t", "q receive 9 -> m1#1", "TXN-5"),
    "add_rule": ("p add_rule", "env advance 40s\nenv drained", "RCV-2"),
    "remove_rule": ("p remove_rule", "env advance 40s\nenv drained", "RCV-2"),
}
TXN = "p begin t\np send m1 txn=t\n"


def test_every_operation_is_followed_or_its_rows_are_known() -> None:
    followed = {
        *("send", "send_batch", "schedule", "receive", "receive_deferred", "peek", "renew_lock"),
        *("complete", "abandon", "defer", "dead_letter", "begin", "commit", "rollback"),
        *("bind", "rebind", "unbind", "disconnect", "reconnect"),
    }
    harmless = {"get", "get_session_state", "set_session_state"}
    clients = {op for op, spec in OPS.items() if not spec.env}
    assert clients == followed | harmless | set(TOUCHED)
    assert set(AMID) == set(TOUCHED) - SETTLEMENTS


@pytest.mark.parametrize("op", AMID)
def test_what_an_operation_that_is_not_followed_may_explain_is_no_finding(op: str) -> None:
    line, then, rule = AMID[op]
    before = TXN if op in ("schedule", "cancel_scheduled") else LOCKED
    if rule == "RCV-2":
        before = "p send m1\n"
    plain = inspected(f"{before}{then}", **FLAT)
    assert set(plain.findings) == {rule}
    amid = _with_objects(f"{before}{line}\n{then}")
    assert rule not in amid.findings
    assert amid.found.keys() == amid.findings.keys(), "what is no finding is not counted"
    assert f"the {op} at " in amid.open[rule]


def test_where_a_flow_came_back_screens_leave_what_that_explains_to_the_judge() -> None:
    bound = (
        "c1 bind f1 @1-2\nc1 disconnect f1 @3s-4s\n{}env assignment 0 f1 ready @20s\nenv advance 20s @21s-41s"
    )
    plain = inspected(bound.format(""), "solace", partitions=2)
    amid = inspected(bound.format("c1 rebind f1 @5s-6s\nc1 disconnect f1 @7s-8s\n"), "solace", partitions=2)
    assert set(plain.findings) == {"REB-13"} and not (amid.findings or amid.open or amid.candidates)


def _with_objects(text: str) -> Inspection:
    """Rules can't be written in the notation: a line of `get` stands in for one."""
    op = next((op for op in ("add_rule", "remove_rule") if op in text), None)
    read = history(text.replace(op, "get") if op else text, "azure-flat")
    records = tuple(
        structs.replace(r, op=op, args={"rule": {}}) if op and r.op == "get" else r for r in read.records
    )
    return inspect(replace(read, records=records), ALL)


# Several entities.


def told(*parts: tuple[str, str], profile: str = "azure-flat", **entities: Entity) -> Inspection:
    """The inspection of lines of several entities, one after the other."""
    records, at = [], 0
    for entity, text in parts:
        for r in history(text, profile, entity=entity).records:
            ret = None if r.ret is None else r.ret + at
            records.append(structs.replace(r, i=len(records), call=r.call + at, ret=ret))
        at = max(r.ret or r.call for r in records) + 1
    return inspect(History(Header(profile, entities), tuple(records)), ALL)


def test_a_subscription_has_what_its_topic_was_sent() -> None:
    sent = ("t", "p send m1 body=x\np send m2 body=y")
    good = told(sent, ("t/Subscriptions/s", "q receive 2 delete -> m1#1 body=x, m2#2\nenv drained"))
    assert not good.findings and not good.open and good.exercised["RCV-1"] == 2
    bad = told(sent, ("t/Subscriptions/s", "q receive 2 delete -> m1#1 body=z, m2#2"))
    assert set(bad.findings) == {"RCV-1"}


def test_a_dead_letter_queue_has_what_its_queue_was_sent() -> None:
    queue = ("q", "p send m1 body=x\np receive 1 -> m1#1 lock=l\np dead_letter l")
    for name in ("q/$DeadLetterQueue", "q/$deadletterqueue", "q/$Transfer/$DeadLetterQueue"):
        assert not told(queue, (name, "p receive 1 -> m1#1 lock=k\np complete k")).findings
        assert set(told(queue, (name, "p receive 1 -> m1#1 body=z lock=k")).findings) == {"RCV-1"}


def test_a_dead_letter_queue_has_the_settings_of_its_queue() -> None:
    late = "p receive 1 -> m1#1 lock=k\nenv advance 40s\np complete k"
    queue, dead = ("q", "p send m1"), ("q/$DeadLetterQueue", late)
    assert not told(queue, dead, q=Entity(lock_duration=60 * SECOND)).findings
    assert set(told(queue, dead).findings) == {"RCV-8"}


def test_a_transaction_may_have_settled_a_dead_letter() -> None:
    sent = ("q", "p send m0\np begin t\np send m1 txn=t")
    settled = ("q/$DeadLetterQueue", "p receive 1 -> m0#1 lock=k\np complete k txn=t")
    shown = ("q", "r receive 9 -> m1#2")
    assert set(told(sent, shown).findings) == {"TXN-5"}
    found = told(sent, settled, shown)
    assert not found.findings and "the complete at" in found.open["TXN-5"]


def test_what_strikes_a_client_in_one_of_two_queues_strikes_it_in_both() -> None:
    """A connection that is lost in the dead-letter queue takes the client's cursors with it."""
    queue = ("q", "p send m1\np send m2\np peek 1 -> m1#1")
    ended = ("q", "p peek 1 -> nothing\nr receive 9 delete -> m1#1, m2#2")
    assert set(told(queue, ended).findings) == {"PEEK-5"}
    lost = ("q/$DeadLetterQueue", "p receive 1 -> unknown connection_lost")
    assert not told(queue, lost, ended).findings


def test_what_nobody_sent_to_an_entity_is_open_where_it_may_come_from_elsewhere() -> None:
    forwarded = told(("a", "p send m1"), ("b", "p send m2\np receive 1 delete -> m1#1"))
    assert not forwarded.findings and "another entity" in forwarded.open["RCV-1"]
    found = told(("b", "p receive 1 delete -> m1#1"))
    assert not found.findings and "no client sent" in found.open["RCV-1"]
    ghost = told(("a", "p send m1"), ("b", "p send m2\np receive 1 delete -> m3#1"))
    assert set(ghost.findings) == {"RCV-1"}


def test_numbers_of_an_entity_may_be_used_up_by_what_comes_from_elsewhere() -> None:
    sent = "p send m1\np send m2 -> unknown timeout\np send m3"
    shown = "q receive 9 delete -> m1#1, m3#3\nenv drained"
    assert not told(("t", sent), ("t/Subscriptions/s", shown)).findings
    plain = told(("q", "p send m1\np send m3\n" + shown), ("other", "p send m2 -> unknown timeout"))
    assert set(plain.findings) == {"SEQ-4"}


def test_nothing_is_lost_in_a_topic() -> None:
    drained = ("t", "p send m1\nenv drained")
    assert set(told(drained).findings) == {"RCV-2"}
    assert not told(drained, ("t/Subscriptions/s", "p receive 1 delete -> m1#1")).findings


def test_of_two_keys_that_differ_either_may_count() -> None:
    """KEY-8 names two properties and not which one wins: such a message proves nothing of either key."""
    both = "p send m{0} key=a prop.JMSXGroupID=b"
    facts = facts_of(history(both.format(1) + "\np send m2 key=a prop.JMSXGroupID=a", "solace"))[0]
    lives = facts.derive(Lifetimes)
    assert lives.left_out == {"m1": TWO_KEYS} and set(lives.by_id) == {"m2"}


def test_assignments_known_to_an_interval_are_no_instants() -> None:
    bound = "c1 bind f1 @1-2\nenv assignment 0 f1 ready @6s\n"
    text = bound + "env assignment 0 f1 unbound @{}\nc1 unbind f1 @9s-9001ms"
    assert "REB-13" in inspected(text.format("8s"), "solace", partitions=1).findings
    polled = inspected(text.format("8s-10s"), "solace", partitions=1)
    assert not polled.findings and "interval" in polled.open["REB-13"]


LOOKS = (("3s", "6s"), ("18s", "21s"), ("24s", "27s"))
"""Three looks at the assignments, each with the one before it: what is seen changed in between."""


def test_a_reconnect_between_two_looks_breaks_no_delay() -> None:
    """Taken for instants the looks say that a flow was given its partition too soon after it was bound."""
    text = (
        "c1 bind f1 @1-2\nenv assignment 0 f1 ready @{0}\nc1 disconnect f1 @20s-20001ms\n"
        "env assignment 0 f1 unbound @{1}\nc1 bind f2 @20500ms-20501ms\n"
        "env assignment 0 f1 unassigned @{2}\nenv assignment 0 f2 ready @{2}\nenv drained @40s"
    )
    instants = text.format(*(before for before, _ in LOOKS))
    assert "REB-4" in inspected(instants, "solace", partitions=1).findings
    polled = history(text.format(*map("-".join, LOOKS)), "solace", partitions=1)
    assert not inspect(polled).findings and not inspect(polled).candidates
    assert judge(polled).status is Judged.ACCEPTED


KEYED_BY_ID = {
    "TXN-1": "p begin t\np send m1 txn=t\np commit t\nq receive 1 delete -> m1#1.1",
    "KEY-5": "p send_batch k1 key=a, k2 key=a\n"
    + "\n".join(f"p send_batch m{n}, n{n} -> error invalid_operation" for n in (1, 2)),
    "KEY-9": "p send m1 -> error invalid_operation",
    "ROUTE-6": "".join(f"p send m{n}\n" for n in range(4))
    + "q receive 9 delete -> m0#1.1, m1#1.2, m2#1.3, m3#1.4\nenv partition_down 1\n"
    + "".join(
        f"p send n{n} timeout=60s -> error unavailable @{100 + 70 * n}s-{160 + 70 * n}s\n" for n in range(4)
    )
    + "env partition_up 1",
}


@pytest.mark.parametrize("rule", KEYED_BY_ID)
def test_where_duplicates_are_detected_a_message_without_a_key_is_keyed_by_its_id(rule: str) -> None:
    assert rule in inspected(KEYED_BY_ID[rule], "azure-premium", partitions=2).findings
    found = inspected(KEYED_BY_ID[rule], "azure-premium", partitions=2, duplicate_detection=True)
    assert (rule in found.findings) == (rule == "KEY-9") and not found.open
