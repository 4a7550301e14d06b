"""A partition has one name, whether a message shows the broker's own or the top bits of its number."""

from __future__ import annotations

import pytest

from partq.conformance.evaluation.decision import EVERY, NONE, check_history
from partq.conformance.history.notation import history
from partq.conformance.history.partition_names import named_by_numbers
from partq.conformance.oracle import reading
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.verdict import Status
from partq.model.profiles import profile

SENDS = "p send m1 key=a\np send m2 key=b\n"
LINKED = {
    "at once": "q receive 2 delete -> m1#1.1 partition=7, m2#2.1 partition=8",
    "names in peeks, numbers in receives": (
        "q peek 2 -> m1 partition=7, m2 partition=8\nq receive 2 delete -> m1#1.1, m2#2.1"
    ),
}


@pytest.mark.parametrize("name", LINKED)
def test_names_and_numbers_of_the_same_messages_name_one_partition(name: str) -> None:
    given = history(SENDS + LINKED[name], "azure-premium", partitions=2)
    records = named_by_numbers(given.records, profile("azure-premium"))
    named = {m.id: m.partition for r in records for m in r.messages if m.partition is not None}
    assert named == {"m1": 1, "m2": 2}
    for verdicts in (check_history(given), check_history(given, NONE)):
        assert not [id for id, verdict in verdicts.items() if verdict.status is Status.VIOLATED]


@pytest.mark.parametrize(
    "shown",
    [
        "q peek 2 -> m1 partition=7, m2 partition=8\nq receive 2 delete -> m1#1.1, m2#1.2",
        "q peek 2 -> m1 partition=7, m2 partition=7\nq receive 2 delete -> m1#1.1, m2#2.1",
        "q peek 2 -> m1#1.1, m2#2.1\nq receive 2 delete -> m1 partition=7, m2 partition=7",
    ],
)
def test_names_and_numbers_that_contradict_each_other_through_messages_violate_seq_2(shown: str) -> None:
    verdicts = check_history(history(SENDS + shown, "azure-premium", partitions=2))
    assert [id for id, one in verdicts.items() if one.findings or one.candidates] == ["SEQ-2"]
    assert verdicts["SEQ-2"].status is Status.VIOLATED


def test_without_the_link_a_lawful_history_would_be_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    given = history(SENDS + LINKED["names in peeks, numbers in receives"], "azure-premium", partitions=2)
    assert judge(given).status is Judged.ACCEPTED
    monkeypatch.setattr(reading, "named_by_numbers", lambda records, family: tuple(records))
    assert judge(given).status is Judged.REJECTED


def test_one_key_is_in_one_partition_whichever_label_its_messages_show() -> None:
    text = (
        "p send m1 key=a\np send m2 key=a\nq peek 2 -> m1 partition=7, m2 partition=7\n"
        "p send m3 key=a\nq receive 3 delete -> m1#1.1, m2#1.2, m3#1.3"
    )
    given = history(text, "azure-premium", partitions=2)
    for exact in (EVERY, NONE):
        verdicts = check_history(given, exact)
        assert not [id for id, verdict in verdicts.items() if verdict.findings or verdict.candidates]


def test_what_is_no_one_to_one_is_left_as_it_is() -> None:
    text = SENDS + "q receive 2 delete -> m1#1.1 partition=7, m2#1.2 partition=8"
    given = history(text, "azure-premium", partitions=2)
    assert named_by_numbers(given.records, profile("azure-premium")) == given.records
    assert check_history(given)["SEQ-2"].findings
