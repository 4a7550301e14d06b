"""Records as lines: what is printed can be pasted into a test, and steers no terminal."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from partq.conformance.adapters import open_broker
from partq.conformance.execution.runner import run
from partq.conformance.history import Header, History, Record
from partq.conformance.history.notation import history as read
from partq.conformance.history.notation_writer import line, witness
from partq.conformance.verdict import Finding
from partq.conformance.workload.generator import generate
from partq.model.messages import Delivery, Message
from partq.model.profiles import profile

FLAT = profile("azure-flat")


@pytest.mark.parametrize("name", ["azure-standard", "azure-premium", "azure-flat"])
def test_printed_records_are_read_again_as_they_were(name: str) -> None:
    broker = open_broker("reference")
    broker.profile = name
    for seed in range(12):
        history = run(broker, generate(name, seed))
        lines = "\n".join(line(record, profile(name)) for record in history.records)
        again = read(lines, name).records
        for was, now in zip(history.records, again, strict=True):
            assert replace(now, i=was.i, entity=was.entity) == was


@pytest.mark.parametrize(
    "text",
    [
        "c1 bind f1 -> ok @1ns-2ns",
        "c1 bind f1 partition=3 -> error invalid_operation @1ns-2ns",
        "c1 disconnect -> ok @1ns-2ns",
        "c1 disconnect f1 -> unknown @1ns-",
        "c1 receive 3 delete flow=f1 timeout=5ns -> nothing @1ns-2ns",
        "c1 peek 3 from=7 -> m1#7 count=0 redelivered=no @1ns-2ns",
        "c1 renew_lock l1 -> m1#7 lock=l1 until=90ns @1ns-2ns",
        "c1 complete l1 l2 txn=t1 -> error lock_lost @1ns-2ns",
        'c1 send m1 key=a body="two words" session=s -> ok @1ns-2ns',
        "c1 send_batch m1 key=a, m2 prop.colour=red -> ok @1ns-2ns",
        "c1 receive_deferred 4 5 -> m1#4, m2#5 @1ns-2ns",
        "env assignment 3 f1 ready -> ok @1ns-1ns",
        "env assignment 3 state=unassigned -> ok @1ns-1ns",
        "env advance 30ns -> ok @1ns-31ns",
        "env advance 90s -> ok @1ns-31ns",
        "c1 receive 3 timeout=1.5s -> nothing @1ns-2ns",
        "c1 receive 3 timeout=50ms -> m1#7 enqueued=1.000000001s lock=l1 until=31.25s @1ns-2ns",
        "c1 send m1 at=2.5s ttl=90s -> ok @1ns-2ns",
        "env frontend_lost c1 -> ok @1ns-2ns",
        "c1 peek 3 entity=Subscriptions/red -> nothing @1ns-2ns",
        "c1 peek 3 entity=Subscriptions/red/$DeadLetterQueue -> nothing @1ns-2ns",
        "c1 peek 3 dead -> nothing @1ns-2ns",
        "c1 send m1 without_id=yes -> ok @1ns-2ns",
        'c1 peek 3 -> m1#7 message_id="", m2#8 message_id=x @1ns-2ns',
        "c1 send m1 -> ok @10.015000001s-20s",
        "c1 send m1 -> ok @999.999µs-1ms",
        "c1 send m1 -> unknown @250ms-",
    ],
)
def test_every_form_of_line(text: str) -> None:
    (record,) = read(text, "azure-flat").records
    assert line(record, FLAT) == text


def test_no_text_steers_a_terminal() -> None:
    nasty = "\x1b[31m\x9b1m\x07\u202e"
    record = Record(
        0, nasty, "receive", "q", 1, 2, {"max": 1}, messages=(Delivery(nasty, nasty, lock=nasty),)
    )
    assert line(record, FLAT).removeprefix(nasty).isprintable()
    sent = Record(0, "p", "send", "q", 1, 2, {"messages": (Message(nasty, nasty),)})
    assert line(sent, FLAT).isprintable()


def test_a_body_is_shown_where_it_was_sent_and_where_it_is_another() -> None:
    text = "c1 send m1 body=long\nc1 send m2 body=long\nc2 peek 5 -> m1#1 body=long, m2#2 body=gone"
    finding = Finding("RCV-1", "title", (0, 2), "altered", "allowed", "key")
    assert list(witness(finding, read(text, "azure-flat"))) == [
        "   0  c1 send m1 body=long -> ok @1ns-2ns",
        "   2  c2 peek 5 -> m1#1, m2#2 body=gone @5ns-6ns",
    ]


def test_a_witness_shows_the_messages_that_matter() -> None:
    many = tuple(Delivery(f"m{n}", lock="l5" if n == 5 else None) for n in range(9))
    records = (
        Record(0, "p", "peek", "q", 1, 2, {"max": 9}, messages=many),
        Record(4, "p", "peek", "q", 3, 4, {"max": 9}, messages=many[:3]),
        Record(5, "p", "peek", "q", 5, 6, {"max": 9}),
        Record(6, "p", "complete", "q", 7, 8, {"locks": ("l5",)}),
    )
    finding = Finding("PEEK-1", "title", (0, 4, 6), "'m7' came before m2: so it is", "allowed", "key")
    shown = list(witness(finding, History(Header("azure-flat"), records)))
    assert shown == [
        "   0  p peek 9 -> m2, m5 lock=l5, m7 @1ns-2ns  # of 9 messages",
        "   4  p peek 9 -> m2 @3ns-4ns  # of 3 messages",
        "   6  p complete l5 -> ok @7ns-8ns",
    ]


def test_a_settlement_of_many_shows_the_locks_of_the_messages_that_matter() -> None:
    many = "".join(f", m{n} lock=l{n}" for n in range(1, 6))
    text = (
        f"p send m0\np receive 6 -> m0 lock=l0{many}\np complete l0 l1 l2 l3 l4 l5\n"
        f"env broker_kill\np receive 6 -> m0 lock=l6{many}"
    )
    finding = Finding("RCV-7", "title", (0, 1, 2, 3, 4), "'m0' came again", "allowed", "key")
    assert list(witness(finding, read(text, "partitioned-queue"))) == [
        "   0  p send m0 -> ok @1ns-2ns",
        "   1  p receive 6 -> m0 lock=l0 @3ns-4ns  # of 6 messages",
        "   2  p complete l0 -> ok @5ns-6ns  # of 6 locks",
        "   3  env broker_kill -> ok @7ns-8ns",
        "   4  p receive 6 -> m0 lock=l6 @9ns-10ns  # of 6 messages",
    ]


def test_long_locks_are_cut_and_stay_distinct() -> None:
    one, two = (f"{'AQEB' * 45}{n}" for n in (1, 2))
    text = (
        f"p send m1\np send m2\np receive 1 -> m1#1 lock={one}\np receive 1 -> m2#2 lock={two}\n"
        f"p complete {one}"
    )
    finding = Finding("RCV-8", "title", (2, 3, 4), "detail", "allowed", "key")
    lines = list(witness(finding, read(text, "azure-flat")))
    assert [part for part in lines[2].split() if part.startswith("AQEB")] == [f"{one[:24]}…1"]
    assert f"lock={one[:24]}…1 " in lines[0]
    assert f"lock={two[:24]}…2 " in lines[1]
    assert max(map(len, lines)) < 100
    read("\n".join(line.split(maxsplit=1)[1] for line in lines), "azure-flat")
