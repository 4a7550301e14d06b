"""Histories of the reference, and such made wrong, or possibly wrong, by one random edit, on which judge and
screens are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from msgspec import structs

from partq.conformance.adapters import open_broker
from partq.conformance.execution.runner import run
from partq.conformance.history import History, Record
from partq.conformance.workload.generator import generate
from partq.conformance.workload.themes import THEMES
from partq.conformance.workload.weights import Weights
from partq.model.messages import Delivery
from partq.model.operations import Outcome

Edit = Callable[[list[Record], int, Random], None]


def drawn(profile: str, seed: int, length: int, themes: Mapping[str, Weights] = THEMES) -> History:
    """The reference's history of the program of that seed and number of phrases."""
    broker = open_broker("reference")
    broker.profile = profile
    return run(broker, generate(profile, seed, length=length, lacks=broker.lacks(), themes=themes))


def edited(history: History, random: Random) -> History:
    """The history after one random edit that its records allow."""
    return edited_somehow(history, random)[1]


def edited_somehow(history: History, random: Random) -> tuple[str, History]:
    """The name of one random edit that the history's records allow, and the history after it."""
    records = list(history.records)
    edits = list(EDITS)
    while True:
        name = edits.pop(random.randrange(len(edits)))
        places = [n for n, record in enumerate(records) if EDITS[name][0](record)]
        if places:
            EDITS[name][1](records, random.choice(places), random)
            return name, History(history.header, tuple(records))


def _with(records: list[Record], n: int, messages: Sequence[Delivery]) -> None:
    records[n] = structs.replace(records[n], messages=tuple(messages))


def _change(field: str, change: Callable[[int, Random], int]) -> Edit:
    def edit(records: list[Record], n: int, random: Random) -> None:
        messages = list(records[n].messages)
        shown = [k for k, message in enumerate(messages) if getattr(message, field) is not None]
        if shown:
            k = random.choice(shown)
            changed: dict[str, Any] = {field: change(getattr(messages[k], field), random)}
            messages[k] = messages[k]._replace(**changed)
            _with(records, n, messages)

    return edit


def _moved(field: str, by: int) -> Edit:
    return _change(field, lambda at, random: max(0, at + random.choice((-by, by))))


def _drop(records: list[Record], n: int, random: Random) -> None:
    messages = list(records[n].messages)
    del messages[random.randrange(len(messages))]
    _with(records, n, messages)


def _double(records: list[Record], n: int, random: Random) -> None:
    messages = list(records[n].messages)
    messages.append(random.choice(messages))
    _with(records, n, messages)


def _swap(records: list[Record], n: int, random: Random) -> None:
    messages = list(records[n].messages)
    other = random.choice([m for record in records for m in record.messages])
    messages[random.randrange(len(messages))] = other
    _with(records, n, messages)


def _refuse(records: list[Record], n: int, random: Random) -> None:
    error = random.choice(("invalid_operation", "unavailable", "lock_lost", "not_found"))
    records[n] = structs.replace(records[n], outcome=Outcome.ERROR, error=error, messages=())


def _allow(records: list[Record], n: int, random: Random) -> None:
    records[n] = structs.replace(records[n], outcome=Outcome.OK, error=None)


def _shows(record: Record) -> bool:
    return bool(record.messages)


def _is_ok(record: Record) -> bool:
    return not record.is_env and record.outcome == Outcome.OK


def _is_refused(record: Record) -> bool:
    return not record.is_env and record.outcome == Outcome.ERROR


EDITS: dict[str, tuple[Callable[[Record], bool], Edit]] = {
    "another number": (
        _shows,
        _change("seq", lambda seq, random: seq + random.choice((-1, 1, 7)) & 2**64 - 1),
    ),
    "another partition": (_shows, _change("partition", lambda name, random: name ^ random.choice((1, 2)))),
    "another count": (_shows, _moved("delivery_count", 1)),
    "another time": (_shows, _moved("enqueued_at", 900)),
    "another end of a lock": (_shows, _moved("locked_until", 10**9)),
    "a delivery dropped": (_shows, _drop),
    "a delivery doubled": (_shows, _double),
    "a delivery swapped": (_shows, _swap),
    "refused": (_is_ok, _refuse),
    "allowed": (_is_refused, _allow),
}
"""What an edit changes: which records it fits, and how."""
