"""A plan alone decides every trace."""

from __future__ import annotations

import pytest

from partq.conformance.frontends.campaign.plan import CHUNK, Lane, Plan, even
from partq.conformance.workload.generator import trace_seed


@pytest.mark.parametrize("traces", [1, 7, CHUNK, CHUNK + 1, 20_000])
def test_units_cover_every_trace_once_and_in_order(traces: int) -> None:
    plan = Plan(even("reference", ("azure-flat", "solace"), traces), seed=1, length=24)
    chunks = [chunk for index in range(plan.units) for chunk in plan.unit(index)]
    ends = [chunk.first + chunk.count for chunk in chunks]
    assert [chunk.first for chunk in chunks] == [0, *ends[:-1]]
    assert ends[-1] == plan.traces == plan.planned(range(plan.units)) == traces
    assert max(chunk.count for chunk in chunks) <= CHUNK


def test_a_chunk_has_one_broker_and_profile() -> None:
    plan = Plan((Lane("reference", "azure-flat", 300), Lane("mutant:x", "solace", 10)), seed=1, length=24)
    assert [(c.broker, c.profile, c.count) for index in range(plan.units) for c in plan.unit(index)] == [
        ("reference", "azure-flat", 250),
        ("reference", "azure-flat", 50),
        ("mutant:x", "solace", 10),
    ]


ENDING = Plan((Lane("mutant:x", "azure-flat", 600, until="RCV-2"), Lane("reference", "solace", 600)), 1, 24)


def test_a_lane_that_may_end_early_is_one_unit() -> None:
    assert [len(ENDING.unit(index)) for index in range(ENDING.units)] == [3, 1, 1, 1]
    assert ENDING.unit(2)[0].first == 850
    assert ENDING.ends_early
    with pytest.raises(IndexError):
        ENDING.unit(4)


def test_what_is_not_done_is_missing() -> None:
    assert ENDING.missing([]) == [range(4)]
    assert ENDING.missing([range(1, 2), range(0, 1)]) == [range(2, 4)]
    assert ENDING.missing([range(3, 4), range(1, 2)]) == [range(0, 1), range(2, 3)]
    assert ENDING.missing([range(4)]) == []


def test_a_wave_has_the_traces_asked_for_and_one_unit_at_least() -> None:
    assert ENDING.wave(range(1, 4), 0) == range(1, 2)
    assert ENDING.wave(range(1, 4), 250) == range(1, 2)
    assert ENDING.wave(range(1, 4), 251) == range(1, 3)
    assert ENDING.wave(range(4), 10_000) == range(4)


def test_traces_are_shared_out_evenly() -> None:
    lanes = even("reference", ("a", "b", "c"), 7)
    assert [lane.traces for lane in lanes] == [3, 2, 2]
    assert [lane.profile for lane in even("reference", ("a", "b", "c"), 2)] == ["a", "b"]


def test_the_seed_of_a_trace_is_pinned() -> None:
    assert trace_seed(7, 0) == 11503480967311697123
    assert trace_seed(7, 1) != trace_seed(8, 1) != trace_seed(7, 0)


def test_a_stored_plan_shows_no_password() -> None:
    plan = Plan(even("rabbitmq://me:secret@host:5672/vhost", ("rabbitmq",), 10), seed=1, length=24)
    assert "secret" not in str(plan.to_json())
    assert "secret" not in str(plan.names)


def test_its_digest_tells_plans_and_code_apart() -> None:
    plans = (ENDING, Plan(ENDING.lanes, 2, 24), Plan(ENDING.lanes[1:], 1, 24))
    assert len({plan.digest(code) for plan in plans for code in ("a", "b")}) == 6
