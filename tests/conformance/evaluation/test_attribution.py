"""What a finding of the judge says: what was observed, expected, and why; and which records show it."""

from __future__ import annotations

import re

import pytest

from corpus import Entry, corpus
from partq.conformance.evaluation.decision import Decider, check_history
from partq.conformance.evaluation.reasons import reason
from partq.conformance.history.notation import history
from partq.conformance.verdict import Finding
from partq.model.requirements import requirement

SAID: dict[str, tuple[str, str, str, str, tuple[int, ...]]] = {
    "overtaken": (
        "azure-flat",
        "p send m1\np send m2\np receive 1 delete -> m2#2",
        "The receive at 2 cannot have returned m2: m1 was accepted before it and is still there.",
        "nothing, or m1 first",
        (0, 1, 2),
    ),
    "overtaken in one key": (
        "azure-premium",
        "p send m1 key=a\np send m2 key=b\np send m3 key=a\nq receive 1 delete -> m2#2.1\n"
        "q peek 5 from=0 -> m3#1.2",
        "The peek at 4 cannot have returned m3: "
        "m1 of the same key was accepted before it and is still there.",
        "m1 first",
        (0, 2, 4),
    ),
    "passed over by a peek": (
        "azure-flat",
        "p send m1\np send m2\np peek 5 -> m2#2",
        "The peek at 2 cannot have returned m2: m1 was accepted before it and is still there.",
        "m1 first",
        (0, 1, 2),
    ),
    "numbers against the order of acceptance": (
        "azure-flat",
        "p send m1\np send m2\np receive 2 delete -> m1#2, m2#1",
        "The receive at 2 cannot have returned m2: m1 was accepted before it and bears a higher number.",
        "a higher number on m2 than on m1",
        (0, 1, 2),
    ),
    "one key in two partitions": (
        "azure-premium",
        "p send m1 key=a\np send m2 key=a\nq receive 2 delete -> m1#1.1, m2#2.1",
        "The receive at 2 cannot have returned m2: "
        "m1 of the same key is in partition 1, and it is in partition 2.",
        "both in one partition",
        (0, 1, 2),
    ),
    "locked by two": (
        "azure-flat",
        "p send m1\np receive 1 -> m1#1 lock=l count=0\nq receive 1 -> m1#1 lock=k count=0",
        "The receive at 2 cannot have returned m1: p had locked it at 1 and not settled it.",
        "nothing",
        (0, 1, 2),
    ),
    "locked by two, with its time": (
        "azure-flat",
        "p send m1\np receive 1 -> m1#1 lock=l count=0 until=30.000000004s\n"
        "q receive 1 -> m1#1 lock=k count=0",
        "The receive at 2 cannot have returned m1: "
        "p had locked it at 1 until 30.000000004s and not settled it.",
        "nothing",
        (0, 1, 2),
    ),
    "given back in a transaction that was rolled back": (
        "azure-flat",
        "p send m1\np receive 1 -> m1#1 lock=l count=0\np begin t\np abandon l txn=t\np rollback t\n"
        "q receive 1 delete -> m1#1 count=1",
        "The receive at 5 cannot have returned m1: p had locked it at 1 and its abandon was not committed.",
        "nothing",
        (0, 1, 2, 3, 4, 5),
    ),
    "half of a transaction": (
        "azure-flat",
        "p begin t\np send m1 txn=t\np send m2 txn=t\np commit t\nq receive 1 delete -> m1#1\n"
        "q receive 1 delete -> nothing\nq peek 5 -> nothing\nq receive 1 delete -> m2#2",
        "The peek at 6 cannot have returned nothing: "
        "m1 of transaction t was seen at 4, m2 of the same was not.",
        "m2 first",
        (1, 2, 3, 4, 6),
    ),
    "lost after it was seen": (
        "azure-flat",
        "p send m1\np peek 5 -> m1#1\nenv drained",
        "The entity cannot have been empty at 2: "
        "m1 was accepted at 0 and last seen at 1, and nothing removed it.",
        "m1 is received",
        (0, 1, 2),
    ),
    "lost by a settlement that was refused": (
        "azure-flat",
        "p send m1\np receive 1 -> m1#1 lock=l count=0\nenv advance 31s\np complete l -> error lock_lost\n"
        "q receive 1 -> nothing\nenv drained",
        "The entity cannot have been empty at 5: m1 was accepted at 0 and last seen at 1, "
        "and nothing removed it (its settlement at 3 was refused).",
        "m1 is received",
        (0, 1, 3, 5),
    ),
    "shown otherwise than it was sent": (
        "azure-flat",
        "p send m1 at=10s @1-2\nq receive 1 delete -> m1#2 enqueued=1 @11s-12s",
        "The send at 0 cannot have succeeded: "
        "nothing that happened before leads to what the receive at 1 shows of it.",
        requirement("SEQ-7").text,
        (0, 1),
    ),
    "back after its end": (
        "azure-flat",
        "p send m1\np receive 1 delete -> m1#1\nq receive 1 delete -> m1#1",
        "The receive at 2 cannot have returned m1: it had been deleted at 1.",
        "nothing",
        (0, 1, 2),
    ),
    "settled by a lost lock": (
        "azure-flat",
        "p send m1\np receive 1 -> m1#1 lock=l count=0\nenv advance 31s\np complete l",
        "The complete at 3 cannot have succeeded: its lock on m1, given at 1, had been lost.",
        "a refusal as invalid_operation or lock_lost or not_found",
        (0, 1, 3),
    ),
    "lost": (
        "azure-flat",
        "p send m1\nenv drained",
        "The entity cannot have been empty at 1: m1 was accepted at 0 and never seen.",
        "m1 is received",
        (0, 1),
    ),
    "seen before its commit": (
        "azure-flat",
        "p begin t\np send m1 txn=t\nq receive 1 delete -> m1#1",
        "The receive at 2 cannot have returned m1: its transaction t had not been committed.",
        "nothing",
        (0, 1, 2),
    ),
    "refused though it was valid": (
        "azure-flat",
        "p send m1 -> error invalid_operation",
        "The send at 0 cannot have been refused as invalid_operation: "
        "nothing before it is a reason to refuse it.",
        "success",
        (0,),
    ),
    "another count": (
        "azure-flat",
        "p send m1\np receive 1 -> m1#1 lock=l count=3",
        "The receive at 1 cannot have returned m1: its delivery count is 3, after 0 deliveries.",
        "nothing, or m1 with another count",
        (0, 1),
    ),
    "received after its time to live": (
        "azure-flat",
        "p send m1 key=a ttl=5s\np send m2\nenv advance 6s\np receive 5 delete -> m1#1, m2#2",
        "The receive at 3 cannot have returned m1: its time to live of 5s had ended by 5.000000002s.",
        "an answer without m1",
        (0, 3),
    ),
    "received before it is due": (
        "azure-flat",
        "p send m1 at=10s\np receive 5 delete -> m1#2",
        "The receive at 1 cannot have returned m1: it was scheduled for 10s.",
        "nothing",
        (0, 1),
    ),
    "in a transaction that was idle for too long": (
        "azure-flat",
        "p begin t\np send m1 txn=t\nenv advance 121s\np commit t",
        "The commit at 3 cannot have succeeded: "
        "its transaction t had been idle for 121.000000002s, and its time limit is 120s.",
        "a refusal",
        (0, 1, 3),
    ),
    "more than a transaction takes": (
        "azure-flat",
        "p begin t\np send_batch " + ", ".join(f"m{n}" for n in range(100)) + " txn=t\np send n txn=t",
        "The send at 2 cannot have succeeded: its transaction t had 100 messages, and takes 100 at the most.",
        "a refusal",
        (0, 1, 2),
    ),
    "one of several comes back": (
        "azure-flat",
        "p send m1\np receive 1 delete -> m1#1\np send m2\nq receive 9 delete -> m2#2, m1#1",
        "The receive at 3 cannot have returned m1: it had been deleted at 1.",
        "an answer without m1",
        (0, 1, 3),
    ),
    "an assignment too early": (
        "solace",
        "c1 bind f1 @1-2\nenv assignment 0 f1 ready @2s",
        "Partition 0 cannot have become ready at flow f1 at 1: nothing that happened before leads to it.",
        requirement("REB-4").text,
        (0, 1),
    ),
}


