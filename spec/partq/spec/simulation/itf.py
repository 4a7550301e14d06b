"""ITF, the JSON form in which Apalache writes traces: read strictly, and written in one canonical way.

TLC's traces are kept in it, too (`behaviours`). Values are those of `tools.values`; a function over 1 … n is
a sequence, whichever way it is written, as it is in TLA+. Nothing is evaluated. What a trace means is the
reader's business.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from partq.spec.tools.values import Function

SUFFIX: Final = ".itf.json"

TRACES: Final = Path(__file__).with_name("traces")
"""The folder of the traces that come with the package; its README says how they were made."""

SIZE: Final = 2**24
"""Bytes that a file may have."""

DEPTH: Final = 32
"""How deeply a value may be nested."""

_META: Final = "#meta"
_SAFE: Final = 2**53 - 1
"""The greatest number that every JSON reader keeps."""

_DIGITS: Final = re.compile(r"-?\d{1,100}")


class InvalidTrace(ValueError):
    """The text is no ITF trace; the message names the place in one line."""


class Trace(NamedTuple):
    """A finite behaviour. ``states``: of each the value of every variable, by name. ``params``: the values of
    constants, by name. ``meta``: what is told of the whole trace (JSON)."""

    states: tuple[Function, ...]
    params: Mapping[str, Any] = Function()
    meta: Mapping[str, Any] = {}


def read_file(file: Path) -> Trace:
    """The trace in a file. Raises `InvalidTrace`, `OSError`."""
    with open(file, "rb") as stream:
        text = stream.read(SIZE + 1)
    if len(text) > SIZE:
        raise InvalidTrace(f"longer than {SIZE:,} bytes")
    return read_trace(text)


def read_trace(text: str | bytes) -> Trace:
    """The trace that the text is. Raises `InvalidTrace`."""
    try:
        data = json.loads(text, object_pairs_hook=_object, parse_float=_no_number, parse_constant=_no_number)
    except InvalidTrace:
        raise
    except RecursionError:
        raise InvalidTrace(f"nested more than {DEPTH} deep") from None
    except ValueError as error:
        raise InvalidTrace(f"no JSON: {error}") from None
    return _trace(data)


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        name = next(name for n, (name, _) in enumerate(pairs) if name in dict(pairs[:n]))
        raise InvalidTrace(f"{name!r} is there twice in one object")
    return found


def _no_number(text: str) -> NoReturn:
    raise InvalidTrace(f"{text} is no whole number")


_PARTS: Final = frozenset({_META, "params", "vars", "states"})


def _trace(data: Any) -> Trace:
    if not isinstance(data, dict) or not isinstance(data.get("states"), list):
        raise InvalidTrace("no trace: an object with a list of `states` is expected")
    if "loop" in data:
        raise InvalidTrace("loop: a behaviour that ends is expected, not one that repeats for ever")
    if unknown := sorted(data.keys() - _PARTS):
        raise InvalidTrace(f"{unknown[0]}: not a part of a trace; known: {', '.join(sorted(_PARTS))}")
    meta = data.get(_META, {})
    if not isinstance(meta, dict):
        raise InvalidTrace(f"{_META}: an object is expected")
    params, names = _names(data, "params"), _names(data, "vars")
    if not names or not data["states"]:
        raise InvalidTrace("no trace: it needs a variable and a state")
    first, *others = data["states"]
    known = _state(first, [*params, *names], 0)
    states = [known, *(_state(one, names, n) for n, one in enumerate(others, 1))]
    return Trace(
        tuple(Function((name, one[name]) for name in names) for one in states),
        Function((name, known[name]) for name in params),
        meta,
    )


def _names(data: Mapping[str, Any], part: str) -> list[str]:
    names = data.get(part, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidTrace(f"{part}: a list of names is expected")
    if len(set(names)) < len(names):
        raise InvalidTrace(f"{part}: a name is there twice")
    return names


def _state(data: Any, names: Sequence[str], number: int) -> Mapping[str, Any]:
    """The values in one state, of just these names."""
    if not isinstance(data, dict):
        raise InvalidTrace(f"states[{number}]: an object is expected")
    if missing := [name for name in names if name not in data]:
        raise InvalidTrace(f"states[{number}]: {missing[0]} has no value")
    if unknown := sorted(data.keys() - {_META, *names}):
        raise InvalidTrace(f"states[{number}]: {unknown[0]} is none of the variables")
    found = {}
    for name in names:
        try:
            found[name] = _value(data[name], DEPTH)
        except InvalidTrace as error:
            raise InvalidTrace(f"states[{number}].{name}: {error}") from None
    return found


def _value(data: Any, deep: int) -> Any:
    """A value; ``deep``: how much further it may be nested."""
    if deep == 0:
        raise InvalidTrace(f"nested more than {DEPTH} deep")
    if isinstance(data, bool | int | str):
        return data
    if isinstance(data, list):
        return tuple(_value(one, deep - 1) for one in data)
    if not isinstance(data, dict):
        raise InvalidTrace(f"{json.dumps(data)} is no value")
    marks = [name for name in data if name.startswith("#")]
    if not marks:
        return Function((name, _value(one, deep - 1)) for name, one in data.items()) if data else ()
    read = _MARKED.get(marks[0])
    if read is None or len(data) > 1:
        raise InvalidTrace(f"{marks[0]} marks no value; known, and alone: {', '.join(_MARKED)}")
    return read(data[marks[0]], deep - 1)


def _bigint(data: Any, deep: int) -> int:
    if not isinstance(data, str) or not _DIGITS.fullmatch(data):
        raise InvalidTrace(f"#bigint: up to 100 digits in quotes are expected, not {str(data)[:20]!r}")
    return int(data)


def _items(data: Any, deep: int) -> tuple[Any, ...]:
    if not isinstance(data, list):
        raise InvalidTrace("#set, #tup and #map mark a list")
    return tuple(_value(one, deep) for one in data)


def _map(data: Any, deep: int) -> Function | tuple[Any, ...]:
    pairs = _items(data, deep)
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise InvalidTrace("#map: a list of pairs is expected")
    found = Function(pairs)
    if len(found) < len(pairs):
        raise InvalidTrace("#map: an argument is there twice")
    return sequence(found)


_MARKED: Final[Mapping[str, Callable[[Any, int], Any]]] = {
    "#bigint": _bigint,
    "#tup": _items,
    "#set": lambda data, deep: frozenset(_items(data, deep)),
    "#map": _map,
}


def sequence(function: Function) -> Function | tuple[Any, ...]:
    """The function, as a sequence if it is one: its arguments are 1 … n."""
    numbers = range(1, len(function) + 1)
    if {(type(at), at) for at in function} != {(int, at) for at in numbers}:
        return function
    return tuple(function[at] for at in numbers)


def write_trace(trace: Trace) -> str:
    """The trace as text, a line for its head and one a state: equal traces give equal bytes."""
    first, *others = trace.states
    states = [_line({**trace.params, **first}), *map(_line, others)]
    head = [(_META, trace.meta), ("params", sorted(trace.params)), ("vars", sorted(first))]
    parts = [f"{json.dumps(name)}:{_dumps(part)}" for name, part in head]
    return "{" + ",".join([*parts, '"states":[\n']) + ",\n".join(states) + "]}\n"


def _line(values: Mapping[str, Any]) -> str:
    return _dumps({name: _plain(value) for name, value in values.items()})


def _dumps(data: Any) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def _plain(value: Any) -> Any:
    """A value as JSON."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _SAFE else {"#bigint": str(value)}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, frozenset):
        return {"#set": sorted((_plain(one) for one in value), key=_dumps)}
    if all(isinstance(name, str) and not name.startswith("#") for name in value):
        return {name: _plain(one) for name, one in value.items()}
    return {"#map": sorted(([_plain(at), _plain(one)] for at, one in value.items()), key=_dumps)}
