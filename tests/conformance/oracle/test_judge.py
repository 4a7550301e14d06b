"""The exact judge: what it accepts, rejects and leaves open, and how it says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from partq.conformance.adapters import open_broker
from partq.conformance.evaluation.suite import lacks_of
from partq.conformance.execution.runner import run
from partq.conformance.history import History
from partq.conformance.history.codec import read_history
from partq.conformance.history.notation import history
from partq.conformance.oracle import estimates
from partq.conformance.oracle import judge as judging
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.workload.generator import generate, trace_seed
from partq.model.profiles import SECOND, Entity


def told(profile: str, text: str) -> History:
    partitions = 1 if profile == "azure-flat" else 2
    return history(text, profile, partitions=partitions)


def test_the_longest_prefix_and_what_would_have_been_allowed() -> None:
    found = judge(told("azure-flat", "p send m1\np send m2\np receive 1 delete -> m2#2\np send m3"))
    assert found.explained == (0, 1)
    assert found.stuck == (2,)
    assert found.allowed == ("ok: nothing shown", "ok: m1")


def test_what_is_allowed_of_several_that_may_come_next() -> None:
    found = judge(told("azure-flat", "p send m1\np complete l @5-20\nq receive 1 -> m2#2 @6-21\np send m2"))
    assert found.explained == (0,) and found.stuck == (1, 2)
    assert found.allowed[0].startswith("error: ")


def test_the_budget() -> None:
    sends = "\n".join(f"c{n} send m{n} @{n + 1}-50" for n in range(8))
    given = told("azure-flat", f"{sends}\nq receive 9 delete -> m0#99 @60-61\nenv drained")
    found = judge(given, seconds=0)
    assert found.status is Judged.UNKNOWN and "no answer after 0 s" in found.reason
    assert found.explained and found.visited == 2  # one of each search


def test_where_a_wrong_guess_costs_too_much_another_order_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    given = read_history(Path(__file__).parent / "reference" / "premium-70.ndjson")
    found = judge(given, seconds=60, nodes=3_000)
    assert found.status is Judged.ACCEPTED
    assert judge(given, seconds=60, nodes=3_000) == found
    monkeypatch.setattr(judging, "RESTARTS", 0)
    assert judge(given, seconds=60, nodes=3_000).status is Judged.UNKNOWN


def test_where_no_number_is_shown_first_deliveries_show_the_order_of_sends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Recorded with Redis 7: two clients send at once until the server is killed; the drain shows in which
    order each key's messages were stored."""
    given = read_history(Path(__file__).parent / "redis" / "streams-85.ndjson")
    found = judge(given, seconds=60, nodes=1_000)
    assert (found.status, found.visited) == (Judged.ACCEPTED, 88)
    monkeypatch.setattr(estimates, "_by_domain", lambda *_: ())
    assert judge(given, seconds=60, nodes=1_000).status is Judged.UNKNOWN


