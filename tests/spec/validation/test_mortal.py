"""Recorded histories with times to live, followed by TLC (RCV-15)."""

from recordings import AZURE_RULES, check_told_apart, complete, did, receive, recording, send, show

from partq.spec.validation import Operation, Recording, Sent, Shown

MORTAL = did("send", sent=(Sent("a", "k", mortal=True),))
DRAINED = did("drained", "env")
B = receive(show("b", 2, lock="y"))


def peek(*shown: tuple[str, int]) -> Operation:
    return did("peek", "c3", limit=9, since=(0, 0), shown=tuple(show(*one) for one in shown))


def buried(reason: str) -> Operation:
    return did("peek", "c3", limit=9, dead=True, shown=(Shown("a", 7, 7, 1, reason=reason),))


def of(*operations: Operation) -> Recording:
    return recording(*operations, rules=AZURE_RULES | {"RCV-15"})


LAWFUL = (
    of(MORTAL, DRAINED),
    of(MORTAL, send("b"), B, peek(("a", 1), ("b", 2))),  # in nobody's way, and there still
    of(MORTAL, send("b"), peek(("b", 2)), peek(("a", 1), ("b", 2))),  # one peek shows it, another does not
    of(MORTAL, receive(show("a", 1, lock="x")), DRAINED),  # after the lock
    of(MORTAL, buried("TTLExpiredException")),
)
WRONG = (
    of(send("a"), DRAINED),  # it has none
    of(send("a"), buried("TTLExpiredException")),
    of(MORTAL, buried("MaxDeliveryCountExceeded")),  # the other reason
    of(MORTAL, buried("TTLExpiredException"), receive(show("a", 1))),  # delivered after its end
    of(MORTAL, receive(show("a", 1, lock="x")), peek(), complete("x")),  # a held one stays
)


def test_what_is_over_is_delivered_no_more_and_may_be_there() -> None:
    check_told_apart(LAWFUL, WRONG)
