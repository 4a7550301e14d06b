"""The published JSON Schemas: up to date with the code's tables, and of one opinion with the codec."""

from __future__ import annotations

import json
from typing import Any

import pytest
from any_history import histories
from hypothesis import given, settings
from jsonschema import Draft202012Validator
from test_codec import HEADER, MALFORMED, RECEIVE, SEND, ndjson

from partq.conformance import schemas
from partq.conformance.history import Header, History
from partq.conformance.history.codec import HistoryError, dumps, loads
from partq.conformance.schemas.build import build
from partq.conformance.workload import program
from partq.conformance.workload.generator import generate
from partq.model.profile_file import plain
from partq.model.profiles import ENTITY_BOUNDS, PROFILES, profile


def part(name: str, definition: str | None = None) -> Draft202012Validator:
    """A validator of a schema, or of one of its definitions."""
    schema = schemas.load(name)
    if definition is not None:
        schema = {**{key: schema[key] for key in ("$schema", "$defs")}, "$ref": f"#/$defs/{definition}"}
    return Draft202012Validator(schema)


HEADERS, RECORDS = part("history", "header"), part("history", "record")
PROGRAMS = part("program")


@pytest.mark.parametrize("name", schemas.NAMES)
def test_published_schemas_are_those_of_the_code(name: str) -> None:
    assert schemas.load(name) == build()[name], "run: python -m partq.conformance.schemas.build"
    Draft202012Validator.check_schema(schemas.load(name))


@pytest.mark.parametrize("name", PROFILES)
def test_what_a_profile_says_fits_its_schema(name: str) -> None:
    said = plain(profile(name))
    part("profile").validate(said)
    HEADERS.validate({**HEADER, "profile": said})
    bad = [{**said, "rules": []}, {**said, "switches": {"peak": True}}, {**said, "name": "A"}]
    bad += [{**said, "rules": {"KEY-2": {"page": "A"}}}, {**said, "rules": ["KEYY"]}]
    assert not any(
        part("profile").is_valid(one) or HEADERS.is_valid({**HEADER, "profile": one}) for one in bad
    )


@settings(max_examples=60, deadline=None)
@given(histories())
def test_what_the_codec_writes_fits_the_schema(history: History) -> None:
    header, *records = map(json.loads, dumps(history).splitlines())
    HEADERS.validate(header)
    for record in records:
        RECORDS.validate(record)


BEYOND_SCHEMAS = (
    "float that is whole",  # to JSON Schema 1.0 is a whole number
    "duplicate name",
    "duplicate name within",
    "lone surrogate",
    "surrogate in bytes",
    "ret before call",
    "duplicate i",
    "overlapping",
    "an operation after one",
    "nested deeply",
    "long line",
    "long header",
    "byte order mark",
    "UTF-16",
    "blank line",
    "NaN",
    "Infinity",
)
"""What a schema of single lines cannot express, or what is no JSON to begin with."""


@pytest.mark.parametrize("case", [name for name in MALFORMED if not name.startswith(BEYOND_SCHEMAS)])
def test_what_the_codec_refuses_the_schema_refuses(case: str) -> None:
    lines = MALFORMED[case][0].split(b"\n")
    try:
        header, *records = [json.loads(line) for line in lines if line]
    except ValueError:
        return  # no JSON, or a number of thousands of digits: it never comes to the schema
    accepted = HEADERS.is_valid(header) and all(map(RECORDS.is_valid, records))
    assert not accepted


EDGES: dict[str, tuple[bool, dict[str, Any]]] = {
    "greatest i": (True, {"i": 2**63 - 1}),
    "beyond it": (False, {"i": 2**63}),
    "earliest call": (True, {"call": -(2**63)}),
    "before it": (False, {"call": -(2**63) - 1}),
    "empty entity": (True, {"entity": ""}),
    "null error": (True, {"error": None}),
    "null messages": (False, {"messages": None}),
    "empty messages": (True, {"messages": []}),
    "unknown without an error": (True, {"outcome": "unknown"}),
    "unknown and never returned": (True, {"outcome": "unknown", "ret": None, "error": "hang"}),
    "error and no error": (False, {"outcome": "error", "error": None}),
    "a peek's greatest number": (True, {"op": "peek", "args": {"max": 0, "from_seq": 2**64 - 1}}),
    "a peek beyond it": (False, {"op": "peek", "args": {"max": 0, "from_seq": 2**64}}),
    "no locks": (True, {"op": "complete", "args": {"locks": []}}),
    "free settings": (True, {"op": "create", "args": {"settings": {"a": [None, {"b": -1}], "": True}}}),
    "a float in them": (False, {"op": "create", "args": {"settings": {"a": 0.5}}}),
    "a kill by a client": (False, {"op": "broker_kill", "args": {}}),
    "a kill": (True, {"op": "broker_kill", "args": {}, "proc": "env"}),
    "an assignment": (
        True,
        {"op": "assignment", "proc": "env", "args": {"partition": 0, "state": "ready", "flow": "f"}},
    ),
    "an unheard-of state": (
        False,
        {"op": "assignment", "proc": "env", "args": {"partition": 0, "state": "x"}},
    ),
    "a receive with an answer": (True, {**RECEIVE}),
    "a failed receive with an answer": (False, {**RECEIVE, "outcome": "unknown"}),
}


