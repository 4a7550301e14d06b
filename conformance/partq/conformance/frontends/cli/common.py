"""What the commands share: formats, the one way to fail, what verdicts come to, verdicts as JSON. How they
are shown is `shown`'s business.

Everything a broker or file says is printed without markup.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer
from rich.text import Text

from partq.conformance.frontends.cli.streams import console as console
from partq.conformance.frontends.cli.streams import output as output
from partq.conformance.frontends.cli.streams import say as say
from partq.conformance.frontends.cli.table import printable as printable
from partq.conformance.verdict import (
    SCHEMA,
    BadRequire,
    Exit,
    Kind,
    Matched,
    Status,
    Verdicts,
    ambiguities,
    binding_requirements,
    checked_require,
    coverage,
    exit_code,
    merge,
    named,
    plain,
    unmet,
    violated_one_of,
    worst,
)
from partq.model.profiles import PROFILES, Profile, UnknownProfile, profile
from partq.model.requirements import PROFILE_COLUMNS

if TYPE_CHECKING:
    from partq.conformance.adapters import Broker


BROKERS: Final = "reference, reference:live, mutant:NAME, rabbitmq://…, my_module:MyBroker"
"""For the help of arguments that take a broker."""

PROFILE_NAMES: Final = ", ".join(PROFILES)
"""For the help of options that take a profile."""


class Format(StrEnum):
    """What a command prints."""

    TABLE = "table"
    JSON = "json"


def fail(message: str, code: int = Exit.BAD_INPUT) -> NoReturn:
    """Say in one line what is wrong and end with that exit code."""
    line = printable(message).replace("\n", " ")
    console.print(f"partq: error: {line}", markup=False, soft_wrap=True)
    raise typer.Exit(code)


def opened(name: str) -> Broker:
    """The broker of that name; ends with one line where there is none."""
    from partq.conformance.adapters import UnknownBroker, open_broker

    try:
        return open_broker(name)
    except UnknownBroker as error:
        fail(str(error))


def profiles_for(broker: str, asked: Sequence[str] | None) -> tuple[str, ...]:
    """The profiles to run under: those asked for, else the one the broker claims, else all it can take.

    Ends with one line where one asked for is no profile, or none that the reference broker is written after.
    """
    for name in asked or ():
        known_profile(name)
    _warn_of_near_misses(broker)
    if asked:
        _refuse_unwritten(broker, asked)
        return tuple(dict.fromkeys(asked))
    from partq.conformance.adapters import UnknownBroker, claimed_profiles, public_name

    try:
        claimed = claimed_profiles(opened(broker))
    except UnknownBroker as error:
        fail(str(error))
    if claimed:
        return claimed
    text = f"{public_name(broker)} claims no profile: running all {len(PROFILES)}; --profile NAME for one"
    console.print(printable(text), markup=False, soft_wrap=True)
    return tuple(PROFILES)


def _warn_of_near_misses(broker: str) -> None:
    """Say which methods may be misspelt: what a broker lacks makes rules not applicable, silently."""
    from partq.conformance.adapters import near_misses

    for text in near_misses(opened(broker)):
        console.print(printable(f"partq: warning: {text}"), markup=False, soft_wrap=True)


def _refuse_unwritten(broker: str, asked: Sequence[str]) -> None:
    """The reference broker under a family that the catalogue has no column for: what it did would be nobody's
    fault."""
    from partq.conformance.adapters.reference import LiveReference, Reference

    strange = [name for name in asked if name not in PROFILE_COLUMNS]
    if strange and isinstance(opened(broker), Reference | LiveReference):
        fail(f"the reference broker has no profile {strange[0]}; it has {', '.join(PROFILE_COLUMNS)}")


def known_profile(name: str) -> Profile:
    """The profile of that name; ends with one line unless there is one."""
    try:
        return profile(name)
    except UnknownProfile as error:
        fail(str(error))


def print_json(document: Mapping[str, Any]) -> None:
    """Print the document on standard output, everything beyond ASCII escaped."""
    say(json.dumps(document, indent=1))


def outcome(verdicts: Verdicts, failing: Collection[str]) -> tuple[int, str]:
    """The exit code that these rows come to, and why; there is nothing to say of a success."""
    code = exit_code(verdicts, failing)
    rows = {name: verdict for name, verdict in verdicts.items() if name in failing}
    if code == Exit.VIOLATED:
        certain = [
            f"{name}{times(verdict.times)}"
            for name, verdict in rows.items()
            if verdict.status is Status.VIOLATED
        ]
        said = [f"{', '.join(certain)} violated"] if certain else []
        said += [violated_one_of(several) for several in ambiguities(rows) if rows.keys() >= {*several}]
        return code, "; ".join(said)
    if code == Exit.CONFORMANT:
        return code, ""
    unknown = [name for name, verdict in rows.items() if verdict.status is Status.UNKNOWN]
    return code, f"left open: {', '.join(unknown)}" if unknown else "nothing was put to the test"


def times(number: int) -> str:
    """How often, in words; of once there is nothing to say."""
    return f" ({number:,} times)" if number > 1 else ""


REQUIRE_HELP: Final = (
    "End with exit code 3 unless this rule (its ID), or this share of the rules that bind (such as 90%), was "
    "exercised; may be repeated."
)

Require = Annotated[list[str] | None, typer.Option("--require", metavar="ID|N%", help=REQUIRE_HELP)]
"""The option of every command that judges."""

Besides = tuple[int, str]
"""What else the exit code comes from beside the verdicts: a code, and why."""


def conclusion(
    results: Mapping[str, Verdicts],
    strict: bool,
    besides: Sequence[Besides] = (),
    known: Matched | None = None,
) -> tuple[int, str]:
    """The exit code of the profiles' verdicts and what else counts, and the same in a line of words. What is
    ``known`` does not count, but is told; what of the baseline has gone does."""
    rows = binding_requirements(strict)
    whys: dict[Besides, list[str]] = {}
    for name, result in results.items():
        new = result if known is None else known.beyond(name, result)
        whys.setdefault(outcome(new, rows), []).append(name)
    code = worst([*(code for code, _ in whys), *(code for code, _ in besides)])
    told = _against(known) if known else []
    if code == Exit.CONFORMANT:
        return _nothing_new(results, rows, known, told) if known else (code, _nothing_violated(results, rows))
    several = len(results) > 1
    said = [why + f" ({', '.join(names)})" * several for (c, why), names in whys.items() if c == code]
    said += [why for _, why in besides]
    return code, f"{WORDS[code]}: {'; '.join([*said, *told])}"


WORDS: Final = {
    Exit.CONFORMANT: "CONFORMANT",
    Exit.VIOLATED: "NOT CONFORMANT",
    Exit.INCONCLUSIVE: "INCONCLUSIVE",
}
"""The word for each exit code that is a verdict."""

CODE_STYLES: Final = {
    Exit.CONFORMANT: "bold green",
    Exit.VIOLATED: "bold red",
    Exit.INCONCLUSIVE: "bold yellow",
}


def _nothing_violated(results: Mapping[str, Verdicts], failing: Collection[str]) -> str:
    """Of a success: how much of what binds was exercised, and which rules did not hold that need not."""
    total = merge(results.values())
    found = coverage(total, failing)
    bad = [id for id, verdict in total.items() if verdict.status is Status.VIOLATED and id not in failing]
    besides = f"; violated, but no MUST: {', '.join(bad)}" if bad else ""
    if found.whole:
        held = f"all {len(found.exercised)} binding rules that are checked held"
        return f"{WORDS[Exit.CONFORMANT]}: {held}{besides}"
    return f"NOTHING VIOLATED: {found}{besides}"


def _nothing_new(
    results: Mapping[str, Verdicts], failing: Collection[str], known: Matched, told: Sequence[str]
) -> tuple[int, str]:
    """Where nothing but what is known speaks against the broker: whether the baseline is up to date, and what
    is known. Nothing of the kind where nothing of the baseline was met."""
    if known.gone:
        return Exit.INCONCLUSIVE, f"BASELINE OUT OF DATE: {'; '.join(told)}"
    if not known.known:
        return Exit.CONFORMANT, "; ".join([_nothing_violated(results, failing), *told])
    exercised = str(coverage(merge(results.values()), failing))
    loose = dict.fromkeys(named(one.rules) for one in known.new if not one.binds(failing))
    besides = [f"violated or left open, but no MUST: {', '.join(loose)}"] if loose else []
    return Exit.CONFORMANT, f"NOTHING NEWLY VIOLATED: {'; '.join([*told, exercised, *besides])}"


def _against(known: Matched) -> list[str]:
    """What there is to say of a baseline: what of it has gone, what is known, what it says of rules of which
    this run says nothing."""
    said = [f"{one.entry.text} {one.why}" for one in known.gone]
    for kind, words in _KNOWN.items():
        if rules := known.known_rules(kind):
            said.append(
                f"{len(rules)} known {words[len(rules) > 1]} ({', '.join(dict.fromkeys(map(named, rules)))})"
            )
    if silent := len(known.absent) - len(known.gone):
        said.append(f"{silent} of the baseline's entries not met")
    return said


_KNOWN: Final = {
    Kind.VIOLATED: ("violation", "violations"),
    Kind.OPEN: ("open rule", "open rules"),
}


def requirements_to_meet(words: Sequence[str] | None) -> tuple[str, ...]:
    """What ``--require`` asks for; ends with one line where it makes no sense."""
    try:
        return checked_require(words or ())
    except BadRequire as error:
        fail(f"--require: {error}")


def required(results: Mapping[str, Verdicts], strict: bool, wanted: Sequence[str]) -> list[Besides]:
    """What the results leave undone of what ``--require`` asks for."""
    if not wanted:
        return []
    rows, several = binding_requirements(strict), len(results) > 1
    return [
        (Exit.INCONCLUSIVE, why + f" ({name})" * several)
        for name, result in results.items()
        for why in unmet(result, wanted, rows)
    ]


def conclude(
    results: Mapping[str, Verdicts],
    strict: bool,
    besides: Sequence[Besides] = (),
    known: Matched | None = None,
) -> None:
    """Print the verdict in words: the last line of a table."""
    code, text = conclusion(results, strict, besides, known)
    output().print(Text(printable(text), style=CODE_STYLES[code]), soft_wrap=True)


def verdicts_document(
    broker: str,
    results: Mapping[str, Verdicts],
    strict: bool,
    besides: Sequence[Besides] = (),
    known: Matched | None = None,
) -> dict[str, Any]:
    """``partq.verdicts/1``: the exit code, its reason and whether a SHOULD counts for it, the verdicts of
    each profile and all of them merged."""
    code, words = conclusion(results, strict, besides, known)
    return {
        "schema": SCHEMA,
        "broker": broker,
        "exit": code,
        "conclusion": words,
        "strict": strict,
        "profiles": {name: plain(result) for name, result in results.items()},
        "requirements": plain(merge(results.values())),
    }
