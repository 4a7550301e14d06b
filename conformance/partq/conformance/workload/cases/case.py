"""What a directed case is: a program that puts stated requirements to the test on stated profiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, TypeVar

from partq.conformance.history.codec_fields import did_you_mean
from partq.conformance.workload.cases.steps import program
from partq.conformance.workload.program import Program, Step
from partq.model.errors import UserError
from partq.model.messages import KeyRule
from partq.model.profiles import profile

Steps = Iterable[Step]

Write = TypeVar("Write", bound=Callable[..., Steps])


class UnknownCase(UserError, LookupError):
    """No case of that name. The text suggests near ones."""


@dataclass(frozen=True, slots=True)
class Case:
    """A directed scenario.

    ``requirements``: the IDs it certainly exercises on a conforming broker that offers what it uses.
    ``profiles``: built-in ones where it makes sense. ``summary``: one sentence for tables. ``build``: the
    program for a profile that it fits; it asks for the same things each time it is called.
    """

    name: str
    requirements: tuple[str, ...]
    profiles: tuple[str, ...]
    summary: str
    build: Callable[[str], Program]

    def fits(self, profile_name: str) -> bool:
        """Whether it makes sense for that profile: for one of its own, or for one whose clients do the same
        things to the same end."""
        like = _shape(profile_name)
        return any(_shape(name) == like for name in self.profiles)


class Cases(list[Case]):
    """The cases of one mechanism, in the order in which they are declared."""

    def case(
        self, name: str, profiles: tuple[str, ...], *requirements: str, **settings: Any
    ) -> Callable[[Write], Write]:
        """Declare the steps that a function gives as a case; the first line of its docstring is the summary.
        The function may take the profile's name. ``settings``: what `program` takes beside the steps, or
        functions of the profile's name."""

        def declare(write: Write) -> Write:
            def build(profile_name: str) -> Program:
                given = (profile_name,) if "profile" in signature(write).parameters else ()
                asked = {word: of(profile_name) if callable(of) else of for word, of in settings.items()}
                return program(profile_name, *write(*given), **asked)

            summary = (write.__doc__ or "").partition("\n")[0]
            self.append(Case(name, requirements, profiles, summary, build))
            return write

        return declare


def _shape(profile_name: str) -> tuple[KeyRule, bool, bool, bool]:
    """What a program for the profile is written after."""
    family = profile(profile_name)
    return family.key_rule, family.partitioned, family.flows, family.locks_expire


def chosen(cases: Mapping[str, Case], names: Sequence[str]) -> tuple[Case, ...]:
    """The cases of these names, in the order asked for. Raises `UnknownCase`."""
    for name in names:
        if name not in cases:
            hint = did_you_mean(name, cases) or "; partq list cases names them"
            raise UnknownCase(f"unknown case {name!r}{hint}")
    return tuple(cases[name] for name in dict.fromkeys(names))
