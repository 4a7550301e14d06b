"""``partq explain``: a rule of the catalogue, and everything in the project that belongs to it; a case; a
mutant."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Final

import typer
from rich.padding import Padding
from rich.text import Text

from partq.conformance.frontends.cli.common import fail
from partq.conformance.frontends.cli.lazy import lazily
from partq.conformance.frontends.cli.listing import Kind, completing
from partq.conformance.frontends.cli.streams import output
from partq.conformance.history.codec_fields import did_you_mean
from partq.model import departures
from partq.model.profiles import PROFILES, grounds_of
from partq.model.requirements import (
    Requirement,
    UnknownRequirement,
    catalogue,
    contradictions,
    groups,
    requirement,
    sources_of,
)

with lazily():
    from partq.conformance.adapters import mutants
    from partq.conformance.frontends import api
    from partq.conformance.screens import protocol, registry
    from partq.conformance.workload.cases import table as cases
    from partq.model import clauses
    from partq.spec.checking import properties, records

_ID: Final = re.compile(r"\b[A-Z]+-\d+\b")


def explain(
    id: Annotated[
        str | None,
        typer.Argument(
            help="A rule, such as ROUTE-1, a group of them, such as ROUTE, a case or a mutant.",
            autocompletion=completing(Kind.RULES),
        ),
    ] = None,
    whole_catalogue: Annotated[bool, typer.Option("--all", help="The whole catalogue.")] = False,
) -> None:
    """Print a rule: text, sources, profiles, reading, the files of its mechanism, and the code, cases and
    mutants that belong to it; of a group, its rules in a line each; of a case or a mutant, what it is for."""
    if whole_catalogue == (id is not None):
        fail("give one rule or group, or --all")
    name = (id or "").upper()
    if name in groups():
        return _list(name)
    if id is not None:
        known = _named(id.removeprefix("mutant:"))
        if known:
            return _print_facts(*known)
        try:
            return _print(requirement(name))
        except UnknownRequirement as error:
            fail(_unknown(id, str(error)))
    for number, group in enumerate(groups()):
        output().print(f"{chr(10) if number else ''}{group}: {groups()[group]}\n", style="bold")
        for one in catalogue().values():
            if one.group == group:
                _print(one)
    return None


def _list(group: str) -> None:
    """The group's requirements, a line each."""
    out = output()
    out.print(f"{group}: {groups()[group]}", style="bold")
    for one in catalogue().values():
        if one.group == group:
            out.print(f"  {one.id:9} {one.level.value:6}  {one.title}")


def _named(name: str) -> tuple[str, str, str, dict[str, list[str]]] | None:
    """Of a case or a mutant: its name, kind and summary, and what else there is to say."""
    if (mutant := mutants.MUTANTS.get(name)) is not None:
        facts = {
            "breaks": [mutant.breaks],
            "may break besides": [", ".join(mutant.also)] if mutant.also else [],
            "profile": [mutant.profile],
            "run it": [f"partq run mutant:{name} --profile {mutant.profile}"],
        }
        return name, "mutant", mutant.summary, facts
    if (case := cases.ALL_CASES.get(name)) is not None:
        facts = {
            "exercises": [", ".join(case.requirements)],
            "profiles": [", ".join(case.profiles)],
            "run it": [f"partq run BROKER --case {name}"],
        }
        return name, "case", case.summary, facts
    return None


def _unknown(name: str, why: str) -> str:
    """That there is nothing of that name, with the nearest one."""
    if hint := did_you_mean(name, [*mutants.MUTANTS, *cases.ALL_CASES]):
        return f"no rule, case or mutant {name!r}{hint}"
    if "-" in name:
        return why
    hint = did_you_mean(name.upper(), groups()) or f"; known: {', '.join(groups())}"
    return f"no group of rules {name.upper()!r}{hint}"


def _print(one: Requirement) -> None:
    _print_facts(one.id, f"{one.level.value}  {one.title}", one.text, _facts(one))


def _print_facts(name: str, title: str, text: str, facts: Mapping[str, Sequence[str]]) -> None:
    out = output()
    out.print(Text.assemble((name, "bold"), "  ", (title, "bold")))
    out.print(Padding(Text(text), (0, 0, 0, 2)))
    for name, lines in facts.items():
        if lines:
            out.print(Padding(Text.assemble((f"{name}: ", "cyan"), "\n".join(lines)), (0, 0, 0, 2)))
    out.print()


