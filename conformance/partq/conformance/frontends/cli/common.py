"""What the commands share: formats, the one way to fail, what verdicts come to, verdicts as JSON. How they
are shown is `shown`'s business.

Everything a broker or file says is printed without markup.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, NoReturn

from rich.text import Text

from partq.conformance import adapters
from partq.conformance.adapters import Broker, SimulatedBroker, near_misses, refuse_unwritten
from partq.conformance.adapters import open_broker as open_broker
from partq.conformance.adapters.names import BROKERS as BROKERS
from partq.conformance.adapters.names import public_name as public_name
from partq.conformance.frontends.cli.streams import bar as bar
from partq.conformance.frontends.cli.streams import console as console
from partq.conformance.frontends.cli.streams import note as note
from partq.conformance.frontends.cli.streams import output as output
from partq.conformance.frontends.cli.streams import printable as printable
from partq.conformance.frontends.cli.streams import say as say
from partq.conformance.history.codec_profiles import named_profile
from partq.conformance.verdict import (
    BadRequire,
    BadShare,
    Besides,
    Exit,
    Focus,
    Matched,
    UnknownRule,
    Verdicts,
    checked_require,
    conclusion,
    rules_named,
    share_of,
)
from partq.model.errors import UserError
from partq.model.profiles import PROFILES, Profile, profile
from partq.model.requirements import catalogue

PROFILE_NAMES: Final = ", ".join((*PROFILES, "./mine.toml"))
"""For the help of options that take a profile."""


class Format(StrEnum):
    """What a command prints."""

    TABLE = "table"
    JSON = "json"


def fail(message: str) -> NoReturn:
    """End with one line that says what is wrong."""
    raise UserError(message)


@contextmanager
def failing(file: object, inside: bool = False) -> Iterator[None]:
    """End with one line where the system refuses that file, or, with ``inside``, another that it names."""
    try:
        yield
    except OSError as error:
        fail(f"{(inside and error.filename) or file}: {error.strerror or error}")


def opened_as(name: str, profile: str) -> Broker:
    """The broker of that name under one profile, which what it lacks may depend on."""
    target = open_broker(name)
    target.profile = profile
    return target


def is_live(broker: Broker) -> bool:
    """Whether what a program shows takes its time, and need not be the same each time."""
    return not isinstance(broker, SimulatedBroker)


def profiles_for(broker: str, asked: Sequence[str] | None) -> tuple[str, ...]:
    """The profiles to run under: those asked for, else the one the broker claims, else all it can take.

    Raises `UserError` where one asked for is no profile, or none that the reference broker is written after.
    """
    names = tuple(dict.fromkeys(known_profile(word).name for word in asked or ()))
    target = open_broker(broker)
    for text in near_misses(target):  # what a broker lacks makes rules not applicable, silently
        note(f"partq: warning: {text}")
    if names:
        refuse_unwritten(target, names)
        return names
    if claimed := adapters.claimed_profiles(target):
        return claimed
    note(f"{public_name(broker)} claims no profile: running all {len(PROFILES)}; --profile NAME for one")
    return tuple(PROFILES)


def known_profile(word: str) -> Profile:
    """The profile of that name, or in that file. Raises `UnknownProfile`."""
    return profile(named_profile(word))


def created(file: Path, text: str) -> bool:
    """Write the file unless it is there; whether it was written."""
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        return False
    return True


def print_json(document: Mapping[str, Any]) -> None:
    """Print the document on standard output, everything beyond ASCII escaped."""
    say(json.dumps(document, indent=1))


def share_left_open(word: str) -> Fraction:
    """The share that ``--open`` names; ends with one line where it is none."""
    try:
        return share_of(word)
    except BadShare as error:
        fail(f"--open: {error}")


CODE_STYLES: Final = {
    Exit.CONFORMANT: "bold green",
    Exit.VIOLATED: "bold red",
    Exit.INCONCLUSIVE: "bold yellow",
}


def focus_of(rules: Sequence[str] | None, exclude: Sequence[str] | None) -> Focus:
    """What ``--rule`` and ``--exclude`` ask about; ends with one line where they name no rule."""
    try:
        focus = Focus(rules_named(tuple(rules or ())), rules_named(tuple(exclude or ())))
    except UnknownRule as error:
        fail(f"--rule, --exclude: {error}")
    if not any(map(focus.asks, catalogue())):
        fail("--exclude leaves no rule of those that --rule names")
    return focus


def requirements_to_meet(words: Sequence[str] | None) -> tuple[str, ...]:
    """What ``--require`` asks for; ends with one line where it makes no sense."""
    try:
        return checked_require(words or ())
    except BadRequire as error:
        fail(f"--require: {error}")


def conclude(
    results: Mapping[str, Verdicts],
    strict: bool,
    besides: Sequence[Besides] = (),
    known: Matched | None = None,
) -> None:
    """Print the verdict in words: the last line of a table."""
    code, text = conclusion(results, strict, besides, known)
    output().print(Text(printable(text), style=CODE_STYLES[code]), soft_wrap=True)
