"""What is settled becomes steps, and where transactions begin and end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from .building import FULL, NOBODY, Building, Given, Translated
from .recording import NotFollowed, Operation
from .steps import Step


def _settle(t: Building, one: Operation) -> None:
    tokens = list(dict.fromkeys(one.locks))
    known = [t.given[token] for token in tokens if token in t.given]
    strange = len(known) < len(tokens)
    if strange and t.some_locks_hidden:
        raise NotFollowed("a lock that no delivery shows")
    among_the_dead = any(lock.dead for lock in known)
    if among_the_dead and (one.txn is not None or one.op in ("dead_letter", "defer")):
        raise NotFollowed("dead letters that are settled in a transaction, dead-lettered, or deferred")
    if any(lock.dead != one.dead for lock in known):
        raise NotFollowed("a settlement of locks of both queues")
    kind = "renew" if one.op == "renew_lock" else one.op.replace("_", " ")
    kind = kind if one.txn is None else f"txn {kind}"
    if t.recording.sessions and one.op == "renew_lock" and one.refused and not one.passing:
        return  # its lock is that of the session
    if one.refused and one.full and one.error in FULL:
        t.refuse("txn full", one)
    elif one.refused:
        op = "settlement refused" if one.txn is None else "txn settlement refused"
        t.refuse(op, one, **_locks(t, one, known), unknown=strange)
    elif not one.happened:
        if len(tokens) > 1:
            raise NotFollowed("an unknown settlement of several locks")
        if known and kind != "renew":
            t.put(one, [Step(kind, **_locks(t, one, known))], optional=True)
    elif (strange and "RCV-8" in t.recording.rules) or _shows_another(t, one, known):
        t.put(one, [Step("impossible")])
    else:
        t.put(one, (_settlement(t, kind, one, lock, known) for lock in known))


def _shows_another(t: Building, one: Operation, locks: Sequence[Given]) -> bool:
    """Whether a renewal shows a message that the lock is not of."""
    return not {t.sent.get(shown.id) for shown in one.shown} <= {lock.m for lock in locks}


def _settlement(t: Building, kind: str, one: Operation, lock: Given, among: Sequence[Given]) -> Step:
    """The step that settles one lock of a request."""
    return Step(kind, **_locks(t, one, [lock, *(other for other in among if other is not lock)]))


def _locks(t: Building, one: Operation, locks: Sequence[Given]) -> dict[str, Any]:
    """The fields of a step that settles these locks. With flows a lock is used by the flow that was given
    it; by another client it is not."""
    users = [
        one.client if not t.flows else lock.who if lock.client == one.client else NOBODY for lock in locks
    ]
    return {
        "who": users[0] if users else one.client,
        "ms": [lock.m for lock in locks],
        "locks": [lock.step for lock in locks],
        "users": users,
    }


def _begin(t: Building, one: Operation) -> None:
    if not (one.happened or one.refused):
        raise NotFollowed("a transaction that may not have begun")
    t.simple("begin", "begin fails", one)


def _end(t: Building, one: Operation) -> None:
    t.simple(one.op, f"{one.op} refused", one)


SETTLEMENTS: Final[Translated] = {
    "complete": _settle,
    "abandon": _settle,
    "defer": _settle,
    "dead_letter": _settle,
    "renew_lock": _settle,
    "begin": _begin,
    "commit": _end,
    "rollback": _end,
}
