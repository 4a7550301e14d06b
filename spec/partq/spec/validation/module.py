"""What TLC is started on: traces as TLA+ text, the module that follows them, and its configuration.

`tla/Validation.tla` says what the records mean, and which of the specification's operators others take the
place of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple

from partq.spec.tools.labels import text_of

from .graves import Grave
from .places import ORIGIN
from .steps import Step, Trace

Overrides = Mapping[str, str]
"""Operators of the specification that others take the place of, for checking the check: ``{"MayLock":
"BugMayLock"}``."""

NAME: Final = "Following"
"""Of the module that TLC is started on."""

DATA: Final = "Traces"
"""Of the module of the traces. It is one of its own, and the first that is extended: TLC evaluates constants
module by module, and until `AllTraces` is a value it goes through the whole text at each mention of it."""

_MODULUS: Final = 2**29

_REPLACED: Final = {
    "Key": "TraceKey", "Keys": "TheKeyNames", "Valid": "TraceValid", "MaySend": "AnySend",
    "OfBatch": "TraceBatch", "TurnAfter": "TurnByStep", "LockedFor": "TraceLockedFor",
    "HandedOver": "TraceHandedOver", "Cached": "TraceCached", "Choices": "TraceChoices",
    "WastedNumbers": "TraceWastedNumbers", "WastesIn": "TraceWastesIn", "MayBeBusy": "TraceBusy",
    "MayTurnOutLost": "TraceMayTurnOutLost", "RolledBack": "TraceRolledBack", "Committed": "TraceCommitted",
    "CountsDeliveries": "TraceCountsDeliveries", "Distributions": "TraceDistributions",
    "DutiesWithout": "TraceDutiesWithout", "PeekingInit": "TracePeekingInit", "LogInit": "TraceLogInit",
    "Num": "TraceNum", "Fades": "TraceFades", "ShownAsDeferred": "TraceShownAsDeferred",
    "Beyond": "TraceBeyond", "Serves": "TraceServes", "Dead": "TraceDead", "Arrival": "TraceArrival",
    "MayBeScheduled": "TraceMayBeScheduled", "InOrder": "TraceInOrder",
    "Session": "TraceSession", "SessionIDs": "TheSessionNames",
    "Sessionless": "Everything", "ServesSession": "TraceServesSession", "Available": "TraceAvailable",
    "InSessionOrder": "TraceInSessionOrder", "MayShare": "TraceMayShare", "Repeats": "TraceRepeats",
    "Pending": "TracePending", "Settling": "TraceSettling", "UnnumberedIn": "TraceUnnumberedIn",
    "MayNumberEarly": "TraceMayNumberEarly", "DoomedBy": "TraceDoomedBy", "LostCounts": "TraceLostCounts",
}  # fmt: skip

_ALPHABET: Final = frozenset({"abandon", "stale", "batches", "outage", "kill", "frontend"})
_WITHOUT_FLOWS: Final = frozenset(
    {"delete", "shared locks", "peek", "transaction", "dead letter", "cancellation", "defer", "state"}
)

_FREEDOMS: Final = frozenset({"gaps", "busy", "lag", "early", "cancel", "gone"})

_CONSTANTS: Final = (
    "MessageCount", "PartitionCount", "Clients", "KeyOf", "TwoKeys", "MaxTries", "MaxDeliveryCount",
    "PeekMax", "Modulus", "FirstNumber", "Profile", "Alphabet", "Freedoms", "Observing", "Rules",
    "StateLimit", "Traces", "Width", "Hasty", "Longest",
)  # fmt: skip


class Text(str):
    """What is TLA+ text already."""


def kind_of(trace: Trace) -> tuple[Any, ...]:
    """What the traces of one module have in common: they share the constants. That of their partitions some
    are never named makes no difference, as long as there are that many."""
    recording = trace.recording
    return recording.words, recording.rules, recording.partitions, recording.maximum, recording.sessions


def data_text(traces: Sequence[Trace]) -> str:
    """The module of the traces, which are of one kind."""
    size = _size(traces)
    names = [f"Trace{n}" for n in range(1, len(traces) + 1)]
    return "\n".join(
        [
            f"---- MODULE {DATA} ----",
            "EXTENDS Integers",
            *(f"{name} == {_trace(trace, size)}" for name, trace in zip(names, traces, strict=True)),
            f"AllTraces == <<{', '.join(names)}>>",
            "====",
            "",
        ]
    )


def module_text(traces: Sequence[Trace], states: int, width: int, hasty: bool, overrides: Overrides) -> str:
    """The module that follows these traces. ``states``: how many TLC finds of one at the most; ``width``: of
    those with as much of it done; ``hasty``: it follows likely ways alone."""
    recording, size = traces[0].recording, _size(traces)
    flows = "flows" in recording.words
    constants = {
        "MessageCount": size.messages,
        "PartitionCount": size.partitions,
        "Clients": frozenset(size.clients),
        "KeyOf": {1: "-"},
        "TwoKeys": frozenset(),
        "MaxTries": 1_000_000,
        "MaxDeliveryCount": recording.maximum if "RCV-9" in recording.rules else 1_000_000,
        "PeekMax": 1,
        "Modulus": _MODULUS,
        "FirstNumber": 0,
        "Profile": recording.words | {"numbers"},
        "Alphabet": _ALPHABET if flows else _ALPHABET | _WITHOUT_FLOWS,
        "Freedoms": _FREEDOMS,
        "Observing": False,
        "KeyNames": frozenset(key for trace in traces for key in (*trace.keys, *trace.session_names)) - {"-"},
        "SessionNames": frozenset(name for trace in traces for name in trace.session_names),
        "Rules": recording.rules,
        "StateLimit": states,
        "Width": width,
        "Hasty": hasty,
        "Longest": max(len(trace.steps) for trace in traces),
        "Traces": Text("AllTraces"),
    }
    return "\n".join(
        [
            f"---- MODULE {NAME} ----",
            f"EXTENDS {DATA}, Validation" + (", Bugs" if overrides else ""),
            *(f"The{name} == {_text(value)}" for name, value in constants.items()),
            "====",
            "",
        ]
    )


def configuration_text(overrides: Overrides) -> str:
    """The configuration of every such module."""
    replaced = {**{name: f"The{name}" for name in _CONSTANTS}, **_REPLACED, **overrides}
    lines = [f"  {name} <- {other}" for name, other in replaced.items()]
    head = ["INIT TraceInit", "NEXT TraceNext", "CONSTRAINT Watched", "INVARIANT Counted"]
    head += ["CHECK_DEADLOCK FALSE", "CONSTANTS"]
    return "\n".join([*head, *lines, ""])


class _Size(NamedTuple):
    """What the traces of a module need between them."""

    messages: int
    partitions: int
    clients: Sequence[str]


def _size(traces: Sequence[Trace]) -> _Size:
    return _Size(
        max(1, *(trace.messages for trace in traces)),
        max(trace.partitions for trace in traces),
        sorted(set().union(*(trace.clients for trace in traces)) or {"c1"}),
    )


def _trace(trace: Trace, size: _Size) -> Text:
    """The record of a trace, in a module of that size."""
    unsent, unnamed = size.messages - trace.messages, size.partitions - trace.partitions
    nowhere = [-1] * trace.partitions
    owner = [*trace.owner, *[{}] * unnamed]
    order = trace.order
    return _record(
        {
            "messages": trace.messages,
            "keys": [*trace.keys, *["-"] * unsent],
            "conflicting": frozenset(trace.conflicting),
            "within": [*trace.within, *[""] * unsent],
            "sight": [*trace.sight, *[0] * unsent],
            "vain": [*trace.vain, *[0] * unsent],
            "births": [*trace.births, *[0] * unsent],
            "born": frozenset(trace.births) - {0},
            "past": frozenset(trace.past),
            "mortal": frozenset(trace.mortal),
            "sessions": [*trace.sessions, *["-"] * unsent],
            "required": trace.recording.sessions,
            "lacking": frozenset(trace.lacking),
            "copies": [*map(frozenset, trace.copies), *[frozenset[int]()] * unsent],
            "repeats": [*map(frozenset, trace.repeats), *[frozenset[int]()] * unsent],
            "place": [_record({"part": p, "num": n}) for p, n in [*trace.place, *[(0, -1)] * unsent]],
            "graves": [
                _record({**grave._asdict(), "shown": frozenset(shown)})
                for grave, shown in zip(trace.graves, order.dead, strict=True)
            ]
            + [_record({**Grave()._asdict(), "shown": frozenset()})] * unsent,
            "allowed": [frozenset(parts) for parts in [*trace.allowed, *[(1,)] * unsent]],
            "owner": [_by_number(numbers) for numbers in owner],
            "base": [min(numbers, default=1) - 1 for numbers in owner],
            "start": [*trace.start, *[ORIGIN] * unnamed],
            "floor": [*trace.floor, *[0] * unnamed],
            "top": [*trace.top, *[0] * unnamed],
            "events": [
                [_record({"who": who, "state": state}) for who, state in events]
                for events in [*trace.events, *[()] * unnamed]
            ],
            "observed": trace.observed,
            "unseen": trace.recording.unseen,
            "cursors": _record({c: [*trace.cursors.get(c, nowhere), *[-1] * unnamed] for c in size.clients}),
            "steps": [_step(step) for step in trace.steps],
            "order": list(order.heads),
            "window": list(order.window),
            "optional": list(order.optional),
            "rank": _ranks(trace),
            "optionals": frozenset(n for n, step in enumerate(trace.steps, 1) if step.optional),
            "last": [*order.last, *[0] * unsent],
            **_sizes(trace),
            **_counted(trace, size),
        }
    )


def _ranks(trace: Trace) -> list[int]:
    """The place in the order of each step that is the head of an instant; 0 for the others."""
    rank = {n: k for k, n in enumerate(trace.order.heads, 1)}
    return [rank.get(n, 0) for n in range(1, len(trace.steps) + 1)]


def _sizes(trace: Trace) -> dict[str, list[int]]:
    """How many steps come before each place in the order; and of each step the last of the same instant."""
    ends = {step.head: n for n, step in enumerate(trace.steps, 1)}
    lengths = [ends[head] - head + 1 for head in trace.order.heads]
    return {"before": [*accumulate(lengths, initial=0)], "ends": [ends[step.head] for step in trace.steps]}


def _counted(trace: Trace, size: _Size) -> dict[str, list[Any]]:
    """Of each message where which count is shown, at the most; and how many may be counted."""
    counts: list[set[tuple[int, int]]] = [set() for _ in range(size.messages)]
    times = [trace.recording.unseen + 1] * size.messages
    ranks = _ranks(trace)
    for step in trace.steps:
        for m in step.shows if not step.dead else ():
            times[m - 1] += step.op != "peek"
        for m, count in zip(step.ms, step.counts, strict=False) if step.shows and not step.dead else ():
            if count != -1:
                counts[m - 1].add((ranks[step.head - 1], count + (step.op == "peek")))
    shown = [[_record({"at": at, "most": most}) for at, most in sorted(found)] for found in counts]
    return {"counts": shown, "times": times}


def _by_number(owner: Mapping[int, int]) -> list[int]:
    """The messages by number, from the least one on; 0 where there is none."""
    return [owner.get(n, 0) for n in range(min(owner, default=0), max(owner, default=-1) + 1)]


def _step(step: Step) -> Text:
    return _record(
        {
            "op": step.op, "who": step.who, "ms": list(step.ms), "counts": list(step.counts),
            "states": list(step.states),
            "locks": list(step.locks), "users": list(step.users), "m": step.ms[0] if step.ms else 0,
            "count": step.counts[0] if step.counts else -1, "lock": step.locks[0] if step.locks else 0,
            "part": step.part, "state": step.state, "session": step.session, "txn": step.txn,
            "error": step.error, "max": step.max,
            "first": step.first, "passing": step.passing, "free": step.free, "unknown": step.unknown,
            "keyless": step.keyless, "cached": frozenset(step.cached),
            "late": frozenset(step.late), "final": step.final, "head": step.head,
            "then": step.then, "prior": step.prior,
        }
    )  # fmt: skip


def _record(values: Mapping[str, Any]) -> Text:
    return Text("[" + ", ".join(f"{name} |-> {_text(value)}" for name, value in values.items()) + "]")


def _text(value: Any) -> str:
    """A value as TLA+ text: lists are sequences."""
    if isinstance(value, Text):
        return value
    if isinstance(value, list):
        return "<<" + ", ".join(map(_text, value)) + ">>"
    return text_of(value)
