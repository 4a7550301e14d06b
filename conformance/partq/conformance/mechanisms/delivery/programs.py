"""Cases. Receiving and settling: RCV on the azure profiles."""

from __future__ import annotations

from typing import Final

from partq.conformance.workload.cases.case import Cases
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
    program,
    receive,
    renew,
    restart,
    send,
    take,
)
from partq.conformance.workload.program import Program, Step

_BODIES: Final = ("", "plain", "ünï¢ødé ✓", "<b>&amp;</b>", "x" * 2000, "line\nbreak\ttab", '{"a": [1]}')


CASES: Final = Cases()


@CASES.case("bodies-and-properties", AZURE, "RCV-1", "RCV-2")
def _content(profile: str) -> Program:
    """Text of every kind arrives as it was sent, by peek and by receive."""
    sends = [send("c1", message(f"m{n}", "a", body=body)) for n, body in enumerate(_BODIES)]
    more = [send("c1", message("s1", session="s", body="in a session")), send("c1", message("k1"))]
    return program(profile, *sends, *more, peek("c2"), receive("c2", 20), receive("c2", 20))


@CASES.case("nothing-lost-in-a-restart", AZURE, "RCV-1", "RCV-2")
def _kept(profile: str) -> Program:
    """Active, locked, abandoned and completed messages when the broker is killed."""
    sends = [send("c1", message(f"m{n}", f"k{n % 4}")) for n in range(12)]
    half = [receive("c2", 2), complete("c2"), abandon("c2"), receive("c2", 3), complete("c2", 1)]
    return program(profile, *sends, *half, *restart(), send("c1", message("after", "k0")), receive("c3", 2))


@CASES.case("nothing-lost-with-a-front-end", AZURE, "RCV-2")
def _fetched(profile: str) -> Program:
    """Front ends are lost with what they had fetched for their clients."""
    sends = [send("c1", message(f"m{n}", f"k{n % 4}")) for n in range(16)]
    clients = ("c2", "c3", "c4", "c5")
    losses = [step for client in clients for step in (receive(client), lose_front_end(client))]
    return program(profile, *sends, *losses, pass_time(), *losses, receive("c2", 20), complete("c2"))


@CASES.case("one-by-one-in-order", AZURE, "RCV-3")
def _in_order(profile: str) -> Program:
    """Messages of one key are received and completed one by one."""
    sends = [send("c1", message(f"m{n}", "a")) for n in range(6)]
    one_by_one: list[Step] = []
    for _ in range(6):
        one_by_one += [receive("c2"), complete("c2")]
    return program(profile, *sends, *apart(*one_by_one))


@CASES.case("two-receivers-in-order", AZURE, "RCV-3")
def _in_order_two(profile: str) -> Program:
    """Two clients receive from the same two keys by turns."""
    sends = [send("c1", message(f"m{n}", f"k{n % 2}")) for n in range(10)]
    return program(
        profile, *sends, *apart(*[receive(f"c{2 + n % 2}", 2) for n in range(8)]), lock_duration=HELD
    )


@CASES.case("finished-out-of-turn", AZURE, "RCV-3", "RCV-7")
def _out_of_turn(profile: str) -> Program:
    """Two consumers finish the second and third of five messages before the first."""
    sends = [send("c1", message(f"m{n}", "a")) for n in range(1, 6)]
    first, second, third = receive("c2"), receive("c3"), receive("c3")
    finished = [complete("c3"), third, complete("c3"), complete("c2")]
    rest = [receive("c2", 2), complete("c2", 0, 1), receive("c3", 5)]
    return program(profile, *sends, first, second, *finished, *rest, lock_duration=HELD)


@CASES.case("lock-excludes-others", AZURE, "RCV-6")
def _excluded(profile: str) -> Program:
    """While messages are locked, other clients ask for them in vain."""
    sends = [send("c1", message(f"m{n}", "a")) for n in range(3)]
    holders = [receive("c2", 2), receive("c3", 3), receive("c4", 3), receive("c3", 3)]
    again = [abandon("c2", 0), receive("c4", 3), renew("c2"), receive("c3", 3)]
    return program(profile, *sends, *holders, *again, lock_duration=HELD)


@CASES.case("renewed-lock-lasts", AZURE, "RCV-6")
def _renewed(profile: str) -> Program:
    """A lock that is renewed twice excludes others beyond its first end."""
    step = 3 * LOCK // 5
    again = (renew("c2"), pass_time(step), receive("c3", 5), renew("c2"), pass_time(step), receive("c3", 5))
    return program(
        profile, send("c1", message("m1", "a")), receive("c2"), pass_time(step), *again, complete("c2")
    )


