"""Which mechanisms met in one message: a campaign counts each pair, so that a pair that programs never bring
together can be seen. What met in an operation, `combinations` says. Nothing is judged here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import combinations
from typing import Final

from partq.conformance.history import History, Record
from partq.conformance.history.entities import is_dead_letters
from partq.conformance.oracle.identity import numbers_named
from partq.conformance.oracle.uses import uses
from partq.model.operations import DRAINER, ENV, SUBSCRIPTION
from partq.model.profiles import requirements_of

FAULTS: Final = frozenset({"partition_down", "frontend_lost", "broker_kill", "connection_lost"})
"""What strikes the messages that were sent before."""

SENT_TWICE: Final = "sent twice"
FAULT: Final = "fault"
"""Of a message whose ID is sent again, and of one about which something is asked after a fault."""

MARKS: Final[Mapping[str, Callable[[Record], bool]]] = {
    "batch": lambda record: len(record.args.get("messages", ())) > 1,
    "dead letters": lambda record: is_dead_letters(record.entity),
    "topics": lambda record: f"/{SUBSCRIPTION}" in record.entity,
    "transaction": lambda record: "txn" in record.args,
}
"""What a record makes use of by its entity or its arguments, and not by a mechanism's operation."""

OTHERWISE: Final = frozenset({"duplicates", "transactions"})
"""The mechanisms that are told here by a mark: `SENT_TWICE`, and that of a transaction."""

ABOUT_NO_MESSAGE: Final = frozenset({"management", "namespaces", "resuming"})
"""The mechanisms whose operations name and show no message, so that nothing meets them in one."""

RULES: Final[Mapping[str, str]] = {"dead letters": "RCV-9", "transaction": "TXN-5", SENT_TWICE: "DUP-1"}
"""Without which rule a profile has none of it."""


def names(profile: str) -> tuple[str, ...]:
    """What may meet in a message of the profile, in alphabetical order."""
    rules = requirements_of(profile)
    others = OTHERWISE | ABOUT_NO_MESSAGE
    needs = {**{name: use.rule for name, use in uses().items() if name not in others}, **RULES}
    return tuple(sorted(["batch", FAULT, *(name for name, rule in needs.items() if rule in rules)]))


def pair(one: str, other: str) -> str:
    """The pair's name."""
    return " × ".join(sorted((one, other)))


def met(history: History) -> Counter[str]:
    """Pair -> in how many messages both met, by their IDs. A drain's operations do not count."""
    marks: dict[str, set[str]] = {}
    for ids, found in _marked(history.records):
        for id in ids:
            marks.setdefault(id, set()).update(found)
    every = (two for found in marks.values() if len(found) > 1 for two in combinations(sorted(found), 2))
    return Counter(pair(*two) for two in every)


def _marked(records: Iterable[Record]) -> Iterator[tuple[Iterable[str], set[str]]]:
    """The messages that each record is about, and what it makes use of."""
    sent, struck, held, numbered = set[str](), set[str](), dict[str, str](), dict[int, str]()
    for record in records:
        if record.proc == ENV and record.op in FAULTS:
            struck |= sent
        if record.proc in (ENV, DRAINER):
            continue
        mine = [message.id for message in record.args.get("messages", ())]
        for shown in record.messages:
            if shown.lock is not None:
                held[shown.lock] = shown.id
            if shown.seq is not None:
                numbered[shown.seq] = shown.id
        named = {held[token] for token in record.lock_tokens if token in held}
        by_number = {numbered[seq] for seq in numbers_named(record) if seq in numbered}
        ids = named.union(mine, (shown.id for shown in record.messages), by_number)
        if ids:
            yield ids, {name for name, is_used in _used() if is_used(record)}
            yield ids & struck, {FAULT}
            yield sent.intersection(mine), {SENT_TWICE}
            sent.update(mine)


@cache
def _used() -> tuple[tuple[str, Callable[[Record], bool]], ...]:
    own = ((name, use.uses) for name, use in uses().items() if name not in OTHERWISE)
    return (*own, *MARKS.items())
