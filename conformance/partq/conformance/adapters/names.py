"""Names of brokers, as users type them: that one is unknown, and how one may be shown and stored."""

from __future__ import annotations

import re
from typing import Final

from partq.model.errors import UserError

BUILT_IN: Final = ("reference", "reference:live", "reference:durable")
MUTANT: Final = "mutant:"
"""The brokers that come with partq, and what the names of the others of them begin with."""

BROKERS: Final = ", ".join((*BUILT_IN, f"{MUTANT}NAME", "rabbitmq://…", "my_module:MyBroker"))
"""Every name that a broker may have, for help and errors."""

HIDDEN: Final = "***"
"""What stands for a secret in a name that may be shown."""


class UnknownBroker(UserError, LookupError):
    """The name leads to no broker. The text says why and what to type instead."""


_PASSWORD: Final = r"([a-z][a-z0-9+.-]*:/+[^\s:/?#@]*:){}@"
_IN_A_NAME: Final = re.compile(_PASSWORD.format(".*"), re.IGNORECASE | re.DOTALL)
_IN_A_TEXT: Final = re.compile(_PASSWORD.format(r"\S*"), re.IGNORECASE)
_OPTION: Final = re.compile(
    r"([?&][^=&\s]*(?:pass|pwd|secret|token|key|sig|auth)[^=&\s]*=)[^&\s'\"]+", re.IGNORECASE
)
"""What comes before a secret, and the secret: up to the last @ there is, for it need not be escaped."""


def public_name(name: str) -> str:
    """The broker's name as it may be shown and stored: a URL without what is secret in it."""
    return _OPTION.sub(rf"\1{HIDDEN}", _IN_A_NAME.sub(rf"\1{HIDDEN}@", name))


def public_text(text: str) -> str:
    """A text that may hold such names, as it may be shown."""
    return _OPTION.sub(rf"\1{HIDDEN}", _IN_A_TEXT.sub(rf"\1{HIDDEN}@", text))


def is_public(name: str) -> bool:
    """Whether the name is all there is to know of the broker: `public_name` left nothing out."""
    return "://" not in name or HIDDEN not in name


def is_built_in(name: str) -> bool:
    """Whether it is a broker that comes with partq: to open it runs no other code and reaches no server."""
    return name in BUILT_IN or name.startswith(MUTANT)
