"""The seam of the project: a recorded history, schema ``partq.history/1``, in memory.

Here live the types alone; reading and writing them is `codec.py`. A history is a header and the
records in order of their calls. Nothing here judges anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import Struct

from partq.model.configuration import FOREVER
from partq.model.messages import Delivery, Message
from partq.model.operations import ENV, Outcome
from partq.model.profiles import SECOND, Entity, InvalidEntity

SCHEMA: Final = "partq.history/1"

LIVE_LATENESS: Final = SECOND
"""ns by which timers of a live broker may be late, and what it does at once may lag, unless a history says
otherwise."""

TIMES: Final = ("scheduled_at", "ttl", "enqueued_at", "locked_until")
"""Fields of messages in ns."""

_UNITS: Final = ((9, "s"), (6, "ms"), (3, "µs"))
"""Digits after which the unit begins."""


class Record(Struct, frozen=True, gc=False):
    """One operation of one client, or one environment event (`proc` is ``env``).

    ``call`` and ``ret`` are ns of one monotonic clock; ``ret`` is None where it never returned.
    ``args`` holds what `operations.OPS` lists for the operation; ``args["messages"]`` are `Message`.
    ``messages`` is what the broker answered. Records are never changed once made.
    """

    i: int
    proc: str
    op: str
    entity: str
    call: int
    ret: int | None
    args: Mapping[str, Any]
    outcome: str = Outcome.OK
    error: str | None = None
    messages: tuple[Delivery, ...] = ()

    @property
    def is_env(self) -> bool:
        """Whether it is an event of the environment, not a client's operation."""
        return self.proc == ENV

    @property
    def deletes(self) -> bool:
        """Whether each message that it receives is gone at once, without a lock."""
        return self.args.get("mode") == "receive_and_delete"

    @property
    def end(self) -> int:
        """When it returned; `FOREVER` if it never did."""
        return FOREVER if self.ret is None else self.ret

    @property
    def span(self) -> tuple[int, int]:
        """Its call and return; `FOREVER` if it never returned."""
        return self.call, self.end

    @property
    def ok(self) -> bool:
        """Whether it succeeded, and said so."""
        return self.outcome == Outcome.OK

    @property
    def refused(self) -> bool:
        """Whether it failed, so that it certainly had no effect."""
        return self.outcome == Outcome.ERROR

    @property
    def unknown(self) -> bool:
        """Whether it may have had its effect, or may have it later, or never."""
        return self.outcome == Outcome.UNKNOWN

    @property
    def sent(self) -> tuple[Message, ...]:
        """The messages that the operation sends, or schedules."""
        messages: tuple[Message, ...] = self.args.get("messages", ())
        return messages

    @property
    def ids(self) -> tuple[str, ...]:
        """The IDs of the messages that it sends and shows."""
        return (*(one.id for one in self.sent), *(one.id for one in self.messages))

    @property
    def lock_tokens(self) -> tuple[str, ...]:
        """The locks that the operation names."""
        return (self.args["lock"],) if "lock" in self.args else tuple(self.args.get("locks", ()))


@dataclass(frozen=True, slots=True)
class Header:
    """What holds for the whole history. ``skew_ns`` bounds the broker's clock against the recorder's.

    ``late_ns`` bounds how late the broker's timers may be; None: as usual for the clock (`lateness`).
    ``lacks`` names the operations the broker does not offer (capabilities of its adapter).
    """

    profile: str
    entities: Mapping[str, Entity] = field(default_factory=dict)
    clock: str = "virtual"
    skew_ns: int = 0
    lacks: tuple[str, ...] = ()
    late_ns: int | None = None

    def __post_init__(self) -> None:
        for name, entity in self.entities.items():
            if name.casefold() in map(str.casefold, entity.chain):
                raise InvalidEntity(f"forward_to must not name the queue itself: {name!r}")

    @property
    def lateness(self) -> int:
        """By how many ns the broker's timers may be late."""
        if self.late_ns is not None:
            return self.late_ns
        return LIVE_LATENESS if self.clock == "wall" else 0


@dataclass(frozen=True, slots=True)
class History:
    """A header and its records, sorted by call."""

    header: Header
    records: tuple[Record, ...]

    def __len__(self) -> int:
        return len(self.records)


def time_text(ns: int) -> str:
    """An instant, or a length of time, of so many ns, in the largest unit that it fills: ``1.00057s``. It is
    exact, as two instants may be a nanosecond apart."""
    if ns >= FOREVER:
        return "the end"
    for digits, unit in _UNITS:
        whole, rest = divmod(abs(ns), 10**digits)
        if whole:
            decimals = f".{rest:0{digits}}".rstrip("0").rstrip(".")
            return f"{'-' if ns < 0 else ''}{whole}{decimals}{unit}"
    return f"{ns}ns"
