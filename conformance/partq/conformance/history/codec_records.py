"""Between plain data (what JSON and Parquet hold) and the header and records of a history.

Tables say what each field may hold. How plain data is stored, and what holds between records, is
`codec.py`; which operations and arguments there are comes from `partq.model.operations`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from msgspec.structs import asdict

from partq.conformance.history.codec_fields import (
    FieldError,
    FieldReader,
    Fields,
    a_64_bit,
    a_count,
    a_flag,
    a_name,
    a_seq,
    a_tally,
    a_text,
    a_time,
    an_object,
    exactly,
    inside,
    list_of,
    one_of,
    or_null,
    shown,
    some_pairs,
    wrong,
)
from partq.conformance.history.codec_profiles import plain_profile, read_profile
from partq.conformance.history.record import SCHEMA, Header, Record
from partq.model.messages import Delivery, Message
from partq.model.operations import DELIVERY, ENV, ERRORS, MESSAGE, OPS, OUTCOMES, Arg, Kind, Outcome
from partq.model.profiles import ENTITY_FLAGS, Entity, InvalidEntity, profile

CLOCKS: Final = ("virtual", "wall")
NEVER_DEFINITE: Final = ("hang", "adapter")
"""The errors that never mean "it did not happen"."""


def read_message(data: Any) -> Message:
    """The message in plain data. Raises `FieldError`."""
    return Message(**_MESSAGE.read(data))


def _delivery(data: Any) -> Delivery:
    return Delivery(**_DELIVERY.read(data))


_SHOWN: Final = list_of(_delivery)


def read_deliveries(data: Any) -> tuple[Delivery, ...]:
    """The messages of an answer in plain data. Raises `FieldError`."""
    found: tuple[Delivery, ...] = inside("messages", _SHOWN, data)
    return found


def _list(value: Any) -> list[int]:
    return list(_COUNTS(value))


_COUNTS: Final = list_of(a_count)

_KINDS: Final[Mapping[Kind, FieldReader]] = {
    Kind.TEXT: a_text,
    Kind.NAME: a_name,
    Kind.INT: a_count,
    Kind.NS: a_count,
    Kind.TIME: a_time,
    Kind.TALLY: a_tally,
    Kind.SEQ: a_seq,
    Kind.FLAG: a_flag,
    Kind.TEXTS: list_of(a_text),
    Kind.INTS: _list,
    Kind.SEQS: list_of(a_seq),
    Kind.PAIRS: some_pairs,
    Kind.MESSAGES: list_of(read_message, at_least=1),
    Kind.OBJECT: an_object,
}


def fields_of(args: Mapping[str, Arg]) -> Fields:
    """The reader of these arguments."""
    readers = {name: _reader(name, arg) for name, arg in args.items()}
    return Fields(readers, [name for name, arg in args.items() if arg.required])


def _reader(name: str, arg: Arg) -> FieldReader:
    plain = _KINDS[arg.kind]
    if arg.most is not None:
        return _at_most(arg.most, plain, arg.meaning)
    if not (arg.words or arg.begins):
        return plain
    word = one_of(arg.words or arg.begins, name)
    if arg.begins:
        return lambda value: (plain if str(value).startswith(arg.begins) else word)(value)
    return word if arg.kind is Kind.TEXT else lambda value: (word if type(value) is str else plain)(value)


def _at_most(most: int, plain: FieldReader, what: str) -> FieldReader:
    def read(value: Any) -> Any:
        found = plain(value)
        return found if len(found) <= most else wrong(what, value)

    return read


_MESSAGE: Final = fields_of(MESSAGE)
_DELIVERY: Final = fields_of(DELIVERY)
_ARGS: Final = {op: fields_of(spec.recorded) for op, spec in OPS.items()}
_RECORD: Final = Fields(
    {
        "i": a_count,
        "proc": a_name,
        "op": one_of(OPS, "operation"),
        "entity": a_text,
        "call": a_time,
        "ret": or_null(a_time),
        "args": lambda value: value,
        "outcome": one_of(OUTCOMES, "outcome"),
        "error": or_null(one_of(ERRORS, "error")),
        "messages": _SHOWN,
    },
    ("i", "proc", "op", "entity", "call", "ret", "args", "outcome"),
)


def read_args(op: str, data: Any) -> dict[str, Any]:
    """The arguments of an operation in plain data. Raises `FieldError`."""
    return inside("args", _ARGS[op].read, data)


def read_record(data: Any) -> Record:
    """The record in plain data. Raises `FieldError`."""
    found = _RECORD.read(data)
    op = found["op"]
    found["args"] = read_args(op, found["args"])
    record = Record(**found)
    _check_proc(record)
    if record.messages and not OPS[op].answers:
        raise FieldError("messages", f"{op} does not answer with messages")
    _check_outcome(record)
    return record


def _check_proc(record: Record) -> None:
    if OPS[record.op].env != (record.proc == ENV):
        rule = f"is {ENV!r} for events of the environment and for nothing else"
        raise FieldError("proc", f"{rule}: {shown(record.proc)} for {record.op}")


def _check_outcome(record: Record) -> None:
    ret, outcome, error = record.ret, record.outcome, record.error
    if ret is None:
        if outcome != Outcome.UNKNOWN:
            raise FieldError("ret", f"is null (it never returned), but the outcome is {outcome}, not unknown")
    elif ret < record.call:
        raise FieldError("ret", f"is before the call: {ret} < {record.call}")
    if outcome == Outcome.OK:
        if error is not None:
            raise FieldError("error", f"is {error} although the outcome is ok")
    elif record.messages:
        raise FieldError("messages", f"came although the outcome is {outcome}; what did arrive makes it ok")
    elif outcome == Outcome.ERROR and (error is None or error in NEVER_DEFINITE):
        raise FieldError("error", f"is {error or 'null'} although the outcome is error")


# --- the header -------------------------------------------------------------------------------------

_ENTITY: Final = Fields(
    {name: a_flag if name in ENTITY_FLAGS else a_64_bit for name in Entity.__dataclass_fields__}
    | {"subscriptions": lambda value: value if type(value) is dict else wrong("an object", value)}
    | {"forward_to": lambda value: value if type(value) is list else wrong("a list", value)}
)


def read_entity(data: Any) -> Entity:
    """The entity's settings in plain data. Raises `FieldError`."""
    return _completed(_ENTITY.read(data), Entity())


