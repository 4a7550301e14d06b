"""Programs whose clients create and delete other entities, up to a quota and beyond. Cases: ENT-3 to 5."""

from __future__ import annotations

from typing import Final

from partq.conformance.workload.cases import steps as do
from partq.conformance.workload.cases.case import Cases, Steps
from partq.conformance.workload.cases.steps import PARTITIONED, message
from partq.conformance.workload.phrases import Draft, Phrases
from partq.conformance.workload.program import Step
from partq.conformance.workload.weights import Theme, weighed

_QUOTAS: Final = {"max_partitioned_entities": 3, "max_entities": 5}
_NAMES: Final = 7


def _create(draft: Draft) -> None:
    """Another entity, partitioned or not, or one that is there."""
    name = f"other-{draft.source.below(_NAMES)}"
    settings = {"name": name, "partitioned": bool(draft.source.below(3))}
    draft.add(draft.client(), "create", settings=settings)


def _delete(draft: Draft) -> None:
    """One is deleted, if it is there."""
    draft.add(draft.client(), "delete", settings={"name": f"other-{draft.source.below(_NAMES)}"})


def _fill(draft: Draft) -> None:
    """As many of one kind as there may be."""
    partitioned, client = draft.chance(2), draft.client()
    for n in range(_QUOTAS["max_entities" if not partitioned else "max_partitioned_entities"]):
        settings = {"name": f"other-{n + partitioned}", "partitioned": partitioned}
        draft.add(client, "create", settings=settings)


def _amid(draft: Draft) -> None:
    """A few are created and deleted, and the queue is updated, while a partition is down; then once more."""
    index, client = draft.source.below(draft.entity.partitions), draft.client()
    name, partitioned = f"other-{draft.source.below(_NAMES)}", bool(draft.source.below(3))
    if draft.chance(2):
        draft.add(client, "create", settings={"name": name, "partitioned": partitioned})
    with draft.outage(index):
        (_create, _delete)[draft.source.below(2)](draft)
        draft.add(client, "update", settings={"partitions": draft.entity.partitions + draft.source.below(2)})
        draft.add(client, "delete", settings={"name": name})
    draft.add(client, "delete", settings={"name": name})


PHRASES: Final[Phrases] = {
    "other_created": _create,
    "other_deleted": _delete,
    "others_filled": _fill,
    "others_amid_an_outage": _amid,
}

THEME: Final = Theme(
    "namespaces",
    rule="ENT-1",
    weights=weighed(
        "other_created 22, other_deleted 8, others_filled 5, others_amid_an_outage 6, "
        "send 22, batch 4, receive 12, complete 8, peek 5, management_get 4, outage 3, "
        "front_end 1, kill 1, advance 2"
    ),
    settings=_QUOTAS,
    needs="create",
    one_in=12,
)

CASES: Final = Cases()


def _creates(name: str, partitioned: bool, proc: str = "c1") -> Step:
    return Step(proc, "create", {"settings": {"name": name, "partitioned": partitioned}})


def _deletes(name: str, proc: str = "c1") -> Step:
    return Step(proc, "delete", {"settings": {"name": name}})


@CASES.case("entities-side-by-side", PARTITIONED, "ENT-3", "ENT-4", **_QUOTAS)
def _side_by_side() -> Steps:
    """Entities with partitions and without stand in one namespace, but on Premium, and disturb nothing.
    Both kinds created and deleted, with messages of many keys before and after."""
    keys = [f"k{n}" for n in range(6)]
    yield from (do.send("c1", message(f"m-{key}", key)) for key in keys)
    yield _creates("plain", False)
    yield _creates("other", True)
    yield Step("c2", "get", {})
    yield _creates("second", False, "c2")
    yield from (do.send("c1", message(f"n-{key}", key)) for key in keys)
    yield _deletes("other")
    yield _deletes("plain")
    yield _deletes("second", "c2")
    yield do.take("c2", 20)
    yield do.peek("c2", start="start")


@CASES.case("managed-amid-an-outage", PARTITIONED, "ENT-1", "MGT-2", seed=4, **_QUOTAS)
def _amid_an_outage(profile: str) -> Steps:
    """While a partition is down entities may be changed, created and deleted, or not; afterwards they are.
    One of each in an outage, several times, and again when all partitions are up."""
    count = do.partitions(profile)
    changes = [
        Step("c1", "update", {"settings": {"partitions": count}}),
        _creates("other", True),
        _deletes("other"),
    ]
    yield do.send("c2", message("m1", "k"))
    yield do.down(0)
    yield Step("c2", "get", {})
    yield from changes * 3
    yield Step("c2", "update", {"settings": {"partitions": count + 1}})
    yield do.up(0)
    yield _deletes("other")
    yield from changes
    yield Step("c2", "get", {})
    yield do.take("c2")


def _filled(count: int, partitioned: bool) -> Steps:
    """One more than there may be, each kind by itself."""
    kind = "partitioned" if partitioned else "plain"
    return [_creates(f"{kind}-{n}", partitioned) for n in range(count)]


@CASES.case("entity-quotas", PARTITIONED, "ENT-3", "ENT-5", **_QUOTAS)
def _quotas() -> Steps:
    """A namespace takes so many partitioned entities, and so many entities; one more is refused.
    Both quotas are reached, and passed, by one entity after the other."""
    yield from _filled(_QUOTAS["max_partitioned_entities"], True)
    yield from _filled(_QUOTAS["max_entities"], False)
    yield _creates("partitioned-9", True, "c2")
    yield do.send("c1", message("m1", "k"))
    yield _deletes("plain-0")
    yield _creates("plain-9", False, "c2")
    yield do.take("c2")


@CASES.case("entity-quota-alone", PARTITIONED, "ENT-3", "ENT-5", **_QUOTAS)
def _all_kinds() -> Steps:
    """The number of all entities is limited, too, where few are partitioned."""
    yield from _filled(_QUOTAS["max_entities"], False)
    yield _creates("partitioned-0", True, "c2")
    yield do.send("c1", message("m1", "k"))
    yield do.take("c2")
