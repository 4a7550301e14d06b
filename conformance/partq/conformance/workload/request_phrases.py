"""Phrases of unusual requests: odd messages in a batch, keys that differ a little, large bodies, settlements
that name many locks, transactions of many steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from partq.conformance.workload.phrases import Draft, Phrases, browse, send, send_batch, send_in, settlement
from partq.model.messages import JMS_KEY, SOLACE_KEY, KeyRule, Message
from partq.model.profiles import SECOND

LARGE: Final = ("large" * 2_000, "larger" * 12_000)
"""Bodies of 10,000 and of 72,000 characters: one of these alone is more than an answer to a peek may hold."""


def other_case(key: str) -> str:
    """The key in the other case; it is another key."""
    return key.swapcase()


# Batches and keys.


def _case_conflicting(draft: Draft, key: str) -> Message:
    return replace(draft.message(None), session_id=key, partition_key=other_case(key))


_ODDITIES: Final[tuple[Callable[[Draft, str], Message], ...]] = (
    lambda draft, key: draft.message(f"{key}-too"),
    lambda draft, key: draft.message(other_case(key)),
    lambda draft, key: replace(draft.message(None), session_id=key, partition_key=f"{key}-too"),
    _case_conflicting,
)


def _odd_batch(draft: Draft) -> None:
    """A batch of one key, but for one message, which is anywhere in it."""
    key = draft.key()
    batch = [draft.message(key) for _ in range(2 + draft.source.below(4))]
    batch.insert(
        draft.source.below(len(batch) + 1), _ODDITIES[draft.source.below(len(_ODDITIES))](draft, key)
    )
    draft.send(draft.client(), *batch)


def _odd_message(draft: Draft) -> None:
    """One message, with two keys that differ in case, or with an empty property."""
    if draft.family.key_rule is KeyRule.SERVICE_BUS:
        message = _case_conflicting(draft, draft.key())
    else:
        properties = ((SOLACE_KEY, ""), (JMS_KEY, draft.key()), ("other", ""))
        message = replace(draft.message(None), properties=properties[: 1 + draft.source.below(3)])
    draft.send(draft.client(), message)


def _large(draft: Draft) -> None:
    """A few messages, some of them large, and peeks at them."""
    key, client = draft.some_key(), draft.client()
    for _ in range(2 + draft.source.below(3)):
        message = draft.message(key)
        if draft.chance(2):
            message = replace(message, body=LARGE[draft.source.below(len(LARGE))])
        draft.send(draft.client(), message)
    start: str | int = "start" if draft.chance(2) else draft.source.below(50)
    draft.add(client, "peek", max=6, **{"from": start})
    draft.add(client, "peek", max=6)


# Settlements that name many locks.


def _handful(draft: Draft) -> None:
    """Three or more messages are settled at once."""
    client = draft.client()
    send_batch(draft, draft.key(), 3, 3)
    draft.receive(client, 3 + draft.source.below(4))
    first = draft.source.below(3)
    draft.add(client, settlement(draft), pick=list(range(first, first + 3 + draft.source.below(2))))


def _mixed_handful(draft: Draft) -> None:
    """A settlement names locks that hold and locks that were lost: settled before, run out, or of nobody."""
    client, half = draft.client(), draft.entity.lock_duration // 2 + SECOND
    send_batch(draft, draft.key(), 4, 3)
    draft.receive(client, 2)
    way = draft.source.below(4)
    if way == 0:
        draft.wait(half)
        draft.receive(client, 3)
        draft.wait(half)
        draft.add(client, settlement(draft), pick=[0, 1, 2, 3])
        return
    draft.receive(client, 3)
    draft.add(client, "complete", pick=[0])
    lost = [draft.source.below(6)] if way < 3 else []
    draft.add(
        client, settlement(draft), pick=[0, 1, 2][: 1 + draft.source.below(3)], lost=lost, forged=way == 3
    )
    browse(draft, client)


# Transactions of many steps.


def _long_transaction(draft: Draft) -> None:
    """Settlements and sends in one transaction, in any order, with others looking on; what comes after it."""
    client, key = draft.client(), draft.key()
    send_batch(draft, key, 3, 3)
    draft.receive(client, 3 + draft.source.below(3))
    with draft.transaction(client, undone=3):
        for _ in range(2 + draft.source.below(4)):
            if draft.chance(2):
                first, op = draft.source.below(4), settlement(draft)
                draft.add(client, op, pick=[first] if draft.source.below(4) else [first, first + 1], txn=True)
            else:
                odd = draft.source.below(10)
                other = None if odd == 0 else draft.key() if odd == 1 else other_case(key)
                send_in(draft, client, other if odd < 3 else key)
            if draft.chance(4):
                browse(draft)
    after_transaction(draft, client, key)


def after_transaction(draft: Draft, client: str, key: str) -> None:
    """What a client does with locks, and with a name, that were a transaction's."""
    way = draft.source.below(6)
    if way < 2:
        draft.add(client, settlement(draft), pick=[draft.source.below(4)])
    elif way == 2:
        browse(draft)
    elif way == 3:
        _ended(draft, client, key)


def _ended(draft: Draft, client: str, key: str) -> None:
    """Something is asked for in a transaction that has ended."""
    way = draft.source.below(4)
    if way == 0:
        draft.send(client, draft.message(key), ended=True)
    elif way == 1:
        draft.add(client, settlement(draft), pick=[draft.source.below(4)], ended=True)
    else:
        draft.add(client, "commit" if way == 2 else "rollback", ended=True)


def _after_the_end(draft: Draft) -> None:
    client, key = draft.client(), draft.key()
    with draft.transaction(client, undone=3):
        draft.send(client, draft.message(key), txn=True)
    _ended(draft, client, key)
    send(draft)


REQUEST_PHRASES: Final[Phrases] = {
    "odd_batch": _odd_batch,
    "long_batch": lambda draft: send_batch(draft, draft.some_key(), 6, 5),
    "odd_message": _odd_message,
    "large": _large,
    "handful": _handful,
    "mixed_handful": _mixed_handful,
    "forged": lambda draft: draft.add(draft.client(), settlement(draft), pick=[], forged=True),
    "long_transaction": _long_transaction,
    "after_the_end": _after_the_end,
}
