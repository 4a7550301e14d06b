"""What programs may be about, put together: the themes and phrases of these rooms and of each mechanism, and
which themes a profile's programs have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

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

ABOUT: Final[Mapping[str, Theme]] = {
    **{name: Theme(name, "", one, wears=name == "locks") for name, one in weights.THEMES.items()},
    **{theme.name: theme for theme in _GIVEN},
}
"""Every theme by its name. A program has one, chosen among those of its profile."""

THEMES: Final[Mapping[str, Weights]] = {name: theme.weights for name, theme in ABOUT.items()}
"""Theme -> its weights."""


def themes_of(family: Profile) -> tuple[str, ...]:
    """The themes of a profile's programs: those that share them, each as often as it stands here, then those
    that take some from these."""
    timed = weights.AZURE_THEMES if family.transactions else weights.QUEUE_THEMES
    names = (
        weights.FLOW_THEMES if family.flows else timed if family.locks_expire else weights.CONNECTION_THEMES
    )
    rules = requirements_of(family.name)
    given = [theme.name for theme in _GIVEN if theme.rule in rules]
    sharing = (name for name in given if not ABOUT[name].one_in)
    return (*names[:1], *sharing, *names[1:], *(name for name in given if ABOUT[name].one_in))
