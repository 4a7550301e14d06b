"""Programs whose transactions come to their limits of time and number (TXN-9). Cases: TXN on the azure
profiles."""

from __future__ import annotations

from typing import Final

from partq.conformance.workload import phrases
from partq.conformance.workload.cases import steps as do
from partq.conformance.workload.cases.case import Cases, Steps
from partq.conformance.workload.cases.steps import AZURE, HELD, PARTITIONED, message, partitions
from partq.conformance.workload.phrases import Draft, Phrases
from partq.conformance.workload.program import Step
from partq.conformance.workload.weights import Theme, weighed
from partq.model.profiles import SECOND

_TIMEOUT: Final = 5 * SECOND
_MOST: Final = 4
"""The limits of transactions in these programs."""


def _wait(draft: Draft) -> None:
    """Mostly for longer than a transaction may be idle."""
    draft.wait((2, 4, 6, 6, 8)[draft.source.below(5)] * SECOND)


def _end(draft: Draft, client: str) -> None:
    """The end of a transaction, now and then asked for twice, and what is seen of it."""
    for _ in range(1 + draft.chance(6)):
        draft.add(client, "rollback" if draft.chance(4) else "commit")
    phrases.browse(draft)


def _idle(draft: Draft) -> None:
    """A transaction that is left alone, between its operations or before its end."""
    client, key = draft.client(), draft.key()
    draft.add(client, "begin")
    for _ in range(draft.source.below(3)):
        phrases.send_in(draft, client, key)
        if draft.chance(2):
            _wait(draft)
    _wait(draft)
    if draft.chance(3):
        phrases.send_in(draft, client, key)
    _end(draft, client)


def _idle_settlement(draft: Draft) -> None:
    """A transaction that settles, and is left alone; its locks may be used again."""
    client = draft.client()
    phrases.send(draft)
    draft.receive(client, 2)
    draft.add(client, "begin")
    draft.add(client, "complete" if draft.source.below(3) else "abandon", pick=[0], txn=True)
    _wait(draft)
    _end(draft, client)
    draft.add(client, "complete", pick=[0])


def _crowd(draft: Draft) -> None:
    """More messages in a transaction than it takes, or nearly so many."""
    client, key = draft.client(), draft.key()
    draft.add(client, "begin")
    if draft.chance(4):
        draft.add(client, "complete", pick=[0], txn=True)
    for _ in range(_MOST - 1 + draft.source.below(3)):
        phrases.send_in(draft, client, key)
    _end(draft, client)


PHRASES: Final[Phrases] = {
    "transaction_idle": _idle,
    "transaction_idle_settlement": _idle_settlement,
    "transaction_crowd": _crowd,
}

THEME: Final = Theme(
    "transaction-limits",
    rule="TXN-9",
    weights=weighed(
        "transaction_idle 20, transaction_idle_settlement 10, transaction_crowd 14, send 10, transaction 10, "
        "settle_transaction 4, long_transaction 4, receive 8, complete 4, peek 3, advance 2, cut_off 2, "
        "outage 2, front_end 1, kill 1"
    ),
    settings={"transaction_timeout": _TIMEOUT, "max_transaction_messages": _MOST},
    one_in=12,
)


def _enlisted(id: str, key: str | None = "a", proc: str = "c1") -> Step:
    return do.send(proc, message(id, key), txn=True)


CASES: Final = Cases()


@CASES.case("transaction-needs-a-key", PARTITIONED, "TXN-1")
def _needs_a_key() -> Steps:
    """A keyless send in a transaction is refused."""
    yield from do.transaction("c1", _enlisted("keyless", None), _enlisted("keyed"))
    yield from do.transaction("c2", _enlisted("alone", None, "c2"), end=do.rollback)
    yield do.peek("c3")


@CASES.case("transaction-sample-key", PARTITIONED, "TXN-1", "TXN-5", "TXN-8")
def _sample_of_a_key() -> Steps:
    """A message with a partition key is sent in a transaction, and is there when that is committed.
    The first sample of "Partitioned queues and topics". A message without a key is no part of it; one of the
    same key that is sent without a transaction is in the same partition."""
    yield do.begin("c1")
    yield _enlisted("This is a message", "myPartitionKey")
    yield _enlisted("without a key", None)
    yield do.peek("c2", start="start")
    yield do.commit("c1")
    yield do.peek("c2", start="start")
    yield do.send("c1", message("of the same key", "myPartitionKey"))
    yield do.take("c2", 20)


