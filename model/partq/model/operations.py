"""The alphabet: every operation a history may hold, its arguments, its outcomes and its errors.

Tables only; the machine has the answers, the codec the stored form.
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


RECEIVE_MODES: Final = ("peek_lock", "receive_and_delete")
ASSIGNMENT_STATES: Final = ("unassigned", "ready", "paused", "unbound")
"""REB-13. An `assignment` event says the state of one (partition, flow) pair from now on;
`unassigned` ends the pair. `ready`: delivering; `paused`: being handed off, nothing new is delivered;
`unbound`: its flow is gone, the partition still reserved."""


class Kind(StrEnum):
    """The type of one argument, in a history or of a program's step."""

    TEXT = "text"
    NAME = "text, not empty"
    INT = "int"
    NS = "ns"
    TIME = "ns, negative or not"
    TALLY = "int, negative or not"
    SEQ = "seq"
    FLAG = "flag"
    TEXTS = "list of text"
    INTS = "list of int"
    SEQS = "list of seq"
    PAIRS = "list of pairs of text"
    MESSAGES = "list of messages"
    OBJECT = "object"


class Arg(NamedTuple):
    """One argument.

    ``words``: a text has to be one of these, and a number may be one instead.
    ``most``: so many messages at the most.
    ``bare``: in the terse notation it stands without its name, as all do that are required.
    ``apart``: a history has it in a field of the record, and not among the arguments.
    ``meaning``: what it has to be, or says in a program's step.
    ``begins``: what else than one of its ``words`` it may begin with: any of these.
    """

    kind: Kind
    required: bool = False
    words: tuple[str, ...] = ()
    most: int | None = None
    bare: bool = False
    apart: bool = False
    meaning: str = ""
    begins: tuple[str, ...] = ()


_ID = {"id": Arg(Kind.TEXT, required=True)}

MESSAGE: Final[dict[str, Arg]] = _ID | {
    "body": Arg(Kind.TEXT),
    "session_id": Arg(Kind.NAME),
    "partition_key": Arg(Kind.NAME),
    "properties": Arg(Kind.PAIRS),
    "scheduled_at": Arg(Kind.INT),
    "ttl": Arg(Kind.INT),
    "without_id": Arg(Kind.FLAG, meaning="whether the application gave it no message ID"),
}
"""What an application sends."""

DELIVERY: Final[dict[str, Arg]] = _ID | {
    "body": Arg(Kind.TEXT),
    "seq": Arg(Kind.SEQ),
    "partition": Arg(Kind.INT),
    "enqueued_at": Arg(Kind.TIME),
    "delivery_count": Arg(Kind.INT),
    "lock": Arg(Kind.TEXT),
    "locked_until": Arg(Kind.TIME),
    "state": Arg(Kind.TEXT),
    "session_id": Arg(Kind.TEXT),
    "partition_key": Arg(Kind.TEXT),
    "properties": Arg(Kind.PAIRS),
    "redelivered": Arg(Kind.FLAG),
    "reason": Arg(Kind.TEXT),
    "message_id": Arg(Kind.TEXT, meaning="of a message that was sent without one; empty: it has none"),
}
"""What a broker shows of a message."""


class OpSpec(NamedTuple):
    """One operation: its arguments, and what others ask of it instead of its name.

    ``env``: an event of the environment; all others are clients' operations.
    ``answers``: it answers with messages; ``optional``: or with nothing at all.
    ``delivers``: it hands messages to its client. ``locks``: what it answers bears locks that it gave.
    ``settles``: it ends locks by their holder's will; ``removes``: and their messages are gone.
    ``sets_aside``: and their messages come by number alone. ``moves_to``: and they move to that other entity,
    by its word in `ENTITY`.
    ``opens``: what it opens, later operations of its client name.
    ``link``: it is about its client's connection.
    ``fault``: whoever tests makes it happen: a fault, or a repair; ``undone_by``: the repair of this fault.
    ``cuts``: it ends connections, of the client that it names or of all.
    ``instant``: it takes no time.
    ``switch``: of a profile; where it is off, an entity does not have the operation.
    ``tells``: the arguments that its answer gives, if it succeeds.
    """

    args: dict[str, Arg]
    env: bool = False
    answers: bool = False
    optional: bool = False
    delivers: bool = False
    locks: bool = False
    settles: bool = False
    removes: bool = False
    sets_aside: bool = False
    moves_to: str = ""
    opens: bool = False
    link: bool = False
    fault: bool = False
    undone_by: str = ""
    cuts: bool = False
    instant: bool = False
    switch: str = ""
    tells: tuple[str, ...] = ()

    @property
    def recorded(self) -> dict[str, Arg]:
        """The arguments that a history has among the record's."""
        return {name: arg for name, arg in self.args.items() if not arg.apart}


