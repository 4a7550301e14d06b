"""Profiles in files: by name where they are built in, otherwise as plain data.

So a history or a program is judged alike where the profile's own file is not. That file is read here, too.

What a profile may say is `partq.model.profile_file`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from partq.conformance.history.codec_fields import FieldError, label, one_of
from partq.model.profile_file import LONGEST, ProfileError, parse, plain, read, words_for_rules
from partq.model.profiles import PROFILES, UnknownProfile, admit, bare, profile

SUFFIX: Final = ".toml"
"""What a word ends with that names a profile's file, and no profile."""

_FILES: Final[dict[str, str]] = {}
"""The file that a profile was read from, as it was named, by the profile's name."""

_A_NAME: Final = one_of(PROFILES, "profile")


def read_profile(data: Any) -> str:
    """The name of the profile in plain data: that of a built-in one, or the name under which the profile that
    is embedded is known from now on. Raises `FieldError`."""
    if type(data) is not dict:
        return str(_A_NAME(data))
    try:
        return admit(read(data, "profile", words_for_rules()))
    except RecursionError:
        raise FieldError("", "is nested too deeply") from None
    except ProfileError as error:
        raise FieldError(".".join(map(label, error.path)), error.problem) from None


def plain_profile(name: str) -> Any:
    """The profile of that name as plain data. Raises `UnknownProfile`."""
    return name if name in PROFILES else plain(profile(name))


def named_profile(word: str, folder: Path | None = None) -> str:
    """The name of the profile that a word stands for: the name of one, or the path of a file, which ends with
    `SUFFIX`; a relative one is in the folder (None: the current one). Raises `UnknownProfile`, whose text
    says in one line what is wrong."""
    if not word.endswith(SUFFIX):
        return _known(word, (folder or Path()) / f"{word}{SUFFIX}")
    file = (folder or Path()) / word
    try:
        with file.open(encoding="utf-8") as stream:
            text = stream.read(LONGEST + 1)
        name = admit(parse(text, str(file), words_for_rules()))
    except OSError as error:
        raise UnknownProfile(f"{file}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise UnknownProfile(f"{file}: not valid TOML: {error}") from None
    except ProfileError as error:
        raise UnknownProfile(str(error)) from None
    _FILES[name] = word if folder is None else str(file)
    return name


def typed(name: str) -> str:
    """What a user types for the profile of that name: its file, unless it is built in."""
    return name if name in PROFILES else _FILES.get(name, f"{bare(name)}{SUFFIX}")


def _known(name: str, file: Path) -> str:
    """``file``: which may be meant."""
    try:
        return profile(name).name
    except UnknownProfile as error:
        hint = f"for the file say {name}{SUFFIX}" if file.is_file() else "begin one: partq profile new NAME"
        raise UnknownProfile(f"{error} Or {hint}") from None