@pytest.mark.parametrize("case", EDGES)
def test_codec_and_schema_agree_on_records(case: str) -> None:
    right, changes = EDGES[case]
    record = {**SEND, **changes}
    assert RECORDS.is_valid(record) is right
    if right:
        loads(ndjson(HEADER, record | {"ret": None if record["ret"] is None else 2**62}))
    else:
        with pytest.raises(HistoryError):
            loads(ndjson(HEADER, record))


@pytest.mark.parametrize("setting", ENTITY_BOUNDS)
def test_codec_and_schema_agree_on_entities(setting: str) -> None:
    low, high, _ = ENTITY_BOUNDS[setting]
    for value in (low - 1, low, high, high + 1, None, True):
        header = {**HEADER, "entities": {"q": {setting: value}}}
        try:
            accepted = bool(loads(ndjson(header)).header.entities)
        except HistoryError:
            accepted = False
        assert accepted is HEADERS.is_valid(header) is (value in (low, high) and value is not True)


STORED = json.loads(program.dumps(generate("azure-standard", 3)))


def step(op: str, **args: Any) -> dict[str, Any]:
    return {"steps": [{"proc": "c1", "op": op, "args": args}]}


PROGRAM_EDGES: dict[str, tuple[bool, dict[str, Any]]] = {
    "as stored": (True, {}),
    "no steps": (True, {"steps": []}),
    "another schema": (False, {"schema": "partq.program/2"}),
    "unknown profile": (False, {"profile": "kafkaesque"}),
    "profile of a wrong type": (False, {"profile": []}),
    "unknown field": (False, {"stepz": []}),
    "greatest seed": (True, {"seed": 2**64 - 1}),
    "seed beyond it": (False, {"seed": 2**64}),
    "seed as text": (False, {"seed": "7"}),
    "flag as number": (False, {"drain": 1}),
    "entity as a list": (False, {"entity": []}),
    "entity with a null": (False, {"entity": {"seq_start": None}}),
    "no partitions": (False, {"entity": {"partitions": 0}}),
    "step as text": (False, {"steps": ["send"]}),
    "step of nobody": (False, {"steps": [{"proc": "", "op": "begin"}]}),
    "step without args": (True, {"steps": [{"proc": "c1", "op": "begin"}]}),
    "receive without args": (False, {"steps": [{"proc": "c1", "op": "receive"}]}),
    "unknown step": (False, step("dance")),
    "step of a wrong type": (False, {"steps": [{"proc": "c1", "op": ["begin"], "args": {}}]}),
    "begin with an argument": (False, step("begin", txn=True)),
    "send": (True, step("send", messages=[{"id": "m", "properties": [["a", "b"]]}], txn=True)),
    "send of nothing": (False, step("send", messages=[])),
    "send of two": (False, step("send", messages=[{"id": "m"}, {"id": "n"}])),
    "batch of two": (True, step("send_batch", messages=[{"id": "m"}, {"id": "n"}])),
    "message with an unknown field": (False, step("send", messages=[{"id": "m", "key": "k"}])),
    "message with bad properties": (False, step("send", messages=[{"id": "m", "properties": ["ab"]}])),
    "peek from a word": (True, step("peek", max=1, **{"from": "start"})),
    "peek from another word": (False, step("peek", max=1, **{"from": "end"})),
    "peek from a number": (True, step("peek", max=1, **{"from": 3})),
    "peek from nothing": (False, step("peek", max=1, **{"from": None})),
    "unknown mode": (False, step("receive", max=1, mode="lock")),
    "pick of a negative": (False, step("complete", pick=[-1])),
    "pick of text": (False, step("complete", pick="0")),
    "advance by a float": (False, step("advance", by=1.5)),
    "advance without end": (False, step("advance", by=2**63)),
}


@pytest.mark.parametrize("case", PROGRAM_EDGES)
def test_programs_and_schema_agree(case: str) -> None:
    right, changes = PROGRAM_EDGES[case]
    data = {**STORED, **changes}
    assert PROGRAMS.is_valid(data) is right
    if right:
        read = program.from_json(data)
        assert program.from_json(program.to_json(read)) == read
    else:
        with pytest.raises(program.InvalidProgram) as caught:
            program.from_json(data)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("profile", PROFILES)
def test_generated_programs_fit_the_schema_and_come_back_equal(profile: str) -> None:
    for seed in range(20):
        made = generate(profile, seed)
        data = json.loads(program.dumps(made))
        PROGRAMS.validate(data)
        assert program.from_json(data) == made


def test_the_schema_tells_header_from_record() -> None:
    whole = part("history")
    assert whole.is_valid(HEADER)
    assert whole.is_valid(SEND)
    assert not whole.is_valid({})
    assert whole.is_valid(json.loads(dumps(History(Header("azure-flat"), ()))))
