"""Histories in a terse notation, for tests, documents and bug reports: one line an operation.

::

    p1 send m1 key=a                -> ok @1-4          # called at 1 ns, returned at 4 ns
    p2 send_batch m2 key=b, m3 key=b                    # no arrow: ok; no time: after everything before it
    p1 receive 5                    -> m1#3.7 lock=l1 count=0, m2#2.0 lock=l2
    p2 peek 3 from=3.0              -> nothing
    p1 complete l1 txn=t1           -> error lock_lost
    p1 send m4 ...                                      # called here ...
    p2 receive 1 delete             -> m2#2.0
    p2 receive 1 dead               -> m5#3.9 reason=poison   # of the dead-letter queue
    p1 accept_session s1 next until=30s                 # the next session: s1 was the answer
    p1 -> unknown timeout                               # ... and returned here: the two overlap
    env partition_down 3
    env advance 30s

Rules: a line is *client* *operation* *arguments* ``->`` *outcome* ``@`` *call* ``-`` *return*; `#` after a
blank begins a comment. An attribute belongs to the message before it; commas are for the eye. A number is
``partition.counter``, on a non-partitioned entity a plain number; ``max`` is the greatest counter, ``max-2``
near it. Times are ns, or have a unit: ``30s``, ``5ms``, ``1.5min``. ``@5-`` never returns, as does a call
left open (``...``) to the end: its outcome is `unknown`, `hang`, unless the line says otherwise. Text with
blanks is quoted as in JSON: ``body="two words"``. Records are numbered from 0 in order of their calls.

Here is the reading only: nothing judges what a line says, as long as a history can say it. Wrong
histories are what this is for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from partq.conformance.history.entities import addressed
from partq.conformance.history.notation_words import (
    ALIASES,
    WORDS,
    NotationError,
    delivery,
    items,
    label,
    message,
    near,
    number,
    split,
    time,
    whole_number,
    words_of,
)
from partq.conformance.history.notation_words import text as unquoted
from partq.conformance.history.record import Header, History, Record
from partq.model.messages import Delivery, InvalidMessage
from partq.model.operations import ENV, ERRORS, OPS, Kind, Outcome
from partq.model.profiles import Profile
from partq.model.profiles import profile as profile_named

__all__ = ["NotationError", "history"]


def history(
    text: str,
    profile: str = "azure-standard",
    *,
    entity: str = "q",
    skew: int = 0,
    clock: str = "virtual",
    late: int | None = None,
    lacks: tuple[str, ...] = (),
    **settings: Any,
) -> History:
    """The history that the lines of ``text`` describe, of one entity of the profile.

    ``skew`` and ``late`` are in ns; ``settings`` are those of `Entity` (ns where they are durations) and
    stand in for the profile's own. Raises `NotationError`, `InvalidEntity` and `UnknownProfile`.
    """
    family = profile_named(profile)
    reader = _Reader(family, entity)
    for at, line in enumerate(text.splitlines(), 1):
        try:
            reader.read(line)
        except (NotationError, InvalidMessage) as error:
            raise NotationError(f"line {at}: {error}: {line.strip()}") from None
    settled = replace(family.default_entity, **settings)
    header = Header(profile, {entity: settled}, clock, skew, lacks, late)
    return History(header, reader.records())


_WHEN: Final = re.compile(r"@([\w.]+)(-([\w.]*))?")


class _Call(NamedTuple):
    """An operation that was called and has not returned yet."""

    proc: str
    op: str
    args: Mapping[str, Any]
    call: int


class _Reader:
    """Reads line after line; ``now`` is the latest instant spoken of."""

    def __init__(self, family: Profile, entity: str) -> None:
        self.family = family
        self.entity = entity
        self.now = 0
        self.open: dict[str, _Call] = {}
        self.busy: dict[str, int | None] = {}
        self.done: list[tuple[_Call, int | None, _Answer]] = []

    def read(self, line: str) -> None:
        words = words_of(line)
        if not words:
            return
        call, ret = self._when(words)
        before, answer = split(words)
        proc, rest = before[0], before[1:]
        if not rest:
            self._return(proc, answer, call)
        else:
            self._call(proc, rest, answer, call, ret)

    def records(self) -> tuple[Record, ...]:
        for pending in list(self.open.values()):
            self._finish(pending, None, None)
        self.done.sort(key=lambda entry: entry[0].call)
        return tuple(
            Record(i, c.proc, c.op, entity, c.call, ret, args, a.outcome, a.error, a.messages)
            for i, (c, ret, a) in enumerate(self.done)
            for entity, args in (addressed(self.entity, c.args),)
        )

    def _when(self, words: list[str]) -> tuple[str | None, str | None]:
        """Take the time from the end of the line: call and return as written, the latter empty for never."""
        if not words[-1].startswith("@"):
            return None, None
        match = _WHEN.fullmatch(words.pop())
        if match is None or not words:
            raise NotationError("a time is written @call-return, @call- or @instant")
        return match[1], match[3] if match[2] else match[1]

    def _call(
        self, proc: str, words: list[str], answer: list[str] | None, call: str | None, ret: str | None
    ) -> None:
        op, words = words[0], words[1:]
        spec = OPS.get(op)
        if spec is None:
            raise NotationError(f"unknown operation {op!r}{near(op, OPS)}")
        if spec.env != (proc == ENV):
            raise NotationError(f"{op} is {'an event of' if spec.env else 'not for'} {ENV!r}")
        left_open = bool(words) and words[-1] == "..."
        if left_open and (answer is not None or ret is not None):
            raise NotationError("a call left open (...) has no outcome and no return yet")
        args = _arguments(op, words[:-1] if left_open else words, self.family)
        begun = self._begin(proc, op, args, None if call is None else time(call))
        if left_open:
            self.open[proc] = begun
        else:
            self._finish(begun, answer, self._end(begun, ret))

    def _begin(self, proc: str, op: str, args: Mapping[str, Any], call: int | None) -> _Call:
        at = self.now + 1 if call is None else call
        free = self.busy.get(proc, 0)
        if proc != ENV and (proc in self.open or free is None or (proc in self.busy and at <= free)):
            raise NotationError(f"{proc} is still busy with its last operation")
        self.now = max(self.now, at)
        return _Call(proc, op, args, at)

    def _end(self, begun: _Call, ret: str | None) -> int | None:
        if ret == "":
            return None
        if ret is not None:
            end = time(ret)
        elif "by" in begun.args:
            end = begun.call + int(begun.args["by"])
        else:
            end = begun.call if OPS[begun.op].instant else max(self.now, begun.call) + 1
        if end < begun.call:
            raise NotationError(f"returns at {end}, before its call at {begun.call}")
        return end

    def _return(self, proc: str, answer: list[str] | None, at: str | None) -> None:
        begun = self.open.pop(proc, None)
        if begun is None:
            raise NotationError(f"{proc!r} has no call left open" if answer is not None else "no operation")
        if answer is None:
            raise NotationError("the return of an open call needs -> and an outcome")
        self._finish(begun, answer, self._end(begun, at))

    def _finish(self, begun: _Call, answer: list[str] | None, ret: int | None) -> None:
        self.open.pop(begun.proc, None)
        self.now = max(self.now, ret or 0)
        self.busy[begun.proc] = ret
        self.done.append((begun, ret, _answer(begun.op, answer, ret, self.family)))


class _Answer(NamedTuple):
    """What stands behind the arrow."""

    outcome: str
    error: str | None = None
    messages: tuple[Delivery, ...] = ()


def _answer(op: str, words: list[str] | None, ret: int | None, family: Profile) -> _Answer:
    if words is None:
        return _Answer(Outcome.OK) if ret is not None else _Answer(Outcome.UNKNOWN, "hang")
    if not words:
        raise NotationError("nothing stands behind the arrow")
    head, rest = words[0], words[1:]
    if head in ("error", "unknown"):
        return _failed(head, rest)
    if ret is None:
        raise NotationError("what never returned is unknown")
    if head in ("ok", "nothing") and not rest:
        return _Answer(Outcome.OK)
    if not OPS[op].answers:
        raise NotationError(f"{op} answers ok, error or unknown, no messages")
    return _Answer(Outcome.OK, None, tuple(delivery(item, family) for item in items(words)))


def _failed(head: str, rest: list[str]) -> _Answer:
    if len(rest) > 1 or (head == "error" and not rest):
        raise NotationError(f"{head} takes one error kind")
    if rest and rest[0] not in ERRORS:
        raise NotationError(f"unknown error {rest[0]!r}{near(rest[0], ERRORS)}")
    return _Answer(head, rest[0] if rest else None)


def _arguments(op: str, words: list[str], family: Profile) -> dict[str, Any]:
    spec = OPS[op]
    for short, (name, value) in WORDS.items():
        if name in spec.args:
            words = [f"{name}={value}" if word == short else word for word in words]
    args: dict[str, Any] = {}
    bare: list[str] = []
    for word in words:
        key, equals, value = word.partition("=") if "=" in word.split('"')[0] else (word, "", "")
        name = ALIASES.get(key, key)
        flag = name in spec.args and spec.args[name].kind is Kind.FLAG
        if flag and not equals:
            _put(args, name, True)
        elif equals and name in spec.args and spec.args[name].kind is not Kind.MESSAGES:
            _put(args, name, _value(name, spec.args[name].kind, [value], family))
        else:
            bare.append(word)
    _place(op, bare, args, family)
    for name, arg in spec.args.items():
        if arg.required and name not in args:
            raise NotationError(f"{op} needs {name}")
    return args


def _place(op: str, bare: list[str], args: dict[str, Any], family: Profile) -> None:
    """Give the nameless words to the arguments that need no name."""
    spec = OPS[op].args
    if "messages" in spec:
        args["messages"] = tuple(message(item, family) for item in items(bare))
        if not args["messages"]:
            raise NotationError(f"{op} needs a message")
        return
    for name, arg in spec.items():
        kind = arg.kind
        if kind is Kind.OBJECT or not (arg.required or arg.bare):
            continue
        taken = len(bare) if kind in (Kind.TEXTS, Kind.SEQS) else 1
        now, bare = bare[:taken], bare[taken:]
        if now:
            _put(args, name, _value(name, kind, now, family))
    if bare:
        known = ", ".join(spec) or "nothing"
        raise NotationError(f"{op} has no place for {bare[0]!r}; it takes {known}")


def _put(args: dict[str, Any], name: str, value: Any) -> None:
    if name in args:
        raise NotationError(f"{name} is given twice")
    args[name] = value


def _object(name: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise NotationError(f"{name} has to be a JSON object in quotes, not {text}")
    return value


def _value(name: str, kind: Kind, words: list[str], family: Profile) -> Any:
    if kind is Kind.TEXT and words[0].startswith('"'):
        return unquoted(words[0])  # any text, empty or with spaces
    words = [unquoted(word) for word in words]
    if kind is Kind.TALLY and words[0].startswith("-"):
        return -whole_number(words[0][1:])
    if kind is Kind.INT or kind is Kind.TALLY:
        return whole_number(words[0])
    if kind is Kind.NS or kind is Kind.TIME:
        return time(words[0])
    if kind is Kind.SEQ:
        return number(words[0], family)
    if kind is Kind.SEQS:
        return tuple(number(word, family) for word in words)
    if kind is Kind.OBJECT:
        return _object(name, words[0])
    texts = [label(word) for word in words]
    return tuple(texts) if kind is Kind.TEXTS else texts[0]
