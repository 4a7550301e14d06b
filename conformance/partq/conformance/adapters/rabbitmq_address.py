"""RabbitMQ: which server, and how its queue is made, from a URL.

``rabbitmq://user:password@host:5672/vhost?partitions=4&type=quorum&prefetch=1`` — ``type`` is ``classic`` or
``quorum``; ``partitions`` overrides what programs ask for; ``prefetch`` is how many messages of a partition a
client holds unsettled; ``cancel=always`` cancels consumers even where that crashes the server's queue (see
`CANCEL_IS_SAFE_SINCE`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from partq.conformance.adapters.names import UnknownBroker, public_text

PORT: Final = 5672
WORDS: Final[Mapping[str, tuple[str, ...]]] = {"type": ("classic", "quorum"), "cancel": ("safe", "always")}
COUNTS: Final[Mapping[str, int]] = {"partitions": 1024, "prefetch": 65_535}
"""The options of a URL: words to choose from, and numbers with their greatest value."""


@dataclass(frozen=True, slots=True)
class Address:
    """What a URL says."""

    host: str
    port: int = PORT
    user: str = "guest"
    password: str = field(default="guest", repr=False)
    vhost: str = "/"
    partitions: int | None = None
    type: str = "classic"
    prefetch: int = 1
    cancel: str = "safe"

    @property
    def place(self) -> str:
        """The host and port, as one types them."""
        return f"{self.host}:{self.port}"


def address(url: str) -> Address:
    """What the URL says. Raises `UnknownBroker` that says which part is wrong."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise UnknownBroker(f"{url.partition(':')[0]} URL: the host is not readable") from None
    try:
        port = parts.port or PORT
    except ValueError:
        rule = "the port must be a number from 1 to 65535, and /, ?, # and @ in a password be escaped, as %2F"
        raise UnknownBroker(f"{parts.scheme} URL: {rule}") from None
    plain = Address(
        host=parts.hostname or "localhost",
        port=port,
        user=unquote(parts.username or "guest"),
        password=unquote(parts.password or "guest"),
        vhost=unquote(parts.path.removeprefix("/")) or "/",
    )
    return replace(plain, **dict(_option(name, text) for name, text in parse_qsl(parts.query, True)))


def _option(name: str, text: str) -> tuple[str, Any]:
    if text in WORDS.get(name, ()):
        return name, text
    if name in COUNTS and text.isdecimal() and 1 <= int(text) <= COUNTS[name]:
        return name, int(text)
    known = {option: " or ".join(words) for option, words in WORDS.items()}
    known |= {option: f"a number from 1 to {most}" for option, most in COUNTS.items()}
    if name in known:
        raise UnknownBroker(f"rabbitmq URL: {name}={text}: {name} is {known[name]}")
    told = public_text(f"?{name}={text}").removeprefix("?")
    raise UnknownBroker(f"rabbitmq URL: {told}: {name} is no option; known: {', '.join(known)}")
