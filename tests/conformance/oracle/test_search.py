"""The guided search and the plain one give the same answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile
from random import Random
from typing import Any

import pytest
from benchmarks.edited import edited
from plain_search import is_explained

from partq.conformance.adapters import open_broker
from partq.conformance.execution.runner import run
from partq.conformance.history import History
from partq.conformance.history.notation import history as parse
from partq.conformance.oracle.explanations import explanations
from partq.conformance.oracle.guidance import Guide
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.oracle.reading import EntityReading, Impossible, Reading, Unanswerable
from partq.conformance.oracle.search import TIMED, Outcome, Search
from partq.conformance.workload.generator import generate, trace_seed
from partq.model.profiles import SECOND
from partq.model.state import State

PROFILES = ("azure-standard", "azure-premium", "azure-flat", "solace")
PUNCTUAL = SECOND // 1000


def histories(profile: str, count: int, length: int) -> list[History]:
    broker = open_broker("reference")
    broker.profile = profile
    lacks = broker.lacks()
    programs = (generate(profile, trace_seed(31, n), length=length, lacks=lacks) for n in range(count))
    return [run(broker, program) for program in programs]


def plainly(history: History) -> bool | None:
    """Whether each entity's history is explained; None where that is not known."""
    found = [_plainly(entity) for entity in Reading(history).entities]
    return False if False in found else None if None in found else True


def _plainly(entity: EntityReading) -> bool | None:
    try:
        return is_explained(entity.question(PUNCTUAL), nodes=3_000)
    except Impossible:
        return False
    except Unanswerable:
        return None


@pytest.mark.parametrize("profile", PROFILES)
def test_they_agree_on_short_histories_and_their_edits(profile: str) -> None:
    random = Random(profile)
    compared = {True: 0, False: 0}
    for history in histories(profile, 25, 4):
        for given in (history, *(edited(history, random) for _ in range(3))):
            plain, guided = plainly(given), judge(given, seconds=1.0, late=PUNCTUAL).status
            if plain is not None and guided is not Judged.UNKNOWN:
                assert (guided is Judged.ACCEPTED) is plain, given
                compared[plain] += 1
    assert compared[True] > 20 and compared[False] > 10


def test_a_step_without_end_is_given_up_and_no_rejection(monkeypatch: pytest.MonkeyPatch) -> None:
    script = """\
        p send_batch a, b, c, d
        p send m key=k
        c receive 9 delete       -> nothing
        c receive 9 delete       -> m
        env drained
    """
    given = parse(script, "azure-premium")
    assert judge(given).status is Judged.REJECTED
    monkeypatch.setattr("partq.model.routing.norm.MOST_WAYS", 0)
    assert judge(given).status is Judged.UNKNOWN


def test_what_ran_out_of_time_within_an_enumeration_is_no_rejection(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is read at one look alone of each search, and says that it is late."""

    def asking(*args: Any, goes_on: Callable[[], bool], **rest: Any) -> Iterator[State]:
        return takewhile(lambda _: goes_on(), explanations(*args, goes_on=goes_on, **rest))

    monkeypatch.setattr("partq.conformance.oracle.search.explanations", asking)
    given = parse("p send m1\np send m2\nc receive 2 delete -> m1, m2", "azure-flat")
    asked = Reading(given).entities[0].question(0)
    found = set()
    for look in range(TIMED):
        search = Search(asked.effects, Guide(asked.known(False)).guidance(), deadline=-1.0)
        search.looks = -look
        found.add(search.run(asked.start).outcome)
    assert found == {Outcome.ACCEPTED, Outcome.GAVE_UP}


def test_what_may_be_left_out_is_tried_first_where_it_is_about_what_is_stuck() -> None:
    scheduled = "\n".join(f"p send s{n} key=k at=5s" for n in range(5))
    text = (
        f"p send a key=k\n{scheduled}\nq receive 1 -> a#0.1 lock=l\nq abandon l -> unknown timeout\n"
        "env advance 10s\nd peek 1 from=0.1 -> a#0.1 count=1\n"
        "p send b key=k\nd peek 1 from=0.7 -> b#0.7"
    )

    found = judge(parse(text, "azure-standard"), nodes=100)

    assert found.status is Judged.ACCEPTED