@CASES.case("transaction-sample-session", PARTITIONED, "TXN-3", "TXN-4", requires_session=True)
def _sample_of_a_session() -> Steps:
    """A message with a session ID is sent in a transaction, and is there when that is committed.
    The second sample of "Partitioned queues and topics". A partition key that equals the session ID may be
    said, too; with another one, or for a second session, it is an invalid operation."""
    yield do.begin("c1")
    yield do.send("c1", message("This is a message", session="mySession"), txn=True)
    yield do.send("c1", message("with its key", "mySession", session="mySession"), txn=True)
    yield do.send("c1", message("with another key", "myKey", session="mySession"), txn=True)
    yield do.send("c1", message("of another session", session="yourSession"), txn=True)
    yield do.peek("c2", start="start")
    yield do.commit("c1")
    yield do.peek("c2", start="start")


@CASES.case("transaction-of-one-key", PARTITIONED, "TXN-2")
def _one_key() -> Steps:
    """Sends of a second key in a transaction are refused, unless the keys share a partition.
    Of six other keys one at least is in another partition, in all likelihood."""
    others = [_enlisted(f"other {n}", f"k{n}") for n in range(6)]
    known = [do.send("c2", message(f"known {key}", key)) for key in ("a", *(f"k{n}" for n in range(6)))]
    steps = do.transaction("c1", _enlisted("m1"), *others, _enlisted("m2"))
    return [*known, *steps, do.peek("c3"), do.receive("c3", 50)]


@CASES.case("transaction-to-sessions", PARTITIONED, "TXN-3", requires_session=True)
def _of_a_session() -> Steps:
    """Where sessions are required, what a transaction sends has one, and no other partition key.
    Messages without a session, with a partition key and without, alone and in a batch, and with two keys."""
    yield do.begin("c1")
    yield _enlisted("without", None)
    yield _enlisted("key alone")
    yield do.send("c1", message("two keys", "b", session="a"), txn=True)
    yield do.send("c1", message("fits", session="a"), message("does not"), txn=True)
    yield do.send("c1", message("one", "a", session="a"), txn=True)
    yield do.send("c1", message("other", session="a"), txn=True)
    yield do.commit("c1")
    yield do.peek("c3", start="start")


@CASES.case("transaction-of-one-session", PARTITIONED, "TXN-4", requires_session=True)
def _one_session() -> Steps:
    """Sends to a second session in a transaction are refused, whether the sessions share a partition or not.
    Of six other sessions; a transaction of another session follows."""
    others = (message(f"other {n}", session=f"s{n}") for n in range(6))
    sent = (message("m1", session="a"), *others, message("m2", session="a"))
    yield from do.transaction("c1", *(do.send("c1", one) for one in sent))
    yield from do.transaction("c1", do.send("c1", message("m3", session="s0")))
    yield do.peek("c3", start="start")


@CASES.case("transactional-sends", AZURE, "TXN-5")
def _sends() -> Steps:
    """Sends are seen after their commit, and never after a rollback."""
    yield from do.transaction(
        "c1", _enlisted("yes 1"), do.peek("c3", start="start"), _enlisted("yes 2"), do.receive("c3", 5)
    )
    yield do.peek("c3", start="start")
    yield from do.transaction(
        "c1", _enlisted("no 1"), _enlisted("no 2"), do.peek("c3", start="start"), end=do.rollback
    )
    yield do.peek("c3", start="start")
    yield do.begin("c2")
    yield _enlisted("never", "a", "c2")
    yield do.receive("c3", 5)


@CASES.case("transactional-settlements", AZURE, "TXN-5", lock_duration=HELD)
def _settlements() -> Steps:
    """Settlements count after their commit; after a rollback the same lock settles again.
    All of one key: completed and committed; completed and rolled back, and then settled all the same."""
    yield from [do.send("c1", message(f"m{n}", "a")) for n in range(5)]
    yield do.receive("c1", 5)
    yield do.receive("c1", 5)
    yield from do.transaction("c1", do.complete("c1", 0), do.complete("c1", 0), do.receive("c2", 5))
    yield do.receive("c2", 5)
    yield from do.transaction("c1", do.complete("c1", 0), do.abandon("c1", 0), end=do.rollback)
    yield do.complete("c1", 0)
    yield do.complete("c1", 0)
    yield do.receive("c2", 5)