DEAD_LETTER: Final = "dead_letter"
"""The operation that moves a message to the dead-letter queue, and the word for that queue in a request."""

DEAD_LETTERS: Final = "/$DeadLetterQueue"
"""What the name of a dead-letter queue ends with, behind that of its queue."""

SUBSCRIPTION: Final = "Subscriptions/"
"""What the word of a subscription begins with in a request to its topic; its name follows."""

FORWARDS_TO: Final = "ForwardTo/"
"""What the word of a queue begins with that another one forwards to, in a request to that one."""

TOPICS: Final = "add_rule"
"""The operation without which a broker has no topics."""

_TXN = {"txn": Arg(Kind.TEXT)}
ENTITY: Final[dict[str, Arg]] = {
    "entity": Arg(
        Kind.TEXT,
        words=(DEAD_LETTER,),
        begins=(SUBSCRIPTION, FORWARDS_TO),
        apart=True,
        meaning="dead_letter: of that queue instead; Subscriptions/NAME: of that subscription; "
        "ForwardTo/NAME: of that queue, to which it forwards; with /$DeadLetterQueue behind it: of its "
        "dead-letter queue",
    )
}
"""Which of the entities that belong together is asked; absent: the main one."""
OUTLET: Final[dict[str, Arg]] = {"entity": ENTITY["entity"]._replace(words=())}
"""Which of those that get an entity's messages is asked."""

_TIMEOUT = {"timeout": Arg(Kind.NS)}
_LOCKS = {"locks": Arg(Kind.TEXTS, required=True)}
_MESSAGES = {"messages": Arg(Kind.MESSAGES, required=True)}
_ONE_MESSAGE = {
    "messages": Arg(
        Kind.MESSAGES, True, most=1, meaning="one message; several in one request are a send_batch"
    )
}
_MOST = {"max": Arg(Kind.INT, required=True)}
_PARTITION = {"partition": Arg(Kind.INT, required=True)}
_SESSION = {"session_id": Arg(Kind.NAME, required=True)}
_UNTIL = {"locked_until": Arg(Kind.TIME, meaning="the end of the lock, as the answer shows it")}
_OVERVIEW = {
    **dict.fromkeys(("active", "scheduled", "dead_lettered"), Arg(Kind.TALLY, meaning="so many messages")),
    "partitions": Arg(Kind.INT, meaning="so many partitions"),
    "status": Arg(Kind.NAME, meaning="the availability status"),
}
_FLOW = {"flow": Arg(Kind.TEXT, required=True)}
_MAYBE_FLOW = {"flow": Arg(Kind.TEXT, bare=True)}
_MAYBE_PROC = {"proc": Arg(Kind.TEXT, bare=True)}
_SETTINGS = {"settings": Arg(Kind.OBJECT)}
_KIND = {"partitioned": Arg(Kind.FLAG, meaning="whether it is partitioned, as the answer shows it")}
_RULE = {
    "rule": Arg(
        Kind.OBJECT,
        required=True,
        meaning="its name and, of one that is added, its filter, and its action if it has one",
    )
} | ENTITY
_HOW = {"how": Arg(Kind.TEXT)}
_OF_TXN = OpSpec({"txn": Arg(Kind.TEXT, required=True)} | _TIMEOUT, switch="transactions")
_SETTLEMENT = OpSpec(_LOCKS | _TXN | _TIMEOUT, settles=True)

