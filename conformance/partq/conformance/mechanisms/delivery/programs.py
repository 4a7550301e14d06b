"""Programs of few messages that several front ends share, with faults of these and timeouts of all lengths.
Cases. Receiving and settling: RCV on the azure profiles."""

from __future__ import annotations

from typing import Final

from partq.conformance.workload import phrases
from partq.conformance.workload.cases import steps as do
from partq.conformance.workload.cases.case import Cases, Steps
from partq.conformance.workload.cases.steps import AZURE, HELD, LOCK, PARTITIONED, apart, message, partitions
from partq.conformance.workload.phrases import Draft, Phrases, settlement
from partq.conformance.workload.program import Step
from partq.conformance.workload.weights import Theme, weighed
from partq.model.operations import ENV
from partq.model.profiles import SECOND

_BODIES: Final = ("", "plain", "ünï¢ødé ✓", "<b>&amp;</b>", "x" * 2000, "line\nbreak\ttab", '{"a": [1]}')


def _ask(draft: Draft, clients: int) -> None:
    """Several clients ask for a message each."""
    for _ in range(clients):
        draft.receive(draft.client())


def _ask_in_vain(draft: Draft) -> None:
    """Fewer messages than clients that ask; some ask again when the locks have ended."""
    phrases.send_some(draft, 1, 2)
    _ask(draft, 3)
    if draft.source.below(3):
        draft.wait(draft.entity.lock_duration + SECOND)
    _ask(draft, 2)
    draft.add(draft.client(), settlement(draft), pick=[0])


def _ask_again(draft: Draft) -> None:
    """One client asks for one message after the other, while the locks of what was fetched run."""
    client, part = draft.client(), draft.entity.lock_duration // (2 + draft.source.below(3))
    phrases.send_some(draft, 2, 4)
    for _ in range(2 + draft.source.below(3)):
        draft.receive(client)
        draft.wait(part)
    draft.add(client, settlement(draft), pick=[draft.source.below(3)])
    _ask(draft, 2)


def _lose_front_end(draft: Draft) -> None:
    """A front end is lost, with what it fetched, and later its locks end."""
    client = draft.client()
    phrases.send_some(draft, 2, 3)
    draft.receive(client)
    draft.add(ENV, "frontend_lost", proc=client)
    _ask(draft, 2)
    draft.add(client, settlement(draft), pick=[0])
    if draft.source.below(3):
        draft.wait(draft.entity.lock_duration + SECOND)
    _ask(draft, 2)


def _send_in_time(draft: Draft) -> None:
    """Sends of many timeouts while partitions are down."""
    count = draft.entity.partitions
    downs = [draft.source.below(count) for _ in range(1 + draft.source.below(2))]
    with draft.outage(*downs):
        for _ in range(2 + draft.source.below(4)):
            key = draft.key() if draft.chance(4) else None
            timeout = (5, 14, 15, 16, 20, 40)[draft.source.below(6)] * SECOND
            draft.send(draft.client(), draft.message(key), timeout=timeout)


PHRASES: Final[Phrases] = {
    "front_ends_few": _ask_in_vain,
    "front_ends_fetched": _ask_again,
    "front_ends_parted": _lose_front_end,
    "front_ends_timed": _send_in_time,
}

THEME: Final = Theme(
    "front-ends",
    rule="RCV-13",
    weights=weighed(
        "front_ends_few 16, front_ends_fetched 12, front_ends_parted 10, front_ends_timed 5, send 6, "
        "receive 10, take 2, complete 8, abandon 4, renew 3, stale 3, peek 5, transaction 2, advance 4, "
        "front_end 2, outage 1, kill 1"
    ),
    one_in=24,
)

CASES: Final = Cases()


@CASES.case("bodies-and-properties", AZURE, "RCV-1", "RCV-2")
def _content() -> Steps:
    """Text of every kind arrives as it was sent, by peek and by receive."""
    sends = [do.send("c1", message(f"m{n}", "a", body=body)) for n, body in enumerate(_BODIES)]
    more = [do.send("c1", message("s1", session="s", body="in a session")), do.send("c1", message("k1"))]
    return [*sends, *more, do.peek("c2"), do.receive("c2", 20), do.receive("c2", 20)]


@CASES.case("nothing-lost-in-a-restart", AZURE, "RCV-1", "RCV-2")
def _kept() -> Steps:
    """Active, locked, abandoned and completed messages when the broker is killed."""
    sends = [do.send("c1", message(f"m{n}", f"k{n % 4}")) for n in range(12)]
    half = [
        do.receive("c2", 2),
        do.complete("c2"),
        do.abandon("c2"),
        do.receive("c2", 3),
        do.complete("c2", 1),
    ]
    return [*sends, *half, *do.restart(), do.send("c1", message("after", "k0")), do.receive("c3", 2)]


