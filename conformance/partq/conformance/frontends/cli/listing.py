"""``partq list``: the names that other commands take, and what shells complete them from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

import typer

from partq.conformance.adapters.names import BUILT_IN, MUTANT
from partq.conformance.frontends.cli.common import Format, known_profile, output, print_json, say


class Kind(StrEnum):
    """What can be listed."""

    BROKERS = "brokers"
    PROFILES = "profiles"
    CASES = "cases"
    MUTANTS = "mutants"
    RULES = "rules"


class Entry(NamedTuple):
    """One of them. ``rules``: those that it is about; ``profiles``: those that it is for."""

    name: str
    text: str
    rules: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()


def _brokers() -> Iterator[Entry]:
    from partq.conformance.adapters.mutants import MUTANTS

    yield Entry("reference", "the reference broker, simulated; it draws by seed what the rules leave open")
    yield Entry("reference:live", "the reference broker in real time")
    yield Entry("mutant:NAME", f"it with one of {len(MUTANTS)} defects (partq list mutants)")
    yield Entry("rabbitmq://USER:PASSWORD@HOST:PORT/VHOST", "a RabbitMQ server (docs/rabbitmq.md)")
    yield Entry("my_module:MyBroker", "a class of yours, from the current folder (docs/adapters.md)")


def _profiles() -> Iterator[Entry]:
    from partq.model.profiles import PROFILES, requirements_of

    for name, family in PROFILES.items():
        yield Entry(name, f"{family.title}; {len(requirements_of(name))} rules", profiles=(name,))


def _cases() -> Iterator[Entry]:
    from partq.conformance.workload.cases import ALL_CASES

    for name, case in ALL_CASES.items():
        yield Entry(name, case.summary, case.requirements, case.profiles)


def _mutants() -> Iterator[Entry]:
    from partq.conformance.adapters.mutants import MUTANTS

    for name, mutant in MUTANTS.items():
        yield Entry(name, mutant.summary, (mutant.breaks,), (mutant.profile,))


def _rules() -> Iterator[Entry]:
    from partq.model.profiles import PROFILES, requirements_of
    from partq.model.requirements import catalogue

    for id, row in catalogue().items():
        families = tuple(name for name in PROFILES if id in requirements_of(name))
        yield Entry(id, f"{row.level.value}: {row.title}", (id,), families)


ENTRIES: Final[Mapping[Kind, Callable[[], Iterator[Entry]]]] = {
    Kind.BROKERS: _brokers,
    Kind.PROFILES: _profiles,
    Kind.CASES: _cases,
    Kind.MUTANTS: _mutants,
    Kind.RULES: _rules,
}

COLUMNS: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.BROKERS: ("name", "text"),
    Kind.PROFILES: ("name", "text"),
    Kind.CASES: ("name", "rules", "profiles", "text"),
    Kind.MUTANTS: ("name", "rules", "profiles", "text"),
    Kind.RULES: ("name", "text", "profiles"),
}
"""Which fields of the entries are shown."""


def listing(
    kind: Annotated[Kind, typer.Argument(metavar="KIND", help=f"One of {', '.join(Kind)}.")],
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORD]...", help="Only those that have all these words.")
    ] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(help="Only what is about this rule, or group; may be repeated."),
    ] = None,
    profile: Annotated[
        list[str] | None, typer.Option(help="Only what is for this profile; may be repeated.")
    ] = None,
    format: Annotated[Format, typer.Option(help="What to print.")] = Format.TABLE,
) -> None:
    """List brokers, profiles, cases, mutants or rules: the names that other commands take."""
    for name in profile or ():
        known_profile(name)
    asked = [one.upper() for one in rule or ()]
    found = [
        entry
        for entry in ENTRIES[kind]()
        if (not asked or any(_is_about(entry, one) for one in asked))
        and (not profile or not set(profile).isdisjoint(entry.profiles))
        and all(word.lower() in f"{entry.name} {entry.text}".lower() for word in words or ())
    ]
    if format is Format.JSON:
        print_json({kind.value: [entry._asdict() for entry in found]})
    elif found:
        _show(kind, found)
    else:
        say(f"no such {kind.value}")


def _is_about(entry: Entry, rule: str) -> bool:
    """``rule``: a rule such as ROUTE-2, or a group such as ROUTE."""
    return any(rule in (id, id.partition("-")[0]) for id in entry.rules)


def _show(kind: Kind, found: list[Entry]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=len(COLUMNS[kind]) > len(("name", "text")))
    for field in COLUMNS[kind]:
        table.add_column({"name": kind.value.removesuffix("s"), "text": "about"}.get(field, field))
    for entry in found:
        cells = (getattr(entry, field) for field in COLUMNS[kind])
        table.add_row(*(Text(cell if isinstance(cell, str) else ", ".join(cell)) for cell in cells))
    output().print(table)


def completing(kind: Kind) -> Callable[[str], Iterator[tuple[str, str]]]:
    """What a shell completes a word with: names of that kind, each with what it is."""

    def complete(incomplete: str) -> Iterator[tuple[str, str]]:
        for entry in ENTRIES[kind]():
            if entry.name.startswith(incomplete):
                yield entry.name, entry.text

    return complete


def complete_broker(incomplete: str) -> Iterator[tuple[str, str]]:
    """What a shell completes a broker with: the built-in ones, and mutants once ``mutant:`` is there."""
    if incomplete.startswith(MUTANT):
        for name, text in completing(Kind.MUTANTS)(incomplete.removeprefix(MUTANT)):
            yield f"{MUTANT}{name}", text
        return
    for name in (*BUILT_IN, MUTANT):
        if name.startswith(incomplete):
            yield name, ""
