"""Recorded histories with scheduled messages, followed by TLC (SCH)."""

import pytest
from recordings import AZURE_RULES, check_told_apart, complete, did, receive, recording, send, show

from partq.spec.validation import NotFollowed, Operation, Recording, Sent, trace_of

RULES = AZURE_RULES | {f"SCH-{n}" for n in range(1, 7)}
DRAINED = did("drained", "env")


def later(
    id: str, number: int | None = None, op: str = "schedule", past: bool = False, **more: object
) -> Operation:
    """A message that is scheduled; the schedule operation answers its number."""
    shown = () if number is None else (show(f"{id}~", number),)
    return did(op, sent=(Sent(f"{id}~", "k", later=id, past=past),), shown=shown, **more)


def cancel(*about: str, **more: object) -> Operation:
    return did("cancel_scheduled", about=about, **more)


def peek(*shown: tuple[str, int]) -> Operation:
    return did("peek", "c2", limit=9, since=(0, 0), shown=tuple(show(*one) for one in shown))


def timed(*operations: Operation) -> Recording:
    return recording(*operations, rules=RULES)


A = later("a", 1)
PAST = later("a", op="send", past=True)
TAKEN = receive(show("a", 2, lock="x")), complete("x")
REFUSED = cancel("a~", outcome="error", error="not_found")
BEGUN = did("begin", txn="t"), later("a", 1, txn="t")
COMMIT = did("commit", txn="t")
CANCELS = did("begin", txn="t"), cancel("a~", txn="t")
LAWFUL = (
    timed(A, peek(("a~", 1)), *TAKEN, DRAINED),
    timed(later("a", op="send"), peek(("a~", 1)), *TAKEN, DRAINED),
    timed(A, send("b"), receive(show("b", 2, lock="y"), show("a", 3, lock="x"))),  # to the end
    timed(A, send("b"), send("c"), receive(show("a", 3), show("b", 2), show("c", 4))),  # between
    timed(A, cancel("a~"), peek(), send("b"), receive(show("b", 2))),
    timed(A, cancel("a~"), receive(show("a", 2, lock="x"))),  # it raced with the activation
    timed(A, receive(show("a", 2, lock="x")), REFUSED),
    timed(A, cancel("a~", outcome="unknown"), peek(), DRAINED),
    timed(PAST, receive(show("a", 1, lock="x")), send("b"), peek(("a", 1), ("b", 2))),
    timed(PAST, send("b"), receive(show("a", 2), show("b", 3))),
    timed(*BEGUN, peek(), COMMIT, peek(("a~", 1)), *TAKEN),
    timed(*BEGUN, did("rollback", txn="t"), peek(), DRAINED),
    timed(A, *CANCELS, peek(("a~", 1)), COMMIT, peek(), DRAINED),
    timed(A, *CANCELS, COMMIT, peek(("a~", 1)), peek(), DRAINED),  # visible some time later (TXN-5)
    timed(A, *CANCELS, did("rollback", txn="t"), *TAKEN, DRAINED),
    timed(A, *CANCELS, COMMIT._replace(outcome="error", error="not_found"), *TAKEN),  # it came first
)  # fmt: skip
WRONG = (
    timed(A, receive(show("a", 1))),  # SCH-4: under the old number
    timed(A, peek()),  # PEEK-7: it is there
    timed(A, DRAINED),  # SCH-1: its time came by then
    timed(A, *TAKEN, peek(("a~", 1))),  # SCH-6: activated, and scheduled
    timed(A, cancel("a~"), peek(("a~", 1))),  # SCH-3
    timed(A, *TAKEN, cancel("a~")),  # SCH-4: the number is void
    timed(A, cancel()),  # no message has that number
    timed(A, send("b"), receive(show("b", 4), show("a", 3))),  # SEQ-4: a number is left out
    timed(later("a", op="send"), receive(show("a", 1)), send("b"), peek(("b", 2))),  # two numbers
    timed(*BEGUN, peek(("a~", 1)), COMMIT),  # TXN-5
    timed(*BEGUN, did("rollback", txn="t"), receive(show("a", 2))),
    timed(A, *CANCELS, COMMIT, peek(), peek(("a~", 1))),  # TXN-5: what was not shown any more
)


def test_scheduled_messages_are_born_twice_or_cancelled() -> None:
    check_told_apart(LAWFUL, WRONG)


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (recording(A), "no rule"),
        (timed(did("begin", txn="t"), later("a", op="send", past=True, txn="t"), COMMIT), "time had come"),
    ],
)
def test_what_is_not_said_of_scheduled_messages_is_not_followed(one: Recording, reason: str) -> None:
    with pytest.raises(NotFollowed, match=reason):
        trace_of(one)
