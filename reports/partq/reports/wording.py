"""Records of a history in words: for the labels of a diagram, its tooltips, and lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from partq.conformance.history import TIMES, Record, time_text
from partq.model.configuration import COUNTER_BITS
from partq.model.messages import Delivery

_PARTITION_EVENTS: Final = {"partition_down": "down", "partition_up": "up"}

SENDS: Final = frozenset({"send", "send_batch", "schedule"})


def locks_of(records: Iterable[Record]) -> dict[str, Delivery]:
    """Each lock that was given, and the delivery it came with."""
    return {d.lock: d for record in records for d in record.messages if d.lock is not None}


def label(record: Record, locks: Mapping[str, Delivery]) -> str:
    """The operation and what it is about, in few words. ``locks`` as from `locks_of`."""
    if record.op in _PARTITION_EVENTS:
        return f"partition {record.args.get('partition')} {_PARTITION_EVENTS[record.op]}"
    args, words = record.args, [record.op.replace("_", " ")]
    words += [message.id for message in args.get("messages", ())]
    words += [locks[lock].id if lock in locks else lock for lock in record.lock_tokens]
    words += [f"{name} {args[name]}" for name in ("flow", "partition", "proc") if name in args]
    if record.messages and record.op not in SENDS:
        words.append("→ " + ", ".join(delivery.id for delivery in record.messages))
    elif "max" in args:
        words.append("→ nothing" if record.ok else "")
    return " ".join(word for word in words if word)


def note(record: Record) -> str:
    """How it ended, and in which transaction."""
    parts = [record.outcome if record.error is None else f"{record.outcome}: {record.error}"]
    if record.ret is None:
        parts.append("never returned")
    if "txn" in record.args:
        parts.append(f"txn {record.args['txn']}")
    return " · ".join(parts)


def numbered(delivery: Delivery) -> str:
    """The message and, where the broker shows it, its number within its partition."""
    if delivery.seq is None:
        return delivery.id
    return f"{delivery.id} #{delivery.seq & ((1 << COUNTER_BITS) - 1)}"


def tooltip(record: Record, locks: Mapping[str, Delivery]) -> str:
    """Everything about the record that a reader may want to look up."""
    returned = "never" if record.ret is None else time_text(record.ret)
    times = f"call {time_text(record.call)}, return {returned}"
    lines = [f"record {record.i}: {record.proc} {label(record, locks)}", note(record), times]
    lines += [f"sends {_fields(message)}" for message in record.sent]
    lines += [f"shows {_fields(delivery)}" for delivery in record.messages]
    return "\n".join(lines)


def _fields(message: Any) -> str:
    names = getattr(message, "_fields", None) or message.__dataclass_fields__
    pairs = ((name, getattr(message, name)) for name in names)
    shown = ((name, value) for name, value in pairs if value not in (None, "", ()))
    return ", ".join(f"{name}={time_text(value) if name in TIMES else value}" for name, value in shown)