def _completed(settings: Mapping[str, Any], usual: Entity) -> Entity:
    """The entity of these settings, the others being as usual."""
    try:
        return replace(usual, **settings)
    except InvalidEntity as error:
        name, _, problem = str(error).partition(" ")
        raise FieldError(name, problem) from None


def _settings(data: Any) -> dict[str, dict[str, Any]]:
    if type(data) is not dict:
        wrong("an object", data)
    return {name: inside(name, _ENTITY.read, settings) for name, settings in data.items()}


def _entities(settings: Mapping[str, Mapping[str, Any]], usual: Entity) -> dict[str, Entity]:
    return {name: inside(name, _completed, some, usual) for name, some in settings.items()}


_HEADER: Final = Fields(
    {
        "schema": exactly(SCHEMA),
        "profile": read_profile,
        "entities": _settings,
        "clock": one_of(CLOCKS, "clock"),
        "skew_ns": a_count,
        "late_ns": a_count,
        "lacks": list_of(one_of(OPS, "operation")),
    },
    ("schema", "profile", "clock"),
)


def read_header(data: Any) -> Header:
    """The header in plain data; what it does not say of an entity is as usual for its profile. Raises
    `FieldError`; another schema is reported first."""
    if type(data) is dict and "schema" in data and data["schema"] != SCHEMA:
        inside("schema", _HEADER.readers["schema"], data["schema"])
    if type(data) is dict and "schema" not in data and "op" in data:
        raise FieldError("", "is no header, but an operation: the header must be the first line")
    found = _HEADER.read(data)
    del found["schema"]
    usual = profile(found["profile"]).default_entity
    found["entities"] = inside("entities", _entities, found.get("entities", {}), usual)
    try:
        return Header(**found)
    except InvalidEntity as error:
        raise FieldError("entities", str(error)) from None


# --- and back ---------------------------------------------------------------------------------------


def plain_header(header: Header) -> dict[str, Any]:
    """The header as plain data; settings that are not known are left out."""
    return {
        "schema": SCHEMA,
        "profile": plain_profile(header.profile),
        "entities": {name: plain_entity(entity) for name, entity in header.entities.items()},
        "clock": header.clock,
        "skew_ns": header.skew_ns,
        **({} if header.late_ns is None else {"late_ns": header.late_ns}),
        "lacks": list(header.lacks),
    }


def plain_record(record: Record) -> dict[str, Any]:
    """The record as plain data; what a broker did not show is absent from its messages."""
    plain = asdict(record)
    plain["args"] = args = dict(record.args)
    if "messages" in args:
        args["messages"] = [plain_message(message) for message in args["messages"]]
    for name in ("locks", "seqs"):
        if name in args:
            args[name] = list(args[name])
    plain["outcome"] = str(record.outcome)
    if record.error is None:
        del plain["error"]
    if record.messages:
        plain["messages"] = [_shown_only(delivery, _DELIVERY.readers) for delivery in record.messages]
    else:
        del plain["messages"]
    return plain


def plain_entity(entity: Entity) -> dict[str, Any]:
    """The settings as plain data; those that are not known are left out."""
    found = _shown_only(entity, _ENTITY.readers)
    others = {"subscriptions": dict(found.pop("subscriptions")), "forward_to": [*found.pop("forward_to")]}
    return {**found, **{name: value for name, value in others.items() if value}}


def plain_message(message: Message) -> dict[str, Any]:
    """The message as plain data; what it does not have is left out."""
    found = _shown_only(message, _MESSAGE.readers)
    if not message.properties:
        found.pop("properties")  # none is what leaving them out says
    if not message.without_id:
        found.pop("without_id")
    return found


def _shown_only(value: object, names: Collection[str]) -> dict[str, Any]:
    found = {}
    for name in names:
        field = getattr(value, name)
        if field is not None:
            found[name] = list(field) if name == "properties" else field
    return found
