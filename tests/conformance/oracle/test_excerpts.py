"""What explains a history explains its excerpts; and what they are for: to reject by them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from time import thread_time

import pytest
from benchmarks.edited import edited

from partq.conformance.adapters import open_broker
from partq.conformance.execution.runner import run
from partq.conformance.history import History
from partq.conformance.history.notation import history
from partq.conformance.oracle import excerpts as module
from partq.conformance.oracle.blame import blame
from partq.conformance.oracle.excerpts import SPREADING, beginning, excerpts
from partq.conformance.oracle.guidance import Guide, Known
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.oracle.partition_excerpts import by_partitions
from partq.conformance.oracle.reading import Excerpt, Question, Reading
from partq.conformance.oracle.search import Found, Outcome, Search
from partq.conformance.workload.generator import generate, trace_seed
from partq.model.departures import Consulted

PROFILES = ("azure-standard", "azure-premium", "azure-flat", "solace")


def asked(given: History) -> Question:
    return Reading(given).entities[0].question()


def told(text: str, profile: str = "azure-premium") -> Question:
    return asked(history(text, profile, partitions=2))


def taken(question: Question, random: Random, count: int = 6) -> Iterator[Excerpt]:
    """The excerpts that would follow if a search had been stuck at some effects, over some messages."""
    ids = [message.id for effect in question.effects for message in effect.action.messages]
    stuck = random.sample(question.effects, min(count, len(question.effects)))
    concerned = [frozenset(random.sample(ids, min(len(ids), random.choice((0, 1, 2, 4))))) for _ in stuck]
    yield from excerpts(question, Found(Outcome.GAVE_UP, (), tuple(stuck), (), 0, tuple(concerned)))


def searched(excerpt: Excerpt, question: Question) -> Outcome:
    start, known = beginning(excerpt, question.start)
    guidance = Guide(Known(excerpt.effects, known)).guidance()
    return Search(excerpt.effects, guidance, thread_time() + 5, limit=1_000).run(start).outcome


def histories(profile: str, count: int, length: int) -> Iterator[History]:
    broker = open_broker("reference")
    broker.profile = profile
    lacks = broker.lacks()
    for number in range(count):
        yield run(broker, generate(profile, trace_seed(58, number), length=length, lacks=lacks))


@pytest.mark.parametrize("profile", PROFILES)
def test_no_excerpt_of_what_is_explained_is_rejected(profile: str) -> None:
    random, decided = Random(profile), 0
    for lawful in histories(profile, 8, 10):
        for given in (lawful, edited(lawful, random)):
            if judge(given, 5.0, nodes=1_000).status is Judged.ACCEPTED:
                question = asked(given)
                for excerpt in taken(question, random):
                    found = searched(excerpt, question)
                    assert found is not Outcome.REJECTED, given
                    decided += found is Outcome.ACCEPTED
    assert decided > 80


GAP = "p send m1 key=a\np send m2 key=a\np send m3 key=a\nq receive 3 delete -> m1#1.1, m2#1.2, m3#1.3"


def test_what_is_left_out_has_used_up_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    stuck = Found(Outcome.GAVE_UP, (), told(GAP).effects[-1:], (), 0, (frozenset({"m1", "m3"}),))
    assert {searched(excerpt, told(GAP)) for excerpt in excerpts(told(GAP), stuck)} == {Outcome.ACCEPTED}
    monkeypatch.setattr(module, "LEFT_OUT", frozenset())
    assert Outcome.REJECTED in {searched(excerpt, told(GAP)) for excerpt in excerpts(told(GAP), stuck)}


def sends(question: Question) -> list[list[str]]:
    """Of each excerpt by partitions the messages that it sends."""
    parts = by_partitions(question.effects, question.start.cfg)
    return [[message.id for effect in part for message in effect.action.messages] for part in parts]


APART = (
    "p send m1 key=a\np send m2 key=b\np send m3 key=c\n{}q receive 2 delete -> m1#1.1, m2#2.1\nenv drained"
)


def test_partitions_are_judged_apart() -> None:
    assert sends(told(APART.format(""))) == [["m1", "m3"], ["m2", "m3"]]


@pytest.mark.parametrize(
    "tie",
    [
        "p receive 1 -> m1#1.1 lock=l\np receive 1 -> m2#2.1 lock=k\n"
        "p complete l k -> error invalid_operation\n",
        "p begin t\np send m4 key=a txn=t\np receive 1 -> m1#1.1 lock=l\np complete l txn=t\n"
        "p receive 1 -> m2#2.1 lock=k\np abandon k txn=t\np rollback t\n",
    ],
)
def test_but_for_those_that_something_ties(tie: str) -> None:
    assert sends(told(APART.format(tie))) == []


def test_a_send_to_another_partition_may_have_been_tried_here() -> None:
    text = (
        "p send m1 key=a @1-2\nenv partition_down 1 @3-4\nq send_batch m2, m3 @5-20\n"
        "env partition_up 1 @6-7\np send m4 key=a @8-9\n"
        "r receive 4 delete -> m1#1.1, m2#2.1, m3#2.2, m4#1.4 @21-22"
    )
    question = told(text)
    assert sends(question) == [["m1", "m2", "m3", "m4"], ["m2", "m3"]]
    here, there = map(Excerpt, by_partitions(question.effects, question.start.cfg))
    assert searched(here, question) is searched(there, question) is Outcome.ACCEPTED
    untried = tuple(effect._replace(waiting=()) for effect in here.effects if not effect.doubt)
    assert searched(here._replace(effects=untried), question) is Outcome.REJECTED


BUSY = (
    "p1 bind f @1-90\np2 bind g @2-91\np3 bind h @3-92\n"
    + "".join(f"s{n} send x{n} key=k{n} @{n + 3}-{93 + n}\n" for n in range(1, 8))
    + "p1 send m1 key=a @101-102\n"
)


@pytest.mark.parametrize(
    "wrong",
    [
        "p1 send m2 key=a -> error invalid_operation",
        "p1 receive 9 flow=f -> m1 lock=l\np1 complete l\nenv drained",
    ],
)
def test_rejected_by_an_excerpt_within_few_nodes(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = history(BUSY + wrong, "solace", partitions=3)
    found = judge(given, 30.0, nodes=1_500)
    assert found.status is Judged.REJECTED and found.stuck
    monkeypatch.setattr("partq.conformance.oracle.judge.excerpts", lambda question, stuck: iter(()))
    assert judge(given, 30.0, nodes=1_500).status is Judged.UNKNOWN


def test_of_a_refused_batch_that_was_stored_an_excerpt_stores_its_own() -> None:
    text = (
        "env partition_down 1 @1-2\np send_batch m1, m2 key=a -> error unavailable @3-4\n"
        "env partition_up 1 @5-6\nq receive 9 delete -> m1#1.1, m2#1.2 @7-8\nenv drained @9-10"
    )
    reading = Reading(history(text, "azure-premium", partitions=2))
    question = reading.entities[0].question(waived=frozenset({"ROUTE-5"}))
    stuck = Found(Outcome.GAVE_UP, (), question.effects[-1:], (), 0, (frozenset({"m2"}),))
    assert {searched(excerpt, question) for excerpt in excerpts(question, stuck)} == {Outcome.ACCEPTED}


def test_what_a_search_did_not_come_to_may_have_been_consulted() -> None:
    """Where an excerpt alone rejects, what spreads may explain the whole, asked for or not."""
    given = history(BUSY + "p1 send m2 key=a -> error invalid_operation", "solace", partitions=3)
    consulted = Consulted(frozenset())
    assert judge(given, 30.0, nodes=1_500, waived=consulted).status is Judged.REJECTED
    binding = asked(given).start.cfg.binding
    assert consulted.asked.keys() >= SPREADING & binding
    assert not consulted.asked.keys() >= binding


def test_what_was_rejected_before_does_not_narrow_blame() -> None:
    reading = Reading(history(BUSY + "p1 send m2 key=a -> error invalid_operation", "solace", partitions=3))
    first = blame(reading, 30.0, nodes=500)
    again = blame(reading, 30.0, nodes=500)
    assert first.judgement == again.judgement and first.consulted == again.consulted
    assert {*first.candidates} <= {*again.candidates}
