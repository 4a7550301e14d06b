"""The broker of the documentation and versions of it that are wrong: what its times leave to be told."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from one_case import run_case

from partq.conformance.verdict import Status
from partq.conformance.workload.cases.table import ALL_CASES
from partq.model.profiles import SECOND

CASE = ALL_CASES["one-by-one-in-order"]


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The example's module."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "examples"))
    return importlib.import_module("toy_broker")


def test_first_in_first_out_is_seen(toy: Any) -> None:
    broker = toy.Toy()
    verdict = run_case(broker, "azure-premium", CASE).verdicts["RCV-3"]
    assert (verdict.status, verdict.exercised) == (Status.PASS, 5)
    assert 0 < broker.skew_ns < SECOND // 100


@pytest.mark.parametrize(
    ("skew", "status"),
    [(None, Status.VIOLATED), (SECOND // 100, Status.VIOLATED), (10 * SECOND, Status.NOT_EXERCISED)],
)
def test_last_in_first_out_never_passes(
    toy: Any, monkeypatch: pytest.MonkeyPatch, skew: int | None, status: Status
) -> None:
    class Stack(toy.Queue):  # type: ignore[misc]
        def _free(self, most: int) -> list[list[Any]]:
            return [*reversed(super()._free(1000))][:most]

    class Lifo(toy.Toy):  # type: ignore[misc]
        def open(self, entity: Any) -> None:
            super().open(entity)
            if skew is not None:
                self.skew_ns = skew

    monkeypatch.setattr(toy, "Queue", Stack)
    assert run_case(Lifo(), "azure-premium", CASE).verdicts["RCV-3"].status is status


def test_what_was_delivered_as_often_as_may_be_is_gone(toy: Any) -> None:
    verdicts = run_case(toy.Toy(), "azure-premium", ALL_CASES["dead-letter-worn-out"]).verdicts
    assert verdicts["RCV-9"].status is Status.PASS


def test_what_bears_a_time_that_the_broker_does_not_heed_is_not_sent(toy: Any) -> None:
    done = run_case(toy.Toy(), "azure-premium", ALL_CASES["duplicates-scheduled"])
    sent = [message for record in done.history.records for message in record.args.get("messages", ())]
    assert [message.id for message in sent] == ["m1", "m2"]
    assert done.verdicts["SCH-1"].status is not Status.VIOLATED


def test_messages_of_one_id_are_told_apart_where_none_is_dropped(toy: Any) -> None:
    done = run_case(toy.Toy(), "azure-premium", ALL_CASES["duplicates"])
    sent = [message for record in done.history.records for message in record.args.get("messages", ())]
    assert [message.id for message in sent] == ["m1", "M1", "m1~2", "m1~3"]
    assert done.judging.decided == 1
