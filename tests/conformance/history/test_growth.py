"""Reading and judging a file takes work in proportion to its size, whatever it holds: counted, not timed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest
from operation_count import Key, instructions

from partq.conformance.facts.index import facts_of
from partq.conformance.history import Header, History, Record
from partq.conformance.history.codec import loads
from partq.conformance.history.codec_checks import _object
from partq.conformance.history.codec_fields import FieldError
from partq.conformance.history.entities import ByEntity
from partq.conformance.oracle.judge_scope import unmodelled
from partq.conformance.oracle.reading import Reading
from partq.conformance.oracle.specified import recordings_of
from partq.conformance.screens.assess import inspect
from partq.model.messages import Message
from partq.model.profiles import Entity

PROFILE = "azure-premium"
SIZE = 40
LINEAR = 2.2
"""Twice the size may take so many times the work; with something that is quadratic it comes near to four."""


def history_of(records: Iterable[dict[str, Any]], **header: Any) -> bytes:
    head = {"schema": "partq.history/1", "profile": PROFILE, "clock": "wall", **header}
    return b"".join(json.dumps(line).encode() + b"\n" for line in (head, *records))


def send(i: int, entity: str = "q", **fields: Any) -> dict[str, Any]:
    args = {"messages": [{"id": f"m{i}", **fields}]}
    times = {"call": 10 * i, "ret": 10 * i + 5}
    return {"i": i, "proc": "p", "op": "send", "entity": entity, "args": args, "outcome": "ok", **times}


def short_lived(size: int) -> bytes:
    """One entity, and messages that have a time to live."""
    return history_of(send(i, ttl=10**15) for i in range(size))


def many_entities(size: int) -> bytes:
    """A message for each entity, every second one a subscription."""
    names = [f"t{i // 2}/Subscriptions/s" if i % 2 else f"t{i // 2}" for i in range(size)]
    return history_of((send(i, name) for i, name in enumerate(names)), entities={name: {} for name in names})


def settings_alone(size: int) -> bytes:
    """Entities that nothing happens to."""
    return history_of([send(0)], entities={f"q{i}": {} for i in range(size)})


def questions(history: History) -> None:
    """Ask of each entity, up to the judge's search."""
    everything = ByEntity(history)
    for entity in Reading(history).entities:
        name = entity.name
        why = unmodelled(history.header, everything.of(name), entity.entity)
        if why is None and name not in everything.topics:
            entity.question()


SHAPES = (short_lived, many_entities, settings_alone)
WORK: dict[str, Callable[[History], object]] = {
    "facts": facts_of,
    "screens": inspect,
    "questions": questions,
    "recordings": recordings_of,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_file_is_twice_the_reading(shape: Callable[[int], bytes]) -> None:
    once, twice = (instructions(partial(loads, shape(size))) for size in (SIZE, 2 * SIZE))
    assert once > SIZE
    assert twice < LINEAR * once


@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_file_is_twice_the_judging(shape: Callable[[int], bytes], work: str) -> None:
    histories = [loads(shape(size)) for size in (SIZE, 2 * SIZE)]
    WORK[work](histories[0])  # what is made once
    once, twice = (instructions(partial(WORK[work], history)) for history in histories)
    assert once > SIZE
    assert twice < LINEAR * once


def test_twice_the_names_of_an_object_are_twice_the_comparisons() -> None:
    """The name that occurs twice is the last one."""
    compared = []
    for size in (1000, 2000):
        pairs = [(Key(f"k{n}"), 0) for n in range(size)]
        Key.compared = 0
        with pytest.raises(FieldError, match="twice"):
            _object([*pairs, (Key(f"k{size - 1}"), 1)])
        compared.append(Key.compared)
    assert 0 < compared[1] < LINEAR * compared[0] + 100


def test_what_is_quadratic_is_seen() -> None:
    """That the counting can fail."""

    def pairs(size: int) -> int:
        return sum(1 for a in range(size) for b in range(size) if a < b)

    once, twice = (instructions(partial(pairs, size)) for size in (SIZE, 2 * SIZE))
    assert twice > LINEAR * once


def test_a_record_belongs_to_its_entity_or_to_every_one() -> None:
    names = ("", "q", "r", "q", "", "t/Subscriptions/s")
    records = tuple(
        Record(i, "p", "send", name, i, i, {"messages": (Message(f"m{i}"),)}) for i, name in enumerate(names)
    )
    everything = ByEntity(History(Header(PROFILE, {"unused": Entity()}), records))
    assert everything.names == ("unused", "q", "r", "t/Subscriptions/s")
    assert [record.i for record in everything.of("q")] == [0, 1, 3, 4]
    assert [record.i for record in everything.of("unused")] == [0, 4]
    assert everything.topics == {"t"}
    assert everything.sent == {f"m{i}" for i in range(6)}
