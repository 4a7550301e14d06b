"""The profiles by name: the built-in ones, which are files in `profile_files`, and those that were read.

A profile that is not built in is named by its own name and a digest of its contents, here and wherever it is
shown: a name always means the same profile, and caches by name stay valid.

`family` has a profile's contents, `profile_file` its form as a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from importlib import resources
from typing import Any, Final

from partq.model.errors import UserError

from .family import DEFAULT_RULE as DEFAULT_RULE
from .family import ENTITY_BOUNDS as ENTITY_BOUNDS
from .family import ENTITY_FLAGS as ENTITY_FLAGS
from .family import LIMITS as LIMITS
from .family import MOST_HOPS as MOST_HOPS
from .family import PROPERTY as PROPERTY
from .family import RECEIVE_TIMEOUT as RECEIVE_TIMEOUT
from .family import RULE as RULE
from .family import SECOND as SECOND
from .family import SELDOM_CHOSEN as SELDOM_CHOSEN
from .family import SEND_TIMEOUT as SEND_TIMEOUT
from .family import Destination as Destination
from .family import Divergence as Divergence
from .family import Entity as Entity
from .family import Ground as Ground
from .family import InvalidEntity as InvalidEntity
from .family import OrderDomain as OrderDomain
from .family import Profile as Profile
from .family import rule_problem as rule_problem
from .profile_file import ProfileError as ProfileError
from .profile_file import digest, parse, plain
from .requirements import PROFILE_COLUMNS, catalogue, selected

BUILT_IN: Final = (
    "azure-standard",
    "azure-premium",
    "azure-flat",
    "solace",
    "rabbitmq",
    "partitioned-queue",
    "ordered-queue",
)
"""The built-in profiles, in the order in which they are listed."""


def _built_in(name: str) -> Profile:
    file = resources.files("partq.model") / "profile_files" / f"{name}.toml"
    return parse(file.read_text(encoding="utf-8"), f"{name}.toml")


PROFILES: Final[Mapping[str, Profile]] = {name: _built_in(name) for name in BUILT_IN}
"""Every built-in profile by name."""

_READ: Final[dict[str, Profile]] = {}
"""The profiles that were read, by name and digest. It only grows."""


def admit(family: Profile) -> str:
    """Make a profile known that was read; answers its name from now on: what it calls itself, ``@`` and eight
    digits of its digest. One that says what a built-in one says is that one. Raises `ProfileError`."""
    if family.name in PROFILES and plain(PROFILES[family.name]) == plain(family):
        return family.name
    named = replace(family, name=f"{family.name}@{digest(family)[:8]}")
    if _READ.setdefault(named.name, named) != named:
        raise ProfileError(family.name, ("name",), f"another profile is {named.name}, too: rename one")
    return named.name


def bare(name: str) -> str:
    """The profile's own name, without a digest."""
    return name.partition("@")[0]


def is_called(word: str) -> bool:
    """Whether a profile that is built in, or was read, has that own name."""
    return word in PROFILES or any(word in (name, bare(name)) for name in _READ)


def embedded(names: Iterable[str]) -> dict[str, Any]:
    """Those of the profiles that are not built in, as plain data by name."""
    return {name: plain(_READ[name]) for name in names if name in _READ}


def known(name: str) -> Profile | None:
    """The profile of that name, if there is one."""
    return PROFILES.get(name) or _READ.get(name)


class UnknownProfile(UserError, LookupError):
    """No profile of that name."""


def profile(name: str) -> Profile:
    """The profile of that name. Raises `UnknownProfile`, whose text suggests near names."""
    found = known(name)
    if found is None:
        near = get_close_matches(name, PROFILES, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise UnknownProfile(f"unknown profile {name!r}.{hint} Known: {', '.join(PROFILES)}.")
    return found


@cache
def grounds_of(name: str) -> Mapping[str, Ground | None]:
    """The rules that bind the profile of that name, in reading order, each with its ground, or None where the
    catalogue says why. The most special entry of the profile's is the ground: the rule's own, then its
    group's. Raises `UnknownProfile`."""
    said = profile(name).rules
    widest_first = sorted(said, key=lambda word: len(selected(word)), reverse=True)
    found = {id: said[word] for word in widest_first for id in selected(word)}
    return {id: found[id] for id in catalogue() if id in found}


@cache
def requirements_of(name: str) -> frozenset[str]:
    """The IDs of the requirements that apply to the profile of that name. Raises `UnknownProfile`."""
    return frozenset(grounds_of(name))


@cache
def unpromised(name: str) -> frozenset[str]:
    """The IDs of the requirements on numbers that do not bind the profile of that name though its broker
    shows some: none under a profile of the catalogue, which says what holds there instead. Raises
    `UnknownProfile`."""
    if name in PROFILE_COLUMNS or not profile(name).shows_seq:
        return frozenset()
    return frozenset(selected("SEQ")) - requirements_of(name)
