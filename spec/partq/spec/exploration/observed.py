"""What an operation with its answer is in the specification's words: the actions that it may have been, and
what can be observed after them.

Pure. The variables that observations are compared with are those of the module that `module` generates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from partq.spec.validation import NotFollowed, Operation, Shown

from .module import Setting, clients_of

_PASSING: Final = frozenset({"unavailable", "timeout", "internal"})
_LIMITS: Final = frozenset({"quota", "too_large", "unsupported", "connection_lost", "session_locked"})

ACTIONS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("send", "ok"): ("Send",),
    ("send", "invalid"): ("SendInvalid",),
    ("send", "refused"): ("SendFails",),
    ("txn send", "ok"): ("TxnSend", "TxnSendLetPass"),
    ("txn send", "invalid"): ("TxnSendInvalid", "TxnSendFails"),
    ("txn send", "refused"): ("TxnSendFails",),
    ("txn send", "lost"): ("TxnSendFails",),
    ("receive", "ok"): ("Receive",),
    ("receive", "nothing"): ("ReceiveNothing",),
    ("receive", "refused"): ("ReceiveFails",),
    ("delete", "ok"): ("ReceiveAndDelete",),
    ("delete", "nothing"): ("ReceiveNothing",),
    ("delete", "refused"): ("ReceiveFails",),
    ("complete", "ok"): ("Complete",),
    ("complete", "lost"): ("CompleteRejected",),
    ("complete", "refused"): ("CompleteFails",),
    ("abandon", "ok"): ("Abandon",),
    ("abandon", "lost"): ("AbandonRejected",),
    ("abandon", "refused"): ("AbandonFails",),
    ("txn complete", "ok"): ("TxnComplete",),
    ("txn complete", "lost"): ("TxnCompleteRejected", "TxnCompleteInvalid", "TxnCompleteFails"),
    ("txn complete", "refused"): ("TxnCompleteFails",),
    ("peek", "ok"): ("Peek",),
    ("peek", "nothing"): ("PeekNothing",),
    ("peek", "refused"): ("PeekFails",),
    ("begin", "ok"): ("Begin",),
    ("commit", "ok"): ("Commit",),
    ("commit", "lost"): ("CommitFails", "CommitRejected"),
    ("commit", "refused"): ("CommitFails", "CommitRejected"),
    ("rollback", "ok"): ("Rollback",),
    ("rollback", "lost"): ("RollbackFails", "RollbackRejected"),
    ("rollback", "refused"): ("RollbackFails", "RollbackRejected"),
    ("partition_down", "ok"): ("PartitionDown",),
    ("partition_up", "ok"): ("PartitionUp",),
}
"""The actions that an operation with its answer may have been. What is not here the specification does not
allow, unless `NotFollowed` is raised before."""


class Known(NamedTuple):
    """What one explanation of the operations so far fixed. ``partitions``: the broker's names of the
    specification's, in its order; ``tags``: the partition bits of each that were seen. ``locks``: of each
    lock its message and turn; ``latest``: of each message its last lock; ``settled``: locks that settled
    something. ``down``: partitions. ``txn``: the transaction that was begun; ``ending``: its end was asked
    for."""

    partitions: tuple[int, ...] = ()
    tags: Mapping[int, int] = {}
    locks: Mapping[str, tuple[int, int]] = {}
    latest: Mapping[int, str] = {}
    settled: frozenset[str] = frozenset()
    down: frozenset[int] = frozenset()
    txn: str | None = None
    ending: bool = False


class Candidate(NamedTuple):
    """One way to explain an operation: an action, what has to hold after it (variables and their values in
    ITF), and what is known then."""

    action: str
    seen: Mapping[str, Any]
    known: Known


class Impossible(Exception):
    """No step of the specification shows this; the message says why."""


def candidates(operation: Operation, setting: Setting, known: Known) -> list[Candidate]:
    """The ways to explain an operation, the likeliest first. Raises `NotFollowed`, `Impossible`."""
    kind, answer = _kind(operation), _answer(operation)
    if operation.txn is not None:
        _check_transaction(operation, answer, known)
    named = ACTIONS.get((kind, answer))
    if named is None:
        raise Impossible(f"no answer of {kind}: {operation.error or answer}")
    ways = _WAYS[operation.op](operation, setting, known)
    return [Candidate(action, seen, then) for action in named for seen, then in ways]


Way = tuple[Mapping[str, Any], Known]
"""What has to hold after a step, and what is known then."""


def _check_transaction(operation: Operation, answer: str, known: Known) -> None:
    """The specification has one transaction, and says little of it when it has ended. Raises
    `NotFollowed`."""
    if operation.op == "begin" and answer != "ok":
        raise NotFollowed("the specification has no refusal to begin a transaction")
    if operation.op == "begin" and known.txn is not None:
        raise NotFollowed("a second transaction")
    if operation.op != "begin" and operation.txn != known.txn:
        raise NotFollowed("a transaction that no client began")
    if operation.op == "complete" and known.ending:
        raise NotFollowed("a settlement in a transaction that has ended")


def _kind(operation: Operation) -> str:
    if operation.op in ("send", "complete") and operation.txn is not None:
        return f"txn {operation.op}"
    if operation.txn is not None and operation.op == "abandon":
        raise NotFollowed("the specification has no abandon in a transaction")
    if operation.op not in _WAYS:
        raise NotFollowed(f"{operation.op} is not explored")
    return "delete" if operation.op == "receive" and operation.deletes else operation.op


def _answer(operation: Operation) -> str:
    """The answer in the specification's words."""
    if operation.outcome == "unknown":
        raise NotFollowed("an operation of unknown outcome")
    if operation.error is None:
        shows = operation.op in ("receive", "peek")
        return "nothing" if shows and not operation.shown else "ok"
    if operation.error in _LIMITS:
        raise NotFollowed(f"{operation.op} was answered {operation.error}")
    if operation.error in _PASSING:
        return "refused"
    return "invalid" if operation.op == "send" and operation.error == "invalid_operation" else "lost"


