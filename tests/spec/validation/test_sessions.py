"""Recorded histories of an entity that requires sessions, followed by TLC (SES)."""

import pytest
from recordings import AZURE_RULES, abandon, check_told_apart, complete, did, receive, recording, show

from partq.spec.validation import NotFollowed, Operation, Recording, Sent, Shown, trace_of

RULES = AZURE_RULES | {f"SES-{n}" for n in range(1, 6)} | {"RCV-10"}
DRAINED = did("drained", "env")


def sent(id: str, session: str | None = "s", **more: object) -> Operation:
    return did("send", sent=(Sent(id, session, lacking=session is None),), **more)


def asks(op: str, client: str = "c2", session: str | None = "s", **more: object) -> Operation:
    return did(op, client, session=session, **more)


def accept(client: str = "c2", **more: object) -> Operation:
    return asks("accept_session", client, **more)


def takes(*shown: Shown, client: str = "c2", session: str = "s", **more: object) -> Operation:
    return asks("receive_session", client, session, shown=shown, limit=5, **more)


def refused(one: Operation, error: str = "lock_lost") -> Operation:
    return one._replace(outcome="error", error=error)


def write(text: str, **more: object) -> Operation:
    return asks("set_session_state", state=text, **more)


def read(text: str, client: str = "c2") -> Operation:
    return asks("get_session_state", client, state=text)


def held(*operations: Operation, maximum: int = 10) -> Recording:
    made = recording(*operations, rules=RULES)
    return made._replace(sessions=True, maximum=maximum)


A, B = sent("a"), sent("b")
CLOSE = asks("close_session")
BOTH = takes(show("a", 1, 0, "x"), show("b", 2, 0, "y"))
HELD, OTHER = "session_locked", accept("c3")
LAWFUL = (
    held(A, B, accept(), BOTH, complete("x"), complete("y"), CLOSE, DRAINED),
    held(A, accept(next=True), takes(show("a", 1, 0, "x")), CLOSE, OTHER, takes(show("a", 1), client="c3")),
    held(A, accept(), takes(show("a", 1, 0, "x")), OTHER, takes(show("a", 1, 1), client="c3")),  # it ran out
    held(A, accept(), refused(accept("c3"), HELD), refused(takes(client="c3"))),
    held(accept(session=None, next=True, outcome="error", error="timeout"), A),
    held(accept(), write("one"), read("one"), CLOSE, accept("c3"), read("one", "c3")),
    held(accept(), read(""), write("one", outcome="unknown"), read("one")),
    held(accept(), write("one", outcome="unknown"), read("")),
    held(A, accept(), refused(read("x"))),  # it ran out
    held(A, accept(), takes(show("a", 1, 0, "x")), CLOSE, refused(complete("x"))),
    held(A, accept(outcome="unknown"), takes(show("a", 1, 0))),
    held(A, accept(session=None, next=True, outcome="unknown"), refused(accept("c3"), HELD)),
    held(A, B, accept(), takes(outcome="unknown"), takes(show("b", 2, 0))),
    held(A, accept(), takes(show("a", 1, 0, "x")), did("broker_kill", "env"), did("broker_start", "env"),
        OTHER, takes(show("a", 1), client="c3")),
    held(sent("a", None, outcome="error", error="invalid_operation"), DRAINED),
    held(A, receive(), accept(), takes(show("a", 1, 0), deletes=True), DRAINED),
    held(A, accept(), takes(show("a", 1, 0, "x")), abandon("x"), takes(show("a", 1, 1, "y")), abandon("y"),
        takes(), maximum=2),
)  # fmt: skip
WRONG = (
    held(A, takes(show("a", 1, 0))),  # SES-1: nobody accepted it
    held(A, accept(), takes(show("a", 1, 0), client="c3")),
    held(A, accept(), takes(show("a", 1, 0), session="r")),
    held(A, receive(show("a", 1, 0))),
    held(A, B, accept(), takes(show("b", 2, 0))),  # out of order
    held(A, accept(), CLOSE, takes(show("a", 1, 0))),
    held(A, accept(), takes(show("a", 1, 0, "x")), CLOSE, OTHER, takes(show("a", 1, 2), client="c3")),
    held(A, accept(), takes(show("a", 1, 0, "x")), accept("c3"), takes(show("a", 1, 0), client="c3")),
    held(A, accept(), takes(show("a", 1, 0, "x")), CLOSE, complete("x")),
    held(
        A, accept("c3"), accept(), takes(show("a", 1, 0), client="c3")
    ),  # it took the other one's time to end
    held(A, refused(accept(), HELD)),  # SES-4: nobody holds it
    held(accept(session="r", next=True)),  # nothing is there
    held(accept(), write("one"), read("two")),  # SES-2
    held(accept(), write("one"), CLOSE, accept("c3"), read("", "c3")),
    held(read("")),
    held(sent("a", None)),  # SES-3
    held(A, accept(), refused(accept(session="r"), HELD)),
)


def test_messages_of_sessions_are_their_holders() -> None:
    check_told_apart(LAWFUL, WRONG)


SETTLES = did("begin", "c2", txn="t"), complete("x", txn="t")


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (held(A, accept(), takes(show("a", 1, 0, "x")), *SETTLES), "settled in a transaction"),
        (held(did("defer", "c2", locks=("x",))), "deferred messages of sessions"),
        (held(accept())._replace(sessions=False), "no operation accept_session"),
        (held(sent("a", outcome="unknown"), accept(next=True)), "comes next, and a send of unknown outcome"),
    ],
)
def test_what_is_not_said_of_sessions_is_not_followed(one: Recording, reason: str) -> None:
    with pytest.raises(NotFollowed, match=reason):
        trace_of(one)
