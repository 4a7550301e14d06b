"""Writes the published JSON Schemas from the code's tables: ``python -m partq.conformance.schemas.build``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from partq.conformance import history, verdict
from partq.conformance.history.codec_records import CLOCKS, NEVER_DEFINITE
from partq.conformance.verdict import Exit, Status
from partq.conformance.workload import program
from partq.model.messages import MAX_INT, MAX_SEQ
from partq.model.operations import (
    ASSIGNMENT_STATES,
    ENV,
    ERRORS,
    OPS,
    OUTCOMES,
    RECEIVE_MODES,
    Kind,
    OpSpec,
    Outcome,
)
from partq.model.profiles import ENTITY_BOUNDS, PROFILES
from partq.model.requirements import groups

Schema = dict[str, Any]

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"

TEXT: Final[Schema] = {"type": "string"}
NAME: Final[Schema] = {"type": "string", "minLength": 1}
FLAG: Final[Schema] = {"type": "boolean"}


def whole(low: int, high: int) -> Schema:
    """A whole number between two limits, both included."""
    return {"type": "integer", "minimum": low, "maximum": high}


COUNT: Final = whole(0, MAX_INT)
TIME: Final = whole(-MAX_INT - 1, MAX_INT)
SEQ: Final = whole(0, MAX_SEQ)
PAIRS: Final[Schema] = {
    "type": "array",
    "items": {"type": "array", "prefixItems": [TEXT, TEXT], "minItems": 2, "maxItems": 2},
}


def build() -> dict[str, Schema]:
    """Every published schema by its name."""
    return {
        "history": _history(),
        "program": _program(),
        "verdicts": _verdicts(),
        "comparison": _comparison(),
    }


def write() -> None:
    """Write every schema beside this file."""
    for name, schema in build().items():
        text = json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
        Path(__file__).with_name(f"{name}.schema.json").write_text(text, encoding="utf-8")


def _object(properties: Mapping[str, Schema], required: Iterable[str] = (), **more: Any) -> Schema:
    needed = list(required)
    return {
        "type": "object",
        "properties": dict(properties),
        **({"required": needed} if needed else {}),
        "additionalProperties": False,
        **more,
    }


def _document(name: str, title: str, **schema: Any) -> Schema:
    return {"$schema": DRAFT, "$id": f"urn:partq:{name}:1", "title": title, **schema}


def _list(items: Schema, at_least: int = 0) -> Schema:
    return {"type": "array", "items": items, **({"minItems": at_least} if at_least else {})}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _entity() -> Schema:
    settings = {name: whole(low, high) for name, (low, high, _) in ENTITY_BOUNDS.items()}
    return _object({**settings, "duplicate_detection": FLAG})


def _message() -> Schema:
    properties: dict[str, Schema] = {
        "id": TEXT,
        "body": TEXT,
        "session_id": NAME,
        "partition_key": NAME,
        "properties": PAIRS,
        "scheduled_at": COUNT,
        "ttl": COUNT,
    }
    return _object(properties, ["id"])


# --- partq.history/1 ----------------------------------------------------------------------------------


def _history() -> Schema:
    return _document(
        "history",
        f"{history.SCHEMA}: one line of a history, the header or a record",
        oneOf=[_ref("header"), _ref("record")],
        **{"$defs": {"header": _header(), "record": _record(), "message": _message(), **_shown()}},
    )


def _header() -> Schema:
    properties: dict[str, Schema] = {
        "schema": {"const": history.SCHEMA},
        "profile": {"enum": list(PROFILES)},
        "entities": {"type": "object", "additionalProperties": _entity()},
        "clock": {"enum": list(CLOCKS)},
        "skew_ns": COUNT,
        "late_ns": COUNT,
        "lacks": _list({"enum": list(OPS)}),
    }
    return _object(properties, ["schema", "profile", "clock"])


def _shown() -> dict[str, Schema]:
    properties: dict[str, Schema] = {
        "id": TEXT,
        "body": TEXT,
        "seq": SEQ,
        "partition": COUNT,
        "enqueued_at": TIME,
        "delivery_count": COUNT,
        "lock": TEXT,
        "locked_until": TIME,
        "state": TEXT,
        "session_id": TEXT,
        "partition_key": TEXT,
        "properties": PAIRS,
        "redelivered": FLAG,
    }
    free: Schema = {"anyOf": [{"type": ["string", "boolean", "null"]}, whole(-MAX_INT - 1, MAX_SEQ)]}
    free["anyOf"] += [_list(_ref("free")), {"type": "object", "additionalProperties": _ref("free")}]
    return {"delivery": _object(properties, ["id"]), "free": free}


_KINDS: Final[Mapping[Kind, Schema]] = {
    Kind.TEXT: TEXT,
    Kind.INT: COUNT,
    Kind.SEQ: SEQ,
    Kind.TEXTS: _list(TEXT),
    Kind.SEQS: _list(SEQ),
    Kind.MESSAGES: _list(_ref("message"), at_least=1),
    Kind.OBJECT: {"type": "object", "additionalProperties": _ref("free")},
}
_NARROWER: Final[Mapping[tuple[str, str], Schema]] = {
    ("receive", "mode"): {"enum": list(RECEIVE_MODES)},
    ("assignment", "state"): {"enum": list(ASSIGNMENT_STATES)},
    ("send", "messages"): {**_KINDS[Kind.MESSAGES], "maxItems": 1},
}


def _record() -> Schema:
    properties: dict[str, Schema] = {
        "i": COUNT,
        "proc": NAME,
        "op": {"enum": list(OPS)},
        "entity": TEXT,
        "call": TIME,
        "ret": {"anyOf": [TIME, {"type": "null"}]},
        "args": {"type": "object"},
        "outcome": {"enum": list(OUTCOMES)},
        "error": {"enum": [*ERRORS, None]},
        "messages": _list(_ref("delivery")),
    }
    required = [name for name in properties if name not in ("error", "messages")]
    rules = [_outcome_rule(outcome) for outcome in OUTCOMES] + [
        _op_rule(op, spec) for op, spec in OPS.items()
    ]
    return _object(properties, required, allOf=rules)


def _rule(field: str, value: str, then: Mapping[str, Schema], **more: Any) -> Schema:
    when = {"properties": {field: {"const": value}}, "required": [field]}
    return {"if": when, "then": {"properties": dict(then), **more}}


def _outcome_rule(outcome: str) -> Schema:
    none: Schema = {"maxItems": 0}
    if outcome == Outcome.OK:
        return _rule("outcome", outcome, {"ret": {"type": "integer"}, "error": {"type": "null"}})
    if outcome == Outcome.UNKNOWN:
        return _rule("outcome", outcome, {"messages": none})
    definite: Schema = {"enum": [error for error in ERRORS if error not in NEVER_DEFINITE]}
    then: dict[str, Schema] = {"ret": {"type": "integer"}, "error": definite, "messages": none}
    return _rule("outcome", outcome, then, required=["error"])


def _op_rule(op: str, spec: OpSpec) -> Schema:
    properties = {name: _NARROWER.get((op, name), _KINDS[arg.kind]) for name, arg in spec.args.items()}
    required = [name for name, arg in spec.args.items() if arg.required]
    then: dict[str, Schema] = {"args": _object(properties, required)}
    then["proc"] = {"const": ENV} if spec.env else {"not": {"const": ENV}}
    if not spec.answers:
        then["messages"] = {"maxItems": 0}
    return _rule("op", op, then)


# --- partq.program/1 ----------------------------------------------------------------------------------

_STEP_ARGS: Final[Mapping[str, Schema]] = {
    "messages": _list(_ref("message"), at_least=1),
    "txn": FLAG,
    "stale": FLAG,
    "ended": FLAG,
    "forged": FLAG,
    "again": FLAG,
    "another": FLAG,
    "pick": _list(COUNT),
    "lost": _list(COUNT),
    "flow": COUNT,
    "max": COUNT,
    "timeout": COUNT,
    "by": COUNT,
    "index": COUNT,
    "partition": COUNT,
    "mode": {"enum": list(RECEIVE_MODES)},
    "proc": TEXT,
    "how": TEXT,
    "from": {"anyOf": [{"enum": list(program.CURSORS)}, COUNT]},
}


def _program() -> Schema:
    properties: dict[str, Schema] = {
        "schema": {"const": program.SCHEMA},
        "profile": {"enum": list(PROFILES)},
        "steps": _list(_ref("step")),
        "entity": _entity(),
        "seed": whole(0, 2**64 - 1),
        "sequential": FLAG,
        "drain": FLAG,
    }
    body = _object(properties, ["schema", "profile", "steps"], **{"$defs": _steps()})
    return _document("program", f"{program.SCHEMA}: what clients do and which faults strike", **body)


def _steps() -> dict[str, Schema]:
    rules = []
    for op, takes in program.STEPS.items():
        required = program.REQUIRED_ARGS.get(op, ())
        args = _object({name: _STEP_ARGS[name] for name in takes}, required)
        if op == "send":
            args["properties"]["messages"] = {**_STEP_ARGS["messages"], "maxItems": 1}
        rules.append(_rule("op", op, {"args": args}, **({"required": ["args"]} if required else {})))
    properties = {"proc": NAME, "op": {"enum": list(program.STEPS)}, "args": {"type": "object"}}
    return {"step": _object(properties, ["proc", "op"], allOf=rules), "message": _message()}


# --- partq.verdicts/1 ---------------------------------------------------------------------------------


def _verdicts() -> Schema:
    properties: dict[str, Schema] = {
        "schema": {"const": verdict.SCHEMA},
        "broker": TEXT,
        "profiles": {"type": "object", "additionalProperties": _ref("requirements")},
        "requirements": _ref("requirements"),
        "exit": {"enum": [Exit.CONFORMANT, Exit.VIOLATED, Exit.INCONCLUSIVE]},
    }
    further: dict[str, Schema] = {"conclusion": TEXT, "strict": FLAG, "baseline": _baseline()}
    definitions = {
        "requirements": {"type": "object", "patternProperties": {REQUIREMENT: _ref("verdict")}},
        **_verdict(),
    }
    return _document(
        "verdicts",
        f"{verdict.SCHEMA}: what is said of every requirement; further fields may follow",
        type="object",
        properties={**properties, **further},
        required=list(properties),
        **{"$defs": definitions},
    )


def _baseline() -> Schema:
    """The verdicts held against a baseline."""
    about: dict[str, Schema] = {
        "kind": {"enum": [kind.value for kind in verdict.Kind]},
        "rules": _list(TEXT, at_least=1),
        "profile": TEXT,
        "cause": TEXT,
    }
    fault: dict[str, Schema] = {**about, "times": COUNT}
    known: dict[str, Schema] = {**fault, "reason": NAME}
    absent: dict[str, Schema] = {**about, "reason": NAME, "why": NAME}
    parts: dict[str, Schema] = {
        "file": TEXT,
        "known": _list(_object(known, known)),
        "new": _list(_object(fault, fault)),
        **{state.value: _list(_object(absent, absent)) for state in verdict.State},
    }
    return _object(parts, parts)


REQUIREMENT: Final = f"^({'|'.join(groups())})-[1-9][0-9]*$"


def _verdict() -> dict[str, Schema]:
    """The definitions of a verdict and its findings."""
    finding = dict.fromkeys(("requirement", "title", "detail", "allowed", "key"), TEXT)
    one: dict[str, Schema] = {
        "status": {"enum": [status.value for status in Status]},
        "exercised": COUNT,
        "findings": _list(_ref("finding")),
        "found": {"type": "object", "additionalProperties": whole(1, MAX_INT)},
        "reason": TEXT,
        "candidates": _list(TEXT),
    }
    return {
        "verdict": _object(one, one),
        "finding": _object(
            {**finding, "witness": _list(COUNT), "candidates": _list(TEXT)}, [*finding, "witness"]
        ),
    }


# --- partq.comparison/1 -------------------------------------------------------------------------------


def _comparison() -> Schema:
    id: Schema = {"type": "string", "pattern": REQUIREMENT}
    exits: Schema = {"enum": [Exit.CONFORMANT, Exit.VIOLATED, Exit.INCONCLUSIVE]}
    changes = {change.value: _list(id) for change in verdict.Change}
    column = dict.fromkeys(("name", "broker", "profile", "source", "note"), TEXT)
    row: dict[str, Schema] = {
        "requirement": id,
        "group": {"enum": [group.value for group in verdict.Group]},
        "verdicts": _list(_ref("verdict")),
    }
    regression: dict[str, Schema] = {"exit": exits, "why": TEXT, "changes": _object(changes, changes)}
    properties: dict[str, Schema] = {
        "schema": {"const": verdict.COMPARISON},
        "exit": exits,
        "conclusion": TEXT,
        "columns": _list(_object(column, column)),
        "rows": _list(_object(row, row)),
        "regressions": {"type": "object", "additionalProperties": _object(regression, regression)},
        "dropped": _list(TEXT),
    }
    return _document(
        "comparison",
        f"{verdict.COMPARISON}: several runs side by side; a row's verdicts are in the order of the columns",
        **_object(properties, properties, **{"$defs": _verdict()}),
    )


if __name__ == "__main__":
    write()
