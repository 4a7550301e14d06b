"""What a directed case is: a program that puts stated requirements to the test on stated profiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from partq.conformance.history.codec_fields import did_you_mean
from partq.conformance.workload.program import Program


class UnknownCase(LookupError):
    """No case of that name. The text suggests near ones."""


@dataclass(frozen=True, slots=True)
class Case:
    """A directed scenario.

    ``requirements``: the IDs it certainly exercises on a conforming broker that offers what it uses.
    ``profiles``: where it makes sense. ``summary``: one sentence for tables. ``build``: the program for one
    of the profiles; it asks for the same things each time it is called.
    """

    name: str
    requirements: tuple[str, ...]
    profiles: tuple[str, ...]
    summary: str
    build: Callable[[str], Program]


def chosen(cases: Mapping[str, Case], names: Sequence[str]) -> tuple[Case, ...]:
    """The cases of these names, in the order asked for. Raises `UnknownCase`."""
    for name in names:
        if name not in cases:
            hint = did_you_mean(name, cases) or "; partq list cases names them"
            raise UnknownCase(f"unknown case {name!r}{hint}")
    return tuple(cases[name] for name in dict.fromkeys(names))
