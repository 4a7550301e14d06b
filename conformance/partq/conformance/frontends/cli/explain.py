"""``partq explain``: a rule of the catalogue, and everything in the project that belongs to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from partq.conformance.frontends.cli.common import fail, output

if TYPE_CHECKING:
    from partq.model.requirements import Requirement


def explain(
    id: Annotated[
        str | None, typer.Argument(help="A requirement, such as ROUTE-1, or a group of them, such as ROUTE.")
    ] = None,
    whole_catalogue: Annotated[bool, typer.Option("--all", help="The whole catalogue.")] = False,
) -> None:
    """Print a requirement: text, sources, profiles, reading, and the code, cases and mutants that belong to
    it; of a group, its requirements in a line each."""
    from partq.conformance.history.codec_fields import did_you_mean
    from partq.model.requirements import UnknownRequirement, catalogue, groups, requirement

    if whole_catalogue == (id is not None):
        fail("give one requirement or group, or --all")
    name = (id or "").upper()
    if name in groups():
        return _list(name)
    if id is not None and "-" not in name:
        hint = did_you_mean(name, groups()) or f"; known: {', '.join(groups())}"
        fail(f"no group of requirements {name!r}{hint}")
    if id is not None:
        try:
            return _print(requirement(name))
        except UnknownRequirement as error:
            fail(str(error))
    for number, group in enumerate(groups()):
        output().print(f"{chr(10) if number else ''}{group}: {groups()[group]}\n", style="bold")
        for one in catalogue().values():
            if one.group == group:
                _print(one)
    return None


def _list(group: str) -> None:
    """The group's requirements, a line each."""
    from partq.model.requirements import catalogue, groups

    out = output()
    out.print(f"{group}: {groups()[group]}", style="bold")
    for requirement in catalogue().values():
        if requirement.group == group:
            out.print(f"  {requirement.id:9} {requirement.level.value:6}  {requirement.title}")


def _print(requirement: Requirement) -> None:
    from rich.padding import Padding
    from rich.text import Text

    out = output()
    out.print(
        Text.assemble((requirement.id, "bold"), f"  {requirement.level.value}  ", (requirement.title, "bold"))
    )
    out.print(Padding(Text(requirement.text), (0, 0, 0, 2)))
    for name, lines in _facts(requirement).items():
        if lines:
            out.print(Padding(Text.assemble((f"{name}: ", "cyan"), "\n".join(lines)), (0, 0, 0, 2)))
    out.print()


def _facts(requirement: Requirement) -> dict[str, list[str]]:
    from partq.conformance.adapters.mutants import MUTANTS
    from partq.conformance.screens.registry import ALL
    from partq.conformance.workload.cases import ALL_CASES
    from partq.model import clauses
    from partq.model.requirements import contradictions, sources

    screens = [screen for screen in ALL if requirement.id in screen.requirements]
    cases = [case for case in ALL_CASES.values() if requirement.id in case.requirements]
    mutants = [name for name, mutant in MUTANTS.items() if mutant.breaks == requirement.id]
    return {
        "profiles": [", ".join(_profiles(requirement))],
        "sources": [f"{sources()[code].name} ({sources()[code].kind})" for code in requirement.sources],
        "reading": [requirement.reading] if requirement.reading else [],
        "not settled": [requirement.open_question] if requirement.open_question else [],
        "contradiction": [
            f"{one.title}: {one.conflict} Settled: {one.settled}"
            for one in contradictions()
            if requirement.id in one.requirements
        ],
        "clauses": [", ".join(clauses.of(requirement.id)) or "none"],
        "screens": [", ".join(screen.name for screen in screens) or "none: not implemented"],
        "cases": [", ".join(case.name for case in cases) or "none"],
        "mutants": [", ".join(mutants) or "none"],
        "blind spots": [spot for screen in screens for spot in screen.blind_spots],
    }


def _profiles(requirement: Requirement) -> list[str]:
    from partq.model.profiles import PROFILES, requirements_of

    return [name for name in PROFILES if requirement.id in requirements_of(name)]
