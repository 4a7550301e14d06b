"""``partq explain``: a rule of the catalogue, and everything in the project that belongs to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .common import fail, output

if TYPE_CHECKING:
    from partq.model.requirements import Requirement


def explain(
    id: Annotated[
        str | None, typer.Argument(help="A requirement, such as ROUTE-1, or a group of them, such as ROUTE.")
    ] = None,
    every_row: Annotated[bool, typer.Option("--all", help="The whole catalogue.")] = False,
) -> None:
    """Print a requirement: text, sources, profiles, reading, and the code, cases and mutants that belong to
    it; of a group, its requirements in a line each."""
    from partq.conformance.codec_fields import did_you_mean
    from partq.model.requirements import UnknownRequirement, catalogue, groups, requirement

    if every_row == (id is not None):
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
        for rule in catalogue().values():
            if rule.group == group:
                _print(rule)
    return None


def _list(group: str) -> None:
    """The group's requirements, a line each."""
    from partq.model.requirements import catalogue, groups

    out = output()
    out.print(f"{group}: {groups()[group]}", style="bold")
    for rule in catalogue().values():
        if rule.group == group:
            out.print(f"  {rule.id:9} {rule.level.value:6}  {rule.title}")


def _print(rule: Requirement) -> None:
    from rich.padding import Padding
    from rich.text import Text

    out = output()
    out.print(Text.assemble((rule.id, "bold"), f"  {rule.level.value}  ", (rule.title, "bold")))
    out.print(Padding(Text(rule.text), (0, 0, 0, 2)))
    for name, lines in _facts(rule).items():
        if lines:
            out.print(Padding(Text.assemble((f"{name}: ", "cyan"), "\n".join(lines)), (0, 0, 0, 2)))
    out.print()


def _facts(rule: Requirement) -> dict[str, list[str]]:
    from partq.conformance.cases import ALL_CASES
    from partq.conformance.checkers import ALL
    from partq.conformance.mutants import MUTANTS
    from partq.model import clauses
    from partq.model.requirements import contradictions, sources

    checkers = [checker for checker in ALL if rule.id in checker.requirements]
    cases = [case for case in ALL_CASES.values() if rule.id in case.requirements]
    mutants = [name for name, mutant in MUTANTS.items() if mutant.breaks == rule.id]
    return {
        "profiles": [", ".join(_profiles(rule))],
        "sources": [f"{sources()[code].name} ({sources()[code].kind})" for code in rule.sources],
        "reading": [rule.reading] if rule.reading else [],
        "not settled": [rule.open_question] if rule.open_question else [],
        "contradiction": [
            f"{one.title}: {one.conflict} Settled: {one.settled}"
            for one in contradictions()
            if rule.id in one.requirements
        ],
        "clauses": [", ".join(clauses.of(rule.id)) or "none"],
        "checkers": [", ".join(checker.name for checker in checkers) or "none: not implemented"],
        "cases": [", ".join(case.name for case in cases) or "none"],
        "mutants": [", ".join(mutants) or "none"],
        "blind spots": [spot for checker in checkers for spot in checker.blind_spots],
    }


def _profiles(rule: Requirement) -> list[str]:
    from partq.model.profiles import PROFILES

    return [
        name
        for name, family in PROFILES.items()
        if (rule.id in family.overrides if family.column is None else family.column in rule.profiles)
    ]