def _facts(requirement: Requirement) -> dict[str, list[str]]:
    screens = [screen for screen in registry.ALL if requirement.id in screen.requirements]
    about, own = api.Explanation(requirement), f"/{requirement.mechanism}/"
    return {
        "profiles": [", ".join(about.profiles)],
        "sources": list(_sources(requirement)),
        "reading": [requirement.reading] if requirement.reading else [],
        "not settled": [requirement.open_question] if requirement.open_question else [],
        "contradiction": [
            f"{one.title}: {one.conflict} Settled: {one.settled}"
            for one in contradictions()
            if requirement.id in one.requirements
        ],
        f"mechanism {requirement.mechanism}": list(files_of(requirement.mechanism)),
        "clauses": [_at(resolve_name(f"partq.model.{name}")) for name in clauses.of(requirement.id)]
        or ["none"],
        "deviations": sorted(
            map(_at, departures.of(requirement.id)), key=lambda place: (own not in place, place)
        ),
        "screens": [f"{_place(one.check)} {one.name}" for one in screens] or ["none: not implemented"],
        "cases": [", ".join(about.cases) or "none"],
        "mutants": [", ".join(about.mutants) or "none"],
        "blind spots": list(_blind_spots(requirement.id, screens)),
        "TLA+": list(_property(requirement.id)),
    }


def _property(id: str) -> Iterator[str]:
    """The specification's property: its file and line, its text, and the checks behind it."""
    found = properties.properties().get(id)
    if found is None:
        yield "none"
        return
    holds, broken = properties.checks_of(id)
    yield f"spec/tla/{found.place}, checked in {', '.join(one.name for one in holds)}"
    yield f"broken by {', '.join(one.name for one in broken) or 'no wrong variant'}"
    if proofs := properties.proofs_of(id):
        yield f"proven within bounds by {', '.join(one.name for one in proofs)}"
        if before := records.earlier(proofs):
            yield f"some on an earlier text of it: {', '.join(one.name for one in before)}"
    yield from found.text.splitlines()


def _sources(requirement: Requirement) -> Iterator[str]:
    """Where the rule comes from, with the addresses of the pages; last, why profiles of which the
    catalogue does not speak take it."""
    for source in sources_of(requirement):
        yield f"{source.name} ({source.kind})"
        yield from source.pages.values()
    for family in PROFILES.values():
        if ground := grounds_of(family.name).get(requirement.id):
            yield f"for {family.name}: {ground.page}, {ground.says}"
            yield family.pages[ground.page]


def _at(function: Callable[..., object]) -> str:
    """Such as ``partq/model/routing/norm.py:199 _kinds``."""
    return f"{_place(function)} {function.__name__}"


def _place(function: Callable[..., object]) -> str:
    """The function's file, from ``partq`` on, and line."""
    code = inspect.unwrap(function).__code__
    parts = Path(code.co_filename).parts
    top = len(parts) - 1 - parts[::-1].index("partq") if "partq" in parts else 0
    return f"{'/'.join(parts[top:])}:{code.co_firstlineno}"


def _blind_spots(requirement: str, screens: Sequence[protocol.Screen]) -> Iterator[str]:
    """What the screens cannot see of the requirement; of what is said of others alone, how much there is."""
    spots = list(dict.fromkeys(spot for screen in screens for spot in screen.blind_spots))
    named = [spot for spot in spots if requirement in _ID.findall(spot)]
    general = [spot for spot in spots if not _ID.search(spot)]
    yield from (*named, *general)
    if rest := len(spots) - len(named) - len(general):
        yield f"({rest} more of the same screens name other rules only)"


# --- the map of a mechanism: files of its name, all over the project -----------------------------------

_PLACES: Final = (
    "partq/model/{name}/rules.toml",
    "partq/model/{name}/[a-z]*.py",
    "partq/conformance/mechanisms/{name}/[a-z]*.py",
    "partq/conformance/workload/operations/{name}.py",
    "partq/reference_impl/{name}.py",
    "partq/reference_impl/mutants/{name}.py",
    "partq/spec/tla/{Name}.tla",
    "docs/rules/{name}.md",
    "tests/corpus/{name}/*.toml",
)
"""Where files of a mechanism's name are, in the order of the map; documents and tests in a checkout only."""


def files_of(mechanism: str) -> tuple[str, ...]:
    """Files that exist: those of the packages from ``partq`` on, others from the project's root on."""
    packages = sorted({_root(top) for top in ("model", "conformance", "reference_impl", "spec")})
    roots = (*packages, _root("model").parent)
    names = (place.format(name=mechanism, Name=mechanism.capitalize()) for place in _PLACES)
    found = (file.relative_to(root) for name in names for root in roots for file in sorted(root.glob(name)))
    return tuple(file.as_posix() for file in found)


def _root(top: str) -> Path:
    """The folder that the package ``partq`` with this part of it is in."""
    return Path(str(resources.files(f"partq.{top}"))).parents[1]
