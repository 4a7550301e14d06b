"""Histories of brokers followed by TLC through the specification, and the judge beside it."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from benchmarks.edited import edited
from benchmarks.validation import rejected_for_times_or_marks

from partq.conformance.adapters import open_broker
from partq.conformance.execution.runner import run
from partq.conformance.history import History
from partq.conformance.history.codec import read_history
from partq.conformance.history.notation import history
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.oracle.specified import recordings_of
from partq.conformance.workload.generator import generate, trace_seed
from partq.conformance.workload.meetings import MEETINGS
from partq.conformance.workload.themes import THEMES
from partq.model.profiles import profile
from partq.spec.tools.toolbox import ToolMissing, java, tlc_jar
from partq.spec.validation import Limits, Recording, Status, Validated, batches, validate

PROFILES = ("azure-premium", "azure-standard", "azure-flat", "solace")
PHRASES = 8
HISTORIES = 12
LIMITS = Limits(states=3_000)
UNSPECIFIED = {
    "duplicates",
    "sessions",
    "management",
    "transaction-limits",
    "forwarding",
    "namespaces",
    "capacity",
    "resuming",
    "scaling",
    *(theme.name for theme in MEETINGS),
}
RABBITMQ = sorted((Path(__file__).parent / "rabbitmq").glob("*.ndjson"))
"""Recorded with RabbitMQ 3.10.8 by the project's adapter: generated programs on classic and quorum queues."""


def needs_tlc() -> None:
    """Skip where there is no TLC."""
    try:
        java(), tlc_jar()
    except ToolMissing as error:
        pytest.skip(str(error))


def history_of(broker: str, profile: str, number: int, phrases: int = PHRASES) -> History:
    """What a broker does with a generated program of what the specification follows."""
    opened = open_broker(broker)
    opened.profile = profile
    lacks = opened.lacks()
    themes = {name: weights for name, weights in THEMES.items() if name not in UNSPECIFIED}
    seed = trace_seed(7, number)
    return run(opened, generate(profile, seed, length=phrases, lacks=lacks, themes=themes))


def followed(histories: Sequence[History], locate: bool = True) -> list[Validated]:
    """What TLC says of each, and, unless it need not be located, of which operation."""
    recordings = [next(iter(recordings_of(history).values())) for history in histories]
    known = [one for one in recordings if isinstance(one, Recording)]
    assert len(known) == len(recordings)
    found: dict[int, Validated] = {}
    for batch in batches(known, size=len(known)):
        found |= zip(batch, validate([known[n] for n in batch], LIMITS, locate=locate), strict=True)
    return [found[n] for n in range(len(known))]


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_judge_and_specification_agree_but_for_times(profile: str) -> None:
    needs_tlc()
    recorded = [history_of("reference", profile, number) for number in range(HISTORIES)]
    histories = recorded + [edited(history, Random(n)) for n, history in enumerate(recorded)]

    decided = 0
    for n, (one, found) in enumerate(zip(histories, followed(histories, locate=False), strict=True)):
        judged = judge(one, 10.0).status
        if Judged.UNKNOWN is judged or not found.decided:
            continue
        decided += 1
        for_times = found.status is Status.ACCEPTED and rejected_for_times_or_marks(one)
        assert str(judged) == str(found.status) or for_times, (n, found)
    assert decided >= 3 * len(histories) // 4


ONE_LOCK_ENDS_AT_ONCE = """
p send m1
p send m2
p receive 2 -> m1#1 lock=k count=0, m2#2 lock=l count=0
q receive 1 -> m1#1 lock=j count={}
p complete l
"""


def test_what_only_a_clock_tells_is_no_disagreement() -> None:
    assert rejected_for_times_or_marks(history(ONE_LOCK_ENDS_AT_ONCE.format(1), "azure-flat"))
    assert not rejected_for_times_or_marks(history(ONE_LOCK_ENDS_AT_ONCE.format(0), "azure-flat"))  # RCV-9


NEW_BUT_MARKED = """
p bind f
env advance 10s
p send m1 key=a
p receive 1 flow=f -> m1 lock=l redelivered={}
"""


def test_what_only_a_mark_of_redelivery_tells_is_no_disagreement() -> None:
    marked, unmarked = (history(NEW_BUT_MARKED.format(mark), "solace") for mark in ("yes", "no"))

    assert [judge(one, 10.0).status for one in (marked, unmarked)] == [Judged.REJECTED, Judged.ACCEPTED]
    assert rejected_for_times_or_marks(marked)


def test_two_keys_are_refused_or_not_where_nothing_is_partitioned() -> None:
    needs_tlc()
    sends = ("p send m1 session=s key=k", "p send m1 session=s key=k -> error invalid_operation")
    flat = followed([history(send, "azure-flat") for send in sends])
    partitioned = followed([history(send, "azure-premium") for send in sends])

    assert [one.status for one in flat] == [Status.ACCEPTED, Status.ACCEPTED]
    assert [one.status for one in partitioned] == [Status.REJECTED, Status.ACCEPTED]  # KEY-3


def test_a_fault_planted_in_the_reference_is_found() -> None:
    needs_tlc()
    faithful, history = (
        history_of(broker, "azure-flat", 7, phrases=6) for broker in ("reference", "mutant:flat-newest-first")
    )
    unharmed, found = followed([faithful, history])
    named = next((record for record in history.records if record.i == found.record), None)

    assert unharmed.status is Status.ACCEPTED
    assert found.status is Status.REJECTED
    assert named is not None
    assert named.op == "receive"
    assert judge(history, 10.0).status is Judged.REJECTED


def without_disconnects(history: History) -> History:
    """What could not have happened: locks come back though no connection ended."""
    kept = (record for record in history.records if record.op != "disconnect" and not record.error)
    return History(history.header, tuple(kept))


@pytest.mark.slow
def test_what_rabbitmq_did_is_explained_and_what_it_cannot_do_is_not() -> None:
    needs_tlc()
    recorded = [read_history(path) for path in RABBITMQ]
    found = followed([*recorded, *map(without_disconnects, recorded)])

    assert [one.status for one in found] == [Status.ACCEPTED] * 4 + [Status.REJECTED] * 4


NOT_FOLLOWED = {
    "p schedule m1 at=5s\np cancel_scheduled 7": "which message has the number 7 is not shown",
}


@pytest.mark.parametrize(("text", "why"), NOT_FOLLOWED.items())
def test_what_the_specification_leaves_out_is_not_followed(text: str, why: str) -> None:
    assert [str(found) for found in recordings_of(history(text, "azure-flat")).values()] == [why]


@pytest.mark.parametrize("text", ["p send m1", "p send m1 ttl=60s\nenv advance 20s"])
def test_but_what_does_not_matter_by_the_end_is(text: str) -> None:
    assert all(isinstance(one, Recording) for one in recordings_of(history(text, "azure-flat")).values())


def test_a_recording_names_the_rules_of_its_family() -> None:
    recording = recordings_of(read_history(RABBITMQ[0]))["queue"]

    assert isinstance(recording, Recording)
    assert recording.words == {"partitioned"}
    assert "REB-3" in recording.rules
    assert "RCV-8" not in recording.rules
    assert not profile("rabbitmq").flows
