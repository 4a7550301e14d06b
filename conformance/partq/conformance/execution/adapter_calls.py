"""One operation on one adapter: the call, and what came of it whatever the adapter did.

An adapter may answer, refuse, raise anything or lie; each becomes an outcome that a history can hold.
Here are the calls and the checks of their answers; threads, clocks and records are the runner's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from traceback import format_exception_only
from typing import Any, Final, NamedTuple

from partq.conformance.adapters.protocol import Broker, Client, Indefinite, Rejected, Unreachable
from partq.conformance.adapters.raised import place
from partq.conformance.history import Record
from partq.conformance.history.codec import MAX_LINE
from partq.conformance.history.codec_fields import FieldError
from partq.conformance.history.codec_records import NEVER_DEFINITE, read_record
from partq.conformance.workload.script import Args
from partq.model.messages import Delivery, Message
from partq.model.operations import ENV, ERRORS, OPS, Outcome
from partq.model.profiles import SECOND, Entity


class CallResult(NamedTuple):
    """What came of a call. ``problem`` says in words what the adapter did wrong; no record can hold that."""

    outcome: str = Outcome.OK
    error: str | None = None
    messages: tuple[Delivery, ...] = ()
    args: Args | None = None
    problem: str = ""


MAX_ANSWER: Final = MAX_LINE // 2
"""The most bytes of an answer; the rest of a record's line is left for what was asked."""

FAR: Final = 600 * SECOND
"""A run is over long before; a time further from now is of no message in it."""


class InvalidAnswer(Exception):
    """An adapter answered with what no answer may be."""


