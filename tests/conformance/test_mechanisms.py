"""A mechanism is found by its name: what searches, blames, generates, runs or stores names none."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

import partq.conformance.workload
import partq.model
from partq.conformance.of_mechanisms import FOLDERS, TABLES, given
from partq.model.mechanisms import MECHANISMS, parts
from partq.model.operations import MESSAGE

CONFORMANCE: Final = Path(partq.conformance.workload.__file__).parents[1]
MODEL: Final = Path(next(iter(partq.model.__path__)))
ROOMS: Final = ("history", "facts", "workload", "adapters", "execution", "evaluation", "oracle", "verdict")

WORDS: Final = re.compile(
    r"(?<![a-z])(schedul(e|ing)|defer(ral)?|expiry|ttl|dead_?letter|bur(y|ied)|duplicate|session_?lock|requires_session|(accept|receive|renew|close)_session|[gs]et_session_state|topic|subscription)(s|d|r?red)?(?![a-z])",
    re.IGNORECASE,
)
"""The mechanisms that have a part in every room."""

NAMING: Final[Mapping[str, str]] = {
    "actions.py": "the broker's own moves",
    "family.py": "an entity's settings",
    "messages.py": "the names of births, and states that are shown",
    "operations.py": "the alphabet",
    "state.py": "what is stored of each",
    "statuses.py": "a table",
    "workload/cases/steps.py": "another word: the end of locks",
    "workload/operations/record.py": "what a broker lacks that has no other entity",
    "workload/program_writer.py": "another word: the end of locks",
    "workload/operations/sending.py": "a send may schedule",
    "workload/shrinker.py": "another word: interleavings",
    "history/codec_records.py": "an entity's settings",
    "history/entities.py": "names of entities",
    "history/notation_words.py": "another word, for an entity",
    "facts/index.py": "another word: the end of locks",
    "facts/lifetimes.py": "what is followed no further: it is scheduled, or may expire",
    "facts/records.py": "another word: the end of locks",
    "adapters/protocol.py": "a broker's methods",
    "adapters/reference.py": "a broker's methods",
    "adapters/reference_calls.py": "a broker's methods",
    "adapters/shape.py": "a broker's methods",
    "adapters/rabbitmq_client.py": "another word: what is closed at the end",
    "evaluation/endings.py": "a drain that never ends: what was scheduled and never came",
    "evaluation/reasons.py": "how a lock ends, in words",
    "workload/meetings.py": "in which programs they meet",
    "oracle/judge_scope.py": "entities of which nothing is known",
    "oracle/roles.py": "what each operation is to the judge",
    "oracle/identity.py": "a scheduled message is born twice",
    "oracle/taking_apart.py": "a scheduled message is born twice",
    "oracle/specified.py": "the words of the TLA+ specification",
}
"""Who may speak of mechanisms, and of what."""


def named(source: str) -> Iterator[str]:
    """The mechanisms that a source speaks of, but for prose and the fields of messages."""
    for node in ast.walk(ast.parse(source)):
        for field in ("id", "attr", "arg", "name", "module", "value"):
            text = getattr(node, field, None)
            if isinstance(text, str) and " " not in text and text not in MESSAGE and WORDS.search(text):
                yield text


def test_no_kernel_names_a_mechanism() -> None:
    tops = [(MODEL, path) for path in MODEL.glob("*.py")]
    tops += [(CONFORMANCE, path) for room in ROOMS for path in (CONFORMANCE / room).rglob("*.py")]
    names = [(path.relative_to(top).as_posix(), path) for top, path in tops if path.name != "mechanisms.py"]
    assert {name for name, path in names if any(named(path.read_text(encoding="utf-8")))} == NAMING.keys()


def test_a_mechanism_that_is_named_in_a_kernel_is_found() -> None:
    assert [*named("from ..deferral import norm")] == ["deferral"]
    assert [*named('if op == "receive_deferred": held.deferred = 1')] == ["receive_deferred", "deferred"]
    assert [*named('TABLE = {"scheduling": scheduled_in}')] == ["scheduling", "scheduled_in"]
    assert [*named('"""What a scheduled message is."""\nmessage.scheduled_at = message.ttl')] == []


ASKED: Final = re.compile(r'given\("(\w+)", "(\w+)"\)')


def test_every_table_that_there_may_be_a_room_asks_for_and_some_mechanism_has() -> None:
    sources = [path.read_text(encoding="utf-8") for path in CONFORMANCE.rglob("*.py")]
    asked = {pair for source in sources for pair in ASKED.findall(source)}
    assert asked == {(part, table) for part, tables in TABLES.items() for table in tables}
    assert all(given(part, table) for part, table in asked)


def test_a_table_that_no_room_asks_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LookupError, match="programs: PHRASE"):
        given("programs", "PHRASE")
    (module, *_) = parts(FOLDERS, "programs").values()
    monkeypatch.setitem(module.__annotations__, "PHRASE", "Final")
    with pytest.raises(LookupError, match="programs: PHRASE"):
        given("programs", "PHRASES")


def test_every_folder_is_a_mechanism_s() -> None:
    folders = {path.parent.name for path in (CONFORMANCE / "mechanisms").glob("*/__init__.py")}
    assert folders and folders <= {*MECHANISMS}
    assert given("programs", "THEME").keys() <= folders
