"""Programs with scheduled messages. In random ones they are scheduled in either way, cancelled in time, late,
amid the activation, in transactions, and looked for while they wait. Cases: SCH on the azure profiles."""

from __future__ import annotations

from typing import Final

from partq.conformance.execution.drain import Leftover
from partq.conformance.workload import phrases
from partq.conformance.workload.cases import steps as do
from partq.conformance.workload.cases.case import Cases, Steps
from partq.conformance.workload.cases.steps import AZURE, message
from partq.conformance.workload.phrases import Draft, Phrases, browse, settlement
from partq.conformance.workload.weights import Theme, weighed
from partq.model.messages import SCHEDULED
from partq.model.profiles import SECOND

_SOON: Final = 2 * SECOND
"""How long most scheduled messages wait."""

_DELAYS: Final = (_SOON, _SOON, _SOON, 10 * SECOND, 40 * SECOND, SECOND // 1_000, 0)


def _schedule(draft: Draft, client: str, delay: int, txn: bool = False) -> None:
    """One message or a few, by the operation, or by a send that says when."""
    key = draft.key() if txn else draft.some_key()
    count = 1 if draft.source.below(4) else 2 + draft.source.below(2)
    messages = tuple(draft.message(key) for _ in range(count))
    single = "send" if count == 1 else "send_batch"
    op = "schedule" if draft.source.below(3) else single
    draft.add(client, op, messages=messages, delay=delay, **({"txn": True} if txn else {}))


def _cancel(draft: Draft) -> None:
    active = {"active": True} if draft.chance(6) else {}
    draft.add(draft.client(), "cancel_scheduled", pick=draft.source.below(6), **active)


def _reconsidered(draft: Draft) -> None:
    """Scheduled and cancelled by one client, in time or late, with a look in between."""
    client = draft.client()
    _schedule(draft, client, _SOON)
    if draft.chance(2):
        browse(draft)
    if draft.chance(3):
        draft.wait(_SOON + SECOND * draft.source.below(2))
    draft.add(client, "cancel_scheduled", pick=draft.source.below(20))
    if draft.chance(2):
        browse(draft)


def _race(draft: Draft) -> None:
    """A cancel when the message is due, while another client receives."""
    client = draft.client()
    _schedule(draft, client, _SOON)
    draft.wait(_SOON - SECOND // (1, 10, 1_000)[draft.source.below(3)])
    draft.receive(draft.client(), 2)
    draft.add(client, "cancel_scheduled", pick=draft.source.below(20))
    draft.receive(draft.client(), 2)


def _among_others(draft: Draft) -> None:
    """Messages sent while one waits come before it."""
    _schedule(draft, draft.client(), _SOON)
    phrases.send_some(draft, 1, 3)
    draft.wait(_SOON + SECOND)
    phrases.send(draft)
    client = draft.client()
    draft.receive(client, 5)
    draft.add(client, settlement(draft), pick=[draft.source.below(5)])


def _together(draft: Draft) -> None:
    """Scheduled, or cancelled, in a transaction."""
    client = draft.client()
    cancels = draft.chance(2)
    if cancels:
        _schedule(draft, client, 10 * SECOND)
    with draft.transaction(client, undone=3):
        if cancels:
            draft.add(client, "cancel_scheduled", pick=draft.source.below(20), txn=True)
        else:
            _schedule(draft, client, (_SOON, 10 * SECOND)[draft.source.below(2)], txn=True)
        if draft.chance(2):
            browse(draft)
        if cancels and draft.chance(6):
            draft.wait(10 * SECOND)
    browse(draft)


PHRASES: Final[Phrases] = {
    "later": lambda draft: _schedule(draft, draft.client(), _DELAYS[draft.source.below(len(_DELAYS))]),
    "cancel": _cancel,
    "reconsidered": _reconsidered,
    "race": _race,
    "among_others": _among_others,
    "together": _together,
    "wait": lambda draft: draft.wait(_SOON),
}

THEME: Final = Theme(
    "scheduling",
    rule="SCH-1",
    weights=weighed(
        "later 20, cancel 4, reconsidered 6, race 6, among_others 6, together 5, wait 6, send 12, "
        "receive 14, take 3, complete 10, abandon 3, peek 8, outage 2, front_end 1, kill 1"
    ),
)


_LATER: Final = 20 * SECOND

CASES: Final = Cases()


@CASES.case("scheduled", AZURE, "SCH-1", "SCH-2", "SCH-6")
def _in_its_time() -> Steps:
    """Scheduled messages have numbers, and come once, in their time.
    Asked for before their time, shown while they wait, received after."""
    yield do.schedule("c1", message("m1", "a"), message("m2", "a"), delay=_SOON)
    yield do.schedule("c1", message("m3", "b"), delay=_SOON)
    yield do.receive("c2", 5)
    yield do.peek("c2")
    yield do.pass_time(_SOON + SECOND)
    yield from [step for _ in range(3) for step in (do.receive("c2", 5), do.complete("c2"))]
    yield do.peek("c2")


@CASES.case("scheduled-behind", AZURE, "SCH-4")
def _behind_what_was_sent() -> Steps:
    """A message that is activated is the last one, with a new number."""
    sends = [do.send("c1", message(f"m{n}", "a")) for n in range(3)]
    after = [do.send("c1", message(f"n{n}", "a")) for n in range(2)]
    return [
        do.schedule("c1", message("late", "a"), delay=_SOON),
        *sends,
        do.pass_time(_SOON + SECOND),
        *after,
        do.take("c2", 20),
    ]


@CASES.case("scheduled-cancelled", AZURE, "SCH-3")
def _cancelled() -> Steps:
    """A message that is cancelled in time never comes.
    One of two is cancelled in time, and never comes; it cannot be cancelled again."""
    yield do.schedule("c1", message("m1", "a"), message("m2", "a"), delay=_LATER)
    yield do.cancel_scheduled("c1")
    yield do.peek("c2")
    yield do.cancel_scheduled("c1")
    yield do.pass_time(_LATER + SECOND)
    yield do.take("c2", 5)
    yield do.peek("c2")


@CASES.case("workflow-time-out", AZURE, "SCH-1", "SCH-3")
def _time_out() -> Steps:
    """A workflow schedules its own time-out, and cancels it in time, and too late.
    The example of "Message sequencing and timestamps" for messages that are cancelled."""
    yield do.schedule("c1", message("first time-out", "w"), delay=_LATER)
    yield do.send("c2", message("first result", "w"))
    yield do.take("c1", 5)
    yield do.cancel_scheduled("c1")
    yield do.schedule("c1", message("second time-out", "w"), delay=_LATER)
    yield do.pass_time(_LATER + 3 * SECOND)
    yield do.send("c2", message("second result", "w"))
    yield do.take("c1", 5)
    yield do.cancel_scheduled("c1", 1)
    yield do.take("c1", 5)


@CASES.case("scheduled-void", AZURE, "SCH-4")
def _void() -> Steps:
    """The number that a message had while it was scheduled cancels nothing once it is active."""
    yield do.schedule("c1", message("m1", "a"), delay=_SOON)
    yield do.pass_time(_SOON + 3 * SECOND)
    yield do.receive("c2", 5)
    yield do.cancel_scheduled("c1")
    yield do.complete("c2")
    yield do.cancel_scheduled("c1")
    yield do.peek("c2")


@CASES.case("scheduled-restart", AZURE, "SCH-1")
def _through_a_restart() -> Steps:
    """Scheduled messages outlive a restart of the broker.
    The broker is killed while messages wait, and starts when one of them is due."""
    down, up = do.restart()
    yield do.schedule("c1", message("m1", "a"), delay=_SOON)
    yield do.schedule("c1", message("m2", "b"), delay=_LATER)
    yield down
    yield do.pass_time(_SOON)
    yield up
    yield do.peek("c2")
    yield do.pass_time(_LATER)
    yield do.take("c2", 5)


@CASES.case("scheduled-transaction", AZURE, "SCH-2", "SCH-3")
def _in_a_transaction() -> Steps:
    """What a transaction schedules and cancels happens at its commit, or not at all."""
    yield do.schedule("c1", message("m1", "a"), delay=_LATER)
    yield from do.transaction(
        "c1", do.schedule("c1", message("m2", "a"), delay=_LATER), do.cancel_scheduled("c1"), do.peek("c2")
    )
    yield do.peek("c2")
    yield from do.transaction("c1", do.schedule("c1", message("m3", "a"), delay=_LATER), end=do.rollback)
    yield do.pass_time(_LATER + SECOND)
    yield do.take("c2", 5)


@CASES.case("cancel-races-activation", AZURE, "SCH-2", "SCH-3", seed=6)
def _raced() -> Steps:
    """A cancel when the message is due may come too late, one in time does not.
    Four clients cancel a message each half a second before it is due; one cancels another in time."""
    clients = [f"c{n}" for n in range(1, 5)]
    yield from (do.schedule(client, message(f"m-{client}", client), delay=_SOON) for client in clients)
    yield do.schedule("c5", message("m-later", "c5"), delay=_LATER)
    yield do.pass_time(_SOON - SECOND // 2)
    yield do.cancel_scheduled("c5")
    yield from map(do.cancel_scheduled, clients)
    yield do.take("c6", 20)
    yield do.pass_time(_LATER)
    yield do.take("c6", 20)
    yield do.peek("c6", start="start")


LEFTOVERS: Final = (Leftover(SCHEDULED, waits=True),)
