"""The alphabet: every operation a history may hold, its arguments, its outcomes and its errors.

Tables only; what an operation may answer is the machine's business, how it is stored the codec's.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple


class Outcome:
    """How an operation ended. UNKNOWN: it may or may not have happened.

    Plain words, no `StrEnum`: every checker compares them in its inner loops, and naming a member of an
    enumeration takes Python 3.11 five times as long.
    """

    OK: Final = "ok"
    ERROR: Final = "error"
    UNKNOWN: Final = "unknown"


OUTCOMES: Final = (Outcome.OK, Outcome.ERROR, Outcome.UNKNOWN)
"""Every outcome."""


class Kind(StrEnum):
    """The type of one argument in a history."""

    TEXT = "text"
    INT = "int"
    SEQ = "seq"
    TEXTS = "list of text"
    SEQS = "list of seq"
    MESSAGES = "list of messages"
    OBJECT = "object"


class Arg(NamedTuple):
    """One argument of an operation."""

    kind: Kind
    required: bool = False


class OpSpec(NamedTuple):
    """One operation: who may do it, with what arguments, and whether it answers with messages."""

    args: dict[str, Arg]
    env: bool = False
    answers: bool = False


_TXN = {"txn": Arg(Kind.TEXT)}
_TIMEOUT = {"timeout": Arg(Kind.INT)}
_LOCKS = {"locks": Arg(Kind.TEXTS, required=True)}
_MESSAGES = {"messages": Arg(Kind.MESSAGES, required=True)}
_PARTITION = {"partition": Arg(Kind.INT, required=True)}
_SESSION = {"session_id": Arg(Kind.TEXT, required=True)}

OPS: Final[dict[str, OpSpec]] = {
    "send": OpSpec(_MESSAGES | _TXN | _TIMEOUT),
    "send_batch": OpSpec(_MESSAGES | _TXN | _TIMEOUT),
    "schedule": OpSpec(_MESSAGES | _TXN | _TIMEOUT, answers=True),
    "cancel_scheduled": OpSpec({"seq": Arg(Kind.SEQ, required=True)} | _TXN | _TIMEOUT),
    "receive": OpSpec(
        {"max": Arg(Kind.INT, required=True), "mode": Arg(Kind.TEXT), "flow": Arg(Kind.TEXT)} | _TIMEOUT,
        answers=True,
    ),
    "receive_deferred": OpSpec({"seqs": Arg(Kind.SEQS, required=True)} | _TIMEOUT, answers=True),
    "complete": OpSpec(_LOCKS | _TXN | _TIMEOUT),
    "abandon": OpSpec(_LOCKS | _TXN | _TIMEOUT),
    "defer": OpSpec(_LOCKS | _TXN | _TIMEOUT),
    "dead_letter": OpSpec(_LOCKS | _TXN | _TIMEOUT | {"reason": Arg(Kind.TEXT)}),
    "renew_lock": OpSpec({"lock": Arg(Kind.TEXT, required=True)} | _TIMEOUT, answers=True),
    "peek": OpSpec({"max": Arg(Kind.INT, required=True), "from_seq": Arg(Kind.SEQ)} | _TIMEOUT, answers=True),
    "accept_session": OpSpec({"session_id": Arg(Kind.TEXT)} | _TIMEOUT),
    "close_session": OpSpec(_SESSION | _TIMEOUT),
    "get_session_state": OpSpec(_SESSION | _TIMEOUT),
    "set_session_state": OpSpec(_SESSION | {"state": Arg(Kind.TEXT, required=True)} | _TIMEOUT),
    "begin": OpSpec({"txn": Arg(Kind.TEXT, required=True)} | _TIMEOUT),
    "commit": OpSpec({"txn": Arg(Kind.TEXT, required=True)} | _TIMEOUT),
    "rollback": OpSpec({"txn": Arg(Kind.TEXT, required=True)} | _TIMEOUT),
    "bind": OpSpec({"flow": Arg(Kind.TEXT, required=True), "partition": Arg(Kind.INT)} | _TIMEOUT),
    "unbind": OpSpec({"flow": Arg(Kind.TEXT, required=True)} | _TIMEOUT),
    "disconnect": OpSpec({"flow": Arg(Kind.TEXT), "how": Arg(Kind.TEXT)} | _TIMEOUT),
    "reconnect": OpSpec({"flow": Arg(Kind.TEXT)} | _TIMEOUT),
    "create": OpSpec({"settings": Arg(Kind.OBJECT)} | _TIMEOUT),
    "update": OpSpec({"settings": Arg(Kind.OBJECT)} | _TIMEOUT),
    "delete": OpSpec(_TIMEOUT),
    "get": OpSpec(_TIMEOUT),
    "add_rule": OpSpec({"rule": Arg(Kind.OBJECT, required=True)} | _TXN | _TIMEOUT),
    "remove_rule": OpSpec({"rule": Arg(Kind.OBJECT, required=True)} | _TXN | _TIMEOUT),
    "partition_down": OpSpec(_PARTITION, env=True),
    "partition_up": OpSpec(_PARTITION, env=True),
    "frontend_lost": OpSpec({"proc": Arg(Kind.TEXT)}, env=True),
    "connection_lost": OpSpec({"proc": Arg(Kind.TEXT), "how": Arg(Kind.TEXT)}, env=True),
    "broker_kill": OpSpec({}, env=True),
    "broker_start": OpSpec({}, env=True),
    "advance": OpSpec({"by": Arg(Kind.INT, required=True)}, env=True),
    "assignment": OpSpec(
        {
            "partition": Arg(Kind.INT, required=True),
            "flow": Arg(Kind.TEXT),
            "state": Arg(Kind.TEXT, required=True),
        },
        env=True,
    ),
    "drained": OpSpec({}, env=True),
}
"""Every operation of ``partq.history/1``. ``env`` ones are faults, the clock and observations."""

ENV: Final = "env"
"""The ``proc`` of environment events."""

DRAINER: Final = "drain"
"""The ``proc`` that empties the entity at the end of a program."""

ERRORS: Final[dict[str, str]] = {
    "invalid_operation": "the request breaks a rule of the interface; nothing happened",
    "unavailable": "the broker, or the one partition it needs, is down or busy; nothing happened",
    "timeout": "the broker gave up in time and says so; nothing happened if the outcome is `error`",
    "internal": "the broker reports a fault of its own; nothing happened if the outcome is `error`",
    "lock_lost": "the lock has ended or was never given; nothing happened",
    "not_found": "no such message, transaction, flow or entity; nothing happened",
    "quota": "a limit is reached; nothing happened",
    "too_large": "a message or batch is over the size limit; nothing happened",
    "session_locked": "another client holds the session; nothing happened",
    "unsupported": "the broker does not offer the operation; nothing happened",
    "connection_lost": "the connection ended first; with outcome `unknown` it may have happened",
    "hang": "the call did not return within the runner's limit; always outcome `unknown`",
    "adapter": "the adapter raised something else; always outcome `unknown`",
}
"""Every error kind. Outcome `error` is a definite no; where that is not sure the outcome is `unknown`."""

UNAVAILABLE: Final = frozenset({"unavailable", "timeout", "internal"})
"""The errors by which a broker may say that a partition is down (ROUTE-5)."""

CONNECTION_LOST: Final = "connection_lost"
"""The error that tells of the client's connection, and of no request: a network may fail at any time."""

FOR_GOOD: Final = frozenset({"invalid_operation", "not_found", "lock_lost"})
"""The errors that say of a request that it can never succeed."""

SETTLEMENTS: Final = frozenset({"complete", "abandon", "defer", "dead_letter"})
"""What ends a lock by its holder's will."""

RECEIVE_MODES: Final = ("peek_lock", "receive_and_delete")
ASSIGNMENT_STATES: Final = ("unassigned", "ready", "paused", "unbound")
"""REB-13. An `assignment` event says the state of one (partition, flow) pair from now on;
`unassigned` ends the pair. `ready`: delivering; `paused`: being handed off, nothing new is delivered;
`unbound`: its flow is gone, the partition still reserved."""
