"""Cases. Receiving and settling: RCV on the azure profiles."""

from __future__ import annotations

from typing import Final

from partq.conformance.workload.cases.case import Cases, Steps
from partq.conformance.workload.cases.steps import (
    AZURE,
    HELD,
    LOCK,
    PARTITIONED,
    abandon,
    apart,
    complete,
    lose_front_end,
    message,
    partitions,
    pass_time,
    peek,
    receive,
    renew,
    restart,
    send,
    take,
)
from partq.conformance.workload.program import Step

_BODIES: Final = ("", "plain", "ünï¢ødé ✓", "<b>&amp;</b>", "x" * 2000, "line\nbreak\ttab", '{"a": [1]}')


CASES: Final = Cases()


@CASES.case("bodies-and-properties", AZURE, "RCV-1", "RCV-2")
def _content() -> Steps:
    """Text of every kind arrives as it was sent, by peek and by receive."""
    sends = [send("c1", message(f"m{n}", "a", body=body)) for n, body in enumerate(_BODIES)]
    more = [send("c1", message("s1", session="s", body="in a session")), send("c1", message("k1"))]
    return [*sends, *more, peek("c2"), receive("c2", 20), receive("c2", 20)]


@CASES.case("nothing-lost-in-a-restart", AZURE, "RCV-1", "RCV-2")
def _kept() -> Steps:
    """Active, locked, abandoned and completed messages when the broker is killed."""
    sends = [send("c1", message(f"m{n}", f"k{n % 4}")) for n in range(12)]
    half = [receive("c2", 2), complete("c2"), abandon("c2"), receive("c2", 3), complete("c2", 1)]
    return [*sends, *half, *restart(), send("c1", message("after", "k0")), receive("c3", 2)]


@CASES.case("nothing-lost-with-a-front-end", AZURE, "RCV-2")
def _fetched() -> Steps:
    """Front ends are lost with what they had fetched for their clients."""
    sends = [send("c1", message(f"m{n}", f"k{n % 4}")) for n in range(16)]
    clients = ("c2", "c3", "c4", "c5")
    losses = [step for client in clients for step in (receive(client), lose_front_end(client))]
    return [*sends, *losses, pass_time(), *losses, receive("c2", 20), complete("c2")]


@CASES.case("one-by-one-in-order", AZURE, "RCV-3")
def _in_order() -> Steps:
    """Messages of one key are received and completed one by one."""
    sends = [send("c1", message(f"m{n}", "a")) for n in range(6)]
    one_by_one: list[Step] = []
    for _ in range(6):
        one_by_one += [receive("c2"), complete("c2")]
    return [*sends, *apart(*one_by_one)]


@CASES.case("two-receivers-in-order", AZURE, "RCV-3", lock_duration=HELD)
def _in_order_two() -> Steps:
    """Two clients receive from the same two keys by turns."""
    sends = [send("c1", message(f"m{n}", f"k{n % 2}")) for n in range(10)]
    return [*sends, *apart(*[receive(f"c{2 + n % 2}", 2) for n in range(8)])]


@CASES.case("finished-out-of-turn", AZURE, "RCV-3", "RCV-7", lock_duration=HELD)
def _out_of_turn() -> Steps:
    """Two consumers finish the second and third of five messages before the first."""
    sends = [send("c1", message(f"m{n}", "a")) for n in range(1, 6)]
    first, second, third = receive("c2"), receive("c3"), receive("c3")
    finished = [complete("c3"), third, complete("c3"), complete("c2")]
    rest = [receive("c2", 2), complete("c2", 0, 1), receive("c3", 5)]
    return [*sends, first, second, *finished, *rest]


@CASES.case("lock-excludes-others", AZURE, "RCV-6", lock_duration=HELD)
def _excluded() -> Steps:
    """While messages are locked, other clients ask for them in vain."""
    sends = [send("c1", message(f"m{n}", "a")) for n in range(3)]
    holders = [receive("c2", 2), receive("c3", 3), receive("c4", 3), receive("c3", 3)]
    again = [abandon("c2", 0), receive("c4", 3), renew("c2"), receive("c3", 3)]
    return [*sends, *holders, *again]


