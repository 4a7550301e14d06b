"""Cases. Keys and their partitions: KEY and ROUTE on the azure profiles, REB-18 on Solace."""

from __future__ import annotations

from typing import Final

from partq.conformance.workload.cases import steps as do
from partq.conformance.workload.cases.case import Cases, Steps
from partq.conformance.workload.cases.steps import AZURE, HELD, PARTITIONED, message, partitions
from partq.conformance.workload.program import Step
from partq.model.messages import SOLACE_KEY, Message
from partq.model.profiles import SECOND

_SHORT: Final = 2 * SECOND
"""A send's timeout where it is expected to fail."""

_LONG: Final = 60 * SECOND
"""A send's timeout where it must find a way (ROUTE-6)."""

_KEYS: Final = ("red", "green", "blue")


CASES: Final = Cases()


@CASES.case("session-id-is-the-key", PARTITIONED, "KEY-1")
def _session_id() -> Steps:
    """Messages of one session, with and without an equal partition key, are together."""
    yield do.send("c1", message("m1", session="s1"))
    yield do.send("c2", message("m2", session="s2"))
    yield do.send("c2", message("m3", session="s1"))
    yield do.send("c1", message("m4", "s1", session="s1"))
    yield do.send("c1", message("m5", session="s1"), message("m6", "s1", session="s1"))
    yield do.peek("c3")
    yield do.receive("c3", 10)


@CASES.case("partition-key-is-the-key", PARTITIONED, "KEY-2", "ROUTE-1", "ROUTE-2")
def _partition_key() -> Steps:
    """Without sessions, messages of one partition key are together, whoever sends what and when."""
    sends = [
        do.send(f"c{1 + n % 2}", message(f"{key}{n}", key, body=f"{n}")) for n in range(4) for key in _KEYS
    ]
    return [*sends, do.peek("c3"), do.receive("c3", 20)]


@CASES.case("valid-requests", (*AZURE, "solace"), "KEY-9")
def _valid() -> Steps:
    """Sends of odd but valid keys, bodies and properties are accepted.
    Keys that are equal, long, or of any letters; odd bodies and properties; a batch of one key."""
    long, letters = "k" * 120, "schlüssel ✓ 鍵"
    yield do.send("c1", message("equal", "a", session="a"))
    yield do.send("c1", message("long key", long), message("another", long))
    yield do.send("c2", message("letters", letters, body=letters))
    yield do.send("c2", message("long body", body="b" * 4000))
    yield do.send("c1", message("empty", body=""))
    yield do.send("c2", Message("property", "b", properties=(("colour", ""), ("größe", "1"))))


@CASES.case("session-against-partition-key", PARTITIONED, "KEY-3")
def _conflict() -> Steps:
    """A message, or a message in a batch, with two different keys is refused."""
    yield do.send("c1", message("right", "a", session="a"))
    yield do.send("c1", message("wrong", "b", session="a"))
    yield do.send("c1", message("well", session="a"), message("ill", "b", session="a"))
    yield do.peek("c2")
    yield do.receive("c2", 10)


@CASES.case("message-id-is-no-key", PARTITIONED, "KEY-5")
def _message_id() -> Steps:
    """Batches of keyless messages are accepted like any, though their message IDs differ."""
    yield do.send("c1", message("k1", "a"), message("k2", "a"))
    yield do.send("c1", message("m1"), message("m2"), message("m3"))
    yield do.send("c1", message("m4"))
    yield do.send("c2", message("m5"), message("m6"))
    yield do.peek("c2")


@CASES.case("batches-of-one-and-of-two-keys", PARTITIONED, "KEY-7")
def _batches() -> Steps:
    """A batch of one key is stored whole; one of two keys is refused whole."""
    yield do.send("c1", message("m1", "a"), message("m2", "a"), message("m3", session="a"))
    yield do.send("c1", message("m4", "a"), message("m5", "b"))
    yield do.send("c1", message("m6", session="a"), message("m7", session="b"))
    yield do.send("c1", message("m8"), message("m9"))
    yield do.peek("c2")
    yield do.receive("c2", 10)


@CASES.case("same-key", PARTITIONED, "ROUTE-1", "ROUTE-2", "KEY-2")
def _same_key(*between: Step) -> Steps:
    """Two clients send messages of three keys."""
    before = [do.send(f"c{1 + n % 2}", message(f"{key}{n}", key)) for n in range(2) for key in _KEYS]
    after = [do.send(f"c{1 + n % 2}", message(f"{key}{n}", key)) for n in range(2, 4) for key in _KEYS]
    return [*before, *between, *after, do.peek("c3"), do.receive("c3", 20)]


@CASES.case("same-key-after-restart", PARTITIONED, "ROUTE-1", "ROUTE-2")
def _after_restart() -> Steps:
    """The broker is killed and started between the messages of a key."""
    return _same_key(*do.restart())


@CASES.case("same-key-after-outage", PARTITIONED, "ROUTE-1", "ROUTE-2")
def _after_outage(profile: str) -> Steps:
    """All partitions go down and come up between the messages of a key."""
    every = range(partitions(profile))
    return _same_key(*map(do.down, every), *map(do.up, every))


@CASES.case("same-key-from-many-senders", PARTITIONED, "ROUTE-1", "ROUTE-2", concurrent=True)
def _senders_at_once() -> Steps:
    """Four clients send messages of the same keys at the same time."""
    clients = ("c1", "c2", "c3", "c4")
    sends = [
        do.send(client, message(f"{key}{n}-{client}", key))
        for n in range(3)
        for key in _KEYS
        for client in clients
    ]
    return [*sends, do.peek("c1")]


