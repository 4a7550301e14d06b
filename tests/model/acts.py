"""Short words for the model's tests: actions, states after a run of them, and answers as text."""

from __future__ import annotations

from partq.model.actions import Action, Observed
from partq.model.machine import State, explain, initial, internal, steps
from partq.model.messages import SOLACE_KEY, Delivery, Message
from partq.model.operations import Outcome
from partq.model.profiles import SECOND, Entity

D = 30 * SECOND
"""The default lock duration."""

SMALL = {"hindsight": False, "gaps": False, "lag": False, "early": False, "owing": False, "serving": False}
"""No freedom but those of the answers."""


def std(partitions: int = 16, **options: int) -> State:
    """An empty Standard entity."""
    return initial("azure-standard", Entity(partitions), **{**SMALL, **options})


def prem(partitions: int = 2, **options: int) -> State:
    """An empty Premium entity."""
    return initial("azure-premium", Entity(partitions), **{**SMALL, **options})


def flat(**options: int) -> State:
    """An empty entity without partitions."""
    return initial("azure-flat", Entity(), **{**SMALL, **options})


def solace(partitions: int = 2, **options: int) -> State:
    """An empty Solace queue."""
    return initial("solace", Entity(partitions), **{**SMALL, **options})


def msg(id: str, key: str | None = None, session: str | None = None) -> Message:
    return Message(id, partition_key=key, session_id=session)


def queued(id: str, key: str | None = None) -> Message:
    return Message(id, properties=() if key is None else ((SOLACE_KEY, key),))


def send(
    *ids: str, key: str | None = None, proc: str = "p", only: int | None = None, **more: object
) -> Action:
    """Send messages of one key, as a batch if there are several."""
    op = "send" if len(ids) == 1 else "send_batch"
    return Action(op, proc, messages=tuple(msg(id, key) for id in ids), only=only, **more)  # type: ignore[arg-type]


def receive(max: int = 1, proc: str = "c", delete: bool = False, **more: object) -> Action:
    mode = "receive_and_delete" if delete else "peek_lock"
    return Action("receive", proc, max=max, mode=mode, **more)  # type: ignore[arg-type]


def peek(max: int = 1, proc: str = "c", **more: object) -> Action:
    return Action("peek", proc, max=max, **more)  # type: ignore[arg-type]


def complete(*locks: str, proc: str = "c", **more: object) -> Action:
    return Action("complete", proc, locks=locks, **more)  # type: ignore[arg-type]


def abandon(*locks: str, proc: str = "c", **more: object) -> Action:
    return Action("abandon", proc, locks=locks, **more)  # type: ignore[arg-type]


def txn(op: str, name: str = "t", proc: str = "p") -> Action:
    return Action(op, proc, txn=name)


def down(p: int) -> Action:
    return Action("partition_down", partition=p)


def up(p: int) -> Action:
    return Action("partition_up", partition=p)


def advance(by: int) -> Action:
    return Action("advance", by=by)


def text(answer: object) -> str:
    """``ok``, ``ok x y``, or ``error kind|kind``."""
    status, errors, messages = answer  # type: ignore[misc]
    return " ".join([status, "|".join(sorted(errors)), *(d.id for d in messages)]).replace("  ", " ").strip()


def answers(state: State, action: Action) -> list[str]:
    """Every allowed answer as text, sorted, each once."""
    return sorted({text(answer) for answer, _ in steps(state, action)})


def after(state: State, *actions: Action, answer: str | None = None) -> State:
    """The state after these actions: each has one ok state, or the last one's ``answer`` picks it."""
    for n, action in enumerate(actions):
        wanted = answer if n == len(actions) - 1 else None
        found = [
            s
            for a, s in steps(state, action)
            if (a.status == Outcome.OK if wanted is None else text(a) == wanted)
        ]
        assert len(set(found)) == 1, f"{action.op}: {len(set(found))} states"
        state = found[0]
    return state


def took(state: State, *ids: str, **more: object) -> State:
    """The state after a receive that answered exactly these messages, as free as they are."""
    action = receive(len(ids), **more)  # type: ignore[arg-type]
    return after(state, action, answer=" ".join(["ok", *ids]))


def token(state: State, id: str) -> str:
    """The lock token of that message."""
    for part in state.parts:
        for entry in part.log:
            if entry.id == id and entry.lock is not None and entry.lock.token is not None:
                return entry.lock.token
    raise AssertionError(f"{id} is not locked")


def stored(state: State) -> list[list[str]]:
    """The IDs in each partition."""
    return [[entry.id for entry in part.log] for part in state.parts]


def seen(id: str, **fields: object) -> Delivery:
    return Delivery(id, **fields)  # type: ignore[arg-type]


def explains(state: State, action: Action, *messages: Delivery, **fields: object) -> list[State]:
    """The states after the action was observed to answer ok with these messages, or the error given."""
    error = fields.get("error")
    status = Outcome.OK if error is None else Outcome.ERROR
    return list(explain(state, action, Observed(status, error, messages)))  # type: ignore[arg-type]


def closure(state: State, limit: int = 2_000) -> set[State]:
    """Every state that the broker's own moves lead to."""
    found, waiting = {state}, [state]
    while waiting:
        current = waiting.pop()
        for move in internal(current):
            for _, then in steps(current, move):
                if then not in found:
                    found.add(then)
                    waiting.append(then)
        assert len(found) < limit
    return found