def _by(operation: Operation, setting: Setting) -> str:
    """The client's name in the specification. Raises `NotFollowed`."""
    name = clients_of(setting).get(operation.client)
    if name is None:
        raise NotFollowed(f"{operation.client} is not among the clients of the exploration")
    return name


def _send(operation: Operation, setting: Setting, known: Known) -> list[Way]:
    m = _message(operation.sent[0].id, setting)
    return [({"seenMessages": _set([m])}, known)]


def _receive(operation: Operation, setting: Setting, known: Known) -> list[Way]:
    by = _by(operation, setting)
    if not operation.shown:
        return [({"seenBy": by}, known)]
    if len(operation.shown) > 1:
        raise NotFollowed("a receive of several messages at once")
    shown = operation.shown[0]
    seen, after = _delivered(operation.shown, setting, known)
    seen["seenBy"] = by
    if shown.lock is None or operation.deletes:
        return [(seen, after)]
    m = _message(shown.id, setting)
    return [
        ({**seen, "seenTurn": _int(turn)}, _locked(after, m, shown.lock, turn))
        for turn in _turns(m, setting, known)
    ]


def _turns(m: int, setting: Setting, known: Known) -> list[int]:
    """The turns that the next lock of a message may have: clients do not see them, and locks that nobody was
    given have turns, too. The likelier first."""
    if "stale" not in setting.offered:
        return [1]
    latest = known.latest.get(m)
    return [1, 2] if latest is None else [3 - known.locks[latest][1], known.locks[latest][1]]


def _locked(known: Known, m: int, lock: str, turn: int) -> Known:
    return known._replace(locks={**known.locks, lock: (m, turn)}, latest={**known.latest, m: lock})


def _peek(operation: Operation, setting: Setting, known: Known) -> list[Way]:
    by = _by(operation, setting)
    if operation.since is not None:
        raise NotFollowed("a peek from a number on")
    if len(operation.shown) > setting.peeked:
        raise NotFollowed(f"a peek that shows more than {setting.peeked}")
    if not operation.shown:
        return [({"seenBy": by}, known)]
    seen, after = _delivered(operation.shown, setting, known)
    return [({**seen, "seenBy": by}, after)]


def _delivered(shown: tuple[Shown, ...], setting: Setting, known: Known) -> tuple[dict[str, Any], Known]:
    """What an answer shows of its messages. Raises `Impossible`."""
    every = range(1, len(setting.messages) + 1)
    ms = [_message(one.id, setting) for one in shown]
    if any(one.altered for one in shown):
        raise Impossible("a message that is not as it was sent")
    if len({*ms}) < len(ms):
        raise Impossible("a message twice in one answer")
    seen: dict[str, Any] = {"seenMessages": _set(ms)}
    if all(one.tries is not None for one in shown):
        counts = {m: one.tries or 0 for m, one in zip(ms, shown, strict=True)}
        seen["seenCounts"] = _function({m: counts.get(m, 0) for m in every})
    places: dict[int, int] = {}
    for m, one in zip(ms, shown, strict=True):
        place, known = _placed(one, setting, known)
        if place:
            places[m] = place
    if len(places) == len(ms):
        seen["seenPlaces"] = _function({m: places.get(m, 0) for m in every})
    if setting.first is not None and all(one.number is not None for one in shown):
        size, first = 1 << setting.bits, setting.first
        numbers = {m: ((one.number or 0) - first) % size for m, one in zip(ms, shown, strict=True)}
        seen["seenNumbers"] = _function({m: numbers.get(m, 0) for m in every})
    return seen, known


