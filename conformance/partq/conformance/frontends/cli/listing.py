"""``partq list``: the names that other commands take, and what shells complete them from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Final, NamedTuple

import typer
from rich.table import Table
from rich.text import Text

from partq.conformance.adapters.names import BROKERS, BUILT_IN, MUTANT
from partq.conformance.frontends.cli.common import Format, fail, opened_as, print_json, profiles_for
from partq.conformance.frontends.cli.lazy import lazily
from partq.conformance.frontends.cli.streams import output, say
from partq.conformance.history.codec_profiles import named_profile
from partq.conformance.verdict import not_applicable, plural
from partq.model.profiles import PROFILES, requirements_of
from partq.model.profiles import profile as profile_named
from partq.model.requirements import catalogue

with lazily():
    from partq.conformance.adapters import mutants
    from partq.conformance.evaluation import suite
    from partq.conformance.screens import registry
    from partq.conformance.workload.cases import table as cases


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


Exempt = Mapping[str, Mapping[str, str]]
"""Profile -> rule -> why it does not apply to a broker; those that do are not there."""


def _brokers(profiles: Sequence[str]) -> Iterator[Entry]:
    yield Entry("reference", "the reference broker, simulated; it draws by seed what the rules leave open")
    yield Entry("reference:live", "the reference broker in real time")
    yield Entry("reference:durable", "it simulated, with its messages in files, read again at each start")
    yield Entry("mutant:NAME", f"it with one of {len(mutants.MUTANTS)} defects (partq list mutants)")
    yield Entry("rabbitmq://USER:PASSWORD@HOST:PORT/VHOST", "a RabbitMQ server (docs/rabbitmq.md)")
    yield Entry("my_module:MyBroker", "a class of yours, from the current folder (docs/adapters.md)")


def _profiles(profiles: Sequence[str]) -> Iterator[Entry]:
    for name in profiles:
        own = requirements_of(name)
        applying = len(own - not_applicable(name, registry.ALL).keys())
        counted = plural(len(own), "rule") + (f", of which {applying} apply" if applying < len(own) else "")
        yield Entry(name, f"{profile_named(name).title}; {counted}", profiles=(name,))


def _cases(profiles: Sequence[str]) -> Iterator[Entry]:
    bound = frozenset[str]().union(*map(requirements_of, profiles))
    for name, case in cases.ALL_CASES.items():
        rules = tuple(id for id in case.requirements if id in bound)
        yield Entry(name, case.summary, rules, tuple(filter(case.fits, profiles)))


def _mutants(profiles: Sequence[str]) -> Iterator[Entry]:
    for name, mutant in mutants.MUTANTS.items():
        yield Entry(name, mutant.summary, (mutant.breaks,), (mutant.profile,))


def _rules(profiles: Sequence[str]) -> Iterator[Entry]:
    for id, row in catalogue().items():
        families = tuple(name for name in profiles if id in requirements_of(name))
        yield Entry(id, f"{row.level.value}: {row.title}", (id,), families)


ENTRIES: Final[Mapping[Kind, Callable[[Sequence[str]], Iterator[Entry]]]] = {
    Kind.BROKERS: _brokers,
    Kind.PROFILES: _profiles,
    Kind.CASES: _cases,
    Kind.MUTANTS: _mutants,
    Kind.RULES: _rules,
}
"""What there is of a kind, and for which of some profiles it is."""

FEW: Final = ("name", "text")
COLUMNS: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.CASES: ("name", "rules", "profiles", "text"),
    Kind.MUTANTS: ("name", "rules", "profiles", "text"),
    Kind.RULES: ("name", "text", "profiles"),
}
"""Which fields of the entries are shown, where it is not these few."""


def listing(
    kind: Annotated[Kind, typer.Argument(metavar="KIND", help=f"One of {', '.join(Kind)}.")],
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORD]...", help="Only those that have all these words.")
    ] = None,
    rule: Annotated[
        list[str] | None, typer.Option(help="Only what is about this rule, or group; may be repeated.")
    ] = None,
    profile: Annotated[
        list[str] | None, typer.Option(help="Only what is for this profile; may be repeated.")
    ] = None,
    broker: Annotated[
        str | None, typer.Option(help=f"Of rules: which apply to this broker, and why not: {BROKERS}.")
    ] = None,
    format: Annotated[Format, typer.Option(help="What to print.")] = Format.TABLE,
) -> None:
    """List brokers, profiles, cases, mutants or rules: the names that other commands take."""
    if broker is not None and kind is not Kind.RULES:
        fail(f"--broker is about rules: partq list rules --broker {broker}")
    exempt = {} if broker is None else exempt_for(broker, profile)
    families = {named_profile(word) for word in profile or ()} or set(exempt)
    asked = {one.upper() for one in rule or ()}
    found = [
        entry
        for entry in ENTRIES[kind](tuple(dict.fromkeys((*PROFILES, *sorted(families)))))
        if (not asked or any({id, id.partition("-")[0]} & asked for id in entry.rules))
        and (not families or not families.isdisjoint(entry.profiles))
        and all(word.lower() in f"{entry.name} {entry.text}".lower() for word in words or ())
    ]
    if format is Format.JSON:
        print_json({kind.value: [_plain(entry, exempt) for entry in found]})
    elif found:
        _show(kind, found, exempt)
    else:
        say(f"no such {kind.value}")


def exempt_for(broker: str, asked: list[str] | None) -> Exempt:
    """Which rules do not apply to the broker, by what its adapter says, under the profiles asked for, or
    those that it claims. What shows only while it runs (a fault that `inject` refuses, a field that no
    message shows) is not known here. Ends with one line where there is no such broker."""
    names = profiles_for(broker, asked)
    lacks = {name: tuple(sorted(suite.lacks_of(opened_as(broker, name)))) for name in names}
    checked = {id for screen in registry.ALL for id in screen.requirements}
    unchecked = {id: "not implemented yet" for id in catalogue() if id not in checked}
    return {name: {**unchecked, **not_applicable(name, registry.ALL, lacks[name])} for name in names}


def _plain(entry: Entry, exempt: Exempt) -> dict[str, Any]:
    """The entry as plain data; ``exempt``: profile -> why the rule does not apply, null where it does."""
    of = {"exempt": {name: rules.get(entry.name) for name, rules in exempt.items()}} if exempt else {}
    return {**entry._asdict(), **of}


def _show(kind: Kind, found: list[Entry], exempt: Exempt) -> None:
    """Names whole, to be copied, however narrow the terminal is."""
    fields = FEW if exempt else COLUMNS.get(kind, FEW)
    widest = max((len(entry.name) for entry in found), default=0)
    table = Table(box=None, pad_edge=False, show_header=fields != FEW or bool(exempt))
    for field in (*fields, *exempt):
        heading = {"name": kind.value.removesuffix("s"), "text": "about"}.get(field, field)
        least = widest if field == "name" else None
        table.add_column(heading, no_wrap=field == "name", min_width=least, overflow="fold")
    for entry in found:
        cells = [getattr(entry, field) for field in fields]
        cells += [rules.get(entry.name, "applies") for rules in exempt.values()]
        table.add_row(*(Text(cell if isinstance(cell, str) else ", ".join(cell)) for cell in cells))
    output().print(table)


def completing(kind: Kind) -> Callable[[str], Iterator[tuple[str, str]]]:
    """What a shell completes a word with: names of that kind, each with what it is."""

    def complete(incomplete: str) -> Iterator[tuple[str, str]]:
        for entry in ENTRIES[kind](tuple(PROFILES)):
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
