"""Which queues the reference's namespace holds beside the first."""

from __future__ import annotations

import pytest
from world import World, outcome

from partq.reference_impl.clock import Steps
from partq.reference_impl.settings import Config

STANDARD = frozenset({"ENT-3"})
PREMIUM = frozenset({"ENT-4", "ENT-5"})
USUAL = Config().max_partitioned_entities


def _made(world: World, *queues: tuple[str, bool]) -> list[str]:
    """What came of creating these queues, one after the other."""
    found = []

    def scene() -> Steps[None]:
        for name, partitioned in queues:
            answer = yield from world.create(name, partitioned)
            assert outcome(answer) != "ok" or answer[2][0].partitioned is partitioned
            found.append(outcome(answer))

    world.do(scene())
    return found


def test_both_kinds_stand_side_by_side_up_to_their_quotas() -> None:
    world = World(without=STANDARD, max_entities=4, max_partitioned_entities=2)
    asked = [("a", True), ("b", True), ("c", False), ("d", False), ("e", False)]
    assert _made(world, *asked) == ["ok", "quota", "ok", "ok", "quota"]


@pytest.mark.parametrize(("without", "most"), [(STANDARD, USUAL - 1), (PREMIUM, 120)])
def test_a_standard_namespace_has_the_usual_quota(without: frozenset[str], most: int) -> None:
    found = _made(World(without=without), *((f"q{n}", True) for n in range(120)))
    assert found == ["ok"] * most + ["quota"] * (120 - most)


def test_all_queues_of_a_premium_namespace_are_partitioned() -> None:
    assert _made(World(without=PREMIUM), ("a", False), ("b", True)) == ["invalid_operation", "ok"]


def test_a_name_is_taken_until_its_queue_is_deleted() -> None:
    world = World(without=STANDARD, max_entities=2)

    def scene() -> Steps[None]:
        assert outcome((yield from world.delete("a"))) == "not_found"
        yield from world.create("a")
        assert outcome((yield from world.create("a"))) == "invalid_operation"
        yield from world.delete("a")
        assert outcome((yield from world.create("a", False))) == "ok"

    world.do(scene())
