"""Names of brokers, as users type them: that one is unknown, and how one may be shown and stored."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit, urlunsplit

BUILT_IN: Final = ("reference", "reference:live")
MUTANT: Final = "mutant:"
"""The brokers that come with partq, and what the names of the others of them begin with."""

HIDDEN: Final = "***"
"""What stands for a password in a name that may be shown."""


class UnknownBroker(LookupError):
    """The name leads to no broker. The text says why and what to type instead."""


def public_name(name: str) -> str:
    """The broker's name as it may be shown and stored: a URL without its password."""
    parts = urlsplit(name)
    if "://" not in name or parts.password is None:
        return name
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{parts.username}:{HIDDEN}@{host}"))


def is_public(name: str) -> bool:
    """Whether the name is all there is to know of the broker: no password was left out by `public_name`."""
    return "://" not in name or urlsplit(name).password != HIDDEN


def is_built_in(name: str) -> bool:
    """Whether it is a broker that comes with partq: to open it runs no other code and reaches no server."""
    return name in BUILT_IN or name.startswith(MUTANT)
