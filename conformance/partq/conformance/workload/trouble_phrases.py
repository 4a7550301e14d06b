"""Phrases of something done while something is broken: every pair of a *mechanism* and a *fault*.

A mechanism prepares, acts while the fault lasts, and looks afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from partq.conformance.workload import phrases
from partq.conformance.workload.phrases import Draft, Phrases
from partq.conformance.workload.request_phrases import after_transaction
from partq.conformance.workload.weights import PAIRS
from partq.model.operations import ENV
from partq.model.profiles import SECOND


class Mechanism(NamedTuple):
    """Steps before, in and after the fault, for one client and key."""

    prepare: Callable[[Draft, str, str], None]
    act: Callable[[Draft, str, str], None]
    look: Callable[[Draft, str, str], None]


def _nothing(draft: Draft, client: str, key: str) -> None:
    pass


def _receive(draft: Draft, client: str, key: str) -> None:
    draft.receive(client, 5)


def _take(draft: Draft, client: str, key: str) -> None:
    draft.take(client, 2)
    _receive(draft, client, key)


def _store_and_receive(draft: Draft, client: str, key: str) -> None:
    """Messages of the key and of others, most of them locked by the client."""
    for _ in range(2 + draft.source.below(2)):
        draft.send(draft.client(), draft.message(key))
        phrases.send(draft)
    for _ in range(3):
        draft.receive(client, 3)


def _sends(draft: Draft, client: str, key: str) -> None:
    phrases.send_some(draft, 2, 4)


def _impatient_sends(draft: Draft, client: str, key: str) -> None:
    for _ in range(2 + draft.source.below(2)):
        draft.send(client, draft.message(None), timeout=(5 + draft.source.below(10)) * SECOND)


def _keyless(draft: Draft, client: str, key: str) -> None:
    """One client's keyless messages, alone or some at once: enough that a refusal is no chance."""
    for _ in range(4 + draft.source.below(3)):
        count = 1 + draft.source.below(3)
        draft.send(client, *(draft.message(None) for _ in range(count)))


def _batches(draft: Draft, client: str, key: str) -> None:
    for _ in range(2):
        phrases.send_batch(draft, draft.some_key(), 2, 2)


def _settlements(draft: Draft, client: str, key: str) -> None:
    for pick in range(2 + draft.source.below(3)):
        draft.add(client, phrases.settlement(draft), pick=[pick])


def _renewals(draft: Draft, client: str, key: str) -> None:
    for pick in range(2 + draft.source.below(3)):
        draft.add(client, "renew_lock", pick=[pick])


def _outlast(draft: Draft, client: str, key: str) -> None:
    """The first duration of the locks passes; somebody receives."""
    draft.wait(draft.entity.lock_duration // 2 + SECOND)
    draft.receive(draft.client(), 5)


def _half_a_lock(draft: Draft, client: str, key: str) -> None:
    _store_and_receive(draft, client, key)
    draft.wait(draft.entity.lock_duration // 2)


def _begin_and_send(draft: Draft, client: str, key: str) -> None:
    draft.add(client, "begin")
    draft.send(client, draft.message(key), txn=True)


def _begin_and_settle(draft: Draft, client: str, key: str) -> None:
    _store_and_receive(draft, client, key)
    draft.add(client, "begin")
    for _ in range(1 + draft.source.below(3)):
        draft.add(client, phrases.settlement(draft), pick=[0], txn=True)
    if draft.chance(2):
        draft.send(client, draft.message(key), txn=True)


def _end(draft: Draft, client: str, key: str) -> None:
    if draft.chance(3):
        draft.send(client, draft.message(key), txn=True)
    if draft.chance(2):
        draft.add(client, phrases.settlement(draft), pick=[0], txn=True)
    draft.add(client, "rollback" if draft.chance(5) else "commit")


def _transactions(draft: Draft, client: str, key: str) -> None:
    for chosen in (key, draft.key()):
        _begin_and_send(draft, client, chosen)
        draft.add(client, "commit")


def _ask_again(draft: Draft, client: str, key: str) -> None:
    after_transaction(draft, client, key)
    phrases.browse(draft)


def _peeks(draft: Draft, client: str, key: str) -> None:
    draft.add(client, "peek", max=5)
    phrases.browse(draft, client)
    draft.add(client, "peek", max=5)


MECHANISMS: Final[Mapping[str, Mechanism]] = {
    "send": Mechanism(_nothing, _sends, _receive),
    "impatient_send": Mechanism(_nothing, _impatient_sends, _receive),
    "keyless": Mechanism(_nothing, _keyless, _receive),
    "batch": Mechanism(_nothing, _batches, _receive),
    "receive": Mechanism(_sends, _take, _settlements),
    "settle": Mechanism(_store_and_receive, _settlements, _receive),
    "renew": Mechanism(_half_a_lock, _renewals, _outlast),
    "transaction": Mechanism(_nothing, _transactions, _ask_again),
    "end_of_sends": Mechanism(_begin_and_send, _end, _ask_again),
    "end_of_settlements": Mechanism(_begin_and_settle, _end, _ask_again),
    "peek": Mechanism(_sends, _peeks, _peeks),
}
"""What may be done while something is broken."""


# Faults: each strikes, and gives what repairs it.

Repair = Callable[[], None]


def _two_outages(draft: Draft, client: str) -> Repair:
    """Two partitions are down at once, and come back in either order."""
    count = draft.entity.partitions
    first = draft.source.below(count)
    return _down(draft, [first, (first + 1 + draft.source.below(max(1, count - 1))) % count])


def _all_but_one(draft: Draft, client: str) -> Repair:
    spared = draft.source.below(draft.entity.partitions)
    return _down(draft, [index for index in range(draft.entity.partitions) if index != spared])


def _down(draft: Draft, indexes: list[int]) -> Repair:
    for index in indexes:
        draft.add(ENV, "partition_down", index=index)

    def repair() -> None:
        for index in indexes if draft.chance(2) else reversed(indexes):
            draft.add(ENV, "partition_up", index=index)

    return repair


def _front_end(draft: Draft, client: str) -> Repair:
    draft.add(ENV, "frontend_lost", proc=client)
    return lambda: None


def _restart(draft: Draft, client: str) -> Repair:
    phrases.restart(draft)
    return lambda: None


def _kill(draft: Draft, client: str) -> Repair:
    draft.add(ENV, "broker_kill")
    return lambda: draft.add(ENV, "broker_start")


FAULTS: Final[Mapping[str, Callable[[Draft, str], Repair]]] = {
    "outage": lambda draft, client: _down(draft, [draft.source.below(draft.entity.partitions)]),
    "two_outages": _two_outages,
    "all_but_one": _all_but_one,
    "blackout": lambda draft, client: _down(draft, list(range(draft.entity.partitions))),
    "front_end": _front_end,
    "restart": _restart,
    "kill": _kill,
}
"""What may break."""

_TABLE: Final = tuple(
    (fault, mechanism)
    for fault, weights in PAIRS.items()
    for mechanism, weight in weights.items()
    for _ in range(weight)
)


def trouble(draft: Draft) -> None:
    """Something is done while something is broken."""
    fault, mechanism = _TABLE[draft.source.below(len(_TABLE))]
    client, key = draft.client(), draft.key()
    done = MECHANISMS[mechanism]
    done.prepare(draft, client, key)
    repair = FAULTS[fault](draft, client)
    done.act(draft, client, key)
    repair()
    done.look(draft, client, key)


TROUBLE_PHRASES: Final[Phrases] = {"trouble": trouble}
