"""Records as the lines that `notation` reads: for findings on a terminal, and to paste into a test."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from partq.conformance.history.entities import asked
from partq.conformance.history.notation_words import ALIASES, SENT, SHOWN, WORDS
from partq.conformance.history.record import TIMES, History, Record, time_text
from partq.conformance.verdict import Finding
from partq.model.messages import SOLACE_KEY, Delivery, KeyRule, Message
from partq.model.operations import OPS, Kind
from partq.model.profiles import Profile, profile
from partq.model.requirements import requirement

_PLAIN: Final = re.compile(r'[^\s"=#@,>]+')
_BETWEEN: Final = re.compile(r"[\s'\",:;.()]+")
"""What is between the names of messages in a sentence."""

_SENT: Final = {field: name for name, (field, _) in SENT.items() if name != "key"}
_SHOWN: Final = {field: name for name, (field, _) in SHOWN.items() if name != "key"}

SHORT: Final = 1
"""An answer of more messages is cut down to those that matter, if there are any."""


TOKEN: Final = 32
"""Characters of a lock; a longer one is cut, and numbered so that locks stay distinct."""


def witness(finding: Finding, history: History) -> Iterator[str]:
    """The finding's records, a line each. Of answers and settlements of several messages, only those that the
    finding speaks of, or whose locks its other records name. A body is shown where it was sent, and where it
    came back as another. Long locks are cut (`TOKEN`)."""
    family, wanted = profile(history.header.profile), set(finding.witness)
    records = [record for record in history.records if record.i in wanted]
    ids = {one.id for r in records for one in r.messages}
    ids = {id for id in ids if repr(id) in finding.detail} | ids & {*_BETWEEN.split(finding.detail)}
    told = {one.lock for r in records for one in r.messages if one.id in ids} - {None}
    settling = [_settling(record, told) for record in records]
    named = {lock for r in settling for lock in (*r.args.get("locks", ()), r.args.get("lock"))} - {None}
    sent = {message.id: message.body for r in history.records for message in r.sent}
    given = [m.lock for record in records for m in record.messages]
    short = _cut(lock for lock in (*named, *given) if lock is not None)
    for whole, record in zip(records, settling, strict=True):
        kept = tuple(m for m in record.messages if m.lock in named or m.id in ids)
        cut = len(record.messages) > SHORT and 0 < len(kept) < len(record.messages)
        shown = tuple(
            m._replace(body=None) if m.body is not None and m.body == sent.get(m.id) else m
            for m in (kept if cut else record.messages)
        )
        text = line(replace(record, messages=shown), family)
        for lock, name in short.items():
            text = text.replace(_text(lock), _text(name))
        of = f"  # of {len(record.messages)} messages" if cut else ""
        of = of if record is whole else f"  # of {len(whole.args['locks'])} locks"
        yield f"{record.i:>4}  {text}{of}"


def _settling(record: Record, told: Collection[str | None]) -> Record:
    """The record, of several locks with those alone that are ``told`` of, if it has any."""
    locks = record.args.get("locks", ())
    kept = tuple(lock for lock in locks if lock in told)
    cut = 0 < len(kept) < len(locks)
    return replace(record, args={**record.args, "locks": kept}) if cut else record


def _cut(locks: Iterable[str]) -> Mapping[str, str]:
    """The long ones among these locks, each with what is shown of it."""
    long = sorted({lock for lock in locks if len(lock) > TOKEN}, key=lambda lock: (-len(lock), lock))
    return {lock: f"{lock[: TOKEN - 8]}…{number}" for number, lock in enumerate(long, 1)}


def evidence(finding: Finding, history: History | None) -> Iterator[tuple[str, bool]]:
    """A finding below its heading, in lines, each with whether it shows a record: of which rules one is
    violated, what is wrong, what would have been allowed, and its records, where the history is known."""
    if finding.candidates:
        yield "  " + "; ".join(f"{id}: {requirement(id).title}" for id in finding.candidates), False
    yield f"  {finding.detail}", False
    yield f"  expected: {finding.allowed}", False
    for text in witness(finding, history) if history is not None else ():
        yield f"    {text}", True


def line(record: Record, family: Profile) -> str:
    """The record in one line, such as ``p1 send m1 key=a -> ok @1-4``."""
    words = [_text(record.proc), record.op, *_arguments(record, family), "->", *_answer(record, family)]
    return (
        f"{' '.join(words)} @{time_text(record.call)}-{'' if record.ret is None else time_text(record.ret)}"
    )


def _arguments(record: Record, family: Profile) -> Iterator[str]:
    named: list[str] = []
    missing, args = False, asked(record)
    for name, arg in OPS[record.op].args.items():
        first = arg.required or arg.bare
        if name not in args:
            missing = missing or first
            continue
        value = args[name]
        if arg.kind is Kind.MESSAGES:
            yield from _joined(_sent(message, family) for message in value)
        elif arg.kind in (Kind.TEXTS, Kind.SEQS):
            yield from (_word(item, arg.kind, family) for item in value)
        elif first and not missing:
            yield _word(value, arg.kind, family)
        elif arg.kind is not Kind.OBJECT and (name, value) in _WORDS:
            named.append(_WORDS[name, value])
        elif arg.kind is Kind.FLAG:
            named += [name] if value else []
        else:
            named.append(f"{_ALIASES.get(name, name)}={_word(value, arg.kind, family)}")
    yield from named


_ALIASES: Final = {name: word for word, name in ALIASES.items()}
_WORDS: Final = {said: word for word, said in WORDS.items()}


def _answer(record: Record, family: Profile) -> Iterable[str]:
    if not record.ok:
        return [str(record.outcome), *([record.error] if record.error else [])]
    if record.messages:
        return _joined(_shown(delivery, family) for delivery in record.messages)
    return ["nothing" if OPS[record.op].answers else "ok"]


def _joined(items: Iterable[list[str]]) -> Iterator[str]:
    """The words of each item, a comma behind all but the last."""
    before: list[str] = []
    for item in items:
        if before:
            yield from (*before[:-1], f"{before[-1]},")
        before = item
    yield from before


def _sent(message: Message, family: Profile) -> list[str]:
    return [_text(message.id), *_attributes(message, _SENT, family)]


def _shown(delivery: Delivery, family: Profile) -> list[str]:
    number = "" if delivery.seq is None else f"#{_seq(delivery.seq, family)}"
    return [_text(delivery.id) + number, *_attributes(delivery, _SHOWN, family)]


def _attributes(item: Any, names: Mapping[str, str], family: Profile) -> Iterator[str]:
    if item.partition_key is not None:
        by_property = family.key_rule is KeyRule.USER_PROPERTY
        yield f"{'partition_key' if by_property else 'key'}={_text(item.partition_key)}"
    for field, name in names.items():
        value = getattr(item, field)
        if value is not None and (names is _SHOWN or (value != "" and value is not False)):
            yield f"{name}={time_text(value) if field in TIMES else _text(value)}"
    for key, value in item.properties or ():
        by_key = key == SOLACE_KEY and family.key_rule is KeyRule.USER_PROPERTY
        yield f"{'key' if by_key else f'prop.{key}'}={_text(value)}"


def _word(value: Any, kind: Kind, family: Profile) -> str:
    if kind is Kind.SEQ or kind is Kind.SEQS:
        return _seq(value, family)
    if kind is Kind.NS or kind is Kind.TIME:
        return time_text(value)
    if kind is Kind.OBJECT:
        return _text(json.dumps(value))
    return _text(value)


def _seq(number: int, family: Profile) -> str:
    if not family.partitioned:
        return str(number)
    return f"{number >> family.counter_bits}.{number & ((1 << family.counter_bits) - 1)}"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = str(value)
    return text if _PLAIN.fullmatch(text) and text.isprintable() else quoted(text)


def quoted(text: str) -> str:
    """Text in quotation marks, as in JSON; what would not print is escaped, so it can't steer a terminal."""
    return json.dumps(text, ensure_ascii=not text.isprintable())
