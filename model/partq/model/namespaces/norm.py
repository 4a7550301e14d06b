"""Namespaces: which entities are created beside the one that is asked about, and how many there may be.

What becomes of them afterwards is not followed, but for their end. Where the entity's settings say neither
quota, the namespace may hold others: nothing is known of those, and a quota may be reached at any time.
"""

from __future__ import annotations

from typing import Final

from ..actions import OK, Action, Observed, failure
from ..clauses import clause, guard, point
from ..configuration import Config
from ..management.norm import amid_outage
from ..operations import ERRORS
from ..profiles import requirements_of
from ..state import Other, State, Steps

ANY: Final = frozenset(ERRORS)
QUOTA: Final = frozenset({"quota"})

_PARTITIONED: Final = 100
_ENTITIES: Final = 10_000
"""The quotas of a namespace that is not said to have others."""


@point("ENT-3", "ENT-4", "ENT-5")
def create(state: State, action: Action, seen: Observed | None) -> Steps:
    """A client creates another entity, partitioned or not. No source says whether that of a name which is
    there is refused."""
    name, partitioned = asked(action)
    if is_foreign(state.cfg, partitioned):
        yield failure(ANY), state
        return
    yield from amid_outage(state)
    there = named(state, name)
    if there is not None or not is_own(state.cfg):
        yield failure(ANY), state
    elif may_be_full(state, partitioned):
        yield failure(QUOTA), state
    if there is not None:
        yield OK, state
    elif fits(state, partitioned) and is_as_chosen(state, action):
        yield OK, with_other(state, Other(name, partitioned))


@clause("ENT-4")
def asked(action: Action) -> tuple[str, bool]:
    """The name of the entity to be created, and whether it is to be partitioned."""
    settings = dict(action.settings)
    return settings["name"], settings["partitioned"]


@clause("ENT-3")
def is_foreign(cfg: Config, partitioned: bool) -> bool:
    """Whether the namespace takes no such entity, as its partitions are those of all its entities."""
    return not partitioned and "ENT-3" in requirements_of(cfg.profile.name)


@guard("ENT-4")
def is_as_chosen(state: State, action: Action) -> bool:
    """Whether the answer, if it says so, shows the entity partitioned as it was to be."""
    return all(value == asked(action)[1] for name, value in action.told if name == "partitioned")


def is_own(cfg: Config) -> bool:
    """Whether the namespace holds at first the entity alone."""
    return cfg.entity.max_entities is not None or cfg.entity.max_partitioned_entities is not None


@guard("ENT-5")
def fits(state: State, partitioned: bool) -> bool:
    """Whether the namespace may have room for one more."""
    return not is_beyond(state, partitioned, gone=False)


@clause("ENT-5")
def may_be_full(state: State, partitioned: bool) -> bool:
    """Whether it may have none. How soon the place of a deleted entity is free no source says."""
    return is_beyond(state, partitioned, gone=True)


def is_beyond(state: State, partitioned: bool, gone: bool) -> bool:
    """Whether one more is beyond a quota, where those that are ``gone`` count, or do not."""
    entity = state.cfg.entity
    kinds = [one.partitioned for one in state.others if gone or one.name]
    kinds += [state.cfg.profile.partitioned, partitioned]
    most = _ENTITIES if entity.max_entities is None else entity.max_entities
    of_these = _PARTITIONED if entity.max_partitioned_entities is None else entity.max_partitioned_entities
    return len(kinds) > most or (partitioned and sum(kinds) > of_these)


@point("ENT-4")
def delete(state: State, action: Action, seen: Observed | None) -> Steps:
    """A client deletes such an entity. One that is not there may be refused or not."""
    yield from amid_outage(state)
    there = named(state, dict(action.settings)["name"])
    if there is None:
        yield failure(ANY), state
        yield OK, state
    else:
        yield OK, without(state, there)


def named(state: State, name: str) -> Other | None:
    """The other entity of that name, if there is one."""
    return next((one for one in state.others if one.name == name), None)


def with_other(state: State, other: Other) -> State:
    """The state with that entity."""
    return state._replace(others=tuple(sorted((*state.others, other))))


@clause("ENT-5")
def without(state: State, other: Other) -> State:
    """The state in which the entity is deleted. Its place may be taken still."""
    rest = [one for one in state.others if one is not other]
    return with_other(state._replace(others=tuple(rest)), other._replace(name=""))


CLIENT_OPS: Final = {"create": create, "delete": delete}
"""The operations of clients."""
