"""Programs whose clients accept sessions, receive in them, and give them back or lose them. Cases: SES on the
azure profiles. A drain accepts one session after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from partq.conformance.execution.drain import BATCH, Emptier, Receiving
from partq.conformance.mechanisms.sessions.enlisting import ENLISTING, of_session
from partq.conformance.mechanisms.sessions.noting import NOTING, lose_front_end
from partq.conformance.workload import phrases
from partq.conformance.workload.cases import steps as do
from partq.conformance.workload.cases.case import Cases, Steps
from partq.conformance.workload.cases.steps import APART, AZURE, EXPIRY, LOCK, message
from partq.conformance.workload.operations.record import Args
from partq.conformance.workload.phrases import Draft, Phrases, browse
from partq.conformance.workload.program import Step
from partq.conformance.workload.weights import Theme, weighed
from partq.model.messages import Message
from partq.model.operations import DEAD_LETTER, DEAD_LETTERS, DRAINER
from partq.model.profiles import SECOND, Entity


def _message(draft: Draft, session: str) -> Message:
    return of_session(draft, session, session if draft.chance(6) else None)


def _send(draft: Draft) -> None:
    """A message of a session, or several at once."""
    session = draft.key()
    messages = tuple(_message(draft, session) for _ in range((1, 1, 1, 2, 3)[draft.source.below(5)]))
    draft.send(draft.client(), *messages)


def _send_without(draft: Draft) -> None:
    """A message without a session, alone or among others, which such an entity refuses."""
    one = draft.message(None)
    if draft.chance(2):
        draft.send(draft.client(), one)
    else:
        draft.send(draft.client(), _message(draft, draft.key()), one)


def _accept(draft: Draft, client: str | None = None) -> None:
    named = {"session_id": draft.key()} if draft.chance(2) else {}
    draft.add(client or draft.client(), "accept_session", timeout=SECOND, **named)


def _receive(draft: Draft, client: str | None = None, **which: Any) -> None:
    limit = (1, 1, 2, 5)[draft.source.below(4)]
    mode = {"mode": "receive_and_delete"} if draft.chance(8) else {}
    which = which or {"session": draft.source.below(3)}
    draft.add(client or draft.client(), "receive_session", max=limit, timeout=SECOND, **mode, **which)


def _settle(draft: Draft, client: str) -> None:
    draft.add(client, phrases.settlement(draft), pick=[draft.source.below(3)])


def _work(draft: Draft) -> None:
    """Accept, receive, settle, and mostly close."""
    client = draft.client()
    _accept(draft, client)
    for _ in range(1 + draft.source.below(3)):
        _receive(draft, client, session=0)
        if draft.chance(2):
            _settle(draft, client)
    if draft.source.below(4):
        draft.add(client, "close_session", session=0)


def _of_one(op: str) -> Callable[[Draft], None]:
    def phrase(draft: Draft) -> None:
        lost = {"lost": True} if draft.chance(5) else {}
        draft.add(draft.client(), op, session=draft.source.below(3), **lost)

    return phrase


def _intrude(draft: Draft) -> None:
    """Another client asks for a session that is held, by name or by receiving of it."""
    first, other, session = draft.client(), draft.client(), draft.key()
    draft.add(first, "accept_session", session_id=session, timeout=SECOND)
    draft.add(other, "accept_session", session_id=session, timeout=SECOND)
    if draft.chance(3):
        _receive(draft, other, named=session)
    _receive(draft, first, named=session)


def _outlast(draft: Draft) -> None:
    """The lock runs out, or nearly, and another client takes over."""
    first, other, session = draft.client(), draft.client(), draft.key()
    draft.add(first, "accept_session", session_id=session, timeout=SECOND)
    _receive(draft, first, named=session)
    draft.wait(draft.entity.lock_duration + (SECOND if draft.source.below(3) else -SECOND))
    if draft.chance(3):
        _settle(draft, first)
    draft.add(other, "accept_session", timeout=SECOND, **({"session_id": session} if draft.chance(2) else {}))
    _receive(draft, other, session=0)
    if draft.chance(2):
        browse(draft)


def _keep(draft: Draft) -> None:
    """The lock is renewed half-way, and its first duration passes."""
    client, half = draft.client(), draft.entity.lock_duration // 2
    _send(draft)
    _accept(draft, client)
    _receive(draft, client, session=0)
    draft.wait(half)
    draft.add(client, "renew_session", session=0)
    draft.wait(half + SECOND)
    _settle(draft, client)
    _receive(draft, client, session=0)


def _hand_over(draft: Draft) -> None:
    """Closed with messages unsettled, which the next holder receives."""
    first, other = draft.client(), draft.client()
    _send(draft)
    _accept(draft, first)
    _receive(draft, first, session=0)
    draft.add(first, "close_session", session=0)
    if draft.chance(3):
        _settle(draft, first)
    _accept(draft, other)
    _receive(draft, other, session=0)


def _struck(draft: Draft) -> None:
    """A fault while a session is held, and what it did to it."""
    client, session = draft.client(), draft.key()
    draft.send(draft.client(), _message(draft, session))
    draft.add(client, "accept_session", session_id=session, timeout=SECOND)
    _receive(draft, client, named=session)
    (phrases.PHRASES["outage"], phrases.PHRASES["kill"], lose_front_end)[draft.source.below(3)](draft)
    way = draft.source.below(4)
    if way == 0:
        draft.add(draft.client(), "accept_session", session_id=session, timeout=SECOND)
    elif way == 1:
        draft.add(client, ("renew_session", "close_session")[draft.source.below(2)], named=session)
    elif way == 2:
        _settle(draft, client)
    _receive(draft, client, named=session)


PHRASES: Final[Phrases] = {
    "session_send": _send,
    "session_send_without": _send_without,
    "session_accept": _accept,
    "session_receive": _receive,
    "session_work": _work,
    "session_renew": _of_one("renew_session"),
    "session_close": _of_one("close_session"),
    "session_intrude": _intrude,
    "session_outlast": _outlast,
    "session_keep": _keep,
    "session_hand_over": _hand_over,
    "session_struck": _struck,
    **NOTING,
    **ENLISTING,
}

THEME: Final = Theme(
    "sessions",
    rule="SES-1",
    weights=weighed(
        "session_send 24, session_send_without 2, session_accept 6, session_receive 8, session_work 12, "
        "session_renew 2, session_close 4, session_intrude 4, session_outlast 5, session_keep 3, "
        "session_hand_over 5, session_struck 4, session_together 2, session_note 4, session_noted 8, "
        "session_cleared 5, session_second 5, session_unfit 3, session_settle_two 2, "
        "receive 1, complete 8, abandon 3, stale 2, peek 5, advance 2, outage 1, front_end 1, kill 1"
    ),
    wears=True,
    settings={"requires_session": True},
    needs="accept_session",
)


def _sent(id: str, session: str = "s") -> Step:
    return do.send("c1", message(id, session=session))


def _accepts(proc: str, session: str | None = None) -> Step:
    named = {} if session is None else {"session_id": session}
    return Step(proc, "accept_session", {**named, "timeout": SECOND})


def _receives(proc: str, limit: int = 1, session: str = "s") -> Step:
    return Step(proc, "receive_session", {"named": session, "max": limit, "timeout": SECOND})


def _closes(proc: str) -> Step:
    return Step(proc, "close_session", {"named": "s"})


CASES: Final = Cases()


@CASES.case("session-holder", AZURE, "SES-1", requires_session=True, lock_duration=EXPIRY * 4)
def _one_holder() -> Steps:
    """The messages of a session go to its holder alone, in order.
    Two sessions, each of one client, in order; what the other client asks for it does not get."""
    return [
        *(_sent(f"m{n}", "s" if n % 2 else "t") for n in range(1, 7)),
        _accepts("c1", "s"),
        _accepts("c2", "t"),
        _receives("c1"),
        _receives("c2", session="t"),
        _receives("c2"),
        _receives("c1", 5),
        do.complete("c1", 0, 1, 2),
        _receives("c2", 5, "t"),
        do.abandon("c2", 1),
        _receives("c2", 5, "t"),
        do.complete("c2", 0, 1, 2),
    ]


@CASES.case("session-required", AZURE, "SES-3", requires_session=True)
def _without_session() -> Steps:
    """A message without a session ID is refused.
    Messages with a partition key or none, alone and in a batch."""
    return [
        do.send("c1", message("m1")),
        do.send("c1", message("m2", "k")),
        do.send("c1", message("m3", session="s"), message("m4")),
        _sent("m5"),
        do.peek("c2", start="start"),
    ]


@CASES.case("session-held", AZURE, "SES-4", requires_session=True, lock_duration=EXPIRY * 4)
def _held_and_absent() -> Steps:
    """A session that is held is not accepted, and where there is none the next one is not found.
    A session that is held, one that has no messages, and the next one, if there is any."""
    return [
        _accepts("c2"),
        _accepts("c1", "s"),
        _accepts("c2", "s"),
        _sent("m1"),
        _accepts("c2"),
        _closes("c1"),
        _accepts("c2"),
        _receives("c2"),
        do.complete("c2"),
    ]


@CASES.case("session-expiry", AZURE, "SES-5", requires_session=True)
def _runs_out() -> Steps:
    """When the lock on a session runs out, its messages come again, and their count is one higher.
    A lock that is renewed once, then runs out: the next holder receives what the first one had."""
    return [
        *(_sent(f"m{n}") for n in (1, 2)),
        _accepts("c1", "s"),
        _receives("c1", 2),
        do.pass_time(LOCK // 2),
        Step("c1", "renew_session", {"named": "s"}),
        do.pass_time(LOCK // 2 + APART),
        do.complete("c1"),
        do.pass_time(),
        do.complete("c1", 0),
        _accepts("c2"),
        do.peek("c3", start="start"),
        _receives("c2", 2),
        do.complete("c2"),
    ]


@CASES.case("session-closed", AZURE, "SES-5", requires_session=True)
def _closed() -> Steps:
    """When a session is closed, its messages come again with the count they had.
    A session that is closed with messages unsettled, again and again, counts nothing."""
    again = (_accepts("c1", "s"), _receives("c1", 2), _closes("c1"), do.peek("c3", start="start"))
    return [*(_sent(f"m{n}") for n in (1, 2)), *again, *again, do.complete("c1", 0, stale=True)]


@CASES.case("session-restart", AZURE, "SES-1", requires_session=True)
def _through_a_restart() -> Steps:
    """A session is held by one client at most, through a restart, too.
    A held session, and its messages, through a restart of the broker."""
    return [
        _sent("m1"),
        _accepts("c1", "s"),
        _receives("c1"),
        *do.restart(),
        _accepts("c2", "s"),
        do.pass_time(),
        _accepts("c2", "s"),
        _receives("c2"),
        do.complete("c2"),
    ]


def _writes(proc: str, state: str, session: str = "s") -> Step:
    return Step(proc, "set_session_state", {"named": session, "state": state})


def _reads(proc: str, session: str = "s") -> Step:
    return Step(proc, "get_session_state", {"named": session})


@CASES.case("session-state", AZURE, "SES-2", requires_session=True)
def _state_is_kept() -> Steps:
    """The state of a session is the last one written, by whichever holder.
    A state that the same holder reads, and the next one, after a close, after the lock ran out, and after a
    restart; that is written again, and cleared; and that of another session."""
    return [
        _sent("m1"),
        _accepts("c1", "s"),
        _reads("c1"),
        _writes("c1", "first"),
        _reads("c1"),
        _writes("c1", "second"),
        _receives("c1"),
        do.complete("c1"),
        _closes("c1"),
        _accepts("c2", "s"),
        _accepts("c1", "t"),
        _reads("c2"),
        _reads("c1", "t"),
        _reads("c2", "t"),
        _writes("c1", "other", "t"),
        _reads("c2"),
        do.pass_time(),
        _writes("c2", "too late"),
        _accepts("c3", "s"),
        _reads("c3"),
        _writes("c3", ""),
        _reads("c3"),
        _closes("c3"),
        _accepts("c1", "t"),
        _writes("c1", "before the restart", "t"),
        *do.restart(),
        do.pass_time(),
        _accepts("c2", "t"),
        _reads("c2", "t"),
        _accepts("c3", "s"),
        _reads("c3"),
    ]


def _take_all(patience: int, quiet: int, budget: int, of: Args) -> Receiving:
    """Accept one session after the other, and receive what is in it."""
    found, vain = set[str](), 0
    while budget > 0 and vain < quiet:
        budget -= 1
        did = yield Step(DRAINER, "accept_session", {"timeout": patience, **of})
        if did is None or not did.ok:
            vain += 1
            continue
        before, came = len(found), True
        while came and budget > 0:
            budget -= 1
            asked = {"session": 0, "max": BATCH, "mode": "receive_and_delete", "timeout": patience, **of}
            did = yield Step(DRAINER, "receive_session", asked)
            came = did is not None and bool(did.messages)
            found.update(one.id for one in (did.messages if did is not None else ()))
        yield Step(DRAINER, "close_session", {"session": 0, **of})
        vain = 0 if len(found) > before else vain + 1
    return found, budget


def _in_sessions(entity: Entity, of: Args) -> bool:
    """Whether messages are received in sessions there: in no dead-letter queue."""
    return entity.requires_session and not of.get("entity", "").endswith((DEAD_LETTER, DEAD_LETTERS))


EMPTYING: Final = Emptier(_in_sessions, _take_all)
"""A drain receives in sessions."""
