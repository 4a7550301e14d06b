"""Histories of any length: what is wrong in a few of their records is found among many lawful ones."""

from __future__ import annotations

import pytest

from partq.conformance.adapters.reference import Reference
from partq.conformance.evaluation.decision import Decider, Exactness
from partq.conformance.execution.runner import run
from partq.conformance.history import History
from partq.conformance.history.notation import history
from partq.conformance.oracle import long_histories
from partq.conformance.oracle.cuts import LEFT_OPEN, Cuts
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.oracle.long_histories import judge_any
from partq.conformance.verdict import Status
from partq.conformance.workload.generator import generate, trace_seed
from partq.model.profiles import PROFILES

PLACE = {"azure-premium": "1.", "azure-flat": ""}


def behind(count: int, tail: str, profile: str = "azure-premium") -> History:
    """That many messages sent and received as they should be, then the tail: its ``{n}`` is the number before
    that of its first message."""
    place = PLACE[profile]
    lawful = "".join(
        f"p{n % 3} send f{n} key=k{n % 7}\np{n % 3} receive 1 delete -> f{n}#{place}{n + 1}\n"
        for n in range(count)
    )
    numbers = {f"n{k}": f"{place}{count + k}" for k in range(1, 5)}
    return history(lawful + tail.format(**numbers), profile, partitions=1)


TAILS = {
    "half a transaction": (
        "azure-premium",
        "p begin t\np send m1 key=a txn=t\np send m2 key=a txn=t\np commit t\nq peek 5 from=0.0 -> m2#{n2}",
        {"TXN-5", "PEEK-2", "RCV-2"},
    ),
    "out of order": (
        "azure-flat",
        "p send m1\np send m2\nq receive 1 delete -> m2#{n2}\nq receive 1 delete -> m1#{n1}",
        {"RCV-3"},
    ),
    "completed though its lock was lost": (
        "azure-flat",
        "p send m1\np receive 1 -> m1#{n1} lock=l count=0\nenv advance 31s\np complete l",
        {"RCV-8"},
    ),
    "a completed message comes back": (
        "azure-flat",
        "p send m1\np receive 1 -> m1#{n1} lock=l count=0\np complete l\n"
        "q receive 1 delete -> m1#{n1} count=1",
        {"RCV-7"},
    ),
    "two locks at once": (
        "azure-flat",
        "p send m1\np receive 1 -> m1#{n1} lock=l count=0\n"
        "q receive 1 -> m1#{n1} lock=k count=1\np complete l",
        {"RCV-6"},
    ),
    "a key in two places in a transaction's refusal": (
        "azure-premium",
        "p begin t\np send m1 key=a txn=t\np rollback t\nq receive 1 delete -> m1#{n1}",
        {"TXN-5", "TXN-10"},
    ),
    "a peek that continues the last one shows what is gone": (
        "azure-flat",
        "p send m1\np send m2\np receive 1 delete -> m1#{n1}\nq peek 5 -> m1#{n1}, m2#{n2}",
        {"RCV-7"},
    ),
}


@pytest.mark.parametrize("name", TAILS)
def test_a_defect_behind_lawful_records_is_found(name: str) -> None:
    """The judge rejects it by excerpts, and blame comes to what it comes to in a short history."""
    profile, tail, rules = TAILS[name]
    said = judge_any(behind(400, tail, profile), nodes=20_000)
    assert said.judgement.status is Judged.REJECTED and said.excerpts
    assert max(map(len, said.excerpts)) < 20
    verdicts = Decider(Exactness(nodes=20_000, after=2_000)).check(behind(400, tail, profile)).verdicts
    found = next(f for verdict in verdicts.values() for f in verdict.findings)
    assert rules & set(found.requirements)
    assert found.witness[-1] >= 800, "the witness is where it happens"


def test_a_long_lawful_history_is_accepted_as_a_whole() -> None:
    assert judge_any(behind(400, "p send m1"), nodes=20_000).judgement.status is Judged.ACCEPTED


