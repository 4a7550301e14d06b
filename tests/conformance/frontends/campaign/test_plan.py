"""A plan alone decides every trace."""

from __future__ import annotations

import pytest

from partq.conformance.frontends.campaign.plan import CHUNK, LARGEST, Lane, Plan, even
from partq.conformance.workload.generator import trace_seed


@pytest.mark.parametrize("traces", [1, 7, CHUNK, CHUNK + 1, 20_000, 3_000_000])
def test_chunks_cover_every_trace_once_and_in_order(traces: int) -> None:
    plan = Plan(even("reference", ("azure-flat", "solace"), traces), seed=1, length=24)
    chunks = list(plan.chunks())
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    ends = [chunk.first + chunk.count for chunk in chunks]
    assert [chunk.first for chunk in chunks] == [0, *ends[:-1]]
    assert ends[-1] == plan.traces == traces
    assert max(chunk.count for chunk in chunks) <= LARGEST


def test_a_chunk_has_one_broker_and_profile() -> None:
    plan = Plan((Lane("reference", "azure-flat", 300), Lane("mutant:x", "solace", 10)), seed=1, length=24)
    assert [(c.broker, c.profile, c.count) for c in plan.chunks()] == [
        ("reference", "azure-flat", 250),
        ("reference", "azure-flat", 50),
        ("mutant:x", "solace", 10),
    ]


ENDING = Plan((Lane("mutant:x", "azure-flat", 600, until="RCV-2"), Lane("reference", "solace", 600)), 1, 24)


def indexes(named: dict[int, set[str]]) -> list[list[int]]:
    return [[chunk.index for chunk in task] for task in ENDING.tasks(named)]


def test_a_lane_that_may_end_early_is_one_task() -> None:
    assert indexes({}) == [[0, 1, 2], [3], [4], [5]]


def test_of_what_is_done_nothing_is_done_again() -> None:
    assert indexes({0: set(), 4: {"RCV-2"}}) == [[1, 2], [3], [5]]


def test_a_lane_ends_with_the_chunk_that_found_what_it_is_for() -> None:
    assert indexes({0: {"RCV-3"}, 1: {"RCV-2", "RCV-7"}}) == [[3], [4], [5]]


def test_traces_are_shared_out_evenly() -> None:
    lanes = even("reference", ("a", "b", "c"), 7)
    assert [lane.traces for lane in lanes] == [3, 2, 2]
    assert [lane.profile for lane in even("reference", ("a", "b", "c"), 2)] == ["a", "b"]


def test_the_seed_of_a_trace_is_pinned() -> None:
    assert trace_seed(7, 0) == 11503480967311697123
    assert trace_seed(7, 1) != trace_seed(8, 1) != trace_seed(7, 0)


def test_a_stored_plan_shows_no_password() -> None:
    lanes = even("rabbitmq://me:secret@host:5672/vhost", ("rabbitmq",), 10)
    assert "secret" not in str(Plan(lanes, seed=1, length=24).to_json())
