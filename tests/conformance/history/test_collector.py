"""The garbage collector, paused while a history is made or read, and kept off what stays."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from partq.conformance.adapters.reference import Reference
from partq.conformance.adapters.stage import OnEvent, Stage
from partq.conformance.execution.runner import run
from partq.conformance.history import collector
from partq.conformance.workload.generator import generate
from partq.conformance.workload.program import Program


@pytest.fixture(params=[True, False])
def collects(request: pytest.FixtureRequest) -> Iterator[bool]:
    before = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield bool(request.param)
    (gc.enable if before else gc.disable)()


def test_it_is_paused_and_as_it_was_afterwards(collects: bool) -> None:
    with collector.paused():
        assert not gc.isenabled()
        with collector.paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled() is collects


def test_it_is_as_it_was_after_an_error(collects: bool) -> None:
    with pytest.raises(ZeroDivisionError), collector.paused():
        raise ZeroDivisionError
    assert gc.isenabled() is collects


def test_a_simulation_pauses_it(collects: bool) -> None:
    during: list[bool] = []

    class Watched(Reference):
        def stage(self, program: Program, on_event: OnEvent) -> Stage:
            during.append(gc.isenabled())
            return super().stage(program, on_event)

    run(Watched("azure-flat"), generate("azure-flat", 1))
    assert during == [False]
    assert gc.isenabled() is collects


def test_what_is_left_out_at_the_first_call_is_in_no_collection() -> None:
    sooner: list[object] = [[]]
    usual = gc.get_threshold()
    try:
        collector.leave_out()
        later: list[object] = [[]]
        collector.leave_out()
        collected = {id(one) for one in gc.get_objects()}
        assert id(later) in collected
        assert id(sooner) not in collected
        assert gc.get_threshold()[0] == collector.SELDOM
    finally:
        gc.unfreeze()
        gc.set_threshold(*usual)
        collector.leave_out.cache_clear()
