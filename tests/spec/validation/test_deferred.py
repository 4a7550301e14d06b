"""Recorded histories with deferred messages, followed by TLC (RCV-10)."""

import pytest
from recordings import AZURE_RULES, check_told_apart, complete, did, receive, recording, send, show

from partq.spec.validation import NotFollowed, Operation, Recording, Shown, trace_of

RULES = AZURE_RULES | {"RCV-10", "PEEK-7"}
SENT = send("a"), send("b"), receive(show("a", 1, lock="x"), show("b", 2, lock="y"))
DRAINED = did("drained", "env")


def defer(lock: str, **more: object) -> Operation:
    return did("defer", "c2", locks=(lock,), **more)


def by_number(*about: str, shown: tuple[Shown, ...] = (), **more: object) -> Operation:
    return did("receive_deferred", "c3", about=about, shown=shown, **more)


def refused(*about: str, error: str = "not_found", **more: object) -> Operation:
    return by_number(*about, outcome="error", error=error, **more)


def peek(*shown: Shown) -> Operation:
    return did("peek", "c4", limit=9, since=(0, 0), shown=shown)


def aside(*operations: Operation, maximum: int = 10) -> Recording:
    """Two messages that c2 holds, then more."""
    return recording(*SENT, *operations, rules=RULES)._replace(maximum=maximum)


def state(number: int, state: str, id: str = "a", tries: int = 0) -> Shown:
    return show(id, number, tries)._replace(state=state)


TAKEN = by_number("a", shown=(show("a", 1, 0, "z"),))
COUNTED = by_number("a", shown=(show("a", 1, 1, "z"),))
ENDED = complete("x", outcome="error", error="lock_lost")
AGAIN = by_number("a", shown=(show("a", 1, 1, "w"),))
IN_TXN = did("begin", "c2", txn="t"), defer("x", txn="t")
COMMIT, ROLLBACK = did("commit", "c2", txn="t"), did("rollback", "c2", txn="t")
BOTH = by_number("a", "b", shown=(show("a", 1, 0, "z"), show("b", 2, 0, "w")))
B = (show("b", 2),)
LAWFUL = (
    aside(defer("x"), peek(state(1, "deferred"), *B), TAKEN, complete("z"), peek(*B)),
    aside(defer("x"), COUNTED, did("abandon", "c3", locks=("z",)), by_number("a", shown=(show("a", 1, 2),))),
    aside(defer("x"), by_number("a"), TAKEN, AGAIN, ENDED),  # nothing; then the lock ran out
    aside(defer("x"), TAKEN, peek(state(1, "active"), *B), peek(state(1, "deferred"), *B)),
    aside(refused("a"), defer("x"), refused(strange=True)),
    aside(defer("x"), TAKEN, refused("a"), refused("a", "b", apart=True)),
    aside(defer("x"), defer("y"), BOTH, complete("w"), complete("z"), DRAINED),
    aside(defer("x", outcome="unknown"), TAKEN),
    aside(defer("x"), by_number("a", outcome="unknown"), AGAIN),
    aside(defer("x"), by_number("a", outcome="unknown"), refused("a")),
    aside(*IN_TXN, refused("a"), COMMIT, COUNTED),
    aside(*IN_TXN, ROLLBACK, complete("x"), complete("y"), DRAINED),
    aside(defer("x"), complete("y"), refused("a"), maximum=1),  # dead-lettered, being counted
)  # fmt: skip
WRONG = (
    aside(defer("x"), receive(show("a", 1, 1, "z"))),  # without its number
    aside(defer("x"), by_number("a", shown=(show("a", 1, 2),))),  # counted twice
    aside(TAKEN),  # it is not deferred
    aside(defer("x"), peek(state(1, "active"), *B)),  # PEEK-7
    aside(defer("x"), peek(state(1, "active")._replace(tries=None), *B)),  # though no count is shown
    aside(peek(state(1, "deferred"), *B)),
    aside(defer("x"), peek(state(1, "scheduled"), *B)),
    aside(defer("x"), peek(*B)),  # it is there
    aside(defer("x"), refused("a")),  # KEY-9
    aside(defer("x"), by_number("b", shown=(show("a", 1, 0, "z"),))),  # not named
    aside(defer("x"), by_number("a", shown=(show("a", 1, 0, "z"),), apart=True)),
    aside(defer("x"), complete("x")),  # by the former lock
    aside(defer("x"), TAKEN, complete("z"), TAKEN),
    aside(defer("x"), complete("y"), DRAINED),  # lost
    aside(*IN_TXN, TAKEN),  # before the commit
    aside(*IN_TXN, ROLLBACK, TAKEN),
    aside(*IN_TXN, COMMIT, complete("x")),
    aside(defer("x"), TAKEN, did("abandon", "c3", locks=("z",)), receive(show("a", 1, 1))),
)


def test_deferred_messages_are_received_by_their_numbers_alone() -> None:
    check_told_apart(LAWFUL, WRONG)


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (aside(defer("x"))._replace(rules=AZURE_RULES), "no rule"),
        (aside(by_number("a", dead=True)), "dead letters that are deferred"),
    ],
)
def test_what_is_not_said_of_deferred_messages_is_not_followed(one: Recording, reason: str) -> None:
    with pytest.raises(NotFollowed, match=reason):
        trace_of(one)
