"""Programs whose clients ask for counts and availability, at rest and amid other operations. Cases: MGT and
ENT on the partitioned azure profiles."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from partq.conformance.workload import phrases
from partq.conformance.workload.cases import steps as do
from partq.conformance.workload.cases.case import Cases, Steps
from partq.conformance.workload.cases.steps import LOCK, PARTITIONED, message, partitions
from partq.conformance.workload.phrases import Draft, Phrases
from partq.conformance.workload.program import Step
from partq.conformance.workload.weights import Theme, weighed
from partq.model.messages import Message
from partq.model.operations import DEAD_LETTER
from partq.model.profiles import SECOND

_LIMIT: Final = 8_000
"""Bytes of the largest message, where programs send larger ones."""

_REST: Final = 12 * SECOND
"""Long enough for counts to be read at rest."""


def _get(draft: Draft) -> None:
    draft.add(draft.client(), "get")


def _rest(draft: Draft) -> None:
    """Nothing happens for a while, mostly until every lock has ended, and then the counts are read."""
    by = _REST + (draft.entity.lock_duration if draft.source.below(3) else 0)
    draft.wait(by)
    _get(draft)


def _fill(draft: Draft) -> None:
    """A few messages, and their count at rest."""
    phrases.send_some(draft, 1, 3)
    _rest(draft)


def _schedule(draft: Draft, client: str, delay: int) -> None:
    one = replace(draft.message(draft.some_key()), scheduled_at=None)
    draft.add(client, "schedule", messages=(one,), delay=delay)


def _wait(draft: Draft) -> None:
    """Up to three messages that are scheduled, counted before their time or after; one may be cancelled."""
    client, delay = draft.client(), (14, 20, 30)[draft.source.below(3)] * SECOND
    for _ in range(1 + draft.source.below(3)):
        _schedule(draft, client, delay)
    _rest(draft)
    if draft.chance(2):
        draft.add(client, "cancel_scheduled", pick=draft.source.below(3))
        _rest(draft)


def _race(draft: Draft) -> None:
    """A message that is cancelled just before it is due, or in time, and counted after that."""
    client, delay = draft.client(), (2, 2, 20)[draft.source.below(3)] * SECOND
    _schedule(draft, client, delay)
    draft.wait(2 * SECOND - SECOND // 10)
    draft.add(client, "cancel_scheduled", pick=draft.source.below(20))
    _rest(draft)


def _part(draft: Draft) -> None:
    """Some are received and settled one way or another, and the rest is counted."""
    client = draft.client()
    draft.receive(client, 2)
    op = ("complete", "complete", DEAD_LETTER, "defer", "abandon")[draft.source.below(5)]
    draft.add(client, op, pick=[draft.source.below(2)])
    _rest(draft)


def _bury(draft: Draft) -> None:
    """A message is dead-lettered, and counted, before it is taken from its queue or after."""
    client, settler = draft.client(), draft.client()
    phrases.send(draft)
    draft.receive(settler)
    draft.add(settler, DEAD_LETTER, pick=[0])
    _rest(draft)
    if draft.chance(2):
        draft.add(client, "receive", max=1, mode="receive_and_delete", timeout=SECOND, entity=DEAD_LETTER)
        _rest(draft)
    else:
        draft.add(client, "peek", max=8, entity=DEAD_LETTER, **{"from": "start"})


def _limp(draft: Draft) -> None:
    """What is shown while a partition is down, and after it has come up."""
    with draft.outage(draft.source.below(draft.entity.partitions)):
        _get(draft)
        if draft.chance(2):
            phrases.send(draft)
            _rest(draft)
    (_get, _rest)[draft.source.below(2)](draft)


def _repartition(draft: Draft) -> None:
    """An update of the partitioning, and what a get shows after it."""
    count = draft.entity.partitions
    other = ({"partitions": count + 1}, {"partitions": 1 + count % 2}, {"partitioned": False})
    settings = other[draft.source.below(3)]
    if settings.get("partitions") != count:
        draft.add(draft.client(), "update", settings=settings)
    _get(draft)


def _weigh(draft: Draft) -> None:
    """A message, or a batch, that is too large, nearly so, or just not."""
    draft.messages += 2
    bodies = (("x" * 9_000,), ("x" * 7_800,), ("x" * 5_000,), ("x" * 5_000,) * 2, ("x" * 2_200,) * 2)
    chosen, key, name = bodies[draft.source.below(len(bodies))], draft.some_key(), f"m{draft.messages}"
    messages = tuple(Message(f"{name}-{n}", body, None, key) for n, body in enumerate(chosen))
    txn = {"txn": True} if draft.chance(6) else {}
    draft.send(draft.client(), *messages, **txn)


PHRASES: Final[Phrases] = {
    "management_get": _get,
    "management_rest": _rest,
    "management_fill": _fill,
    "management_wait": _wait,
    "management_race": _race,
    "management_part": _part,
    "management_bury": _bury,
    "management_limp": _limp,
    "management_repartition": _repartition,
    "management_weigh": _weigh,
}

THEME: Final = Theme(
    "management",
    rule="MGT-1",
    weights=weighed(
        "management_get 6, management_rest 10, management_fill 10, management_wait 5, management_race 3, "
        "management_part 10, management_bury 4, management_limp 6, management_weigh 5, "
        "management_repartition 3, send 16, batch 4, receive 6, take 4, complete 8, abandon 3, peek 3, "
        "transaction 3, advance 2, front_end 1, kill 1"
    ),
    settings={"max_message_size": _LIMIT},
    needs="get",
    one_in=12,
)


def _gets(proc: str) -> Step:
    return Step(proc, "get", {})


def _at_rest(proc: str, by: int = _REST) -> tuple[Step, ...]:
    return do.pass_time(by), _gets(proc)


_LATER: Final = 35 * SECOND


CASES: Final = Cases()


@CASES.case("counts-at-rest", PARTITIONED, "MGT-1")
def _counts() -> Steps:
    """The counts that a get returns are the sums over all partitions.
    Messages of many keys, counted before and after some are completed."""
    return [
        _gets("c1"),
        *(do.send("c1", message(f"m{n}", f"k{n}")) for n in range(12)),
        do.send("c1", message("n1"), message("n2")),
        *_at_rest("c2"),
        do.take("c1", 3),
        do.receive("c1", 2),
        do.complete("c1", 0, 1),
        *_at_rest("c1", _REST + LOCK),
    ]


@CASES.case("counts-by-kind", PARTITIONED, "MGT-1")
def _kinds() -> Steps:
    """Scheduled messages and dead letters are counted as such, and not as active.
    Two messages scheduled, of which one is cancelled; one dead-lettered; the counts in between."""
    return [
        *(do.send("c1", message(f"m{n}", f"k{n}")) for n in range(4)),
        do.schedule("c1", message("s1", "k1"), delay=_LATER),
        do.schedule("c1", message("s2", "k2"), delay=_LATER),
        *_at_rest("c1"),
        do.cancel_scheduled("c1"),
        do.receive("c1"),
        do.settle("c1", DEAD_LETTER),
        *_at_rest("c1", _REST + LOCK),
        do.asking(do.take("c2"), {"entity": DEAD_LETTER}),
        do.pass_time(_LATER),
        *_at_rest("c1"),
    ]


@CASES.case("counts-after-late-cancels", PARTITIONED, "MGT-1", "SCH-3", seed=20)
def _after_late_cancels() -> Steps:
    """Cancels that came too late may be counted, so that the scheduled count is negative; one in time is not.
    Four clients cancel a message each half a second before it is due, one cancels another in time."""
    clients, soon = [f"c{n}" for n in range(1, 5)], 30 * SECOND
    return [
        *(do.schedule(one, message(f"m-{one}", one), delay=soon) for one in clients),
        do.schedule("c1", message("in time", "k"), delay=_LATER),
        *_at_rest("c1"),
        do.pass_time(soon - _REST - SECOND // 2),
        *map(do.cancel_scheduled, clients),
        do.cancel_scheduled("c1", 1),
        do.take("c2", 20),
        *_at_rest("c1", _REST + LOCK),
        _gets("c1"),
        _gets("c1"),
    ]


@CASES.case("counts-through-a-restart", PARTITIONED, "MGT-1")
def _restarted() -> Steps:
    """The counts are those of what is stored, through a restart, too.
    Messages of many keys, some completed, counted after a restart."""
    return [
        *(do.send("c1", message(f"m{n}", f"k{n}")) for n in range(8)),
        do.take("c1", 2),
        *do.restart(),
        *_at_rest("c1", _REST + LOCK),
    ]


@CASES.case("limited-while-down", PARTITIONED, "MGT-2")
def _limited(profile: str) -> Steps:
    """While a partition is down the availability status reads Limited.
    Each partition down by itself, then two of them, and none."""
    count = partitions(profile)
    one_by_one = (step for n in range(count) for step in (do.down(n), _gets("c1"), do.up(n)))
    return [
        do.send("c1", message("m1", "k")),
        _gets("c1"),
        *one_by_one,
        *(do.down(n) for n in range(min(2, count))),
        _gets("c2"),
        do.up(0),
        _gets("c2"),
        *(do.up(n) for n in range(1, min(2, count))),
        *_at_rest("c2"),
    ]


@CASES.case("too-large", PARTITIONED, "ENT-7", "MGT-1", max_message_size=_LIMIT)
def _too_large() -> Steps:
    """A message, and a batch, over the size limit is refused, and nothing of it is stored.
    A large message and a batch of several that are not, each refused; smaller ones are stored."""
    half = "half" * (_LIMIT // 6)
    return [
        do.send("c1", message("m1", "k", body="large" * (_LIMIT // 4))),
        do.send("c1", message("m2", "k", body=half)),
        do.send("c1", message("m3", "k", body=half), message("m4", "k", body=half)),
        do.send("c1", message("m5"), message("m6")),
        do.peek("c2", start="start"),
        *_at_rest("c1"),
    ]


@CASES.case("partitions-shown", PARTITIONED, "ENT-2", "ENT-3")
def _partitions() -> Steps:
    """An entity shows sixteen partitions on Standard, those of its namespace on Premium.
    Shown with all partitions up, with one down, and after a restart."""
    return [
        do.send("c1", message("m1", "k")),
        _gets("c1"),
        do.down(0),
        _gets("c1"),
        do.up(0),
        *do.restart(),
        _gets("c1"),
    ]


@CASES.case("partitioning-fixed", PARTITIONED, "ENT-1")
def _fixed(profile: str) -> Steps:
    """An update that would change the partitioning is refused and changes nothing.
    Another number of partitions, and none, with messages of many keys before and after."""
    keys = [f"k{n}" for n in range(8)]
    wanted = ({"partitions": partitions(profile) + 1}, {"partitioned": False})
    return [
        *(do.send("c1", message(f"m-{key}", key)) for key in keys),
        *(Step("c1", "update", {"settings": settings}) for settings in wanted),
        _gets("c1"),
        *(do.send("c1", message(f"n-{key}", key)) for key in keys),
        do.take("c2", 20),
        do.peek("c2", start="start"),
    ]
