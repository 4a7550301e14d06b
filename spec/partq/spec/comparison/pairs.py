"""The pairs of specification and model that are compared: one scope each, said on both sides.

A scope has few messages, partitions and clients, and no clock: locks, delays and handoffs end at any moment.
What clients may ask for is the scope's, and the same on both sides; what is left out says `Pair.left_out`.
Both halves of the model are compared: the graph of `steps`, and what `explain` says of the graph's paths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from partq.model.scope import Scope

from . import model_side
from .equivalence import Grade
from .spec_side import SpecScope

NOT_COMPARED: Final[Mapping[str, tuple[str, ...]]] = {
    "how long locks, delays and handoffs last (there is no clock)": (),
    "which error a refusal has": (),
    "numbers, where graphs are not equal, and their roll-over": ("gaps",),
    "answers of several messages, batches, requests that settle two locks": (
        *("batches", "SendBatch", "SendBatchFails", "SendBatchInvalid"),
        *("pairs", "CompleteBoth", "CompleteBothInvalid", "ReceiveDeferredInvalid"),
    ),
    "messages with two keys": ("TwoKeys", "SendInvalid"),
    "locks by which another client settles": ("shared locks",),
    "an unbind of a flow that is gone answered ok, where graphs are compared": ("gone",),
    "the end of a drain": ("drain", "Drained", "DeadDrained"),
    "transactions with deletes; kills with transactions, front ends that fetch early, or flows": (),
    "scheduled messages: the model decides by a clock what is due": (
        *("Scheduled", "schedule", "cancellation", "past", "reroute", "Schedule", "ScheduleFails"),
        *("ScheduleInvalid", "ScheduleBatch", "ScheduleBatchFails", "ScheduleBatchInvalid", "TxnSchedule"),
        *("TxnScheduleFails", "TxnScheduleInvalid", "SendPast", "SchedulePast", "TimeComes", "Activate"),
        *("Cancel", "CancelRejected", "CancelFails", "TxnCancel", "TxnCancelInvalid", "TxnCancelRejected"),
        *("TxnCancelFails", "ScheduleDuplicate"),
    ),
    "the dead-letter queue: the model follows it only where a history shows what is in it": (
        *("ReceiveDead", "ReceiveDeadNothing", "CompleteDead", "AbandonDead", "ExpireDead", "PeekDead"),
        *("PeekDeadNothing",),
    ),
    "dead letters by former locks; dead letters and deferral amid faults, and in transactions": (
        *("DeadLetterRejected", "DeadLetterFails", "DeferFails", "ReceiveDeferredFails"),
        *("TxnDefer", "TxnDeferInvalid", "TxnDeferRejected", "TxnDeferFails"),
    ),
    "messages with a time to live: the model has no move for its end, which its clock decides": (
        *("Mortal", "buries", "LifeEnds", "Vanish"),
    ),
    "messages of one ID after the window, and with faults": ("AfterWindow",),
    "sessions: no scope of the model has them, and their module needs labels of its own (spec/README.md)": (
        *("Sessionless", "state", "Unchanged", "Accept", "AcceptRejected", "NextSession", "NoNextSession"),
        *("Close", "SessionOver", "Renew", "ReceiveIn", "ReceiveNone", "Write", "Read", "RequestRejected"),
        *("CloseNothing", "RequestFails", "SessionsDown", "SessionsKill"),
    ),
}
"""Features that no pair compares, and the words and sets of `Catalogue.tla` and the actions that none has for
that reason."""


@dataclass(frozen=True)
class Pair:
    """Two scopes that have to agree.

    ``grade``: how strongly; ``why``: why not more strongly (empty for equal graphs). ``silent``: labels, as
    patterns, that nobody sees. ``dropped``: labels that are left out, for one side's alphabet has not got
    them; ``left_out`` says so in words. ``smallest``: the differences of the scope whose paths `explain` is
    asked about, unless about the whole.
    """

    name: str
    question: str
    spec: SpecScope
    model: Scope
    grade: Grade
    why: str = ""
    silent: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    left_out: str = ""
    smallest: Mapping[str, Any] = field(default_factory=dict)


_AZURE: Final = ("partitioned", "numbers", "expiry")
_SOLACE: Final = ("partitioned", "flows")
_LASTING: Final = ("partitioned", "numbers")


def _model(*messages: str, **more: Any) -> Scope:
    return Scope(messages=messages, max_tries=model_side.ENDLESS, **more)


_HOLD: Final = ("receive", "complete", "abandon", "expire")
_IN_TXN: Final = ("receive", "complete", "expire", "stale", "transactions")

_WHEN_IT_ENDED: Final = (
    "that a lock ended, or a transaction was rolled back, the model decides by a move of its own"
)
_WHAT_A_FAULT_DID: Final = (
    "what a fault did to a lock the model decides by a move of its own, the specification when it shows"
)

PAIRS: Final[Mapping[str, Pair]] = {
    pair.name: pair
    for pair in (
        Pair(
            "delivery",
            "Two clients receive, settle and delete three messages of two keys.",
            SpecScope(_AZURE, ("a", "b", "a"), ("abandon", "delete")),
            _model("a", "b", "a", operations=(*_HOLD, "delete")),
            Grade.GRAPHS,
            smallest={"keys": ("a", "a"), "clients": 1},
        ),
        Pair(
            "stale",
            "Two messages of one key are settled by locks that hold, have ended, or were never given.",
            SpecScope(_AZURE, ("a", "a"), ("abandon", "stale"), clients=1),
            _model("a", "a", clients=1, operations=(*_HOLD, "stale")),
            Grade.BISIMILAR,
            "the model remembers that a message was never locked",
        ),
        Pair(
            "flat",
            "Two clients receive, settle, delete and peek on an entity without partitions.",
            SpecScope(("numbers", "expiry"), ("-", "-"), ("abandon", "delete", "peek"), partitions=1),
            _model("-", "-", profile="azure-flat", partitions=1, operations=(*_HOLD, "delete", "peek")),
            Grade.GRAPHS,
            smallest={"clients": 1},
        ),
        Pair(
            "peek",
            "Two clients peek while others receive, settle and delete.",
            SpecScope(_AZURE, ("a", "b"), ("delete", "peek")),
            _model("a", "b", operations=("receive", "complete", "expire", "delete", "peek")),
            Grade.GRAPHS,
            smallest={"clients": 1},
        ),
        Pair(
            "routing",
            "Keyed and keyless messages are sent and deleted while partitions go down and come up.",
            SpecScope(_AZURE, ("a", "-", "a"), ("delete", "outage"), clients=1, max_tries=1),
            _model("a", "-", "a", clients=1, operations=("delete", "partition faults")),
            Grade.BISIMILAR,
            "the model remembers which partitions were used",
            dropped=(r"receive \w+ -> m.", "complete .*", "expire .*"),
            left_out="locks",
            smallest={"keys": ("a", "-"), "max_tries": 0},
        ),
        Pair(
            "outage",
            "Locks of two messages while partitions go down and come up.",
            SpecScope(_AZURE, ("a", "-"), ("outage", "stale"), clients=1, max_tries=1),
            _model(
                "a", "-", clients=1, operations=("receive", "complete", "expire", "stale", "partition faults")
            ),
            Grade.TRACES,
            _WHAT_A_FAULT_DID,
            silent=("expire .*",),
            smallest={"keys": ("a",)},
        ),
        Pair(
            "transactions",
            "A transaction of two keys sends and settles, commits or is rolled back.",
            SpecScope(_AZURE, ("a", "b"), ("transaction", "stale"), clients=1, max_tries=1),
            _model("a", "b", clients=1, operations=_IN_TXN),
            Grade.TRACES,
            _WHEN_IT_ENDED,
            silent=("expire .*",),
            smallest={"keys": ("a",)},
        ),
        Pair(
            "transactions and locks that end",
            "A transaction settles a message that is delivered again, or dead-lettered, in it or meanwhile.",
            SpecScope(
                _AZURE, ("a",), ("transaction", "stale"), partitions=1, clients=1, max_delivery_count=1
            ),
            _model("a", partitions=1, clients=1, operations=_IN_TXN),
            Grade.TRACES,
            _WHEN_IT_ENDED,
            silent=("expire .*", "exhaust .*"),
        ),
        Pair(
            "transactions in an outage",
            "A transaction sends and settles while its partition goes down and comes up.",
            SpecScope(
                _AZURE, ("a",), ("transaction", "stale", "outage"), partitions=1, clients=1, max_tries=1
            ),
            _model("a", partitions=1, clients=1, operations=(*_IN_TXN, "partition faults")),
            Grade.TRACES,
            _WHEN_IT_ENDED,
            silent=("expire .*",),
        ),
        Pair(
            "after a rollback",
            "Two messages of one key, each sent in the transaction or not, are peeked at with their numbers.",
            SpecScope(_AZURE, ("a", "a"), ("transaction", "peek"), partitions=1, clients=1, max_tries=0),
            _model("a", "a", partitions=1, clients=1, operations=("peek", "transactions")),
            Grade.BISIMILAR,
            "the common form says nothing of a transaction",
            dropped=("receive .*",),
            left_out="locks",
        ),
        Pair(
            "keyless in a transaction",
            "A message without a key is refused in a transaction, or let pass until the commit.",
            SpecScope(_AZURE, ("-",), ("transaction", "stale"), clients=1, max_tries=1),
            _model("-", clients=1, operations=_IN_TXN),
            Grade.TRACES,
            "the model keeps nothing of what was let pass",
            silent=("expire .*",),
            smallest={"partitions": 1},
        ),
        Pair(
            "lag",
            "What a commit stores is numbered early and shows late, what it removed shows still, in peeks.",
            SpecScope(
                _AZURE,
                ("a",),
                ("transaction", "peek"),
                ("lag", "early"),
                partitions=1,
                clients=1,
                max_tries=0,
            ),
            _model(
                "a", partitions=1, clients=1, operations=("peek", "transactions"), freedoms=("lag", "early")
            ),
            Grade.TRACES,
            "a refused send in a transaction that may be over the model has roll it back later, too",
            silent=("appear.*", "number.*"),
            dropped=("receive .*",),
            left_out="locks, and what commits removed, but in histories: the model's `steps` show it no more",
            smallest={"profile": _LASTING, "clients": 2, "max_tries": 1},
        ),
        Pair(
            "caches",
            "A front end fetches two messages of one key early.",
            SpecScope((*_AZURE, "caches"), ("a", "a"), partitions=1, clients=1),
            _model(
                "a", "a", partitions=1, clients=1, operations=("receive", "complete", "expire", "prefetch")
            ),
            Grade.TRACES,
            "in the model front ends fetch again what came back only when it shows",
            silent=("prefetch .*", "expire .*"),
        ),
        Pair(
            "kill",
            "Locks of a message while the broker is killed and started.",
            SpecScope(_AZURE, ("a",), ("kill", "stale", "abandon"), clients=1, max_tries=1),
            _model("a", clients=1, operations=(*_HOLD, "stale", "broker faults")),
            Grade.TRACES,
            _WHAT_A_FAULT_DID,
            silent=("expire .*",),
        ),
        Pair(
            "peek in an outage",
            "A client peeks at two messages while partitions go down and come up.",
            SpecScope(_AZURE, ("a", "b"), ("peek", "outage"), clients=1, max_tries=0),
            _model("a", "b", clients=1, operations=("peek", "partition faults")),
            Grade.BISIMILAR,
            "the model remembers which partitions were used",
            dropped=("receive .*",),
            left_out="locks",
            smallest={"keys": ("a",)},
        ),
        Pair(
            "lost on the way",
            "A client peeks while front ends are lost and the broker is killed; any request may be refused.",
            SpecScope(
                _AZURE, ("a",), ("peek", "frontend", "kill"), ("busy",), partitions=1, clients=1, max_tries=0
            ),
            _model("a", partitions=1, clients=1, operations=("peek", "lost front ends", "broker faults")),
            Grade.TRACES,
            "what a fault did to a cursor the model decides by a move of its own",
            dropped=("receive .*", "frontend_lost p"),
            left_out="locks, and the producer's front end",
        ),
        Pair(
            "deferral",
            "Two clients defer a message and receive it by its number, under locks that they give back.",
            SpecScope(_LASTING, ("a",), ("abandon", "defer", "stale"), steps="DeferralNext"),
            _model("a", operations=("receive", "complete", "abandon", "stale", "deferral")),
            Grade.TRACES,
            "whether a deferral counted the model decides when it shows",
            dropped=("receive_deferred .* -> nothing",),
            left_out="that a receive by number returns nothing, or less than it might",
            smallest={"clients": 1},
        ),
        Pair(
            "dead letters",
            "A message is dead-lettered by its holder, or given back up to the maximum delivery count.",
            SpecScope(
                _LASTING,
                ("a",),
                ("abandon", "dead letter"),
                clients=1,
                max_tries=3,
                max_delivery_count=1,
                steps="DeadLettersNext",
            ),
            _model("a", clients=1, operations=("receive", "complete", "abandon")),
            Grade.TRACES,
            "that a message is given up the model decides by a move of its own",
            silent=("exhaust .*",),
            dropped=(".* dead letters.*",),
            left_out="the dead-letter queue",
        ),
        Pair(
            "duplicates",
            "Messages of one ID, and of two keys, are deleted and peeked at.",
            SpecScope(
                _LASTING,
                ("a", "a", "b"),
                ("delete", "peek"),
                clients=1,
                max_tries=1,
                steps="DuplicatesNext",
                sets={"Ids": {1: 1, 2: 1, 3: 1}},
            ),
            _model("a", "a", "b", clients=1, operations=("delete", "peek")),
            Grade.BISIMILAR,
            "the common form knows messages by number, not by ID",
            dropped=(r"receive \w+ -> m.", "complete .*"),
            left_out="locks, and what is sent after the window",
        ),
        Pair(
            "two flows",
            "Two flows come and go, with messages of two keys in two partitions.",
            SpecScope(_SOLACE, ("a", "b"), freedoms=("cancel",)),
            _model("a", "b", profile="solace", operations=("receive", "complete")),
            Grade.BISIMILAR,
            "the model keeps the order in which flows were bound, and the numbers of what is gone",
            smallest={"keys": ("a",)},
        ),
        Pair(
            "three flows",
            "Three flows for two partitions come and go: standbys, takeovers, handoffs to no flow.",
            SpecScope(_SOLACE, ("a",), clients=3, freedoms=("cancel",)),
            _model(profile="solace", clients=3, operations=()),
            Grade.BISIMILAR,
            "the model keeps the order in which flows were bound",
            dropped=("receive .*", "complete .*", "send .*"),
            left_out="messages",
            smallest={"partitions": 1},
        ),
    )
}
"""Every pair by name."""
