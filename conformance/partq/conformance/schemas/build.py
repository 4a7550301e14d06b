"""Writes the published JSON Schemas from the code's tables: ``python -m partq.conformance.schemas.build``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from partq.conformance import history, verdict
from partq.conformance.history.codec_records import CLOCKS, NEVER_DEFINITE
from partq.conformance.schemas.profile_shape import PROFILE, profile, profiles
from partq.conformance.schemas.shapes import (
    COUNT,
    FLAG,
    NAME,
    PAIRS,
    SEQ,
    TEXT,
    TIME,
    Schema,
    document,
    entity_settings,
    fields_of,
    list_of,
    ref,
    whole,
)
from partq.conformance.verdict import Exit, Status
from partq.conformance.workload import program
from partq.conformance.workload.operations.table import OPERATIONS
from partq.model.messages import MAX_INT, MAX_SEQ
from partq.model.operations import DELIVERY, ENV, ERRORS, MESSAGE, OPS, OUTCOMES, Arg, Kind, OpSpec, Outcome
from partq.model.requirements import groups


def build() -> dict[str, Schema]:
    """Every published schema by its name."""
    return {
        "history": _history(),
        "profile": profile(),
        "program": _program(),
        "verdicts": _verdicts(),
        "comparison": _comparison(),
    }


def write() -> None:
    """Write every schema beside this file."""
    for name, schema in build().items():
        text = json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
        Path(__file__).with_name(f"{name}.schema.json").write_text(text, encoding="utf-8")


# --- partq.history/1 ----------------------------------------------------------------------------------


def _history() -> Schema:
    return document(
        "history",
        f"{history.SCHEMA}: one line of a history, the header or a record",
        oneOf=[ref("header"), ref("record")],
        **{
            "$defs": {
                "header": _header(),
                "record": _record(),
                "message": _arguments(MESSAGE),
                **_shown(),
                **profiles(),
            }
        },
    )


def _header() -> Schema:
    properties: dict[str, Schema] = {
        "schema": {"const": history.SCHEMA},
        "profile": PROFILE,
        "entities": {"type": "object", "additionalProperties": entity_settings()},
        "clock": {"enum": list(CLOCKS)},
        "skew_ns": COUNT,
        "late_ns": COUNT,
        "lacks": list_of({"enum": list(OPS)}),
    }
    return fields_of(properties, ["schema", "profile", "clock"])


def _shown() -> dict[str, Schema]:
    free: Schema = {"anyOf": [{"type": ["string", "boolean", "null"]}, whole(-MAX_INT - 1, MAX_SEQ)]}
    free["anyOf"] += [list_of(ref("free")), {"type": "object", "additionalProperties": ref("free")}]
    return {"delivery": _arguments(DELIVERY), "free": free}


_KINDS: Final[Mapping[Kind, Schema]] = {
    Kind.TEXT: TEXT,
    Kind.NAME: NAME,
    Kind.INT: COUNT,
    Kind.NS: COUNT,
    Kind.TIME: TIME,
    Kind.TALLY: TIME,
    Kind.SEQ: SEQ,
    Kind.FLAG: FLAG,
    Kind.TEXTS: list_of(TEXT),
    Kind.INTS: list_of(COUNT),
    Kind.SEQS: list_of(SEQ),
    Kind.PAIRS: PAIRS,
    Kind.MESSAGES: list_of(ref("message"), at_least=1),
    Kind.OBJECT: {"type": "object", "additionalProperties": ref("free")},
}


def _arguments(args: Mapping[str, Arg]) -> Schema:
    required = [name for name, arg in args.items() if arg.required]
    return fields_of({name: _argument(arg) for name, arg in args.items()}, required)


def _argument(arg: Arg) -> Schema:
    plain = _KINDS[arg.kind]
    if arg.most is not None:
        return {**plain, "maxItems": arg.most}
    words: Schema = {"enum": list(arg.words)}
    if arg.begins:
        begun = {**plain, "pattern": f"^({'|'.join(arg.begins)})."}
        return {"anyOf": [words, begun]} if arg.words else begun
    if not arg.words:
        return plain
    return words if arg.kind is Kind.TEXT else {"anyOf": [words, plain]}


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
        "messages": list_of(ref("delivery")),
    }
    required = [name for name in properties if name not in ("error", "messages")]
    rules = [_outcome_rule(outcome) for outcome in OUTCOMES] + [
        _op_rule(op, spec) for op, spec in OPS.items()
    ]
    return fields_of(properties, required, allOf=rules)


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
    then: dict[str, Schema] = {"args": _arguments(spec.recorded)}
    then["proc"] = {"const": ENV} if spec.env else {"not": {"const": ENV}}
    if not spec.answers:
        then["messages"] = {"maxItems": 0}
    return _rule("op", op, then)


# --- partq.program/1 ----------------------------------------------------------------------------------


def _program() -> Schema:
    properties: dict[str, Schema] = {
        "schema": {"const": program.SCHEMA},
        "profile": PROFILE,
        "steps": list_of(ref("step")),
        "entity": entity_settings(),
        "seed": whole(0, 2**64 - 1),
        "sequential": FLAG,
        "drain": FLAG,
    }
    body = fields_of(
        properties,
        ["schema", "profile", "steps"],
        **{"$defs": {**_steps(), **profiles(), "free": _shown()["free"]}},
    )
    return document("program", f"{program.SCHEMA}: what clients do and which faults strike", **body)


def _steps() -> dict[str, Schema]:
    rules = []
    for op, operation in OPERATIONS.items():
        args = _arguments(operation.args)
        required = "required" in args
        rules.append(_rule("op", op, {"args": args}, **({"required": ["args"]} if required else {})))
    properties = {"proc": NAME, "op": {"enum": list(OPERATIONS)}, "args": {"type": "object"}}
    return {"step": fields_of(properties, ["proc", "op"], allOf=rules), "message": _arguments(MESSAGE)}


# --- partq.verdicts/1 ---------------------------------------------------------------------------------


def _verdicts() -> Schema:
    properties: dict[str, Schema] = {
        "schema": {"const": verdict.SCHEMA},
        "broker": TEXT,
        "profiles": {"type": "object", "additionalProperties": ref("requirements")},
        "requirements": ref("requirements"),
        "exit": {"enum": [Exit.CONFORMANT, Exit.VIOLATED, Exit.INCONCLUSIVE]},
    }
    counts: Schema = {"type": "object", "additionalProperties": COUNT}
    done = fields_of({"programs": COUNT, "faults": counts}, ["programs", "faults"])
    further: dict[str, Schema] = {
        "conclusion": TEXT,
        "strict": FLAG,
        "baseline": _baseline(),
        "done": {"type": "object", "additionalProperties": done},
        "judge": _judging(),
    }
    definitions = {
        "requirements": {"type": "object", "patternProperties": {REQUIREMENT: ref("verdict")}},
        **_verdict(),
    }
    return document(
        "verdicts",
        f"{verdict.SCHEMA}: what is said of every requirement; further fields may follow",
        type="object",
        properties={**properties, **further},
        required=list(properties),
        **{"$defs": definitions},
    )


def _judging() -> Schema:
    """What the judge did with the histories."""
    parts = {name: TEXT if name == "why" else COUNT for name in verdict.Judging._fields}
    return fields_of(parts, parts)


def _baseline() -> Schema:
    """The verdicts held against a baseline."""
    about: dict[str, Schema] = {
        "kind": {"enum": [kind.value for kind in verdict.Kind]},
        "rules": list_of(TEXT, at_least=1),
        "profile": TEXT,
        "cause": TEXT,
    }
    fault: dict[str, Schema] = {**about, "times": COUNT}
    known: dict[str, Schema] = {**fault, "reason": NAME}
    absent: dict[str, Schema] = {**about, "reason": NAME, "why": NAME}
    conditions: dict[str, Schema] = {"conditions": list_of(TEXT)}  # none in files of older versions
    parts: dict[str, Schema] = {
        "file": TEXT,
        "known": list_of(fields_of({**known, **conditions}, known)),
        "new": list_of(fields_of({**fault, **conditions}, fault)),
        **{state.value: list_of(fields_of({**absent, **conditions}, absent)) for state in verdict.State},
    }
    return fields_of(parts, parts)


REQUIREMENT: Final = f"^({'|'.join(groups())})-[1-9][0-9]*$"


def _verdict() -> dict[str, Schema]:
    """The definitions of a verdict and its findings."""
    finding = dict.fromkeys(("requirement", "title", "detail", "allowed", "key"), TEXT)
    one: dict[str, Schema] = {
        "status": {"enum": [status.value for status in Status]},
        "exercised": COUNT,
        "findings": list_of(ref("finding")),
        "found": {"type": "object", "additionalProperties": whole(1, MAX_INT)},
        "reason": TEXT,
        "candidates": list_of(TEXT),
    }
    more: dict[str, Schema] = {"traces": COUNT, "undecided": COUNT, "together": {"type": "boolean"}}
    names = dict.fromkeys(("candidates", "conditions"), list_of(TEXT))
    return {
        "verdict": fields_of({**one, **more}, one),
        "finding": fields_of(
            {**finding, "witness": list_of(COUNT), **names, "together": more["together"]},
            [*finding, "witness"],
        ),
    }


# --- partq.comparison/1 -------------------------------------------------------------------------------


def _comparison() -> Schema:
    id: Schema = {"type": "string", "pattern": REQUIREMENT}
    exits: Schema = {"enum": [Exit.CONFORMANT, Exit.VIOLATED, Exit.INCONCLUSIVE]}
    changes = {change.value: list_of(id) for change in verdict.Change}
    column = dict.fromkeys(("name", "broker", "profile", "source", "note", "done"), TEXT)
    row: dict[str, Schema] = {
        "requirement": id,
        "group": {"enum": [group.value for group in verdict.Group]},
        "verdicts": list_of(ref("verdict")),
    }
    regression: dict[str, Schema] = {"exit": exits, "why": TEXT, "changes": fields_of(changes, changes)}
    properties: dict[str, Schema] = {
        "schema": {"const": verdict.COMPARISON},
        "exit": exits,
        "conclusion": TEXT,
        "columns": list_of(fields_of(column, column)),
        "rows": list_of(fields_of(row, row)),
        "regressions": {"type": "object", "additionalProperties": fields_of(regression, regression)},
        "dropped": list_of(TEXT),
    }
    return document(
        "comparison",
        f"{verdict.COMPARISON}: several runs side by side; a row's verdicts are in the order of the columns",
        **fields_of(properties, properties, **{"$defs": _verdict()}),
    )


if __name__ == "__main__":
    write()
