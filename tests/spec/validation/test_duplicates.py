"""Recorded histories in which a message ID is sent again, followed by TLC (DUP)."""

from recordings import AZURE_RULES, check_told_apart, complete, did, receive, recording, send, show

from partq.spec.validation import Operation, Recording, Sent

RULES = AZURE_RULES | {"DUP-1", "DUP-2"} | {f"SCH-{n}" for n in range(1, 7)}
DRAINED = did("drained", "env")


def again(id: str, of: str, certain: bool = True, op: str = "send", later: str | None = None) -> Operation:
    """A message that may be a duplicate of another one, or is one."""
    return did(op, sent=(Sent(id, "k", later=later, copies=(of,), repeats=(of,) if certain else ()),))


def ids(*operations: Operation) -> Recording:
    return recording(*operations, rules=RULES)


A, B = send("a"), send("b")
COPY, DOUBT, NONE = again("a2", "a"), again("a2", "a", certain=False), send("a2")
TAKEN = receive(show("a", 1, lock="x")), complete("x")
LATE = again("a2~", "a", op="schedule", later="a2")
BEGIN, COMMIT, ROLLBACK = (did(op, txn="t") for op in ("begin", "commit", "rollback"))
INSIDE = BEGIN, COPY._replace(txn="t")
FIRST = BEGIN, again("a", "a2")._replace(txn="t")
SECOND = receive(show("a2", 1, lock="y")), complete("y")
REFUSED = A._replace(outcome="error", error="unavailable")
LAWFUL = (
    ids(A, COPY, *TAKEN, DRAINED),
    ids(A, *TAKEN, COPY, DRAINED),  # it counts though it is gone
    ids(A, COPY, B, receive(show("a", 1), show("b", 2))),
    ids(A, COPY, B, receive(show("a", 1), show("b", 3))),  # SEQ-4: it used up a number
    ids(A, DOUBT, *TAKEN, DRAINED),
    ids(A, DOUBT, *TAKEN, receive(show("a2", 2, lock="y")), complete("y"), DRAINED),
    ids(A, NONE, *TAKEN, receive(show("a2", 2, lock="y")), complete("y"), DRAINED),  # DUP-2
    ids(A, LATE, *TAKEN, DRAINED),
    ids(REFUSED, COPY, receive(show("a2", 1))),
    ids(A, *INSIDE, COMMIT, *TAKEN, DRAINED),
    ids(*INSIDE, A, COMMIT, *TAKEN, DRAINED),  # found at the commit
    ids(*FIRST, COPY, COMMIT, *TAKEN, DRAINED),  # the second is dropped
    ids(*FIRST, COPY, COMMIT, *SECOND, DRAINED),  # or the first
    ids(*FIRST, COPY, ROLLBACK, DRAINED),
    ids(*FIRST, ROLLBACK, COPY, *SECOND, DRAINED),
    ids(*FIRST, COPY._replace(txn="t"), COMMIT, *SECOND, DRAINED),
)
WRONG = (
    ids(A, COPY, *TAKEN, receive(show("a2", 2))),  # DUP-1
    ids(A, *TAKEN, COPY, receive(show("a2", 2))),
    ids(A, NONE, *TAKEN, DRAINED),  # DUP-2: lost
    ids(A, B, COPY, receive(show("b", 2), show("a2", 3))),
    ids(A, COPY, COPY._replace(sent=(Sent("a3", "k", copies=("a2",)),)), *TAKEN, DRAINED),  # not stored
    ids(A, LATE, *TAKEN, receive(show("a2", 3))),
    ids(REFUSED, COPY, DRAINED),
    ids(A, *INSIDE, COMMIT, *TAKEN, receive(show("a2", 2))),
    ids(*FIRST, COPY, COMMIT, *TAKEN, receive(show("a2", 2))),
    ids(*FIRST, COPY, COMMIT, DRAINED),  # both dropped
    ids(*FIRST, ROLLBACK, COPY, DRAINED),
    ids(*FIRST, COPY._replace(txn="t"), COMMIT, DRAINED),
    ids(A, COPY._replace(outcome="error", error="quota"), DRAINED),
)  # fmt: skip


def test_a_message_is_stored_once_within_the_window_of_its_id() -> None:
    check_told_apart(LAWFUL, WRONG)