@CASES.case("receivers-at-once", AZURE, "RCV-7")
def _receivers_at_once(profile: str) -> Program:
    """Three clients receive, complete and abandon at the same time."""
    sends = [send("c1", message(f"m{n}", f"k{n % 3}")) for n in range(9)]
    races = [step for n in range(5) for client in ("c2", "c3", "c4") for step in _race(client, n)]
    return program(profile, *sends, *races, concurrent=True, lock_duration=HELD)


def _race(client: str, turn: int) -> tuple[Step, ...]:
    return receive(client, 2), (complete(client) if turn % 2 else abandon(client))


@CASES.case("finished-stays-gone", AZURE, "RCV-7")
def _gone(profile: str) -> Program:
    """Completed and deleted messages do not come back, also when locks would have ended."""
    sends = [send("c1", message(f"m{n}", "a")) for n in range(4)]
    ends = [receive("c2"), complete("c2"), receive("c2"), complete("c2"), take("c3", 2)]
    return program(profile, *sends, *ends, receive("c4", 5), pass_time(), receive("c2", 5), peek("c4"))


@CASES.case("finished-stays-gone-after-restart", AZURE, "RCV-7")
def _gone_after_restart(profile: str) -> Program:
    """Nor do they when the broker is killed and started."""
    sends = [send("c1", message(f"m{n}", "a")) for n in range(4)]
    ends = [receive("c2", 2), complete("c2", 0, 1), take("c3")]
    return program(profile, *sends, *ends, *restart(), receive("c4", 5), pass_time(), receive("c4", 5))


@CASES.case("lost-lock-settles-nothing", AZURE, "RCV-8")
def _lost_lock(profile: str) -> Program:
    """Settling and renewing by locks that were completed, have expired or are somebody else's by now."""
    return program(
        profile,
        *[send("c1", message(f"m{n}", "a")) for n in range(4)],
        *[receive("c2", 4)] * 3,
        complete("c2"),
        complete("c2", stale=True),
        renew("c2", stale=True),
        pass_time(),
        complete("c2"),
        renew("c2"),
        receive("c3"),
        abandon("c2", stale=True),
        abandon("c2"),
        complete("c3"),
        abandon("c3", stale=True),
    )


@CASES.case("delivery-count", AZURE, "RCV-9")
def _counted(profile: str) -> Program:
    """Abandon and lock expiry raise the count, twice each."""
    abandons: list[Step] = []
    for _ in range(2):
        abandons += [receive("c2"), abandon("c2")]
    expiries: list[Step] = []
    for _ in range(2):
        expiries += [receive("c3"), pass_time()]
    return program(
        profile, send("c1", message("m1", "a")), *abandons, *expiries, receive("c2"), complete("c2")
    )


@CASES.case("partitions-cannot-be-told", PARTITIONED, "RCV-12")
def _invisible(profile: str) -> Program:
    """Answers from many partitions keep to the size asked for and repeat nothing."""
    sends = [send("c1", message(f"m{n}", f"k{n}")) for n in range(12)]
    return program(profile, *sends, receive("c2", 3), receive("c2", 5), receive("c3", 50), take("c4", 2))


@CASES.case("locks-shown-with-their-end", PARTITIONED, "RCV-13")
def _ends_of_locks(profile: str) -> Program:
    """Two clients lock messages of many partitions; how long each lock still lasts is free."""
    return _invisible(profile)


@CASES.case("settling-across-partitions", PARTITIONED, "RCV-14")
def _two_partitions(profile: str) -> Program:
    """One request that names locks of two partitions is refused.
    Hold many messages and name them in twos and threes, so that some are of different partitions."""
    count = 4 * partitions(profile)
    sends = [send("c1", message(f"m{n}", f"k{n}")) for n in range(count)]
    fetch = [receive("c2", count)] * 6
    pairs = [complete("c2", n, n + 1) for n in range(6)] + [complete("c2", 0, n) for n in range(5, 12)]
    settle = [*pairs, complete("c2", 0, 4, 8), abandon("c2", 0, 2, 4, 6), abandon("c2", *range(12))]
    return program(profile, *sends, *fetch, *settle, complete("c2"), lock_duration=HELD)
