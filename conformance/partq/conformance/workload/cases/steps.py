"""Short ways to write a case's steps. One function a step; times are ns, keys are partition keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from msgspec import structs

from partq.conformance.workload.operations.table import OPERATIONS
from partq.conformance.workload.program import Program, Step
from partq.model.messages import SOLACE_KEY, Message
from partq.model.operations import ENV
from partq.model.profiles import SECOND, profile

LOCK: Final = 5 * SECOND
"""The lock duration of a case: the shortest that vendors offer, for live brokers have to wait it out."""

EXPIRY: Final = LOCK + SECOND
"""Long enough for every lock to end."""

HELD: Final = 12 * SECOND
"""The lock duration where locks must last through the case."""

APART: Final = SECOND // 10
"""So far apart are receives whose order shows in the broker's times: with a `skew_ns` of less it still
shows."""

AZURE: Final = ("azure-standard", "azure-premium", "azure-flat")
PARTITIONED: Final = ("azure-standard", "azure-premium")


def program(
    profile_name: str, *steps: Step, concurrent: bool = False, seed: int = 0, **settings: Any
) -> Program:
    """The steps, one after the other unless concurrent, on the profile's usual entity with these settings."""
    entity = replace(profile(profile_name).default_entity, **{"lock_duration": LOCK, **settings})
    return Program(profile_name, steps, entity, seed, sequential=not concurrent)


def partitions(profile_name: str) -> int:
    """How many partitions the cases' entity has."""
    return profile(profile_name).default_entity.partitions


def message(
    id: str, key: str | None = None, *, session: str | None = None, body: str | None = None
) -> Message:
    """A message; a body of its own unless given."""
    return Message(id, f"body of {id}" if body is None else body, session, key)


def send(proc: str, *sent: Message, txn: bool = False, timeout: int | None = None) -> Step:
    """Send one message, or several as a batch."""
    args: dict[str, Any] = {"messages": sent}
    if txn:
        args["txn"] = True
    if timeout is not None:
        args["timeout"] = timeout
    return Step(proc, "send" if len(sent) == 1 else "send_batch", args)


def schedule(proc: str, *messages: Message, delay: int) -> Step:
    """Schedule one message, or several, for so many ns later."""
    return Step(proc, "schedule", {"messages": messages, "delay": delay})


def cancel_scheduled(proc: str, pick: int = 0) -> Step:
    """Cancel one of the messages that the client has scheduled."""
    return Step(proc, "cancel_scheduled", {"pick": pick})


def receive(proc: str, most: int = 1, wait: int = SECOND, mode: str | None = None) -> Step:
    """Lock up to so many messages, or receive them in another mode."""
    named = {} if mode is None else {"mode": mode}
    return Step(proc, "receive", {"max": most, **named, "timeout": wait})


def take(proc: str, most: int = 1) -> Step:
    """Receive and delete up to so many messages."""
    return receive(proc, most, mode="receive_and_delete")


def settle(proc: str, op: str, *pick: int, stale: bool = False, txn: bool = False) -> Step:
    """Complete or abandon the held locks at these places; stale: among those that ended."""
    args: dict[str, Any] = {"pick": list(pick or (0,))}
    return Step(proc, op, args | ({"stale": True} if stale else {}) | ({"txn": True} if txn else {}))


def complete(proc: str, *pick: int, stale: bool = False, txn: bool = False) -> Step:
    """Complete the messages of these locks."""
    return settle(proc, "complete", *pick, stale=stale, txn=txn)


def abandon(proc: str, *pick: int, stale: bool = False, txn: bool = False) -> Step:
    """Abandon the messages of these locks."""
    return settle(proc, "abandon", *pick, stale=stale, txn=txn)


def renew(proc: str, pick: int = 0, *, stale: bool = False) -> Step:
    """Renew one lock."""
    return settle(proc, "renew_lock", pick, stale=stale)


def asking(step: Step, args: Mapping[str, Any]) -> Step:
    """The step with these arguments, too."""
    return structs.replace(step, args={**step.args, **args}) if args else step


def peek(proc: str, most: int = 100, start: str | int = "cursor") -> Step:
    """Peek on from the cursor, from the start, or from a number that was seen."""
    return Step(proc, "peek", {"max": most, "from": start})


def walk(proc: str, times: int, most: int) -> tuple[Step, ...]:
    """Peek so many times on from the cursor."""
    return (peek(proc, most),) * times


def _plain(op: str) -> Callable[[str], Step]:
    """The client's step of that operation, which takes no arguments."""
    return lambda proc: Step(proc, op, {})


begin, commit, rollback = map(_plain, ("begin", "commit", "rollback"))
"""Open a transaction; end it."""

bind, unbind, disconnect = map(_plain, ("bind", "unbind", "disconnect"))
"""Become a consumer; stop being one; lose the connection, in the next of the ways that the adapter knows."""


def transaction(proc: str, *steps: Step, end: Callable[[str], Step] = commit) -> tuple[Step, ...]:
    """A transaction of the client, with those of the steps in it that are its own and may be."""

    def within(step: Step) -> Step:
        may = step.proc == proc and "txn" in OPERATIONS[step.op].args
        return asking(step, {"txn": True}) if may else step

    return begin(proc), *map(within, steps), end(proc)


def in_ended(step: Step) -> Step:
    """The step inside the transaction that its client ended last."""
    return asking(step, {"ended": True})


def down(index: int) -> Step:
    """A partition fails."""
    return Step(ENV, "partition_down", {"index": index})


def up(index: int) -> Step:
    """It comes back."""
    return Step(ENV, "partition_up", {"index": index})


def lose_front_end(proc: str) -> Step:
    """The front end that serves this client is lost."""
    return Step(ENV, "frontend_lost", {"proc": proc})


def pass_time(by: int = EXPIRY) -> Step:
    """Time passes."""
    return Step(ENV, "advance", {"by": by})


def apart(*steps: Step) -> tuple[Step, ...]:
    """The steps, and a pause after each receive, so that their order shows despite some skew."""
    return tuple(
        one for step in steps for one in ((step, pass_time(APART)) if step.op == "receive" else (step,))
    )


def restart() -> tuple[Step, ...]:
    """The broker is killed and started again."""
    return Step(ENV, "broker_kill", {}), Step(ENV, "broker_start", {})


def sends(first: int, last: int, *keys: str) -> tuple[Step, ...]:
    """Of each key the messages with these numbers."""
    return tuple(send("c1", message(f"{key}{n}", key)) for n in range(first, last) for key in keys)


def keyed_sends(name: str, count: int) -> tuple[Step, ...]:
    """So many messages, each with a key of its own as Solace has keys."""
    return tuple(
        send("p1", Message(f"{name}{n}", f"body {n}", properties=((SOLACE_KEY, f"k{n}"),)))
        for n in range(count)
    )


def leaving() -> Iterator[Step]:
    """Consumers leave with one message or with many, some settled or none, with a standby or
    without; twice each, so that every way to leave has its turn."""
    for n in range(8):
        going, staying = ("c1", "c2") if n % 2 else ("c2", "c1")
        yield from sends(3 * n, 3 * n + 3, "red", "green")
        yield from [receive(staying)] if n % 4 < 2 else []
        yield from [receive(going, (1, 20)[n // 2 % 2]), *([complete(going, 0)] if n > 3 else [])]
        yield from [disconnect(going), receive(staying, 20), complete(staying, *range(20))]
        yield from [receive(staying, 20), complete(staying, *range(20))]
