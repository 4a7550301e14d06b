"""What random programs do with sessions in transactions."""

from __future__ import annotations

from typing import Any, Final

from partq.conformance.workload import phrases
from partq.conformance.workload.phrases import Draft, Phrases
from partq.model.messages import Message
from partq.model.profiles import SECOND


def of_session(draft: Draft, session: str | None, key: str | None = None) -> Message:
    """A fresh message of that session, with that partition key."""
    draft.messages += 1
    return Message(f"m{draft.messages}", f"body of m{draft.messages}", session, key)


def _send(draft: Draft, client: str, *messages: Message) -> None:
    """Send, or schedule, in the client's transaction."""
    if draft.chance(8):
        draft.add(client, "schedule", messages=messages, delay=3 * SECOND, txn=True)
    else:
        draft.send(client, *messages, txn=True)


def _end(draft: Draft, client: str) -> None:
    draft.add(client, "rollback" if draft.chance(4) else "commit")
    if draft.chance(3):
        phrases.browse(draft)


def _together(draft: Draft) -> None:
    """Messages of a session that are sent, or settled, in a transaction."""
    client, session = draft.client(), draft.key()
    with draft.transaction(client, undone=3):
        draft.send(client, of_session(draft, session), txn=True)
        if draft.chance(2):
            draft.add(client, phrases.settlement(draft), pick=[draft.source.below(3)], txn=True)
    draft.add(draft.client(), "accept_session", session_id=session, timeout=SECOND)


def _second(draft: Draft) -> None:
    """A transaction that sends to two sessions, and possibly to the first one again."""
    client, session, other = draft.client(), draft.key(), draft.key()
    draft.add(client, "begin")
    for _ in range(1 + draft.source.below(2)):
        _send(draft, client, of_session(draft, session))
    if draft.chance(4):
        draft.add(client, phrases.settlement(draft), pick=[draft.source.below(3)], txn=True)
    _send(draft, client, *(of_session(draft, other) for _ in range(1 + draft.source.below(2))))
    if draft.chance(3):
        _send(draft, client, of_session(draft, session, session))
    _end(draft, client)


def _unfit(draft: Draft) -> None:
    """A transaction that sends a message without a session, or with two keys, and possibly one that fits."""
    client, session, other = draft.client(), draft.key(), draft.key()
    draft.add(client, "begin")
    fits = draft.source.below(3)
    if fits == 0:
        _send(draft, client, of_session(draft, session))
    traits: dict[str, Any] = ({}, {"key": session}, {"session": session, "key": f"not {other}"})[
        draft.source.below(3)
    ]
    unfit = of_session(draft, traits.get("session"), traits.get("key"))
    _send(draft, client, *((of_session(draft, session),) if draft.chance(4) else ()), unfit)
    if fits == 1:
        _send(draft, client, of_session(draft, session))
    _end(draft, client)


def _settle_two(draft: Draft) -> None:
    """A transaction that settles messages of two sessions, and sends to one of them or to a third."""
    client, sessions = draft.client(), (draft.key(), draft.key())
    for session in dict.fromkeys(sessions):
        draft.send(draft.client(), of_session(draft, session))
        draft.add(client, "accept_session", session_id=session, timeout=SECOND)
        draft.add(client, "receive_session", named=session, max=1, timeout=SECOND)
    draft.add(client, "begin")
    for _ in sessions:
        draft.add(client, phrases.settlement(draft), pick=[draft.source.below(2)], txn=True)
    if draft.chance(2):
        _send(draft, client, of_session(draft, draft.key()))
    _end(draft, client)


ENLISTING: Final[Phrases] = {
    "session_together": _together,
    "session_second": _second,
    "session_unfit": _unfit,
    "session_settle_two": _settle_two,
}
