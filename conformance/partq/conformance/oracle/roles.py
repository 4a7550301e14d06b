"""The role of each operation in judging, in one place: no other module of the oracle names an operation.

A *role* says how an effect is split into partitions (`taking_apart`), what an excerpt about a few messages
has of it (`message_excerpts`), and on what it depends where nothing explains it (`backjumping`). Properties
of the alphabet say most roles. The names below the table say what one or a few operations do.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final, TypeVar

from partq.model.actions import ACTIVATE, BURY, FORWARD
from partq.model.operations import OPS, OpSpec

T = TypeVar("T")


class Role(Enum):
    """What an effect is."""

    SEND = auto()
    ACTIVATION = auto()
    """Of a scheduled message, by the broker itself."""
    BURIAL = auto()
    """A message comes to the dead-letter queue, by the broker itself."""
    CANCELLATION = auto()
    DELIVERY = auto()
    LOOK = auto()
    """It shows messages, and changes nothing of them."""
    SETTLEMENT = auto()
    """It names locks of messages."""
    END = auto()
    """Of a transaction."""
    FLOW = auto()
    DRAINED = auto()


def _role(op: OpSpec) -> Role | None:
    """What an operation is by its properties; None where only its name says it, or it has no role."""
    if "messages" in op.args:
        return Role.SEND
    if op.delivers:
        return Role.DELIVERY
    return Role.SETTLEMENT if op.settles or op.locks else None


ROLES: Final[Mapping[str, Role]] = {
    **{name: role for name, op in OPS.items() if (role := _role(op)) is not None},
    ACTIVATE: Role.ACTIVATION,
    FORWARD: Role.SEND,
    BURY: Role.BURIAL,
    "cancel_scheduled": Role.CANCELLATION,
    "peek": Role.LOOK,
    **dict.fromkeys(("commit", "rollback"), Role.END),
    **dict.fromkeys(("bind", "rebind", "unbind", "assignment"), Role.FLOW),
    "drained": Role.DRAINED,
}
"""By operation. Faults, time, connections and the begin of a transaction have none."""


def by_role(table: Mapping[Role, T]) -> dict[str, T]:
    """What the table says of its role, by operation."""
    return {name: table[role] for name, role in ROLES.items() if role in table}


def _all(*roles: Role) -> frozenset[str]:
    return frozenset(name for name, role in ROLES.items() if role in roles)


DELIVERS: Final = _all(Role.DELIVERY)
LOOKS: Final = _all(Role.LOOK)
SHOWS: Final = DELIVERS | LOOKS
SETTLES: Final = _all(Role.SETTLEMENT)
ENDS: Final = _all(Role.END)
FLOWS: Final = _all(Role.FLOW)
BIRTHS: Final = _all(Role.ACTIVATION, Role.BURIAL)
"""The broker's own moves by which a message is born anew."""

BURIES: Final = BURY
ARRIVES: Final = frozenset({FORWARD, BURIES})
"""The broker's own moves by which a message comes from another queue."""

REMOVES: Final = frozenset(name for name, op in OPS.items() if op.removes)
"""Settlements after which a message is gone."""

RETURNS: Final = frozenset({"abandon"})
"""Settlements after which it is delivered again."""

NUMBERS: Final[Mapping[str, str]] = {op: arg for arg in ("seq", "seqs") for op in OPS if arg in OPS[op].args}
"""Operation -> its argument that names messages by their numbers."""

BATCHES: Final = "send_batch"
SCHEDULES: Final = "schedule"
CANCELS: Final = "cancel_scheduled"
RENEWS: Final = "renew_lock"
COMMITS: Final = "commit"
RESUMES: Final = "rebind"
BINDS: Final = frozenset({"bind", RESUMES})
UNBINDS: Final = "unbind"
RECONNECTS: Final = "reconnect"
UPDATES: Final = "update"

TELLS: Final = "assignment"
"""The event that tells to whom a partition is assigned."""

DOWN: Final = "partition_down"
UP: Final = "partition_up"
OUTAGES: Final = frozenset({DOWN, UP})
KILLS: Final = "broker_kill"
CUTS: Final = frozenset(name for name, op in OPS.items() if op.link or (op.cuts and name != KILLS))
"""What a client's connection goes through, and its flows with it."""

LEAVES: Final = (CUTS - {RECONNECTS}) | {UNBINDS}
"""After these a flow may be gone."""
