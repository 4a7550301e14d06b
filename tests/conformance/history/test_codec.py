"""Histories in files: exact round trips, and one clear line for everything that is malformed."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from any_history import histories
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from partq.conformance.adapters import open_broker
from partq.conformance.execution.runner import run
from partq.conformance.history import SCHEMA, Header, History, Record
from partq.conformance.history.codec import MAX_LINE, HistoryError, dumps, loads, read_history, write_history
from partq.conformance.workload.generator import generate
from partq.model.messages import Delivery, Message
from partq.model.operations import ASSIGNMENT_STATES, ERRORS, OPS, RECEIVE_MODES
from partq.model.profiles import ENTITY_BOUNDS
from partq.model.requirements import PROFILE_COLUMNS

HEADER = {"schema": SCHEMA, "profile": "azure-standard", "clock": "wall"}
SEND = {
    "i": 0,
    "proc": "p1",
    "op": "send",
    "entity": "q",
    "call": 1,
    "ret": 2,
    "args": {"messages": [{"id": "m1", "partition_key": "k"}]},
    "outcome": "ok",
}
RECEIVE = {
    "i": 1,
    "proc": "p2",
    "op": "receive",
    "entity": "q",
    "call": 3,
    "ret": 4,
    "args": {"max": 5, "mode": "peek_lock"},
    "outcome": "ok",
    "messages": [{"id": "m1", "seq": 7, "lock": "l1"}],
}


def ndjson(*lines: Any) -> bytes:
    return b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)


def refused(data: bytes) -> HistoryError:
    with pytest.raises(HistoryError) as caught:
        loads(data, "h.ndjson")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
    return caught.value


@settings(max_examples=150, deadline=None)
@given(histories())
def test_ndjson_round_trip_is_exact(history: History) -> None:
    data = dumps(history)
    again = loads(data)
    assert again == history
    assert dumps(again) == data


@settings(max_examples=40, deadline=None)
@given(histories())
def test_parquet_round_trip_is_exact(tmp_path_factory: pytest.TempPathFactory, history: History) -> None:
    file = tmp_path_factory.mktemp("parquet") / "h.parquet"
    write_history(file, history)
    assert read_history(file) == history


@settings(max_examples=150, deadline=None)
@given(histories(), st.data())
def test_a_damaged_file_is_refused_in_one_line_or_still_a_history(
    history: History, data: st.DataObject
) -> None:
    whole = dumps(history)
    at = data.draw(st.integers(0, len(whole) - 1))
    damaged = whole[:at] + bytes([data.draw(st.integers(0, 255))]) + whole[at + 1 :]
    with suppress(HistoryError):  # nothing else may be raised
        again = loads(damaged)
        assert loads(dumps(again)) == again


@settings(max_examples=60, deadline=None)
@given(histories(), st.data())
def test_a_file_cut_inside_a_line_is_refused(history: History, data: st.DataObject) -> None:
    whole = dumps(history)
    cut = whole[: data.draw(st.integers(0, len(whole) - 2))]
    if cut and not cut.endswith(b"\n") and not whole[len(cut) :].startswith(b"\n"):
        refused(cut)


@pytest.mark.parametrize("profile", PROFILE_COLUMNS)
def test_what_the_reference_records_comes_back_as_it_was(profile: str) -> None:
    broker = open_broker("reference")
    broker.profile = profile
    for seed in range(20):
        history = run(broker, generate(profile, seed))
        assert loads(dumps(history)) == history


def test_what_a_broker_did_not_show_is_absent() -> None:
    record = Record(
        0, "p", "peek", "q", 1, 2, {"max": 1}, messages=(Delivery("m", seq=0, redelivered=False),)
    )
    line = json.loads(dumps(History(Header("azure-flat"), (record,))).splitlines()[1])
    assert line["messages"] == [{"id": "m", "seq": 0, "redelivered": False}]
    assert "error" not in line


def test_optional_fields_may_be_left_out_or_null() -> None:
    plain = loads(ndjson(HEADER, SEND))
    assert plain == loads(
        ndjson({**HEADER, "skew_ns": 0, "lacks": []}, {**SEND, "error": None, "messages": []})
    )
    assert plain.records[0].args["messages"] == (Message("m1", partition_key="k"),)


def test_records_are_sorted_by_call_and_ties_keep_their_order() -> None:
    later = {**SEND, "i": 9, "call": 50, "ret": 51}
    same = {**SEND, "i": 8, "proc": "p3", "call": 1}
    assert [r.i for r in loads(ndjson(HEADER, later, SEND, same)).records] == [0, 8, 9]


def without(record: dict[str, Any], field: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != field}


def nested(depth: int) -> bytes:
    """A record whose settings are that many lists in one another."""
    record = json.dumps({**SEND, "op": "create", "args": {"settings": {"x": "@"}}})
    return record.replace('"@"', "[" * depth + "]" * depth).encode() + b"\n"


def one(**changes: Any) -> bytes:
    return ndjson(HEADER, {**SEND, **changes})


def answer(**changes: Any) -> bytes:
    return ndjson(HEADER, SEND, {**RECEIVE, "messages": [{"id": "m1", **changes}]})


def message(**changes: Any) -> bytes:
    return one(args={"messages": [{"id": "m1", **changes}]})


MALFORMED: dict[str, tuple[bytes, int | None, str | None, str]] = {
    "empty file": (b"", None, None, "empty"),
    "byte order mark": (b"\xef\xbb\xbf" + ndjson(HEADER), 1, None, "byte order mark"),
    "UTF-16": (json.dumps(HEADER).encode("utf-16"), 1, None, "UTF-8"),
    "invalid UTF-8": (ndjson(HEADER) + b'{"i":0,"proc":"\xff"}\n', 2, None, "invalid UTF-8 at byte 16"),
    "surrogate in bytes": (ndjson(HEADER) + b'{"i":0,"proc":"\xed\xa0\x80"}\n', 2, None, "invalid UTF-8"),
    "lone surrogate, escaped": (one(proc="\ud800"), 2, "proc", "lone surrogate"),
    "lone surrogate in a body": (message(body="a\udfffb"), 2, "args.messages[0].body", "lone surrogate"),
    "lone surrogate as a name": (one(**{"\udc00": 1}), 2, "\\udc00", "lone surrogate"),
    "truncated header": (ndjson(HEADER)[:-5], 1, None, "truncated"),
    "truncated record": (ndjson(HEADER, SEND)[:-9], 2, None, "truncated"),
    "not JSON": (ndjson(HEADER) + b"{'i': 0}\n", 2, None, "not JSON"),
    "an open text": (ndjson(HEADER) + b'{"i":"\n', 2, None, "Unterminated string starting at column"),
    "two values on a line": (ndjson(HEADER) + b"{} {}\n", 2, None, "not JSON"),
    "blank line": (ndjson(HEADER, b"\n", SEND), 2, None, "empty"),
    "a list": (ndjson(HEADER, [1]), 2, None, "expected an object"),
    "duplicate name": (ndjson(HEADER) + b'{"i":0,"i":1}\n', 2, "i", "twice"),
    "duplicate name within": (ndjson(HEADER) + b'{"args":{"a":1,"a":1}}\n', 2, "a", "twice"),
    "nested deeply": (ndjson(HEADER) + nested(100_000), 2, None, "nested too deeply"),
    "long line": (ndjson(HEADER, {**SEND, "proc": "x" * MAX_LINE}), 2, None, "longer than"),
    "long header": (b'"' + b"x" * MAX_LINE + b'"\n', 1, None, "longer than"),
    "thousands of digits": (ndjson(HEADER) + b'{"i":' + b"9" * 5000 + b"}\n", 2, None, "64 bits"),
    "NaN": (ndjson(HEADER) + b'{"i":NaN}\n', 2, None, "NaN"),
    "Infinity": (ndjson(HEADER) + b'{"i":-Infinity}\n', 2, None, "-Infinity"),
    "float": (one(call=1.5), 2, None, "whole"),
    "float that is whole": (one(call=1.0), 2, None, "whole"),
    "exponent": (ndjson(HEADER) + b'{"i":1e3}\n', 2, None, "1e3"),
    # the header
    "no header": (ndjson(SEND), 1, None, "is no header, but an operation"),
    "no schema": (ndjson(without(HEADER, "schema")), 1, "schema", "missing"),
    "another schema": (ndjson({**HEADER, "schema": "partq.history/2"}), 1, "schema", SCHEMA),
    "schema of a wrong type": (ndjson({**HEADER, "schema": 1}), 1, "schema", SCHEMA),
    "no profile": (ndjson(without(HEADER, "profile")), 1, "profile", "missing"),
    "unknown profile": (ndjson({**HEADER, "profile": "azure-standart"}), 1, "profile", "azure-standard?"),
    "profile of a wrong type": (ndjson({**HEADER, "profile": ["x"]}), 1, "profile", "unknown profile"),
    "unknown clock": (ndjson({**HEADER, "clock": "sundial"}), 1, "clock", "virtual, wall"),
    "negative skew": (ndjson({**HEADER, "skew_ns": -1}), 1, "skew_ns", "2^63"),
    "lacks what is no operation": (
        ndjson({**HEADER, "lacks": ["peek", "peep"]}),
        1,
        "lacks[1]",
        "did you mean",
    ),
    "entities as a list": (ndjson({**HEADER, "entities": []}), 1, "entities", "an object"),
    "entity with 0 partitions": (
        ndjson({**HEADER, "entities": {"q": {"partitions": 0}}}),
        1,
        "entities.q.partitions",
        "from 1 to 1024",
    ),
    "entity with an unknown setting": (
        ndjson({**HEADER, "entities": {"q": {"partition": 1}}}),
        1,
        "entities.q.partition",
        "did you mean partitions?",
    ),
    "entity with a null setting": (
        ndjson({**HEADER, "entities": {"q": {"seq_start": None}}}),
        1,
        "entities.q.seq_start",
        "whole number",
    ),
    # a record
    **{
        f"no {field}": (ndjson(HEADER, without(SEND, field)), 2, field, "missing")
        for field in ("i", "proc", "op", "entity", "call", "ret", "args", "outcome")
    },
    "unknown field": (one(outcom="ok"), 2, "outcom", "did you mean outcome?"),
    "i of a wrong type": (one(i="0"), 2, "i", "whole number"),
    "true is no number": (one(i=True), 2, "i", "whole number"),
    "negative i": (one(i=-1), 2, "i", "from 0"),
    "i beyond 64 bits": (one(i=2**63), 2, "i", "2^63-1"),
    "call beyond 64 bits": (one(call=2**63, ret=2**63), 2, "call", "64 bits"),
    "ret beyond 64 bits": (one(ret=10**30), 2, "ret", "64 bits"),
    "ret before call": (one(call=3), 2, "ret", "before the call: 2 < 3"),
    "null call": (one(call=None), 2, "call", "whole number"),
    "empty proc": (one(proc=""), 2, "proc", "not empty"),
    "proc of a wrong type": (one(proc=7), 2, "proc", "text"),
    "a client called env": (one(proc="env"), 2, "proc", "environment"),
    "a client killing the broker": (one(op="broker_kill", args={}), 2, "proc", "environment"),
    "unknown operation": (one(op="recieve"), 2, "op", "did you mean receive?"),
    "operation of a wrong type": (one(op=["send"]), 2, "op", "unknown operation"),
    "null entity": (one(entity=None), 2, "entity", "text"),
    "args of a wrong type": (one(args=[]), 2, "args", "an object"),
    "unknown argument": (one(args={**SEND["args"], "key": "k"}), 2, "args.key", "unknown field"),
    "missing argument": (one(args={}), 2, "args.messages", "missing"),
    "null argument": (one(args={**SEND["args"], "txn": None}), 2, "args.txn", "text"),
    "argument of a wrong type": (one(args={**SEND["args"], "timeout": "60s"}), 2, "args.timeout", "whole"),
    "negative timeout": (one(args={**SEND["args"], "timeout": -1}), 2, "args.timeout", "from 0"),
    "unknown mode": (
        ndjson(HEADER, {**RECEIVE, "args": {"max": 1, "mode": "x"}}),
        2,
        "args.mode",
        "peek_lock",
    ),
    "locks of a wrong type": (one(op="complete", args={"locks": "l1"}), 2, "args.locks", "a list"),
    "a truth value for locks": (one(op="complete", args={"locks": True}), 2, "args.locks", "found true"),
    "a lock of a wrong type": (one(op="complete", args={"locks": ["a", 1]}), 2, "args.locks[1]", "text"),
    "number beyond 64 bits": (
        one(op="peek", args={"max": 1, "from_seq": 2**64}),
        2,
        "args.from_seq",
        "2^64-1",
    ),
    "settings beyond 64 bits": (
        one(op="create", args={"settings": {"a": [0, 2**64]}}),
        2,
        "args.settings.a[1]",
        "64 bits",
    ),
    "unknown outcome": (one(outcome="okay"), 2, "outcome", "did you mean ok?"),
    "outcome of a wrong type": (one(outcome=None), 2, "outcome", "unknown outcome"),
    "unknown error": (one(outcome="error", error="lock-lost"), 2, "error", "did you mean lock_lost?"),
    "error without one": (one(outcome="error"), 2, "error", "null although"),
    "ok with an error": (one(error="timeout"), 2, "error", "although the outcome is ok"),
    "a hang is never definite": (one(outcome="error", error="hang"), 2, "error", "hang although"),
    "ok without a return": (one(ret=None), 2, "ret", "outcome is ok, not unknown"),
    "error without a return": (one(ret=None, outcome="error", error="timeout"), 2, "ret", "not unknown"),
    # messages
    "messages of a wrong type": (one(args={"messages": {"id": "m"}}), 2, "args.messages", "a list"),
    "a message of a wrong type": (one(args={"messages": ["m"]}), 2, "args.messages[0]", "an object"),
    "no message": (one(args={"messages": []}), 2, "args.messages", "not empty"),
    "two messages in a send": (
        one(args={"messages": [{"id": "a"}, {"id": "b"}]}),
        2,
        "args.messages",
        "send_batch",
    ),
    "message without an id": (one(args={"messages": [{"body": ""}]}), 2, "args.messages[0].id", "missing"),
    "message with an unknown field": (message(key="k"), 2, "args.messages[0].key", "unknown field"),
    "message with a number as body": (message(body=1), 2, "args.messages[0].body", "text"),
    "message with an empty key": (
        message(partition_key=""),
        2,
        "args.messages[0].partition_key",
        "not empty",
    ),
    "message with a null key": (message(session_id=None), 2, "args.messages[0].session_id", "not empty"),
    "properties as an object": (message(properties={"a": "b"}), 2, "args.messages[0].properties", "a list"),
    "property without a value": (message(properties=[["a"]]), 2, "args.messages[0].properties[0]", "a pair"),
    "time to live too long": (message(ttl=2**63), 2, "args.messages[0].ttl", "2^63-1"),
    "an answer of a wrong type": (ndjson(HEADER, {**RECEIVE, "messages": None}), 2, "messages", "found null"),
    "an answer without an id": (
        ndjson(HEADER, {**RECEIVE, "messages": [{}]}),
        2,
        "messages[0].id",
        "missing",
    ),
    "an answer with a null": (answer(seq=None), 3, "messages[0].seq", "whole number"),
    "an answer with a number beyond 64 bits": (answer(seq=2**64), 3, "messages[0].seq", "2^64-1"),
    "an answer with a negative number": (answer(seq=-1), 3, "messages[0].seq", "from 0"),
    "an answer with a flag as number": (answer(redelivered=1), 3, "messages[0].redelivered", "true or false"),
    "an answer with an unknown field": (answer(sequence=1), 3, "messages[0].sequence", "unknown field"),
    "an answer to a send": (one(messages=[{"id": "m"}]), 2, "messages", "does not answer"),
    "an answer and an error": (
        ndjson(HEADER, {**RECEIVE, "outcome": "unknown", "error": "timeout"}),
        2,
        "messages",
        "although the outcome is unknown",
    ),
    # between records
    "duplicate i": (ndjson(HEADER, SEND, {**RECEIVE, "i": 0}), 3, "i", "as in line 2"),
    "overlapping operations": (
        ndjson(HEADER, {**SEND, "ret": 10}, {**RECEIVE, "proc": "p1"}),
        3,
        "call",
        "operation in line 2 returned at 10",
    ),
    "overlapping in any order of lines": (
        ndjson(HEADER, {**RECEIVE, "proc": "p1"}, {**SEND, "ret": 10}),
        2,
        "call",
        "operation in line 3 returned at 10",
    ),
    "an operation after one that never returned": (
        ndjson(
            HEADER, {**SEND, "ret": None, "outcome": "unknown", "error": "hang"}, {**RECEIVE, "proc": "p1"}
        ),
        3,
        "call",
        "never returned",
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_input_names_line_and_field(case: str) -> None:
    data, line, field, fragment = MALFORMED[case]
    error = refused(data)
    assert (error.line, error.field) == (line, field), str(error)
    assert fragment in error.message
    assert str(error).startswith("h.ndjson:" if line is None else f"h.ndjson:{line}: ")


def test_environment_events_may_overlap() -> None:
    down = {**SEND, "proc": "env", "op": "partition_down", "args": {"partition": 3}, "ret": 9}
    gone = {**down, "i": 5, "op": "broker_kill", "args": {}, "call": 4}
    assert len(loads(ndjson(HEADER, down, gone))) == 2


@pytest.mark.parametrize("depth", [1, 50])
def test_settings_may_be_nested(depth: int) -> None:
    loads(ndjson(HEADER) + nested(depth))


# --- writing ----------------------------------------------------------------------------------------


def unwritable(*records: Record) -> HistoryError:
    with pytest.raises(HistoryError) as caught:
        dumps(History(Header("azure-flat"), records), "h")
    return caught.value


def test_a_lone_surrogate_is_refused_on_writing() -> None:
    record = Record(0, "p", "send", "q", 1, 2, {"messages": (Message("m", "a\ud83d"),)})
    error = unwritable(record)
    assert str(error).startswith("h:2: args.messages[0].body: holds a lone surrogate")


def test_what_could_not_be_read_again_is_not_written() -> None:
    receive = Record(0, "p", "receive", "q", 5, 6, {"max": 1})
    assert unwritable(replace(receive, messages=(Delivery("m", seq=2**64),))).field == "messages[0].seq"
    assert unwritable(replace(receive, args={"max": 10**6000})).field == "args.max"
    assert unwritable(replace(receive, args={"max": 1.0})).field == "args.max"
    assert unwritable(receive, replace(receive, i=1, call=4)).message == "the records are not sorted by call"
    assert unwritable(receive, replace(receive, i=1)).field == "call"
    settings_: dict[str, Any] = {}
    settings_["itself"] = settings_
    assert "nested" in unwritable(replace(receive, op="create", args={"settings": settings_})).message


def test_a_file_that_cannot_be_written_whole_leaves_the_old_one(tmp_path: Path) -> None:
    file = tmp_path / "h.ndjson"
    write_history(file, loads(ndjson(HEADER)))
    before = file.read_bytes()
    bad = Record(0, "p", "receive", "q", 5, 6, {"max": -1})
    with pytest.raises(HistoryError):
        write_history(file, History(Header("azure-flat"), (bad,)))
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


# --- files ------------------------------------------------------------------------------------------


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for file in (tmp_path / "absent", tmp_path):
        with pytest.raises(HistoryError, match=str(file)) as caught:
            read_history(file)
        assert caught.value.line is None


def test_parquet_is_known_by_its_content(tmp_path: Path) -> None:
    history = loads(ndjson(HEADER, SEND, RECEIVE))
    write_history(tmp_path / "h.parquet", history)
    (tmp_path / "h.parquet").rename(tmp_path / "renamed")
    assert read_history(tmp_path / "renamed") == history


def test_what_is_only_called_parquet_is_told_from_it(tmp_path: Path) -> None:
    """Even where nothing is installed that reads Parquet."""
    for content in (b"", b"garbage", ndjson(HEADER, SEND)):
        (tmp_path / "h.parquet").write_bytes(content)
        with pytest.raises(HistoryError, match="is no Parquet file: it does not begin with PAR1"):
            read_history(tmp_path / "h.parquet")


def parquet(tmp_path: Path, rows: list[dict[str, Any]], header: Any = HEADER, **types: Any) -> HistoryError:
    """What is said of a Parquet file with these rows, of whatever types pyarrow finds. ``types``: of columns
    that hold nothing but nulls."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.Table.from_pylist(rows)
    for name, kind in types.items():
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, pa.nulls(len(rows), kind))
    table = table.replace_schema_metadata({} if header is None else {"partq.history": json.dumps(header)})
    pq.write_table(table, tmp_path / "h.parquet")
    with pytest.raises(HistoryError) as caught:
        read_history(tmp_path / "h.parquet")
    return caught.value


