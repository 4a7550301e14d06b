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
from partq.conformance.oracle.excerpts import Excerpt, excerpts
from partq.conformance.oracle.guidance import Guide, Known
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.oracle.partition_excerpts import by_partitions
from partq.conformance.oracle.reading import Question, Reading
from partq.conformance.oracle.search import Found, Outcome, Search
from partq.conformance.workload.generator import generate, trace_seed

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


def searched(excerpt: Excerpt) -> Outcome:
    guidance = Guide(Known(excerpt.effects, excerpt.known)).guidance()
    return Search(excerpt.effects, guidance, thread_time() + 5, limit=1_000).run(excerpt.start).outcome


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
                for excerpt in taken(asked(given), random):
                    found = searched(excerpt)
                    assert found is not Outcome.REJECTED, given
                    decided += found is Outcome.ACCEPTED
    assert decided > 80


GAP = "p send m1 key=a\np send m2 key=a\np send m3 key=a\nq receive 3 delete -> m1#1.1, m2#1.2, m3#1.3"


def test_what_is_left_out_has_used_up_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    stuck = Found(Outcome.GAVE_UP, (), told(GAP).effects[-1:], (), 0, (frozenset({"m1", "m3"}),))
    assert {searched(excerpt) for excerpt in excerpts(told(GAP), stuck)} == {Outcome.ACCEPTED}
    monkeypatch.setattr(module, "LEFT_OUT", frozenset())
    assert Outcome.REJECTED in {searched(excerpt) for excerpt in excerpts(told(GAP), stuck)}


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
    here, there = (
        Excerpt(part, question.start, question.start.cfg)
        for part in by_partitions(question.effects, question.start.cfg)
    )
    assert searched(here) is searched(there) is Outcome.ACCEPTED
    untried = tuple(effect._replace(waiting=()) for effect in here.effects if not effect.doubt)
    assert searched(here._replace(effects=untried)) is Outcome.REJECTED


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
