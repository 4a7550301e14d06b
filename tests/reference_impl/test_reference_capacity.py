"""How much the reference holds."""

from __future__ import annotations

from world import Post, World, only, outcome

from partq.reference_impl.clock import Steps


def test_a_queue_has_room_for_all_its_partitions() -> None:
    world = World(partitions=2, max_size=6, eagerness=0.0)

    def scene() -> Steps[None]:
        assert outcome((yield from world.send(Post("a", "12345678", partition_key="k")))) == "ok"
        assert outcome((yield from world.send(Post("b", "12345")))) == "quota"
        assert outcome((yield from world.send(Post("c", "1234", partition_key="k")))) == "ok"
        assert outcome((yield from world.send(Post("d", "é")))) == "quota"
        lock = only((yield from world.receive())).lock
        assert outcome((yield from world.send(Post("e", "1")))) == "quota"
        yield from world.settle("dead_letter", lock)
        assert outcome((yield from world.send(Post("f", "1")))) == "quota"
        yield from world.settle("complete", only((yield from world.receive())).lock)
        assert outcome((yield from world.send(Post("g", "1234")))) == "ok"

    world.do(scene())


def test_where_no_size_is_known_nothing_is_full() -> None:
    for settings in ({}, {"max_size": 1, "without": frozenset({"ENT-6"})}):
        world = World(**settings)
        assert outcome(world.do(world.send(Post("a", "12345678")))) == "ok"