def _placed(shown: Shown, setting: Setting, known: Known) -> tuple[int, Known]:
    """The partition that a message was seen in, 0 if it was not shown. Raises `Impossible`."""
    if "partitioned" not in setting.words:
        return 1, known
    name = shown.partition if shown.partition is not None else shown.tag
    if name is None:
        return 0, known
    place, known = _partition(name, setting, known)
    tags = {**known.tags, name: shown.tag} if shown.tag is not None else known.tags
    if tags.get(name) != known.tags.get(name, tags.get(name)) or len({*tags.values()}) < len(tags):
        raise Impossible("partition bits of another partition")
    return place, known._replace(tags=tags)


def _partition(name: int, setting: Setting, known: Known) -> tuple[int, Known]:
    """The specification's number of a partition. One that was not named before is any that has no name yet,
    as these are all alike. Raises `Impossible`."""
    if name in known.partitions:
        return known.partitions.index(name) + 1, known
    if len(known.partitions) == setting.partitions:
        raise Impossible(f"partition {name} besides the {setting.partitions} that there are")
    return len(known.partitions) + 1, known._replace(partitions=(*known.partitions, name))


def _settle(operation: Operation, setting: Setting, known: Known) -> list[Way]:
    if len(operation.locks) != 1:
        raise NotFollowed("several locks in one request")
    lock = operation.locks[0]
    if lock not in known.locks:
        raise NotFollowed("a lock that no delivery shows")
    m, turn = known.locks[lock]
    former = known.latest[m] != lock
    if (former or lock in known.settled) and operation.error in _PASSING:
        raise NotFollowed("a settlement by a lock that has ended, refused in passing")
    if former:
        turn = 3 - known.locks[known.latest[m]][1]  # any turn but that of the lock that holds
    seen: dict[str, Any] = {"seenBy": _by(operation, setting), "seenMessages": _set([m])}
    if operation.txn is not None or operation.error not in _PASSING:  # whose answer tells of no lock
        seen["seenTurn"] = _int(turn)
    settled = known.settled if operation.error else known.settled | {lock}
    return [(seen, known._replace(settled=settled))]


def _begin(operation: Operation, setting: Setting, known: Known) -> list[Way]:
    return [({}, known._replace(txn=operation.txn))]


def _end(operation: Operation, setting: Setting, known: Known) -> list[Way]:
    return [({}, known._replace(ending=True))]


def _fault(operation: Operation, setting: Setting, known: Known) -> list[Way]:
    place, known = _partition(operation.partition or 0, setting, known)
    down = known.down | {place} if operation.op == "partition_down" else known.down - {place}
    up = _function({p: p not in down for p in range(1, setting.partitions + 1)})
    return [({"up": up}, known._replace(down=down))]


_WAYS: Final[Mapping[str, Callable[[Operation, Setting, Known], list[Way]]]] = {
    "send": _send,
    "receive": _receive,
    "peek": _peek,
    "complete": _settle,
    "abandon": _settle,
    "begin": _begin,
    "commit": _end,
    "rollback": _end,
    "partition_down": _fault,
    "partition_up": _fault,
}
"""What is seen of each operation."""


def _message(id: str, setting: Setting) -> int:
    """The number of a message. Raises `Impossible`."""
    for m, sent in enumerate(setting.messages, 1):
        if sent.id == id:
            return m
    raise Impossible(f"message {id!r}, which was never sent")


# Values in ITF


def _int(value: int) -> Mapping[str, str]:
    return {"#bigint": str(value)}


def _set(values: list[int]) -> Mapping[str, Any]:
    return {"#set": [_int(value) for value in sorted(values)]}


def _function(values: Mapping[int, int | bool]) -> Mapping[str, Any]:
    return {"#map": [[_int(k), v if isinstance(v, bool) else _int(v)] for k, v in values.items()]}
