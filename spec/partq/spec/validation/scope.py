"""What the specification says nothing of: a recording with any of it is not followed, and the reason is
given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .recording import NotFollowed, Operation, Recording

SENDS: Final = frozenset({"send", "send_batch", "schedule"})
LINKS: Final = frozenset({"disconnect", "connection_lost", "frontend_lost"})
FAULTS: Final = frozenset({"partition_down", "partition_up"})

_EVERYWHERE: Final = (
    SENDS
    | LINKS
    | FAULTS
    | {"receive", "complete", "abandon", "peek", "broker_kill", "broker_start", "drained", "advance"}
)
_WITH_EXPIRY: Final = frozenset(
    {
        "renew_lock",
        "defer",
        "receive_deferred",
        "dead_letter",
        "cancel_scheduled",
        "begin",
        "commit",
        "rollback",
    }
)
_DEFERRED: Final = frozenset({"defer", "receive_deferred"})
_OF_A_RULE: Final[tuple[tuple[str, Callable[[Operation], bool], str], ...]] = (
    ("RCV-9", lambda one: one.dead, "a dead-letter queue"),
    ("RCV-10", lambda one: one.op in _DEFERRED, "deferred messages"),
    ("RCV-15", lambda one: any(message.mortal for message in one.sent), "times to live"),
    (
        "SCH-1",
        lambda one: one.op == "cancel_scheduled" or any(message.later for message in one.sent),
        "scheduled messages",
    ),
)
"""What is said only where a rule speaks of it: the rule, which operations use it, and what it is."""

_WITH_FLOWS: Final = frozenset({"bind", "unbind", "assignment"})
_IN_SESSIONS: Final = frozenset(
    {"accept_session", "receive_session", "renew_session", "close_session"}
    | {"get_session_state", "set_session_state"}
)
_WITHOUT_EXPIRY: Final = frozenset({"reconnect"})


def check_scope(recording: Recording) -> None:
    """Raises `NotFollowed` for what the specification has no word for."""
    for one in recording.operations:
        reason = _unspecified(one, recording) or (_of_sessions(one) if recording.sessions else "")
        if reason:
            raise NotFollowed(reason)
    _check_ids(recording)
    _check_next(recording)
    _check_transactions(recording)
    if "flows" in recording.words:
        _check_flows(recording)


def _of_sessions(one: Operation) -> str:
    if one.txn is not None and one.locks:
        return "messages of sessions that are settled in a transaction"
    return "deferred messages of sessions" if one.op in _DEFERRED else ""


def _unspecified(one: Operation, recording: Recording) -> str:
    """Why an operation cannot be followed; empty if it can."""
    words = recording.words
    known = _EVERYWHERE
    known |= _WITH_EXPIRY if "expiry" in words else _WITHOUT_EXPIRY
    known |= _IN_SESSIONS if recording.sessions else frozenset()
    if "flows" in words:
        known = (known | _WITH_FLOWS) - FAULTS - {"reconnect"}
    if one.op not in known and not (one.refused and one.error == "unsupported"):
        return f"the specification has no operation {one.op} of this family"
    if "expiry" not in words:
        if one.op == "peek" and not one.refused:
            return "the specification has no peek of this family"
        if one.op == "broker_kill" and "flows" not in words:
            return "what a kill of a broker leaves that writes to disk late is not specified"
    if one.error == "unsupported" and one.txn is not None:
        return "an operation in a transaction that the broker does not offer"
    for rule, uses, what in _OF_A_RULE:
        if rule not in recording.rules and uses(one):
            return f"{what} of which no rule speaks"
    if one.dead and one.op in _DEFERRED:
        return "dead letters that are deferred"
    if one.dead and one.op == "peek" and not (one.happened or one.refused):
        return "a peek of unknown outcome in a dead-letter queue"
    return ""


def _check_ids(recording: Recording) -> None:
    sent: set[str] = set()
    for one in recording.operations:
        for message in one.sent:
            if message.id in sent:
                raise NotFollowed(f"message ID {message.id!r} was sent twice")
            sent.add(message.id)


def _check_next(recording: Recording) -> None:
    """Whether a message that may not have been sent makes a session come next is not followed."""
    doubtful = any(one.sent and not one.happened and not one.refused for one in recording.operations)
    if doubtful and any(one.next and one.happened for one in recording.operations):
        raise NotFollowed("a session that comes next, and a send of unknown outcome")


def _check_transactions(recording: Recording) -> None:
    names = [one.txn for one in recording.operations if one.op == "begin" and not one.refused]
    if len(set(names)) < len(names):
        raise NotFollowed("a transaction's name is used twice")
    for one in recording.operations:
        if one.txn is not None and one.txn not in names and not one.refused:
            raise NotFollowed("a transaction that no client began")


def _check_flows(recording: Recording) -> None:
    """A flow is one client's, and only flows that clients bound are assigned anything."""
    owner: dict[str, str] = {}
    for one in recording.operations:
        if one.op == "bind" and one.flow is not None and owner.setdefault(one.flow, one.client) != one.client:
            raise NotFollowed(f"the flow {one.flow!r} is bound by two clients")
    for one in recording.operations:
        if one.op == "assignment" and one.flow not in owner:
            raise NotFollowed("an assignment to a flow that no client bound")