def test_what_was_judged_of_an_undecided_history_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is too long to be searched as a whole: its excerpts are all that is known."""
    monkeypatch.setattr(long_histories, "WHOLE", 500)
    whole = behind(300, "p begin t\np send m1 key=a txn=t\np commit t")
    verdicts, judging = Decider(Exactness(nodes=20_000)).check(whole)
    assert judging.undecided == 1
    assert "1 of 1 transactions, 301 of 301 messages judged by themselves; the whole: no" in judging.why
    assert Status.UNKNOWN in {verdict.status for verdict in verdicts.values()}


@pytest.mark.parametrize("profile", [name for name in PROFILES if name != "rabbitmq"])
def test_no_excerpt_of_a_lawful_history_is_rejected(profile: str) -> None:
    """Faults, transactions, flows and unknown outcomes included, those cut out of what the judge accepts."""
    broker = Reference(profile)
    for trace in range(4):
        lawful = run(broker, generate(profile, trace_seed(18, trace), length=30, lacks=broker.lacks()))
        for cuts in long_histories.by_entity(lawful):
            for ids in cuts.sets():
                said = long_histories.rejection_of(cuts.of(ids), lawful)
                assert said.status is not Judged.REJECTED, (trace, sorted(ids), said.reason)


def test_an_entity_with_sessions_is_not_cut() -> None:
    """A receive in a session is of no message that an excerpt is about, when its accept is left out."""
    text = "p send m1 session=a\nq accept_session a\nq receive_session a 1 -> m1#1.1 lock=l count=0"
    with_sessions = history(text, requires_session=True)
    assert not list(long_histories.by_entity(with_sessions))
    assert judge(Cuts(with_sessions).of(frozenset({"m1"}))).status is Judged.REJECTED
    assert len(list(long_histories.by_entity(history("p send m1 session=a")))) == 1


def test_an_excerpt_holds_a_transaction_as_a_whole() -> None:
    whole = behind(3, "p begin t\np send m1 key=a txn=t\np send m2 key=a txn=t\np commit t\nq send m3")
    cuts = Cuts(whole)
    assert frozenset({"m1", "m2"}) in set(cuts.sets()) and frozenset({"m1"}) not in set(cuts.sets())
    assert [r.op for r in cuts.of(frozenset({"m1", "m2"})).records] == ["begin", "send", "send", "commit"]


def test_neighbours_have_one_key_whatever_else_was_sent_with_it() -> None:
    text = "p send m1 prop.QUEUE_PARTITION_KEY=a\np send m2 key=x prop.QUEUE_PARTITION_KEY=a\np send m3"
    cuts = Cuts(history(text, "solace", partitions=2))
    assert [ids for ids in cuts.sets() if len(ids) > 1] == [{"m1", "m2"}]


def test_a_peek_that_continues_the_last_one_looks_from_what_it_shows_on() -> None:
    """But for the number 0, from which on is from the first message on, also after a roll-over."""
    for number, looks in ((2, [2]), (0, [])):
        text = f"p send m1\np send m2\nq peek 5 -> m1#1, m2#{number}"
        kept = Cuts(history(text, "azure-flat")).of(frozenset({"m2"})).records
        assert [r.args["from_seq"] for r in kept if r.op == "peek"] == looks


CUT = {
    "a fault that was over": "env broker_kill\nenv broker_start\np send m1\np receive 1 delete -> m1#1.1",
    "an unknown receive after the end": (
        "p send m1\np receive 1 delete -> m1#1.1\nq receive 1 delete -> unknown connection_lost"
    ),
    "an answer without it": "p receive 1 -> nothing\np send m1\np receive 1 delete -> m1#1.1",
    "what is sent later": "p send m1\np receive 1 delete -> m1#1.1\np send m2",
    "a fault after the end": (
        "p send m1\np receive 1 delete -> m1#1.1\nenv broker_kill\nenv broker_start\nenv partition_down 1\n"
        "env partition_up 1"
    ),
    "an outage elsewhere": (
        "p send m1\nenv partition_down 2\nenv partition_up 2\np receive 1 delete -> m1#1.1"
    ),
}

NEVER_STORED = {
    "refused": "p send m1 -> error invalid_operation",
    "rolled back": "p begin t\np send m1 key=a txn=t\np rollback t",
    "refused in a transaction": "p begin t\np send m1 key=a txn=t -> error invalid_operation\np commit t",
}


@pytest.mark.parametrize("name", NEVER_STORED)
def test_what_was_never_stored_is_gone_at_once(name: str) -> None:
    tail = "\nq receive 1 delete -> unknown connection_lost\nenv broker_kill\nenv broker_start"
    cuts = Cuts(history(NEVER_STORED[name] + tail, "azure-premium", partitions=1))
    assert "receive" not in [r.op for r in cuts.of(frozenset({"m1"})).records]


def test_a_refused_message_that_is_shown_is_not_gone() -> None:
    text = "p send m1 -> error invalid_operation\nenv broker_kill\nenv broker_start\n"
    cuts = Cuts(history(text + "p receive 1 delete -> m1#1.1", "azure-premium", partitions=1))
    ops = [r.op for r in cuts.of(frozenset({"m1"})).records]
    assert ops == ["send", "broker_kill", "broker_start", "receive"]


def test_an_excerpt_ends_where_many_unknown_receives_may_have_taken_what_was_not_seen_to_go() -> None:
    lost = "q receive 1 -> unknown connection_lost\n"
    few, many = (
        Cuts(history("p send m1\n" + lost * count + "env drained", "azure-premium", partitions=1))
        for count in (LEFT_OPEN, LEFT_OPEN + 1)
    )
    assert [r.op for r in few.of(frozenset({"m1"})).records] == ["send", *["receive"] * LEFT_OPEN, "drained"]
    assert [r.op for r in many.of(frozenset({"m1"})).records] == ["send"]


@pytest.mark.parametrize("name", CUT)
def test_what_does_not_touch_the_messages_is_left_out(name: str) -> None:
    cuts = Cuts(history(CUT[name], "azure-premium", partitions=1))
    assert [r.op for r in cuts.of(frozenset({"m1"})).records] == ["send", "receive"]


KEPT = {
    "a fault that was not over": ("env broker_kill\np send m1 -> unknown connection_lost", "broker_kill"),
    "an unknown receive while it was there": (
        "p send m1\nq receive 1 delete -> unknown connection_lost\np peek 1",
        "receive",
    ),
    "an outage of its partition": (
        "p send m1\nenv partition_down 1\nenv partition_up 1\np receive 1 delete -> m1#1.1",
        "partition_down",
    ),
    "an outage wherever it was stored": (
        "p send m1\nenv partition_down 2\np receive 1 delete -> m1",
        "partition_down",
    ),
    "a fault after which it is shown once more": (
        "p send m1\np receive 1 delete -> m1#1.1\nenv broker_kill\nenv broker_start\n"
        "p peek 1 from=0.0 -> m1#1.1",
        "broker_kill",
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_may_touch_the_messages_is_kept(name: str) -> None:
    text, op = KEPT[name]
    assert op in [
        r.op for r in Cuts(history(text, "azure-premium", partitions=1)).of(frozenset({"m1"})).records
    ]


def test_of_old_unknown_receives_as_many_are_kept_as_may_have_taken_the_messages() -> None:
    """What one took that was called long before, one that was called later may have taken, too."""
    old = "q receive 1 delete -> unknown connection_lost\nr receive 1 -> unknown connection_lost\n" * 40
    cuts = Cuts(history(old + "p send m1\np receive 1 -> m1#1.1 count=3", "azure-premium", partitions=1))
    kept = cuts.of(frozenset({"m1"})).records
    assert [r.i for r in kept] == list(range(68, 82))


def test_candidates_are_those_of_every_excerpt_stuck_alike() -> None:
    said = judge_any(behind(400, TAILS["half a transaction"][1]), nodes=20_000)
    whole = behind(400, TAILS["half a transaction"][1])
    cut, blamed = long_histories.blame_excerpts(said.excerpts, whole, 2_000)
    assert set(blamed.candidates) <= {"TXN-5", "PEEK-2", "RCV-2"} and len(cut) <= 7