def _copies(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The adapter's own: whatever it does to them, what is recorded is what it was asked to send."""
    return tuple(replace(message) for message in messages)


def _send(client: Client, args: Args) -> None:
    client.send(*_copies(args["messages"]), txn=args.get("txn"), timeout=own_time(args))


def _send_batch(client: Client, args: Args) -> None:
    client.send_batch(_copies(args["messages"]), txn=args.get("txn"), timeout=own_time(args))


def _schedule(client: Client, args: Args) -> object:
    return client.schedule(_copies(args["messages"]), txn=args.get("txn"), timeout=own_time(args))


def _receive(client: Client, args: Args) -> object:
    return client.receive(args["max"], mode=args.get("mode", "peek_lock"), timeout=own_time(args))


def _disconnect(client: Client, args: Args) -> None:
    client.disconnect(how=args["how"])


CALLS: Final[Mapping[str, Callable[[Client, Args], object]]] = {
    "send": _send,
    "send_batch": _send_batch,
    "schedule": _schedule,
    "cancel_scheduled": lambda client, args: client.cancel_scheduled(args["seq"], txn=args.get("txn")),
    "receive": _receive,
    "complete": lambda client, args: client.complete(args["locks"], txn=args.get("txn")),
    "abandon": lambda client, args: client.abandon(args["locks"], txn=args.get("txn")),
    "renew_lock": lambda client, args: client.renew_lock(args["lock"]),
    "peek": lambda client, args: client.peek(args["max"], from_seq=args.get("from_seq")),
    "begin": lambda client, args: client.begin(args["txn"]),
    "commit": lambda client, args: client.commit(args["txn"]),
    "rollback": lambda client, args: client.rollback(args["txn"]),
    "bind": lambda client, args: client.bind(args["flow"], partition=args.get("partition")),
    "unbind": lambda client, args: client.unbind(args["flow"]),
    "disconnect": _disconnect,
}
"""How each client operation is asked of an adapter."""


def own_time(args: Args) -> float:
    """Seconds that the call may take by its own timeout, which sends and receives always have."""
    seconds: float = args.get("timeout", 0) / SECOND
    return seconds


def _other_clock(messages: Iterable[Delivery], now: int) -> str:
    """That a time in an answer is too far from now to be of the history's clock; empty if none is."""
    for delivery in messages:
        for name in ("enqueued_at", "locked_until"):
            shown = getattr(delivery, name)
            if shown is not None and abs(shown - now) > FAR:
                return f"{name} looks like another clock's: give it in that of self.now(), see Broker.now"
    return ""


def operate(connect: Callable[[], Client], op: str, args: Args, now: Callable[[], int]) -> CallResult:
    """What comes of a client's operation. Never raises; a client that cannot connect did not begin it.
    ``now``: the history's clock."""
    try:
        client = connect()
    except Indefinite as error:
        return _raised(Rejected(_kind(error)))
    except BaseException as error:
        return _raised(error)
    try:
        messages = deliveries(op, CALLS[op](client, args))
        return CallResult(messages=messages, problem=_other_clock(messages, now()))
    except BaseException as error:
        return _raised(error)


def strike(inject: Callable[[str, dict[str, Any]], object], op: str, args: Args) -> CallResult:
    """What comes of a fault; ``args`` of the answer are those of the event, in the broker's own names."""
    try:
        return CallResult(args=event_args(op, inject(op, dict(args))))
    except BaseException as error:
        return _raised(error)


def open_queue(broker: Broker, asked: Entity) -> Entity | Unreachable:
    """Open the broker: its queue's settings, or why there is nothing to test. Never raises."""
    name = type(broker).__name__
    try:
        answer: object = broker.open(replace(asked))
    except Unreachable as error:
        return error
    except BaseException as error:
        return Unreachable(f"{name}.open raised {words(error)}{place(error)}")
    if answer is not None and not isinstance(answer, Entity):
        return Unreachable(f"{name}.open answered {type(answer).__name__}, which is no Entity")
    skew: object = broker.skew_ns
    if type(skew) is not int or skew < 0:
        return Unreachable(f"{name}.skew_ns is {skew!r}, which is no number of ns")
    return asked if answer is None else answer


def says_empty(broker: Broker) -> bool | None:
    """What the broker says of its queue. Raises what it raises, and `InvalidAnswer`."""
    answer: object = broker.is_empty()
    if answer is None or isinstance(answer, bool):
        return answer
    raise InvalidAnswer(f"is_empty answered {type(answer).__name__}, which is neither a bool nor None")


def deliveries(op: str, answer: object) -> tuple[Delivery, ...]:
    """The messages of an answer, each with fields that a history can hold. Raises `InvalidAnswer`."""
    if not OPS[op].answers or (answer is None and op == "renew_lock"):
        return ()
    if not isinstance(answer, list | tuple):
        raise InvalidAnswer(f"{op} answered {type(answer).__name__}, which is no sequence of Delivery")
    for delivery in answer:
        if not isinstance(delivery, Delivery):
            raise InvalidAnswer(f"{op} answered a {type(delivery).__name__} where a Delivery belongs")
    plain = [_plain(delivery) for delivery in answer]
    return _record("client", op, _ANY_ARGS[op], plain).messages


def event_args(op: str, answer: object) -> Args:
    """The arguments of an environment event as an adapter reports them. Raises `InvalidAnswer`."""
    if op not in OPS or not OPS[op].env:
        raise InvalidAnswer(f"{op!r} is no event of the environment")
    if not isinstance(answer, dict):
        raise InvalidAnswer(f"{op} answered {type(answer).__name__}, which is no dict of arguments")
    return deepcopy(_record(ENV, op, dict(answer), []).args)


_ANY_ARGS: Final[Mapping[str, dict[str, Any]]] = {
    "schedule": {"messages": [{"id": ""}]},
    "receive": {"max": 1},
    "peek": {"max": 1},
    "renew_lock": {"lock": ""},
}


def _record(proc: str, op: str, args: dict[str, Any], messages: list[dict[str, Any]]) -> Record:
    """The record with these parts, read as strictly as from a file."""
    head = {"i": 0, "proc": proc, "op": op, "entity": "", "call": 0, "ret": 0, "outcome": Outcome.OK}
    try:
        record = read_record({**head, "args": args, "messages": messages})
        size = len(json.dumps([messages, args], ensure_ascii=False).encode())
    except FieldError as error:
        raise InvalidAnswer(f"{op} answered {error.field}: {error.message}") from None
    except UnicodeEncodeError:
        raise InvalidAnswer(f"{op} answered text that UTF-8 cannot hold") from None
    if size > MAX_ANSWER:
        raise InvalidAnswer(f"{op} answered {size:,} bytes, and a record holds at most {MAX_ANSWER:,}")
    return record


def _plain(delivery: Delivery) -> dict[str, Any]:
    plain = {name: value for name, value in delivery._asdict().items() if value is not None}
    if isinstance(plain.get("properties"), tuple):
        plain["properties"] = list(plain["properties"])
    return plain


def _raised(error: BaseException) -> CallResult:
    if isinstance(error, Rejected):
        kind = _kind(error)
        uncertain = isinstance(error, Indefinite) or kind in NEVER_DEFINITE
        problem = words(error) if kind in NEVER_DEFINITE else ""
        return CallResult(Outcome.UNKNOWN if uncertain else Outcome.ERROR, kind, problem=problem)
    where = "" if type(error) is InvalidAnswer else place(error)
    return CallResult(Outcome.UNKNOWN, "adapter", problem=f"{words(error)}{where}")


def _kind(error: Rejected) -> str:
    kind = getattr(error, "kind", None)
    return kind if isinstance(kind, str) and kind in ERRORS else "adapter"


def words(error: BaseException) -> str:
    """What an exception says, even one that cannot say it."""
    return str(error) if type(error) is InvalidAnswer else "".join(format_exception_only(error)).strip()