@pytest.mark.parametrize("number", [54, 160])
def test_of_deliveries_that_overlap_those_of_what_was_sent_sooner_come_first(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recorded with Redis 7: several clients receive at once. What one of them was given shows that it came
    first, as its messages were sent before another's, or stood before them in one batch."""
    given = read_history(Path(__file__).parent / "redis" / f"streams-{number}.ndjson")
    assert judge(given, seconds=60, nodes=1_000).status is Judged.ACCEPTED
    monkeypatch.setattr(estimates, "_sent_sooner", lambda *_: False)
    assert judge(given, seconds=60, nodes=1_000).status is Judged.UNKNOWN


def test_a_second_look_decides_what_more_nodes_alone_do_not() -> None:
    """A trace of a campaign, whose messages' places and unseen locks are guessed wrong."""
    broker = open_broker("reference")
    broker.profile = "solace"
    given = run(broker, generate("solace", trace_seed(7, 1_012), lacks=lacks_of(broker)))
    found = judge(given, seconds=60, nodes=5_000, again=True)
    assert found.status is Judged.ACCEPTED
    assert judge(given, seconds=60, nodes=5_000, again=True) == found
    assert judge(given, seconds=60, nodes=5_000).status is Judged.UNKNOWN


def test_an_id_sent_twice_is_not_judged() -> None:
    found = judge(told("azure-flat", "p send m1\np send m1\nq receive 1 delete -> m1#1"))
    assert found.status is Judged.UNKNOWN and "'m1' was sent twice" in found.reason


def test_a_family_that_is_not_modelled_is_not_judged() -> None:
    found = judge(history("p send m1 key=a", "rabbitmq"))
    assert found.status is Judged.UNKNOWN and "not modelled" in found.reason


def test_where_duplicates_are_detected_the_message_id_is_a_key() -> None:
    text = "p begin t\np send m1 txn=t\np commit t"
    assert judge(history(text, "azure-premium")).status is Judged.REJECTED
    assert judge(history(text, "azure-premium", duplicate_detection=True)).status is Judged.ACCEPTED


def test_where_the_profile_knows_no_duplicates_their_detection_is_not_judged() -> None:
    found = judge(history("p send m1", "solace", duplicate_detection=True))
    assert (found.status, found.reason) == (
        Judged.UNKNOWN,
        "duplicates are not modelled where the profile has none",
    )


def test_copies_that_nothing_tells_apart_are_not_judged() -> None:
    text = "p send m1\np send m1\nq receive 1 delete -> m1#1"
    found = judge(history(text, "azure-flat", duplicate_detection=True))
    assert (found.status, found.reason) == (
        Judged.UNKNOWN,
        "several messages have the ID 'm1', and nothing shows which one this is",
    )


def test_where_a_peek_starts_is_not_known_without_numbers() -> None:
    """A failed send used a number up: m1 has 2, which nothing shows."""
    text = "p send m0 -> error internal\np send m1\nq peek 5 from=2 -> m1{}\nq receive 1 delete -> m1{}"
    assert judge(history(text.format("#2", "#2"), "azure-flat")).status is Judged.ACCEPTED
    found = judge(history(text.format("", ""), "azure-flat"))
    assert found.status is Judged.UNKNOWN and "a peek starts at a number" in found.reason


def test_more_partitions_than_there_are() -> None:
    found = judge(
        told("azure-premium", "p send m1\np send m2\np send m3\nq receive 3 delete -> m1#1.1, m2#2.1, m3#3.1")
    )
    assert found.status is Judged.REJECTED and "cannot be called" in found.reason


def test_entities_are_judged_by_themselves() -> None:
    one = told("azure-flat", "p send m1\nq receive 1 delete -> m1#1")
    two = [
        structs.replace(r, i=r.i + 2, entity="other", call=r.call + 10, ret=(r.ret or 0) + 10)
        for r in one.records
    ]
    both = History(
        replace(one.header, entities={**one.header.entities, "other": Entity()}), (*one.records, *two)
    )
    assert judge(both).status is Judged.ACCEPTED
    drained = structs.replace(told("azure-flat", "env drained @90").records[0], i=9, entity="other")
    found = judge(replace(both, records=(*both.records[:3], drained)))
    assert found.status is Judged.REJECTED and found.explained == (2,) and found.stuck == (9,)


def test_timers_of_a_live_broker_may_be_late() -> None:
    text = "p bind f @3-4\nenv assignment 0 f ready @6000000000\nenv assignment 1 f ready @6000000000"
    given = history(text, "solace", partitions=2)
    assert judge(given).status is Judged.REJECTED
    assert judge(given, late=2 * SECOND).status is Judged.ACCEPTED


def test_the_budget_counts_what_struck_locks_may_have_left_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of thirty locks may have run out before the kill, or fallen to it: a billion states,
    of which none explains the count. Without excerpts, of which one message's shows that at once."""
    monkeypatch.setattr("partq.conformance.oracle.judge.excerpts", lambda *_: iter(()))
    names = [f"m{n}" for n in range(30)]
    shown = ", ".join(f"{name}#{n} lock=l{n} count=0" for n, name in enumerate(names, start=1))
    text = "".join(f"p send {name}\n" for name in names) + (
        f"c receive 30 -> {shown}\nenv broker_kill\nenv broker_start\nenv advance 61s\n"
        "c receive 1 -> m0#1 lock=l count=5"
    )
    said = judge(history(text, "azure-flat"), waived=frozenset({"PEEK-6"}), nodes=500)
    assert (said.status, said.kind) == (Judged.UNKNOWN, "over the budget") and said.visited <= 600


def test_what_order_domains_allow_is_told_however_many_messages_they_hold_back() -> None:
    """Of the sets of 40 messages behind one in flight none may be shown: they are not gone through."""
    sends = "\n".join(f"p send m{n} key=k" for n in range(41))
    found = judge(told("ordered-queue", f"{sends}\np receive 1 -> m0 lock=l\nq receive 64 delete -> m2"))
    assert found.allowed == ("ok: nothing shown",)


INTERLEAVED = """
    p begin t @1-2
    q begin u @3-4
    p send m1 key=a txn=t @5-6
    q send m2 key=a txn=u @7-8
    p send m3 key=a txn=t @9-10
    q commit u @11-12
    p commit t @13-14
    r receive 9 delete -> {} @15-16
    """


def test_without_numbers_the_order_of_transactions_at_once_is_open() -> None:
    """A message may be numbered, and stamped, when it is sent in a transaction: one order or the other."""
    numbered = "m1#1 enqueued=5, m2#2 enqueued=7, m3#3 enqueued=9"
    assert judge(history(INTERLEAVED.format(numbered), "azure-flat")).status is Judged.ACCEPTED
    times = "m1 enqueued=5, m2 enqueued=7, m3 enqueued=9"
    said = judge(history(INTERLEAVED.format(times), "azure-flat"))
    assert said.status is Judged.UNKNOWN and "no number tells" in said.reason
    phantom = "m1 enqueued=5, m2 enqueued=7, m9 enqueued=9"
    assert judge(history(INTERLEAVED.format(phantom), "azure-flat")).status is Judged.REJECTED


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("env drained", Judged.ACCEPTED),
        ("env drained\np receive 1 -> m2#2", Judged.UNKNOWN),
    ],
)
def test_what_is_guessed_of_a_schedule_may_be_accepted_and_is_never_rejected(
    text: str, status: Judged
) -> None:
    begins = "env advance 10s\np schedule m1 at=1s -> m1#1\np send m2\nc receive 2 delete -> unknown timeout"

    found = judge(told("azure-flat", f"{begins}\n{text}"))

    assert found.status is status
    assert found.kind == ("" if status is Judged.ACCEPTED else judging.NOT_MODELLED)