@CASES.case("renewed-lock-lasts", AZURE, "RCV-6")
def _renewed() -> Steps:
    """A lock that is renewed twice excludes others beyond its first end."""
    step = 3 * LOCK // 5
    again = (renew("c2"), pass_time(step), receive("c3", 5), renew("c2"), pass_time(step), receive("c3", 5))
    return [send("c1", message("m1", "a")), receive("c2"), pass_time(step), *again, complete("c2")]


@CASES.case("receivers-at-once", AZURE, "RCV-7", concurrent=True, lock_duration=HELD)
def _receivers_at_once() -> Steps:
    """Three clients receive, complete and abandon at the same time."""
    sends = [send("c1", message(f"m{n}", f"k{n % 3}")) for n in range(9)]
    races = [step for n in range(5) for client in ("c2", "c3", "c4") for step in _race(client, n)]
    return [*sends, *races]


def _race(client: str, turn: int) -> tuple[Step, ...]:
    return receive(client, 2), (complete(client) if turn % 2 else abandon(client))


@CASES.case("finished-stays-gone", AZURE, "RCV-7")
def _gone() -> Steps:
    """Completed and deleted messages do not come back, also when locks would have ended."""
    sends = [send("c1", message(f"m{n}", "a")) for n in range(4)]
    ends = [receive("c2"), complete("c2"), receive("c2"), complete("c2"), take("c3", 2)]
    return [*sends, *ends, receive("c4", 5), pass_time(), receive("c2", 5), peek("c4")]


@CASES.case("finished-stays-gone-after-restart", AZURE, "RCV-7")
def _gone_after_restart() -> Steps:
    """Nor do they when the broker is killed and started."""
    sends = [send("c1", message(f"m{n}", "a")) for n in range(4)]
    ends = [receive("c2", 2), complete("c2", 0, 1), take("c3")]
    return [*sends, *ends, *restart(), receive("c4", 5), pass_time(), receive("c4", 5)]


@CASES.case("lost-lock-settles-nothing", AZURE, "RCV-8")
def _lost_lock() -> Steps:
    """Settling and renewing by locks that were completed, have expired or are somebody else's by now."""
    yield from [send("c1", message(f"m{n}", "a")) for n in range(4)]
    yield from [receive("c2", 4)] * 3
    yield complete("c2")
    yield complete("c2", stale=True)
    yield renew("c2", stale=True)
    yield pass_time()
    yield complete("c2")
    yield renew("c2")
    yield receive("c3")
    yield abandon("c2", stale=True)
    yield abandon("c2")
    yield complete("c3")
    yield abandon("c3", stale=True)


@CASES.case("delivery-count", AZURE, "RCV-9")
def _counted() -> Steps:
    """Abandon and lock expiry raise the count, twice each."""
    abandons: list[Step] = []
    for _ in range(2):
        abandons += [receive("c2"), abandon("c2")]
    expiries: list[Step] = []
    for _ in range(2):
        expiries += [receive("c3"), pass_time()]
    return [send("c1", message("m1", "a")), *abandons, *expiries, receive("c2"), complete("c2")]


@CASES.case("partitions-cannot-be-told", PARTITIONED, "RCV-12")
def _invisible() -> Steps:
    """Answers from many partitions keep to the size asked for and repeat nothing."""
    sends = [send("c1", message(f"m{n}", f"k{n}")) for n in range(12)]
    return [*sends, receive("c2", 3), receive("c2", 5), receive("c3", 50), take("c4", 2)]


@CASES.case("locks-shown-with-their-end", PARTITIONED, "RCV-13")
def _ends_of_locks() -> Steps:
    """Two clients lock messages of many partitions; how long each lock still lasts is free."""
    return _invisible()


@CASES.case("settling-across-partitions", PARTITIONED, "RCV-14", lock_duration=HELD)
def _two_partitions(profile: str) -> Steps:
    """One request that names locks of two partitions is refused.
    Hold many messages and name them in twos and threes, so that some are of different partitions."""
    count = 4 * partitions(profile)
    sends = [send("c1", message(f"m{n}", f"k{n}")) for n in range(count)]
    fetch = [receive("c2", count)] * 6
    pairs = [complete("c2", n, n + 1) for n in range(6)] + [complete("c2", 0, n) for n in range(5, 12)]
    settle = [*pairs, complete("c2", 0, 4, 8), abandon("c2", 0, 2, 4, 6), abandon("c2", *range(12))]
    return [*sends, *fetch, *settle, complete("c2")]
