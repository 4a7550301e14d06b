"""One operation on one adapter: the call, and what came of it whatever the adapter did.

An adapter may answer, refuse, raise anything or lie; each becomes an outcome that a history can hold.
Here are the calls and the checks of their answers; threads, clocks and records are the runner's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import replace
from functools import partial
from traceback import format_exception_only
from typing import Any, Final, NamedTuple, TypeVar

from partq.conformance.adapters.calls import ANSWERS, ask
from partq.conformance.adapters.protocol import Broker, Client, Indefinite, Rejected, Unreachable
from partq.conformance.adapters.questions import place
from partq.conformance.history.codec import MAX_LINE
from partq.conformance.history.codec_fields import FieldError
from partq.conformance.history.codec_records import NEVER_DEFINITE, read_args, read_deliveries
from partq.conformance.workload.operations.record import Args, answered
from partq.model.messages import Delivery, SessionState
from partq.model.operations import ERRORS, OPS, Outcome
from partq.model.profiles import SECOND, SELDOM_CHOSEN, Entity

T = TypeVar("T")


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
        answer = ask(client, op, args)
        if OPS[op].tells:
            return CallResult(args=_with_answer(op, args, answer))
        messages = deliveries(op, answer)
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
    return _as_heeded(broker, asked, asked if answer is None else answer)


def _as_heeded(broker: Broker, asked: Entity, answer: Entity) -> Entity:
    """The settings that the queue has, of which `open` may have passed over those that few brokers know."""
    passed = (name for name in SELDOM_CHOSEN if name not in broker.heeds)
    usual = {n: getattr(Entity(), n) for n in passed if getattr(answer, n) == getattr(asked, n)}
    return replace(answer, **usual)


def says_empty(broker: Broker) -> bool | None:
    """What the broker says of its queue. Raises what it raises, and `InvalidAnswer`."""
    answer: object = broker.is_empty()
    if answer is None or isinstance(answer, bool):
        return answer
    raise InvalidAnswer(f"is_empty answered {type(answer).__name__}, which is neither a bool nor None")


def deliveries(op: str, answer: object) -> tuple[Delivery, ...]:
    """The messages of an answer, each with fields that a history can hold. Raises `InvalidAnswer`."""
    spec = OPS[op]
    if not spec.answers or (answer is None and spec.optional):
        return ()
    if not isinstance(answer, list | tuple):
        raise InvalidAnswer(f"{op} answered {type(answer).__name__}, which is no sequence of Delivery")
    for delivery in answer:
        if not isinstance(delivery, Delivery):
            raise InvalidAnswer(f"{op} answered a {type(delivery).__name__} where a Delivery belongs")
    plain = [_plain(delivery) for delivery in answer]
    return _read(op, read_deliveries, plain)


def _with_answer(op: str, args: Args, answer: object) -> Args:
    """The arguments with those that the answer gives. Raises `InvalidAnswer`."""
    kind = ANSWERS[op]
    if not isinstance(answer, kind) and (answer is not None or kind is SessionState):
        raise InvalidAnswer(f"{op} answered {type(answer).__name__}, which is no {kind.__name__}")
    return {**args, **_read(op, partial(read_args, op), answered(op, args, answer))}


def event_args(op: str, answer: object) -> Args:
    """The arguments of an environment event as an adapter reports them. Raises `InvalidAnswer`."""
    if op not in OPS or not OPS[op].env:
        raise InvalidAnswer(f"{op!r} is no event of the environment")
    if not isinstance(answer, dict):
        raise InvalidAnswer(f"{op} answered {type(answer).__name__}, which is no dict of arguments")
    return deepcopy(_read(op, partial(read_args, op), answer))


def _read(op: str, read: Callable[[Any], T], plain: Any) -> T:
    """What the adapter answered, read as strictly as from a file."""
    try:
        found = read(plain)
        size = len(json.dumps(plain, ensure_ascii=False).encode())
    except FieldError as error:
        raise InvalidAnswer(f"{op} answered {error.field}: {error.message}") from None
    except UnicodeEncodeError:
        raise InvalidAnswer(f"{op} answered text that UTF-8 cannot hold") from None
    if size > MAX_ANSWER:
        raise InvalidAnswer(f"{op} answered {size:,} bytes, and a record holds at most {MAX_ANSWER:,}")
    return found


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