def test_a_lock_that_had_ended_is_no_reason() -> None:
    locked = "p send m1\np receive 1 -> m1#1 lock=l until=30s\nenv advance 31s\nq receive 1 delete -> m1#1"
    seen = history(locked, "azure-flat")
    assert reason(seen, seen.records[3], ["RCV-6"]) is None


def test_younger_messages_first_in_one_answer_are_named() -> None:
    seen = history("p send m1\np send m2\np send m3\nq receive 9 delete -> m3, m1, m2", "azure-standard")
    why = reason(seen, seen.records[3], ["RCV-3"])
    assert why is not None
    assert why.why == "m1 and m2 were accepted before it and come after it"
    assert (why.message, why.witness) == ("m3", (0, 1, 2))


def test_where_duplicates_are_detected_an_id_is_a_key() -> None:
    entry = corpus()["duplicates/bad: after the window an ID has another partition"]
    why = reason(entry.history, entry.history.records[3], entry.blame)
    assert why is not None
    assert why.why == "one of its ID is in partition 1, and it is in partition 2"
    assert why.message == "m1" and {*why.witness} == {2, 3}


def found(profile: str, text: str) -> Finding:
    given = history(text, profile, partitions=1 if profile == "azure-flat" else 2)
    (finding,) = (one for several in Decider(screens=()).decide(given).findings.values() for one in several)
    return finding


@pytest.mark.parametrize("name", SAID)
def test_what_a_finding_says(name: str) -> None:
    profile, text, said, expected, witness = SAID[name]
    finding = found(profile, text)
    assert finding.detail.removesuffix(f" (partq explain {finding.requirement})") == said
    assert (finding.allowed, finding.witness) == (expected, witness)


def test_of_two_rules_the_one_that_the_shortest_prefix_shows_is_named() -> None:
    finding = found(
        "azure-flat",
        "p send m1\np receive 1 -> m1#1 lock=l count=0\nq receive 1 -> m1#1 lock=k count=0\n"
        "p send m2\np receive 1 delete -> m2#2\nq receive 1 delete -> m2#2",
    )
    assert finding.requirements == ("RCV-6",)


BORN_AGAIN = [
    entry for name, entry in corpus().items() if re.match("(duplicates|scheduling|deadletters)/bad", name)
]


@pytest.mark.parametrize("entry", BORN_AGAIN, ids=[entry.name for entry in BORN_AGAIN])
def test_messages_have_the_names_that_the_history_gives_them(entry: Entry) -> None:
    found = [finding for verdict in check_history(entry.history).values() for finding in verdict.findings]
    assert found
    assert not any("~" in finding.detail + finding.allowed for finding in found)
