"""What the commands share: formats, the one way to fail and the one to end, brokers and profiles by name.

Everything a broker or file says is printed without markup.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NoReturn

import typer

from partq.conformance import adapters
from partq.conformance.adapters import (
    Broker,
    SimulatedBroker,
    near_misses,
    open_broker,
    public_name,
    refuse_unwritten,
)
from partq.conformance.frontends.cli.streams import note, say
from partq.conformance.history.codec_profiles import named_profile
from partq.conformance.verdict import Exit
from partq.model.errors import UserError
from partq.model.profiles import PROFILES, Profile, profile

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
    names = tuple(dict.fromkeys(named_profile(word) for word in asked or ()))
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


def end(code: int, format: Format, document: Mapping[str, Any], show: Callable[[], None]) -> NoReturn:
    """Print the document, or show what there is to say, and end with the exit code."""
    if format is Format.JSON:
        print_json(document)
    else:
        show()
    raise typer.Exit(code)


CODE_STYLES: Final = {
    Exit.CONFORMANT: "bold green",
    Exit.VIOLATED: "bold red",
    Exit.INCONCLUSIVE: "bold yellow",
}
