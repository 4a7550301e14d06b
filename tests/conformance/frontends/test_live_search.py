"""The search on live brokers: its programs differ, and what it finds becomes a few steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from statistics import median

import pytest
import wrong_clients
import wrong_toys

from partq.conformance.adapters import Broker
from partq.conformance.evaluation.suite import NamedProgram, Run, Ways
from partq.conformance.frontends import live_search
from partq.conformance.frontends.live_search import search_live
from partq.conformance.frontends.search_state import NotConformant, SearchState
from partq.conformance.history.notation import history
from partq.conformance.workload.program import dumps

PROFILE = "azure-premium"
LOOKS = 16
"""How often shrinking may look at the clock, which it does before each candidate: counted, so that a slow
machine comes to the same."""


def found(broker: Broker, profile: str = PROFILE, looks: int = LOOKS) -> NotConformant:
    seen, ticks = SearchState(200, seconds=looks, clock=lambda: 0), count()
    seen.clock = lambda: next(ticks) if seen.failing else 0
    with pytest.raises(NotConformant) as found:
        search_live(broker, profile, length=20, seed=1, ways=Ways(type(broker)), seen=seen)
    return found.value


def test_no_two_programs_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[NamedProgram] = []

    def quiet(
        broker: Broker, profile: str, tasks: Sequence[NamedProgram], ways: Ways
    ) -> Iterator[tuple[int, Run]]:
        asked.extend(tasks)
        nothing = history("p send m1", profile)
        yield from ((n, Run(one.name, one.program, nothing, {})) for n, one in enumerate(tasks))

    monkeypatch.setattr(live_search, "runs", quiet)
    seen = search_live(wrong_toys.Toy(), PROFILE, 20, 1, ways=Ways(), seen=SearchState(50))
    assert (seen.programs, seen.over) == (50, False)
    assert len({dumps(one.program) for one in asked}) == 50
    assert all(len(one.program.steps) <= 20 for one in asked)
    assert len({one.name for one in asked}) == 50


def test_acknowledgements_that_are_forgotten_now_and_then_are_found() -> None:
    broker = wrong_clients.planted(wrong_clients.ForgetsSome, wrong_toys.Toy)
    shown = found(broker(), "partitioned-queue", looks=1)
    assert shown.trouble[0].startswith("RCV-7 violated")
    assert shown.verdicts["RCV-7"].findings


def test_what_is_found_is_shrunk() -> None:
    shown = found(wrong_toys.ToyKeysApart())  # type: ignore[attr-defined]
    assert shown.trouble[0].startswith("ROUTE-2 violated")
    assert len(shown.program.steps) <= 10, "of 20"
    assert shown.verdicts["ROUTE-2"].findings


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_twenty_defects_are_found_and_the_median_is_five_steps() -> None:
    with ThreadPoolExecutor(len(wrong_toys.DEFECTS)) as pool:
        shown = list(
            pool.map(lambda name: found(getattr(wrong_toys, f"Toy{name}")(), looks=40), wrong_toys.DEFECTS)
        )
    for name, one in zip(wrong_toys.DEFECTS, shown, strict=True):
        print(f"{name}: {one.trouble[0].partition(' ')[0]}, {len(one.program.steps)} steps")
    assert median(len(one.program.steps) for one in shown) <= 5