def test_malformed_parquet_names_row_and_field(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 nothing else")
    with pytest.raises(HistoryError, match="not readable as Parquet"):
        read_history(tmp_path / "bad.parquet")
    assert "header" in parquet(tmp_path, [SEND], header=None).message
    assert parquet(tmp_path, [SEND], header={**HEADER, "schema": "x"}).field == "schema"
    assert parquet(tmp_path, [{**SEND, "call": 1.0}]).field == "call"
    assert parquet(tmp_path, [SEND, {**SEND, "proc": None, "i": 1}]).field == "proc"
    error = parquet(tmp_path, [SEND, SEND])
    assert (error.line, error.field) == (2, "i")
    assert parquet(tmp_path, [{**SEND, "args": {"messages": ["m"]}}]).field == "args.messages[]"
    assert parquet(tmp_path, [{**SEND, "op": "create", "args": {"settings": "{"}}]).field == "args.settings"
    twice = parquet(tmp_path, [{**SEND, "op": "create", "args": {"settings": '{"a":1,"a":1}'}}])
    assert twice.field == "args.settings.a"


TEMPORAL = ("timestamp[us]", "timestamp[ns, tz=Nowhere/X]", "duration[ns]", "time64[ns]", "date32[day]")


@pytest.mark.parametrize("kind", [*TEMPORAL, "double", "decimal128(20, 0)", "string", "list<element: int64>"])
def test_a_column_of_another_type_is_named(tmp_path: Path, kind: str) -> None:
    """Before any value is read: some, such as a moment beyond the year 9999, cannot even be."""
    pa = pytest.importorskip("pyarrow")
    types = {
        "timestamp[us]": pa.timestamp("us"),
        "timestamp[ns, tz=Nowhere/X]": pa.timestamp("ns", "Nowhere/X"),
        "duration[ns]": pa.duration("ns"),
        "time64[ns]": pa.time64("ns"),
        "date32[day]": pa.date32(),
        "double": pa.float64(),
        "decimal128(20, 0)": pa.decimal128(20, 0),
        "string": pa.string(),
        "list<element: int64>": pa.list_(pa.int64()),
    }
    error = parquet(tmp_path, [SEND], call=types[kind])
    assert (error.line, error.field) == (None, "call")
    assert error.message == f"the column is {kind}, where int64 is expected"


def test_an_unknown_column_is_named_before_it_is_read(tmp_path: Path) -> None:
    """At any depth: a moment in a time zone that there is not cannot be made a value."""
    pa = pytest.importorskip("pyarrow")
    nowhere = pa.timestamp("ns", "Nowhere/X")
    error = parquet(tmp_path, [{**SEND, "cal": None}], cal=nowhere)
    assert (error.field, error.message[:28]) == ("cal", "unknown field; did you mean ")
    assert parquet(tmp_path, [SEND], args=pa.struct({"at": nowhere})).field == "args.at"


def test_pairs_of_another_writer_may_be_lists(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    send = {**SEND, "args": {"messages": [{"id": "m", "properties": [["a", "1"], ["b", "2"]]}]}}
    table = pa.Table.from_pylist([send]).replace_schema_metadata({"partq.history": json.dumps(HEADER)})
    pq.write_table(table, tmp_path / "h.parquet")
    assert read_history(tmp_path / "h.parquet") == loads(ndjson(HEADER, send))


def test_parquet_is_capped_by_rows_before_it_is_read(tmp_path: Path) -> None:
    """Three million rows of nothing new are some kilobytes."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"i": pa.array([0]).take(pa.array([0] * 3_000_000))})
    pq.write_table(
        table.replace_schema_metadata({"partq.history": json.dumps(HEADER)}), tmp_path / "h.parquet"
    )
    assert (tmp_path / "h.parquet").stat().st_size < 100_000
    with pytest.raises(HistoryError, match="has 3,000,000 rows: a history has at most 1,000,000 records"):
        read_history(tmp_path / "h.parquet")


def test_parquet_is_capped_by_bytes_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that stands for itself in each of many rows; the rows after the cap are never unpacked."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    from partq.conformance.history import codec_parquet

    rows = [{**SEND, "i": i, "call": 2 * i, "ret": 2 * i + 1, "entity": "x" * 10_000} for i in range(2_000)]
    table = pa.Table.from_pylist(rows).replace_schema_metadata({"partq.history": json.dumps(HEADER)})
    pq.write_table(table, tmp_path / "h.parquet")
    assert (tmp_path / "h.parquet").stat().st_size < 200_000
    read = []
    made = codec_parquet.read_record
    monkeypatch.setattr(codec_parquet, "read_record", lambda row: (read.append(row["i"]), made(row))[1])
    monkeypatch.setattr(codec_parquet, "MAX_BYTES", 2_000_000)
    with pytest.raises(HistoryError, match="more than 2,000,000 bytes once it is unpacked"):
        read_history(tmp_path / "h.parquet")
    assert 0 < len(read) < 250


def test_a_history_is_capped_by_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partq.conformance.history.codec_checks.MAX_RECORDS", 2)
    sends = [{**SEND, "i": i, "call": 2 * i, "ret": 2 * i + 1} for i in range(3)]
    assert len(loads(ndjson(HEADER, *sends[:2]))) == 2
    with pytest.raises(HistoryError, match=r":4: a history has at most 2 records: cut it"):
        loads(ndjson(HEADER, *sends))


@pytest.mark.parametrize("depth", [51, 500, 5_000, 100_000])
def test_settings_that_are_nested_deeply_are_one_clear_error(depth: int) -> None:
    deep = '{"a":' * depth + "1" + "}" * depth
    create = {**SEND, "proc": "c", "op": "create", "args": {"settings": "DEEP"}}
    text = ndjson(HEADER, create).replace(b'"DEEP"', deep.encode())
    with pytest.raises(HistoryError, match="nested"):
        loads(text)


def test_parquet_of_another_writer_may_leave_columns_out(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.Table.from_pylist([SEND]).replace_schema_metadata({"partq.history": json.dumps(HEADER)})
    pq.write_table(table, tmp_path / "h.parquet")
    assert read_history(tmp_path / "h.parquet") == loads(ndjson(HEADER, SEND))


# --- the documentation ------------------------------------------------------------------------------

DOCS = Path(__file__).parents[3] / "docs" / "history.md"


def test_the_documented_example_is_a_history() -> None:
    example = DOCS.read_text(encoding="utf-8").split("```json\n")[1].split("```")[0]
    history = loads(example.encode())
    assert [record.op for record in history.records] == ["send", "send", "send", "receive", "complete"]
    assert {delivery.seq >> 48 for delivery in history.records[3].messages if delivery.seq} == {3}


def test_the_documentation_names_every_word_of_the_format() -> None:
    text = DOCS.read_text(encoding="utf-8")
    arguments = {name for spec in OPS.values() for name in spec.recorded}
    fields = {
        *Record.__struct_fields__,
        *Delivery._fields,
        *Message.__dataclass_fields__,
        *Header.__dataclass_fields__,
    }
    words = {*OPS, *ERRORS, *RECEIVE_MODES, *ASSIGNMENT_STATES, *ENTITY_BOUNDS, *arguments, *fields}
    assert [word for word in sorted(words) if f"`{word}`" not in text] == []


def test_the_documented_error_is_what_is_printed() -> None:
    bad = {**SEND, "i": 3, "op": "complete", "args": {"locks": [7]}, "call": 9}
    data = ndjson(HEADER, SEND, RECEIVE, {**bad, "ret": 10})
    with pytest.raises(HistoryError) as caught:
        loads(data, "orders.ndjson")
    assert str(caught.value) in DOCS.read_text(encoding="utf-8")
