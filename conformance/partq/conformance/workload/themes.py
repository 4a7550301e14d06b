"""What programs may be about, put together: the themes and phrases of these rooms and of each mechanism, and
which themes a profile's programs have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from partq.conformance.of_mechanisms import given
from partq.conformance.workload import phrases, weights
from partq.conformance.workload.flow_phrases import FLOW_PHRASES
from partq.conformance.workload.meetings import MEETINGS
from partq.conformance.workload.phrases import Phrases
from partq.conformance.workload.request_phrases import REQUEST_PHRASES
from partq.conformance.workload.trouble_phrases import TROUBLE_PHRASES
from partq.conformance.workload.weights import Theme, Weights
from partq.model.profiles import Profile, requirements_of

PHRASES: Final[Phrases] = {
    **phrases.PHRASES,
    **FLOW_PHRASES,
    **REQUEST_PHRASES,
    **TROUBLE_PHRASES,
    **{name: phrase for table in given("programs", "PHRASES").values() for name, phrase in table.items()},
}
"""Every phrase a theme may weigh."""

_GIVEN: Final[tuple[Theme, ...]] = (*given("programs", "THEME").values(), *MEETINGS)

THEMES: Final[Mapping[str, Weights]] = {**weights.THEMES, **{theme.name: theme.weights for theme in _GIVEN}}
"""Theme -> its weights. A program has one theme, chosen among those of its profile."""

WEARS: Final = frozenset({"locks", *(theme.name for theme in _GIVEN if theme.wears)})
"""The themes in which an entity may allow few deliveries."""

SETTINGS: Final[Mapping[str, Mapping[str, Any]]] = {theme.name: theme.settings for theme in _GIVEN}
"""Theme -> what the entities of its programs have."""

CHOICES: Final[Mapping[str, Mapping[str, tuple[Any, ...]]]] = {theme.name: theme.choices for theme in _GIVEN}
"""Theme -> what one of these is drawn of, for each entity."""

NEEDS: Final[Mapping[str, str]] = {theme.name: theme.needs for theme in _GIVEN if theme.needs}
"""Theme -> the operation without which a broker has no such entities."""

TAKING: Final[Mapping[str, int]] = {theme.name: theme.one_in for theme in _GIVEN if theme.one_in}
"""Theme that takes programs from the others -> one in how many."""


def themes_of(family: Profile) -> tuple[str, ...]:
    """The themes of a profile's programs: those that share them, each as often as it stands here, then those
    that are `TAKING` some."""
    timed = weights.AZURE_THEMES if family.transactions else weights.QUEUE_THEMES
    names = (
        weights.FLOW_THEMES if family.flows else timed if family.locks_expire else weights.CONNECTION_THEMES
    )
    rules = requirements_of(family.name)
    given = [theme.name for theme in _GIVEN if theme.rule in rules]
    sharing = (name for name in given if name not in TAKING)
    return (*names[:1], *sharing, *names[1:], *(name for name in given if name in TAKING))
