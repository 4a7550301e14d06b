"""A rule of the catalogue, and what in the project belongs to it."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from partq.conformance.adapters.mutants import MUTANTS
from partq.conformance.workload.cases.table import ALL_CASES
from partq.model.profiles import PROFILES, requirements_of
from partq.model.requirements import Level, Requirement, Source, sources_of


@dataclass(frozen=True, slots=True)
class Explanation:
    """``requirement``: the rule as the catalogue has it."""

    requirement: Requirement

    @property
    def id(self) -> str:
        """Such as ``ROUTE-2``."""
        return self.requirement.id

    @property
    def title(self) -> str:
        """The rule in a few words."""
        return self.requirement.title

    @property
    def level(self) -> Level:
        """MUST, SHOULD or MAY."""
        return self.requirement.level

    @property
    def text(self) -> str:
        """The rule in full."""
        return self.requirement.text

    @property
    def reading(self) -> str | None:
        """How a rule that leaves room is read, if it does."""
        return self.requirement.reading

    @property
    def open_question(self) -> str | None:
        """What no source settles, so that every answer to it is allowed, if there is anything."""
        return self.requirement.open_question

    @property
    def sources(self) -> tuple[Source, ...]:
        """Where it comes from, each with the pages that the public can read."""
        return sources_of(self.requirement)

    @property
    def profiles(self) -> tuple[str, ...]:
        """The profiles that it applies to."""
        return tuple(name for name in PROFILES if self.id in requirements_of(name))

    @property
    def cases(self) -> tuple[str, ...]:
        """The directed cases that exercise it."""
        return tuple(case.name for case in ALL_CASES.values() if self.id in case.requirements)

    @property
    def mutants(self) -> tuple[str, ...]:
        """The mutants of the reference broker that break it."""
        return tuple(name for name, mutant in MUTANTS.items() if mutant.breaks == self.id)

    def __str__(self) -> str:
        reading = f"\nreading: {self.reading}" if self.reading else ""
        names = "; ".join(source.name for source in self.sources)
        return f"{self.id}  {self.level.value}  {self.title}\n{self.text}\nsources: {names}{reading}"

    def _repr_html_(self) -> str:
        reading = f"<p><i>Reading.</i> {escape(self.reading)}</p>" if self.reading else ""
        pages = [
            f'<li>{escape(source.name)}: <a href="{escape(url)}">{escape(title)}</a></li>'
            for source in self.sources
            for title, url in source.pages.items()
        ]
        heading = f"<p><b>{self.id}</b> {self.level.value} <b>{escape(self.title)}</b></p>"
        return f"{heading}<p>{escape(self.text)}</p>{reading}<ul>{''.join(pages)}</ul>"
