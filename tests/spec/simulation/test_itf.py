"""ITF traces: read strictly, written in one way."""

import json
from pathlib import Path
from typing import Any

import pytest

from partq.spec.simulation import itf
from partq.spec.simulation.itf import InvalidTrace, Trace, read_file, read_trace, write_trace
from partq.spec.tools.values import Function


def of(value: Any) -> str:
    """A trace of one state, in which x has that JSON value."""
    return json.dumps({"vars": ["x"], "states": [{"x": value}]})


def in_place_of(part: str, value: Any) -> str:
    """A trace of which one part is another."""
    return json.dumps({"vars": ["x"], "states": [{"x": 1}], part: value})


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (7, 7),
        ({"#bigint": "-281474976710656"}, -(2**48)),
        (True, True),
        ("c1", "c1"),
        ([1, [2]], (1, (2,))),
        ({"#tup": [1, "a"]}, (1, "a")),
        ({"#set": [{"#bigint": "2"}, 1]}, frozenset({1, 2})),
        ({"at": {"#set": []}, "by": "c1"}, {"at": frozenset(), "by": "c1"}),
        ({"#map": [["c1", 1], ["c2", 2]]}, {"c1": 1, "c2": 2}),
        ({"#map": [[{"#set": [1]}, "one"]]}, {frozenset({1}): "one"}),
    ],
)
def test_a_value_is_read(written: Any, value: Any) -> None:
    assert read_trace(of(written)).states == ({"x": value},)


WRITTEN = Path(__file__).parents[1] / "apalache"


@pytest.mark.parametrize("file", [file.name for file in sorted(WRITTEN.glob("*.itf.json"))])
def test_what_apalache_writes_is_read_and_kept(file: str) -> None:
    trace = read_file(WRITTEN / file)

    assert trace.meta["description"].startswith("Created by Apalache")
    assert read_trace(write_trace(trace)) == trace


def test_each_shape_that_apalache_writes_is_read() -> None:
    assert read_file(WRITTEN / "shapes.itf.json").states == (
        {"up": (True, True), "answer": {"by": "-", "ms": frozenset()}, "said": (), "pair": (0, "")},
        {
            "up": (False, True),
            "answer": {"by": "c1", "ms": frozenset({1, 2})},
            "said": ("down",),
            "pair": (-1, "down"),
        },
    )


@pytest.mark.parametrize(
    "written",
    [["a", "b"], {"#tup": ["a", "b"]}, {"#map": [[{"#bigint": "2"}, "b"], [{"#bigint": "1"}, "a"]]}],
)
def test_a_function_over_one_to_n_is_a_sequence_however_it_is_written(written: Any) -> None:
    assert read_trace(of(written)).states[0]["x"] == ("a", "b")


def test_constants_stand_in_the_first_state_alone() -> None:
    text = '{"params":["N"],"vars":["x"],"states":[{"N":3,"x":1},{"x":2}]}'

    assert read_trace(text) == Trace((Function(x=1), Function(x=2)), Function(N=3))


ANY = Trace(
    (
        Function(x=frozenset({"b", "a"}), y=(Function(at="ready", n=2**60),)),
        Function(x=frozenset(), y=()),
    ),
    Function(Keys=Function({frozenset({1}): "a", frozenset(): "b"})),
    {"tool": "any", "walk": 1},
)


def test_what_is_written_is_read_again() -> None:
    assert read_trace(write_trace(ANY)) == ANY


def test_equal_traces_are_written_alike() -> None:
    first, second = ANY.states
    turned = Function(y=first["y"], x=frozenset({"a", "b"}))

    assert write_trace(ANY._replace(states=(turned, second))) == write_trace(ANY)
    assert write_trace(ANY._replace(states=(second, turned))) != write_trace(ANY)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "no JSON"),
        ("[1]", "no trace"),
        ("\xff", "no JSON"),
        ("[" * 100_000, "nested more than 32 deep"),
        ('{"vars":["x"],"vars":["x"],"states":[{"x":1}]}', "'vars' is there twice"),
        (in_place_of("states", []), "needs a variable and a state"),
        (in_place_of("states", [1]), r"states\[0\]: an object is expected"),
        (in_place_of("states", [{}]), r"states\[0\]: x has no value"),
        (in_place_of("states", [{"x": 1, "y": 1}]), r"states\[0\]: y is none of the variables"),
        (in_place_of("vars", "x"), "vars: a list of names is expected"),
        (in_place_of("vars", ["x", "x"]), "vars: a name is there twice"),
        (in_place_of("params", ["N"]), r"states\[0\]: N has no value"),
        (in_place_of("loop", 0), "loop: a behaviour that ends"),
        (in_place_of("#meta", []), "#meta: an object is expected"),
        (in_place_of("more", 1), "more: not a part of a trace"),
        (of(1.5), "1.5 is no whole number"),
        (of(float("nan")), "NaN is no whole number"),
        (of(None), r"states\[0\].x: null is no value"),
        (of({"#bigint": 1}), "#bigint: up to 100 digits"),
        (of({"#bigint": "1" * 101}), "#bigint: up to 100 digits"),
        (of({"#unserializable": "Nat"}), "#unserializable marks no value"),
        (of({"#set": [], "x": 1}), "#set marks no value"),
        (of({"#set": 1}), "mark a list"),
        (of({"#map": [[1, 2, 3]]}), "#map: a list of pairs"),
        (of({"#map": [[1, 2], [1, 3]]}), "#map: an argument is there twice"),
        (of(json.loads("[" * 40 + "]" * 40)), "nested more than 32 deep"),
    ],
)
def test_anything_else_is_refused_in_one_line(text: str, why: str) -> None:
    with pytest.raises(InvalidTrace, match=why) as refused:
        read_trace(text.encode("latin-1"))
    assert "\n" not in str(refused.value)


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "long.itf.json"
    file.write_text(of(1))
    assert read_file(file).states == ({"x": 1},)

    monkeypatch.setattr(itf, "SIZE", 10)
    with pytest.raises(InvalidTrace, match="longer than 10 bytes"):
        read_file(file)
