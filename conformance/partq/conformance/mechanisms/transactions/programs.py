"""Cases. Transactions: TXN on the azure profiles."""

from __future__ import annotations

from typing import Final

from partq.conformance.workload.cases.case import Cases
from partq.conformance.workload.cases.steps import (
    AZURE,
    HELD,
    PARTITIONED,
    abandon,
    begin,
    commit,
    complete,
    in_ended,
    message,
    partitions,
    peek,
    program,
    receive,
    rollback,
    send,
)
from partq.conformance.workload.program import Program, Step


def _enlisted(id: str, key: str | None = "a", proc: str = "c1") -> Step:
    return send(proc, message(id, key), txn=True)


CASES: Final = Cases()


@CASES.case("transaction-needs-a-key", PARTITIONED, "TXN-1")
def _needs_a_key(profile: str) -> Program:
    """A keyless send in a transaction is refused."""
    return program(
        profile,
        begin("c1"),
        _enlisted("keyless", None),
        _enlisted("keyed"),
        commit("c1"),
        begin("c2"),
        _enlisted("alone", None, "c2"),
        rollback("c2"),
        peek("c3"),
    )


@CASES.case("transaction-of-one-key", PARTITIONED, "TXN-2")
def _one_key(profile: str) -> Program:
    """Sends of a second key in a transaction are refused, unless the keys share a partition.
    Of six other keys one at least is in another partition, in all likelihood."""
    others = [_enlisted(f"other {n}", f"k{n}") for n in range(6)]
    known = [send("c2", message(f"known {key}", key)) for key in ("a", *(f"k{n}" for n in range(6)))]
    steps = (begin("c1"), _enlisted("m1"), *others, _enlisted("m2"), commit("c1"))
    return program(profile, *known, *steps, peek("c3"), receive("c3", 50))


@CASES.case("transactional-sends", AZURE, "TXN-5")
def _sends(profile: str) -> Program:
    """Sends are seen after their commit, and never after a rollback."""
    return program(
        profile,
        begin("c1"),
        _enlisted("yes 1"),
        peek("c3", start="start"),
        _enlisted("yes 2"),
        receive("c3", 5),
        commit("c1"),
        peek("c3", start="start"),
        begin("c1"),
        _enlisted("no 1"),
        _enlisted("no 2"),
        peek("c3", start="start"),
        rollback("c1"),
        peek("c3", start="start"),
        begin("c2"),
        _enlisted("never", "a", "c2"),
        receive("c3", 5),
    )


@CASES.case("transactional-settlements", AZURE, "TXN-5")
def _settlements(profile: str) -> Program:
    """Settlements count after their commit; after a rollback the same lock settles again.
    All of one key: completed and committed; completed and rolled back, and then settled all the same."""
    return program(
        profile,
        *[send("c1", message(f"m{n}", "a")) for n in range(5)],
        receive("c1", 5),
        receive("c1", 5),
        begin("c1"),
        complete("c1", 0, txn=True),
        complete("c1", 0, txn=True),
        receive("c2", 5),
        commit("c1"),
        receive("c2", 5),
        begin("c1"),
        complete("c1", 0, txn=True),
        abandon("c1", 0, txn=True),
        rollback("c1"),
        complete("c1", 0),
        complete("c1", 0),
        receive("c2", 5),
        lock_duration=HELD,
    )


@CASES.case("transactional-receive-and-send", AZURE, "TXN-5")
def _both(profile: str) -> Program:
    """A message is completed and another one sent, both or neither."""
    steps: list[Step] = []
    for n, end in enumerate((commit, rollback)):
        steps += [send("c1", message(f"in {n}", "a")), receive("c1", 1), begin("c1")]
        steps += [complete("c1", 0, txn=True), _enlisted(f"out {n}"), end("c1"), peek("c2", start="start")]
    return program(profile, *steps, receive("c2", 5), lock_duration=HELD)


@CASES.case("transactions-at-once", AZURE, "TXN-5")
def _at_once(profile: str) -> Program:
    """Three clients have transactions open at the same time."""
    steps: list[Step] = []
    for n in range(3):
        for client, key in (("c1", "a"), ("c2", "b"), ("c3", "a")):
            name = f"{client} {n}"
            steps += [begin(client), _enlisted(f"{name} first", key, client)]
            steps += [_enlisted(f"{name} second", key, client), (rollback if n == 1 else commit)(client)]
        steps.append(peek("c4", start="start"))
    return program(profile, *steps, receive("c4", 50), concurrent=True)


@CASES.case("transaction-settles-in-one-partition", PARTITIONED, "TXN-7")
def _across(profile: str) -> Program:
    """Settling messages of a second partition in a transaction is refused.
    Receive enough messages that at least two come from different partitions."""
    count = 4 * partitions(profile)
    sends = [send("c1", message(f"m{n}", f"k{n}")) for n in range(count)]
    fetch = [receive("c2", count)] * 3
    steps: list[Step] = []
    for end in (commit, rollback, commit):
        steps += [begin("c2"), *[complete("c2", 0, txn=True), complete("c2", 1, txn=True)] * 3, end("c2")]
    return program(profile, *sends, *fetch, *steps, lock_duration=HELD)


@CASES.case("key-pins-in-and-out-of-transactions", PARTITIONED, "TXN-8", "ROUTE-1")
def _pinned(profile: str) -> Program:
    """Messages of a key are together, sent in transactions or not."""
    steps: list[Step] = []
    for key in ("a", "b", "c"):
        steps += [send("c2", message(f"{key} before", key)), begin("c1")]
        steps += [_enlisted(f"{key} within", key), commit("c1"), send("c2", message(f"{key} after", key))]
    return program(profile, *steps, peek("c3"), receive("c3", 20))


@CASES.case("nothing-after-the-end", AZURE, "TXN-10")
def _over(profile: str) -> Program:
    """What is asked for in a transaction after its commit or rollback is refused.
    After a commit and after a rollback: a send, a settlement, another commit and another rollback."""
    steps = [send("c2", message("held", "a")), receive("c1")]
    for end in (commit, rollback):
        name = end("c1").op
        steps += [begin("c1"), _enlisted(f"before the {name}"), end("c1")]
        steps += [in_ended(send("c1", message(f"after the {name}", "a"))), in_ended(complete("c1", 0))]
        steps += [in_ended(commit("c1")), in_ended(rollback("c1"))]
    return program(profile, *steps, complete("c1", 0), peek("c2", start="start"))