@CASES.case("keyed-send-while-one-is-down", PARTITIONED, "ROUTE-5", "ROUTE-7")
def _one_down_after_another(profile: str) -> Steps:
    """Messages of three keys are sent while one partition after another is down, theirs among them.
    Whichever partition a key lives in, once it is the one that is down, and mostly it is not."""
    steps = [*(do.send("c1", message(f"{key} first", key)) for key in _KEYS), do.peek("c2")]
    for index in range(partitions(profile)):
        tries = [
            do.send(f"c{n}", message(f"{key} {index} {n}", key), timeout=_SHORT)
            for key in _KEYS
            for n in (1, 2)
        ]
        steps += [do.down(index), *tries, do.up(index)]
    return [*steps, *(do.send("c1", message(f"{key} last", key)) for key in _KEYS), do.peek("c2")]


@CASES.case("settling-while-others-are-down", PARTITIONED, "ROUTE-7", lock_duration=HELD)
def _settle_elsewhere(profile: str) -> Steps:
    """Held messages are completed while other partitions are down."""
    count = partitions(profile)
    steps: list[Step] = [do.send("c1", message(f"m{n}", f"key {n}")) for n in range(2 * count)]
    steps += [do.receive("c2", 2 * count)] * 2
    for index in range(min(count, 4)):
        steps += [do.down(index), do.complete("c2", 0), do.complete("c2", 1), do.up(index)]
    return [*steps]


@CASES.case("keyless-send-while-one-is-down", PARTITIONED, "ROUTE-6")
def _keyless_around(profile: str) -> Steps:
    """Keyless messages find another partition when the one chosen for them is down."""
    count = partitions(profile)
    sends = [do.send(f"c{1 + n % 2}", message(f"m{n}"), timeout=_LONG) for n in range(2 * count)]
    batch = do.send("c1", message("b1"), message("b2"), timeout=_LONG)
    return [do.down(0), *sends, batch, do.up(0), do.peek("c3")]


@CASES.case("patient-and-impatient-sends", PARTITIONED, "ROUTE-5", "ROUTE-6", "RCV-1")
def _time_outs(profile: str) -> Steps:
    """While all partitions but one are down, keyless sends with a timeout above 15 s succeed; others may not.
    Timeouts of 5, 14, 15, 16 and 60 s; what was not answered in time is stored once, or not at all."""
    count, times = partitions(profile), (5, 14, 15, 16, 60)
    keyed = [do.send("c1", message(f"{key} first", key)) for key in _KEYS]
    tries = [
        do.send(proc, message(f"{proc} {n} {time}", key), timeout=time * SECOND)
        for n in range(2)
        for time in times
        for proc, key in (("c1", None), ("c2", _KEYS[time % 3]))
    ]
    outage = [*map(do.down, range(1, count)), *tries, *map(do.up, range(1, count))]
    return [*keyed, do.peek("c3"), *outage, do.pass_time(SECOND * 20), *[do.take("c4", 30)] * 3]


@CASES.case("send-while-all-are-down", PARTITIONED, "ROUTE-8")
def _nothing_up(profile: str) -> Steps:
    """Nothing is accepted while no partition is up, and everything is again afterwards."""
    every = range(partitions(profile))
    yield do.send("c1", message("before", "a"))
    yield from map(do.down, every)
    yield do.send("c1", message("keyed", "a"), timeout=_SHORT)
    yield do.send("c2", message("keyless"), timeout=_SHORT)
    yield do.send("c2", message("b1"), message("b2"), timeout=_SHORT)
    yield from map(do.up, every)
    yield do.send("c1", message("after", "a"))
    yield do.peek("c3")


@CASES.case("outage-amid-senders", PARTITIONED, "ROUTE-5", "ROUTE-6")
def _side_by_side(profile: str) -> Steps:
    """While half of the partitions are down keyed and keyless messages are sent side by side.
    The outage of "Partitioned queues and topics": keyed messages fail, keyless ones go elsewhere."""
    count = partitions(profile)
    keys = [f"key {n}" for n in range(count)]
    before = [do.send("c1", message(f"{key} first", key)) for key in keys]
    sends = [
        step
        for key in keys
        for step in (
            do.send("c1", message(f"{key} again", key), timeout=_SHORT),
            do.send("c2", message(f"beside {key}"), timeout=_LONG),
        )
    ]
    half = range(count // 2)
    steps = (*before, do.peek("c3"), *map(do.down, half), *sends, *map(do.up, half))
    return [*steps, *[do.peek("c3")] * count, do.take("c4", 3 * count)]


@CASES.case("keyless-balance", PARTITIONED, "ROUTE-4")
def _balance(profile: str) -> Steps:
    """Enough keyless messages to judge how evenly they are spread."""
    sends = [do.send(f"c{1 + n % 3}", message(f"m{n}")) for n in range(8 * partitions(profile) + 32)]
    return [*sends, do.peek("c4", 200)]


@CASES.case("keys-share-partitions", ("solace",), "REB-18", partitions=2)
def _many_keys() -> Steps:
    """Eight keys on two partitions: each is accepted, while the others' messages are there and after them."""
    keyed = [Message(f"m{n}", properties=((SOLACE_KEY, f"k{n % 8}"),)) for n in range(32)]
    yield do.bind("c1")
    yield do.pass_time(12 * SECOND)
    yield from (do.send("p1", one) for one in keyed[:16])
    yield do.receive("c1", 3)
    yield do.complete("c1", 0, 1)
    yield do.send("p2", *keyed[16:24])
    yield do.take("c1", 50)
    yield from (do.send("p1", one) for one in keyed[24:])
    yield do.take("c1", 50)