@CASES.case("nothing-lost-with-a-front-end", AZURE, "RCV-2")
def _fetched() -> Steps:
    """Front ends are lost with what they had fetched for their clients."""
    sends = [do.send("c1", message(f"m{n}", f"k{n % 4}")) for n in range(16)]
    clients = ("c2", "c3", "c4", "c5")
    losses = [step for client in clients for step in (do.receive(client), do.lose_front_end(client))]
    return [*sends, *losses, do.pass_time(), *losses, do.receive("c2", 20), do.complete("c2")]


@CASES.case("held-by-another-front-end", PARTITIONED, "RCV-2", "RCV-6", "RCV-13", seed=10)
def _few() -> Steps:
    """Of a few messages other front ends may hold some: a receive finds nothing, until their locks end.
    Three rounds of two messages, for which four clients ask one by one, at once and when locks have ended."""
    clients = ("c2", "c3", "c4", "c5")
    for n in range(3):
        yield from (do.send("c1", message(f"{key} {n}", f"{key} {n}")) for key in ("red", "green"))
        yield from map(do.receive, clients)
        yield do.pass_time()
        yield from (step for client in clients for step in (do.receive(client), do.complete(client)))


@CASES.case("fetched-before-it-was-asked-for", PARTITIONED, "RCV-2", "RCV-8", "RCV-9", "RCV-13", seed=3)
def _fetched_early() -> Steps:
    """The lock on a message may have been running before its delivery, and ends so much earlier.
    One client asks for messages one by one, each a fifth of a lock's duration later. The first lock is
    lost when it settles; what was lost comes again with a higher count."""
    yield from (do.send("c1", message(f"m{n}", f"k{n % 4}")) for n in range(8))
    for _ in range(6):
        yield from [do.receive("c2"), do.pass_time(LOCK // 5)]
    yield from [do.complete("c2", 0), do.complete("c2", 4), do.complete("c2", 3)]
    yield from [do.receive("c3", 20), do.complete("c3", 0), do.pass_time(), do.complete("c3", 0)]
    yield from [do.receive("c4", 20), do.complete("c4", 0), do.complete("c4", 0)]


@CASES.case("counted-though-nobody-saw-it", PARTITIONED, "RCV-2", "RCV-6", "RCV-9", seed=8)
def _lost_with_its_cache() -> Steps:
    """What a lost front end had fetched comes when its lock has ended, counted though no client saw it.
    Each front end is lost right after its first answer; then one client receives all there is, twice."""
    yield from (do.send("c1", message(f"m{n}", f"k{n}")) for n in range(10))
    for client in ("c2", "c3", "c4"):
        yield from [do.receive(client), do.lose_front_end(client), do.receive(client)]
    yield from [do.receive("c5", 20), do.receive("c5", 20), do.pass_time()]
    for _ in range(4):
        yield from [do.receive("c5", 20), do.complete("c5", 0)]


@CASES.case("one-by-one-in-order", AZURE, "RCV-3")
def _in_order() -> Steps:
    """Messages of one key are received and completed one by one."""
    sends = [do.send("c1", message(f"m{n}", "a")) for n in range(6)]
    one_by_one: list[Step] = []
    for _ in range(6):
        one_by_one += [do.receive("c2"), do.complete("c2")]
    return [*sends, *apart(*one_by_one)]


@CASES.case("two-receivers-in-order", AZURE, "RCV-3", lock_duration=HELD)
def _in_order_two() -> Steps:
    """Two clients receive from the same two keys by turns."""
    sends = [do.send("c1", message(f"m{n}", f"k{n % 2}")) for n in range(10)]
    return [*sends, *apart(*[do.receive(f"c{2 + n % 2}", 2) for n in range(8)])]


@CASES.case("finished-out-of-turn", AZURE, "RCV-3", "RCV-7", lock_duration=HELD)
def _out_of_turn() -> Steps:
    """Two consumers finish the second and third of five messages before the first.
    The example of "Message sequencing and timestamps": they complete 2, 3, 1."""
    sends = [do.send("c1", message(f"m{n}", "a")) for n in range(1, 6)]
    first, second, third = do.receive("c2"), do.receive("c3"), do.receive("c3")
    finished = [do.complete("c3"), third, do.complete("c3"), do.complete("c2")]
    rest = [do.receive("c2", 2), do.complete("c2", 0, 1), do.receive("c3", 5)]
    return [*sends, first, second, *finished, *rest]


@CASES.case("lock-excludes-others", AZURE, "RCV-6", lock_duration=HELD)
def _excluded() -> Steps:
    """While messages are locked, other clients ask for them in vain."""
    sends = [do.send("c1", message(f"m{n}", "a")) for n in range(3)]
    holders = [do.receive("c2", 2), do.receive("c3", 3), do.receive("c4", 3), do.receive("c3", 3)]
    again = [do.abandon("c2", 0), do.receive("c4", 3), do.renew("c2"), do.receive("c3", 3)]
    return [*sends, *holders, *again]


@CASES.case("renewed-lock-lasts", AZURE, "RCV-6")
def _renewed() -> Steps:
    """A lock that is renewed twice excludes others beyond its first end."""
    step = 3 * LOCK // 5
    again = (
        do.renew("c2"),
        do.pass_time(step),
        do.receive("c3", 5),
        do.renew("c2"),
        do.pass_time(step),
        do.receive("c3", 5),
    )
    return [
        do.send("c1", message("m1", "a")),
        do.receive("c2"),
        do.pass_time(step),
        *again,
        do.complete("c2"),
    ]


@CASES.case("receivers-at-once", AZURE, "RCV-7", concurrent=True, lock_duration=HELD)
def _receivers_at_once() -> Steps:
    """Three clients receive, complete and abandon at the same time."""
    sends = [do.send("c1", message(f"m{n}", f"k{n % 3}")) for n in range(9)]
    races = [step for n in range(5) for client in ("c2", "c3", "c4") for step in _race(client, n)]
    return [*sends, *races]


def _race(client: str, turn: int) -> tuple[Step, ...]:
    return do.receive(client, 2), (do.complete(client) if turn % 2 else do.abandon(client))


@CASES.case("finished-stays-gone", AZURE, "RCV-7")
def _gone() -> Steps:
    """Completed and deleted messages do not come back, also when locks would have ended."""
    sends = [do.send("c1", message(f"m{n}", "a")) for n in range(4)]
    ends = [do.receive("c2"), do.complete("c2"), do.receive("c2"), do.complete("c2"), do.take("c3", 2)]
    return [*sends, *ends, do.receive("c4", 5), do.pass_time(), do.receive("c2", 5), do.peek("c4")]


@CASES.case("finished-stays-gone-after-restart", AZURE, "RCV-7")
def _gone_after_restart() -> Steps:
    """Nor do they when the broker is killed and started."""
    sends = [do.send("c1", message(f"m{n}", "a")) for n in range(4)]
    ends = [do.receive("c2", 2), do.complete("c2", 0, 1), do.take("c3")]
    return [*sends, *ends, *do.restart(), do.receive("c4", 5), do.pass_time(), do.receive("c4", 5)]


@CASES.case("lost-lock-settles-nothing", AZURE, "RCV-8")
def _lost_lock() -> Steps:
    """Settling and renewing by locks that were completed, have expired or are somebody else's by now."""
    yield from [do.send("c1", message(f"m{n}", "a")) for n in range(4)]
    yield from [do.receive("c2", 4)] * 3
    yield do.complete("c2")
    yield do.complete("c2", stale=True)
    yield do.renew("c2", stale=True)
    yield do.pass_time()
    yield do.complete("c2")
    yield do.renew("c2")
    yield do.receive("c3")
    yield do.abandon("c2", stale=True)
    yield do.abandon("c2")
    yield do.complete("c3")
    yield do.abandon("c3", stale=True)


@CASES.case("delivery-count", AZURE, "RCV-9")
def _counted() -> Steps:
    """Abandon and lock expiry raise the count, twice each."""
    abandons: list[Step] = []
    for _ in range(2):
        abandons += [do.receive("c2"), do.abandon("c2")]
    expiries: list[Step] = []
    for _ in range(2):
        expiries += [do.receive("c3"), do.pass_time()]
    return [do.send("c1", message("m1", "a")), *abandons, *expiries, do.receive("c2"), do.complete("c2")]


@CASES.case("partitions-cannot-be-told", PARTITIONED, "RCV-12")
def _invisible() -> Steps:
    """Answers from many partitions keep to the size asked for and repeat nothing."""
    sends = [do.send("c1", message(f"m{n}", f"k{n}")) for n in range(12)]
    return [*sends, do.receive("c2", 3), do.receive("c2", 5), do.receive("c3", 50), do.take("c4", 2)]


@CASES.case("locks-shown-with-their-end", PARTITIONED, "RCV-13")
def _ends_of_locks() -> Steps:
    """Two clients lock messages of many partitions; how long each lock still lasts is free."""
    return _invisible()


@CASES.case("settling-across-partitions", PARTITIONED, "RCV-14", lock_duration=HELD)
def _two_partitions(profile: str) -> Steps:
    """One request that names locks of two partitions is refused.
    Hold many messages and name them in twos and threes, so that some are of different partitions."""
    count = 4 * partitions(profile)
    sends = [do.send("c1", message(f"m{n}", f"k{n}")) for n in range(count)]
    fetch = [do.receive("c2", count)] * 6
    pairs = [do.complete("c2", n, n + 1) for n in range(6)] + [do.complete("c2", 0, n) for n in range(5, 12)]
    settle = [*pairs, do.complete("c2", 0, 4, 8), do.abandon("c2", 0, 2, 4, 6), do.abandon("c2", *range(12))]
    return [*sends, *fetch, *settle, do.complete("c2")]