OPS: Final[dict[str, OpSpec]] = {
    "send": OpSpec(_ONE_MESSAGE | _TXN | _TIMEOUT),
    "send_batch": OpSpec(_MESSAGES | _TXN | _TIMEOUT),
    "schedule": OpSpec(_MESSAGES | _TXN | _TIMEOUT, answers=True),
    "cancel_scheduled": OpSpec({"seq": Arg(Kind.SEQ, required=True)} | _TXN | _TIMEOUT),
    "receive": OpSpec(
        _MOST | {"mode": Arg(Kind.TEXT, words=RECEIVE_MODES), "flow": Arg(Kind.TEXT)} | ENTITY | _TIMEOUT,
        answers=True,
        delivers=True,
        locks=True,
    ),
    "receive_deferred": OpSpec(
        {"seqs": Arg(Kind.SEQS, required=True)} | _TIMEOUT, answers=True, delivers=True, locks=True
    ),
    "complete": _SETTLEMENT._replace(removes=True),
    "abandon": _SETTLEMENT,
    "defer": _SETTLEMENT._replace(sets_aside=True),
    DEAD_LETTER: _SETTLEMENT._replace(
        args=_LOCKS | _TXN | _TIMEOUT | {"reason": Arg(Kind.TEXT)}, removes=True, moves_to=DEAD_LETTER
    ),
    "renew_lock": OpSpec(
        {"lock": Arg(Kind.TEXT, required=True)} | _TIMEOUT, answers=True, optional=True, locks=True
    ),
    "peek": OpSpec(_MOST | {"from_seq": Arg(Kind.SEQ)} | ENTITY | _TIMEOUT, answers=True, switch="peek"),
    "accept_session": OpSpec(
        {"session_id": Arg(Kind.NAME, bare=True), "next": Arg(Kind.FLAG)} | _UNTIL | OUTLET | _TIMEOUT,
        tells=("session_id", "locked_until"),
    ),
    "receive_session": OpSpec(
        _SESSION | _MOST | {"mode": Arg(Kind.TEXT, words=RECEIVE_MODES)} | OUTLET | _TIMEOUT,
        answers=True,
        delivers=True,
        locks=True,
    ),
    "renew_session": OpSpec(_SESSION | _UNTIL | OUTLET | _TIMEOUT, tells=("locked_until",)),
    "close_session": OpSpec(_SESSION | OUTLET | _TIMEOUT),
    "get_session_state": OpSpec(
        _SESSION
        | {"state": Arg(Kind.TEXT, meaning="the state, as the answer shows it; empty: none")}
        | OUTLET
        | _TIMEOUT,
        tells=("state",),
    ),
    "set_session_state": OpSpec(
        _SESSION
        | {"state": Arg(Kind.TEXT, required=True, meaning="the state; empty: none")}
        | OUTLET
        | _TIMEOUT
    ),
    "begin": _OF_TXN._replace(opens=True),
    "commit": _OF_TXN,
    "rollback": _OF_TXN,
    "bind": OpSpec(_FLOW | {"partition": Arg(Kind.INT)} | _TIMEOUT, opens=True, switch="flows"),
    "rebind": OpSpec(_FLOW | _TIMEOUT, opens=True, switch="flows"),
    "unbind": OpSpec(_FLOW | _TIMEOUT, switch="flows"),
    "disconnect": OpSpec(_MAYBE_FLOW | _HOW | _TIMEOUT, link=True),
    "reconnect": OpSpec(_MAYBE_FLOW | _TIMEOUT, link=True),
    "create": OpSpec(_SETTINGS | _KIND | _TIMEOUT, tells=tuple(_KIND)),
    "update": OpSpec(_SETTINGS | _TIMEOUT),
    "delete": OpSpec(_SETTINGS | _TIMEOUT),
    "get": OpSpec(_OVERVIEW | _TIMEOUT, tells=tuple(_OVERVIEW)),
    "add_rule": OpSpec(_RULE | _TXN | _TIMEOUT),
    "remove_rule": OpSpec(_RULE | _TXN | _TIMEOUT),
    "partition_down": OpSpec(_PARTITION, env=True, fault=True, undone_by="partition_up"),
    "partition_up": OpSpec(_PARTITION, env=True, fault=True),
    "frontend_lost": OpSpec(_MAYBE_PROC, env=True, fault=True, cuts=True),
    "connection_lost": OpSpec(_MAYBE_PROC | _HOW, env=True, cuts=True),
    "broker_kill": OpSpec({}, env=True, fault=True, undone_by="broker_start", cuts=True),
    "broker_start": OpSpec({}, env=True, fault=True),
    "advance": OpSpec({"by": Arg(Kind.NS, required=True)}, env=True),
    "assignment": OpSpec(
        _PARTITION | _MAYBE_FLOW | {"state": Arg(Kind.TEXT, required=True, words=ASSIGNMENT_STATES)},
        env=True,
        instant=True,
    ),
    "drained": OpSpec(ENTITY, env=True, instant=True),
}
"""Every operation of ``partq.history/1``. ``env`` ones are faults, the clock and observations."""

SWITCHED: Final = {name: op.switch for name, op in OPS.items() if op.switch}
"""Operation -> the switch of a profile without which an entity lacks it."""

UNDOES: Final = {op.undone_by: name for name, op in OPS.items() if op.undone_by}
"""Repair -> the fault that it undoes."""

CLOCK: Final = "advance"
"""The event of time passing."""

DRAINED: Final = "drained"
"""The event of the entity found empty, at the end of a program."""

BEGINS: Final = "begin"
"""What begins a transaction."""

ENDS: Final = frozenset({"commit", "rollback"})
"""What ends one."""

LINK_LOST: Final = "disconnect"
"""The operation by which a client loses its connection."""

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

SETTLEMENTS: Final = frozenset(name for name, op in OPS.items() if op.settles)
"""The operations by which a holder ends its lock."""

DELIVERIES: Final = tuple(name for name, op in OPS.items() if op.delivers)
"""The operations that hand messages to their client."""
