"""Recorded histories with several transactions that are open at a time, and their limits (TXN-9), followed by
TLC."""

from recordings import AZURE_RULES, check_told_apart, complete, did, receive, recording, send, show

from partq.spec.validation import Operation, Recording

RULES = AZURE_RULES | {"TXN-9", "PEEK-7"}
DRAINED = did("drained", "env")
BOTH = did("begin", "c1", txn="s"), did("begin", "c2", txn="t")


def within(one: Operation, txn: str) -> Operation:
    return one._replace(txn=txn)


def commit(txn: str, **more: object) -> Operation:
    return did("commit", "c1", txn=txn, **more)


def rollback(txn: str, **more: object) -> Operation:
    return did("rollback", "c1", txn=txn, **more)


def lost(one: Operation, error: str = "lock_lost") -> Operation:
    return one._replace(outcome="error", error=error)


def deals(*operations: Operation) -> Recording:
    return recording(*operations, rules=RULES)


A, B = within(send("a"), "s"), within(send("b"), "t")
SENT = send("c"), receive(show("c", 1, lock="x"))
SETTLED = *SENT, *BOTH, within(complete("x"), "s")
ALL_A = receive(show("a", 1, lock="y"))
FULL = within(send("d", outcome="error"), "s")._replace(error="quota", full=True)
GONE = lost(commit("s"), "not_found")
LAWFUL = (
    deals(*BOTH, A, B, commit("t"), receive(show("b", 1)), commit("s"), receive(show("a", 2))),
    deals(*BOTH, A, B, commit("t"), receive(show("b", 2)), commit("s"), receive(show("a", 1))),
    deals(*BOTH, A, B, rollback("s"), commit("t"), receive(show("b", 2, lock="y")), complete("y"), DRAINED),
    deals(*BOTH, A, B, commit("t", outcome="unknown"), commit("s"), ALL_A, receive(show("b", 2))),
    deals(*BOTH, A, B, commit("t", outcome="unknown"), receive(show("b", 1)), commit("s"),
        receive(show("a", 2))),
    deals(*SETTLED, B, commit("t"), receive(show("b", 2, lock="y")), complete("y"), commit("s"), DRAINED),
    deals(*SETTLED, B, rollback("s"), within(complete("x"), "t"), commit("t"), receive(show("b", 2))),
    deals(*SETTLED, lost(within(complete("x"), "t")), commit("s")),  # the other one settles it
    deals(*SETTLED, B, commit("t"), receive(show("c", 1, 1, "z")), receive(show("b", 2)), GONE),
    deals(*SETTLED, did("partition_down", "env", partition=7), did("partition_up", "env", partition=7),
        commit("t"), GONE, complete("x"), DRAINED),
    deals(*BOTH, A, FULL, commit("s"), ALL_A),
    deals(*BOTH, A, lost(commit("s"), "not_found")._replace(late=("s",)), B, commit("t"),
        receive(show("b", 1))),
    deals(*SETTLED, within(complete("x"), "t")._replace(late=("s",)), commit("t"), DRAINED),
)  # fmt: skip
WRONG = (
    deals(*BOTH, A, B, commit("t"), receive(show("a", 1))),  # of the other one
    deals(*BOTH, A, B, rollback("s"), commit("t"), receive(show("a", 1))),
    deals(*BOTH, A, B, rollback("t"), commit("s"), receive(show("a", 1, lock="y")), complete("y"),
        receive(show("b", 2))),
    deals(*BOTH, A, commit("t"), commit("s"), commit("s")),  # TXN-10
    deals(*BOTH, A, B, commit("t"), within(send("d"), "t")),
    deals(*SETTLED, within(complete("x"), "t")),  # the other one holds it
    deals(*SETTLED, commit("t"), DRAINED, commit("s")),
    deals(*SETTLED, B, commit("t"), receive(show("c", 1, 1, "z")), commit("s")),  # RCV-8
    deals(*BOTH, A, GONE),  # for nothing
    deals(*BOTH, A, B, commit("t"), GONE),
    deals(*BOTH, A, FULL._replace(full=False)),
    deals(*BOTH, A, within(send("d"), "s")._replace(overfull=True)),
    deals(*BOTH, A, lost(commit("s"), "not_found")._replace(late=("t",))),
)  # fmt: skip


def test_transactions_that_are_open_at_a_time_are_told_apart() -> None:
    check_told_apart(LAWFUL, WRONG)
