"""Management to the judge, beside the corpus: what is compared, excerpts, blame, programs."""

from __future__ import annotations

import pytest
from msgspec import structs

from partq.conformance.adapters import open_broker
from partq.conformance.evaluation.decision import check_history
from partq.conformance.execution.runner import run
from partq.conformance.history import History
from partq.conformance.history.notation import history
from partq.conformance.oracle.blame import blame
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.oracle.long_histories import SHORT, judge_any
from partq.conformance.verdict import Status as VerdictStatus
from partq.conformance.workload.generator import generate
from partq.conformance.workload.themes import THEMES

TWO = "p send m1 key=a\np send m2 key=b\n"
LATER = "c receive 5 delete -> m1#1.0, m2#2.0\n"


def status(text: str, profile: str = "azure-premium") -> Judged:
    return judge(history(text, profile, partitions=16 if profile == "azure-standard" else 2)).status


@pytest.mark.parametrize("wait", ["10s", "11s"])
def test_counts_are_compared_ten_seconds_after_the_last_operation_and_not_before(wait: str) -> None:
    assert status(f"{TWO}env advance {wait}\np get active=1\n{LATER}") is Judged.REJECTED
    assert status(f"{TWO}env advance 9s\np get active=1\n{LATER}") is Judged.ACCEPTED


@pytest.mark.parametrize("amid", ["p send m3 key=a", "c receive 1 delete -> nothing", "env broker_kill"])
def test_no_count_is_compared_that_another_operation_overlaps(amid: str) -> None:
    text = f"{TWO}env advance 20s\nq get active=1 ...\n{amid}\nq -> ok\n"
    assert status(text) is Judged.ACCEPTED
    assert status(text.replace(amid, "c peek 5 from=0 -> m1#1.0, m2#2.0")) is Judged.REJECTED


@pytest.mark.parametrize("doubtful", ["p send m3 key=a", "c complete l", "c receive 1"])
def test_after_an_unknown_outcome_no_count_is_compared(doubtful: str) -> None:
    text = f"{TWO}{doubtful} -> unknown timeout\nenv advance 50s\nq get active=1\n"
    assert status(text) is Judged.ACCEPTED
    assert status(text.replace(doubtful, "c peek 5")) is Judged.REJECTED


@pytest.mark.parametrize(
    ("before", "shown", "judged"),
    [
        ("p send m1 key=a", "active=0", Judged.REJECTED),
        ("p send m1 key=a\nenv partition_down 1", "active=0", Judged.ACCEPTED),
        ("p send m1 key=a\nenv partition_down 1\nenv partition_up 1", "active=0", Judged.REJECTED),
        ("p send m1 key=a at=500s", "active=0 scheduled=1", Judged.ACCEPTED),
        ("p send m1 key=a at=500s", "active=1", Judged.REJECTED),
    ],
)
def test_a_subscription_counts_anything_amid_an_outage_and_of_what_its_topic_schedules(
    before: str, shown: str, judged: Judged
) -> None:
    found = history(f"{before}\nenv advance 50s\nq get {shown}", subscriptions={"a": "true"})
    *rest, get = found.records
    records = (*rest, structs.replace(get, entity=f"{get.entity}/Subscriptions/a"))
    assert judge(History(found.header, records)).status is judged


def test_a_rule_on_what_is_stored_is_blamed_where_a_message_is_lost_that_is_not_counted() -> None:
    text = (
        f"{TWO}env advance 12s\np get active=1\nc receive 5 delete -> m1#1.0\nenv advance 50s\nenv drained\n"
    )
    said = blame(history(text, "azure-premium", partitions=2))
    assert set(said.candidates) == {"RCV-2"}


def test_a_count_that_leaves_out_what_came_later_is_the_counts_violation_alone() -> None:
    read = history(f"{TWO}env advance 12s\np get active=1\n{LATER}", "azure-premium", partitions=2)
    verdicts = check_history(read)
    assert [id for id, one in verdicts.items() if one.status is VerdictStatus.VIOLATED] == ["MGT-1"]


def test_counts_are_not_held_against_a_profile_without_the_rule() -> None:
    text = "p send m1\nenv advance 20s\np get active=7 status=Odd partitions=9"
    assert judge(history(text, "azure-flat")).status is Judged.ACCEPTED


def test_an_excerpt_of_a_long_history_compares_no_counts() -> None:
    broker = open_broker("reference")
    broker.profile = "azure-standard"
    themes = {"management": THEMES["management"]}
    whole = run(broker, generate("azure-standard", 5, length=140, lacks=broker.lacks(), themes=themes))
    assert len(whole) > SHORT
    assert judge_any(whole, nodes=6_000).judgement.status is not Judged.REJECTED


def test_a_broker_without_management_is_given_no_gets() -> None:
    programs = [generate("azure-premium", seed, lacks=frozenset({"get"})) for seed in range(120)]
    assert not any(step.op == "get" for program in programs for step in program.steps)
    others = [generate("azure-premium", seed) for seed in range(120)]
    assert any(step.op == "get" for program in others for step in program.steps)