@CASES.case("transactional-receive-and-send", AZURE, "TXN-5", lock_duration=HELD)
def _both() -> Steps:
    """A message is completed and another one sent, both or neither."""
    for n, end in enumerate((do.commit, do.rollback)):
        yield from [do.send("c1", message(f"in {n}", "a")), do.receive("c1", 1)]
        yield from do.transaction("c1", do.complete("c1", 0), _enlisted(f"out {n}"), end=end)
        yield do.peek("c2", start="start")
    yield do.receive("c2", 5)


@CASES.case("transactions-at-once", AZURE, "TXN-5", concurrent=True)
def _at_once() -> Steps:
    """Three clients have transactions open at the same time."""
    for n in range(3):
        for client, key in (("c1", "a"), ("c2", "b"), ("c3", "a")):
            sends = (_enlisted(f"{client} {n} {nth}", key, client) for nth in ("first", "second"))
            yield from do.transaction(client, *sends, end=do.rollback if n == 1 else do.commit)
        yield do.peek("c4", start="start")
    yield do.receive("c4", 50)


@CASES.case("transaction-settles-in-one-partition", PARTITIONED, "TXN-7", lock_duration=HELD)
def _across(profile: str) -> Steps:
    """Settling messages of a second partition in a transaction is refused.
    Receive enough messages that at least two come from different partitions."""
    count = 4 * partitions(profile)
    sends = [do.send("c1", message(f"m{n}", f"k{n}")) for n in range(count)]
    fetch = [do.receive("c2", count)] * 3
    steps: list[Step] = []
    for end in (do.commit, do.rollback, do.commit):
        steps += do.transaction("c2", *[do.complete("c2", 0), do.complete("c2", 1)] * 3, end=end)
    return [*sends, *fetch, *steps]


@CASES.case("key-pins-in-and-out-of-transactions", PARTITIONED, "TXN-8", "ROUTE-1")
def _pinned() -> Steps:
    """Messages of a key are together, sent in transactions or not."""
    for key in ("a", "b", "c"):
        yield do.send("c2", message(f"{key} before", key))
        yield from do.transaction("c1", _enlisted(f"{key} within", key))
        yield do.send("c2", message(f"{key} after", key))
    yield from [do.peek("c3"), do.receive("c3", 20)]


@CASES.case("nothing-after-the-end", AZURE, "TXN-10")
def _over() -> Steps:
    """What is asked for in a transaction after its commit or rollback is refused.
    After a commit and after a rollback: a send, a settlement, another commit and another rollback."""
    steps = [do.send("c2", message("held", "a")), do.receive("c1")]
    for end in (do.commit, do.rollback):
        name = end("c1").op
        steps += do.transaction("c1", _enlisted(f"before the {name}"), end=end)
        after = (do.send("c1", message(f"after the {name}", "a")), do.complete("c1", 0))
        steps += map(do.in_ended, (*after, do.commit("c1"), do.rollback("c1")))
    return [*steps, do.complete("c1", 0), do.peek("c2", start="start")]


@CASES.case("idle-transaction", AZURE, "TXN-9", lock_duration=HELD, transaction_timeout=_TIMEOUT)
def _too_late() -> Steps:
    """A transaction that is idle beyond its time limit is rolled back, and nothing of it is done.
    One that sends and settles, asked for a send and a commit then; another one that is used in time."""
    yield from [do.send("c2", message("held", "a")), do.receive("c1")]
    yield from [do.begin("c1"), _enlisted("never"), do.complete("c1", 0, txn=True)]
    yield from [do.begin("c2"), _enlisted("used", proc="c2"), do.pass_time(_TIMEOUT - SECOND)]
    yield from [_enlisted("in time", proc="c2"), do.pass_time(2 * SECOND), _enlisted("too late")]
    yield from [do.commit("c1"), do.commit("c2"), do.in_ended(do.commit("c1")), do.complete("c1", 0)]
    yield do.begin("c1")
    yield from [_enlisted("nor this"), do.pass_time(_TIMEOUT + SECOND), do.rollback("c1")]
    yield from [do.peek("c3", start="start"), do.receive("c3", 9)]


@CASES.case("crowded-transaction", AZURE, "TXN-9", max_transaction_messages=_MOST)
def _too_many() -> Steps:
    """A transaction takes no more messages than its limit says.
    One by one, and a batch that goes beyond it; what was accepted before is committed."""
    for batch in (False, True):
        name = "batch" if batch else "single"
        first = [_enlisted(f"{name} {n}") for n in range(_MOST - batch)]
        more = [message(f"{name} more {n}", "a") for n in range(1 + batch)]
        yield from [*do.transaction("c1", *first, do.send("c1", *more)), do.peek("c2", start="start")]
    yield do.receive("c3", 20)
