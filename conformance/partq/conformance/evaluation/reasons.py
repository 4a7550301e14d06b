"""Why an answer breaks a rule, in the broker's terms: one small function for each kind of rule.

They explain what the judge rejected and blame attributed, and judge nothing. Where none fits, there is no
reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from partq.conformance.history import History, Record, time_text
from partq.conformance.verdict import plural
from partq.model.configuration import FOREVER
from partq.model.messages import Delivery, Message
from partq.model.operations import SETTLEMENTS
from partq.model.profiles import Entity, Profile, profile


class Reason(NamedTuple):
    """``message``: the one that is shown wrongly. ``why``: in a sentence's second half. ``witness``: the
    records that show it. ``expected``: what the rule would have allowed; empty: what the judge says."""

    message: str
    why: str
    witness: tuple[int, ...]
    expected: str = ""


@dataclass(frozen=True)
class Scene:
    """The history up to the answer that shows the violation."""

    history: History
    answer: Record

    @property
    def family(self) -> Profile:
        """The history's profile."""
        return profile(self.history.header.profile)

    @cached_property
    def entity(self) -> Entity:
        """The settings of the history's first entity."""
        return next(iter(self.history.header.entities.values()), Entity())

    def key_of(self, message: Message) -> str | None:
        """The key that decides its partition, if it has one."""
        return self.family.key_of(message, self.entity)

    @property
    def received(self) -> Sequence[Delivery]:
        """The messages of the answer, if it is a receive's."""
        return self.answer.messages if self.answer.op == "receive" else ()

    @cached_property
    def sends(self) -> dict[str, tuple[Record, Message]]:
        """By message ID: the send that may have stored it."""
        return {
            message.id: (record, message)
            for record in self.history.records
            if not record.refused
            for message in record.sent
        }

    @cached_property
    def commits(self) -> dict[str, Record | None]:
        """By transaction: its commit, or None."""
        records = self.history.records
        commits = {r.args["txn"]: r for r in records if r.op == "commit" and not r.refused}
        return {r.args["txn"]: commits.get(r.args["txn"]) for r in records if r.args.get("txn") is not None}

    def took_effect(self, record: Record) -> bool:
        """Whether it was in no transaction, or in one that was, or may have been, committed."""
        txn = record.args.get("txn")
        return txn is None or self.commits[txn] is not None

    def removed(self, message: Message) -> bool:
        """Whether the message may have been deleted, settled for good, set aside, dead-lettered or cancelled,
        or its time have ended."""
        given = self.locks(message.id)
        settled = any(
            record.op != "abandon" and not record.refused and self.took_effect(record)
            for record in self.settlements(message.id)
        )
        cancelled = message.scheduled_at is not None and any(self.earlier("cancel_scheduled"))
        worn_out = len(given) >= self.entity.max_delivery_count
        return settled or cancelled or message.ttl is not None or None in given or worn_out

    def refused(self, id: str) -> list[Record]:
        """The settlements of the message that were refused."""
        return [record for record in self.settlements(id) if record.refused]

    def settlements(self, id: str) -> list[Record]:
        """The settlements that name a lock of the message."""
        given, records = self.locks(id), self.history.records
        return [r for r in records if r.op in SETTLEMENTS and not given.keys().isdisjoint(r.args["locks"])]

    def locks(self, id: str) -> dict[str | None, Record]:
        """By lock on the message: the answer that gave it. None: the one that deleted the message."""
        return {one.lock: r for r in self.earlier("receive") for one in r.messages if one.id == id}

    def earlier(self, *ops: str) -> Iterator[Record]:
        """The operations that returned before the call of the answer's operation."""
        for record in self.history.records:
            if record.op in ops and record.ret is not None and record.ret < self.answer.call:
                yield record


def _overtaken(scene: Scene) -> Reason | None:
    """A message overtook older ones of its place, which are still there."""
    sends, answer = scene.sends, scene.answer
    others = (
        r for r in scene.history.records if r.op == "receive" and r.i != answer.i and r.call < answer.call
    )
    gone = {message.id for record in others for message in record.messages}
    for shown in answer.messages:
        if shown.id in sends:
            older = [id for id in sends if id not in gone and _is_older(scene, sends, id, shown)]
            if older:
                which, there = ("was", "is") if len(older) == 1 else ("were", "are")
                why = f"{_names(older)}{_place(scene, sends[shown.id][1])} {which} accepted before it and "
                records = tuple(sends[id][0].i for id in (*older, shown.id))
                expected = f"{'nothing, or ' if answer.op == 'receive' else ''}{older[0]} first"
                return Reason(shown.id, f"{why}{there} still there", records, expected)
        gone.add(shown.id)
    return None


def _inverted(scene: Scene) -> Reason | None:
    """A message before older ones in one answer, which only so many partitions excuse."""
    sends, receives = scene.sends, scene.answer.op == "receive"
    ids = [shown.id for shown in scene.answer.messages if shown.id in sends] if receives else []
    for number, id in enumerate(ids):
        older = [one for one in ids[number + 1 :] if (sends[one][0].ret or FOREVER) < sends[id][0].call]
        if older:
            were, come = ("was", "comes") if len(older) == 1 else ("were", "come")
            why = f"{_names(older)} {were} accepted before it and {come} after it"
            return Reason(id, why, tuple(sends[one][0].i for one in (*older, id)))
    return None


def _is_older(scene: Scene, sends: Mapping[str, tuple[Record, Message]], id: str, shown: Delivery) -> bool:
    (record, message), (sent, other) = sends[id], sends[shown.id]
    if record.ret is None or record.ret >= sent.call or not record.ok or "txn" in record.args:
        return False
    key = scene.key_of(message)
    same = key is not None and key == scene.key_of(other)
    return same or not scene.family.partitioned


def _place(scene: Scene, message: Message) -> str:
    return " of the same key" if scene.family.partitioned and scene.key_of(message) else ""


def _misnumbered(scene: Scene) -> Reason | None:
    """Two messages whose numbers contradict the order in which they were accepted."""
    sends, family = scene.sends, scene.family
    seen = [
        (one, record) for record in scene.history.records for one in record.messages if one.seq is not None
    ]
    for first, by in seen:
        for second, also in seen:
            one, other = sends.get(first.id), sends.get(second.id)
            if one is None or other is None or family.partition_of(first) != family.partition_of(second):
                continue
            if one[0].ret is not None and one[0].ret < other[0].call and (first.seq or 0) > (second.seq or 0):
                why = f"{first.id} was accepted before it and bears a higher number"
                witness = one[0].i, other[0].i, by.i, also.i
                return Reason(second.id, why, witness, f"a higher number on {second.id} than on {first.id}")
    return None


def _apart(scene: Scene) -> Reason | None:
    """Two messages of one key in two partitions."""
    sends, family = scene.sends, scene.family
    homes: dict[str, tuple[int, Delivery, Record]] = {}
    for record in scene.history.records:
        for one in record.messages:
            place = family.partition_of(one)
            key = scene.key_of(sends[one.id][1]) if one.id in sends else None
            if key is None or place is None:
                continue
            home, first, by = homes.setdefault(key, (place, one, record))
            if home != place:
                other = "one of its ID" if first.id == one.id else f"{first.id} of the same key"
                why = f"{other} is in partition {home}, and it is in partition {place}"
                witness = sends[first.id][0].i, sends[one.id][0].i, by.i, record.i
                return Reason(one.id, why, witness, "both in one partition")
    return None


def _held(scene: Scene) -> Reason | None:
    """A lock that another delivery gave, and that nothing is known to have ended by then."""
    settling = [r for r in scene.earlier(*SETTLEMENTS) if not r.refused]
    done = {lock for record in settling if scene.took_effect(record) for lock in record.args["locks"]}
    for shown in scene.received:
        for lock, record in scene.locks(shown.id).items():
            ends = next(one.locked_until for one in record.messages if one.lock == lock)
            if lock is not None and lock not in done and (ends is None or ends > scene.answer.call):
                named = [settlement for settlement in settling if lock in settlement.args["locks"]]
                until = "" if ends is None else f" until {time_text(ends)}"
                how = f"its {named[0].op} was not committed" if named else "not settled it"
                why = f"{record.proc} had locked it at {record.i}{until} and {how}"
                witness = record.i, *(one.i for one in named)
                return Reason(shown.id, why, witness, _without(scene, shown.id))
    return None


def _finished(scene: Scene) -> Reason | None:
    """The message had been deleted, or settled for good."""
    for shown in scene.answer.messages:
        locks = set()
        for record in scene.earlier("receive", "complete", "dead_letter"):
            own = [one for one in record.messages if one.id == shown.id]
            locks |= {one.lock for one in own}
            done = any(one.lock is None for one in own) or not locks.isdisjoint(record.lock_tokens)
            if done and record.ok:
                how = "deleted" if record.op == "receive" else "settled"
                why = f"it had been {how} at {record.i}"
                return Reason(shown.id, why, (record.i,), _without(scene, shown.id))
    return None


def _lost(scene: Scene) -> Reason | None:
    """A message that was accepted and that nothing is known to have removed before the entity was empty."""
    if scene.answer.op != "drained":
        return None
    seen = {one.id: record for record in scene.earlier("receive", "peek") for one in record.messages}
    for id, (record, message) in scene.sends.items():
        if record.ok and scene.took_effect(record) and not scene.removed(message):
            last, refused = seen.get(id), [one.i for one in scene.refused(id)]
            how = "never seen" if last is None else f"last seen at {last.i}, and nothing removed it"
            how += f" (its settlement at {refused[0]} was refused)" if refused else ""
            witness = (record.i, *(() if last is None else (last.i,)), *refused)
            why = f"{id} was accepted at {record.i} and {how}"
            return Reason(id, why, witness, f"{id} is received")
    return None


def _without(scene: Scene, id: str) -> str:
    """What was expected of an answer that holds others, too; empty where it holds none: the judge says it."""
    return f"an answer without {id}" if len(scene.answer.messages) > 1 else ""


def _expired(scene: Scene) -> Reason | None:
    """The time to live of a message that is received had ended."""
    for record, message in (scene.sends[one.id] for one in scene.received if one.id in scene.sends):
        if record.ret is None or message.ttl is None or "txn" in record.args:
            continue
        ended = max(record.ret, message.scheduled_at or 0) + message.ttl
        if ended < scene.answer.call:
            why = f"its time to live of {time_text(message.ttl)} had ended by {time_text(ended)}"
            return Reason(message.id, why, (record.i,), _without(scene, message.id))
    return None


def _early(scene: Scene) -> Reason | None:
    """A message that is received before the time for which it was scheduled."""
    for record, message in (scene.sends[one.id] for one in scene.received if one.id in scene.sends):
        if (scene.answer.ret or FOREVER) < (message.scheduled_at or 0):
            why = f"it was scheduled for {time_text(message.scheduled_at or 0)}"
            return Reason(message.id, why, (record.i,), _without(scene, message.id))
    return None


def _miscounted(scene: Scene) -> Reason | None:
    """A delivery count other than the number of deliveries that were seen before."""
    for shown in scene.answer.messages:
        before = [r.i for r in scene.earlier("receive") if any(one.id == shown.id for one in r.messages)]
        if shown.delivery_count not in (None, len(before)):
            seen = plural(len(before), "delivery", "deliveries")
            why = f"its delivery count is {shown.delivery_count}, after {seen}"
            return Reason(shown.id, why, tuple(before), f"nothing, or {shown.id} with another count")
    return None


def _lock_lost(scene: Scene) -> Reason | None:
    """The lock that was settled or renewed, and the answer that gave it."""
    for record in scene.earlier("receive"):
        for one in record.messages:
            if one.lock in scene.answer.lock_tokens:
                why = f"its lock on {one.id}, given at {record.i}, had been lost"
                return Reason(one.id, why, (record.i,))
    return None


def _torn(scene: Scene) -> Reason | None:
    """A transaction of which a part is visible: before it was committed, or without the other part."""
    for txn, commit in scene.commits.items():
        parts = {id: r for id, (r, _) in scene.sends.items() if r.args.get("txn") == txn}
        before = {one.id: r for r in scene.earlier("receive", "peek") for one in r.messages}
        shown = {one.id: scene.answer for one in scene.answer.messages}
        seen = [id for id in parts if id in (before | shown if commit else shown)]
        missing = [id for id in parts if id not in before | shown]
        if not commit and seen:
            why = f"its transaction {txn} had not been committed"
            return Reason(seen[0], why, (parts[seen[0]].i,))
        if commit and seen and missing and (before | shown)[seen[0]].call > (commit.ret or 0):
            by = (before | shown)[seen[0]]
            why = f"{seen[0]} of transaction {txn} was seen at {by.i}, {missing[0]} of the same was not"
            witness = parts[seen[0]].i, parts[missing[0]].i, commit.i, by.i
            return Reason("", why, witness)
    return None


def _beyond_limits(scene: Scene) -> Reason | None:
    """An operation in a transaction that had been idle for too long, or a send beyond the number it takes."""
    answer, entity, txn = scene.answer, scene.entity, scene.answer.args.get("txn")
    own = [r for r in scene.history.records if r.args.get("txn") == txn and (r.ret or FOREVER) < answer.call]
    if txn is None or not answer.ok or not own:
        return None
    last = max(own, key=lambda record: record.ret or 0)
    if (idle := answer.call - (last.ret or 0)) > entity.transaction_timeout:
        limit = time_text(entity.transaction_timeout)
        why = f"its transaction {txn} had been idle for {time_text(idle)}, and its time limit is {limit}"
        return Reason("", why, (last.i,), "a refusal")
    sends = [record for record in own if record.ok and "messages" in record.args]
    count = sum(len(record.sent) for record in sends)
    most = entity.max_transaction_messages
    if count + len(answer.sent) > most:
        why = f"its transaction {txn} had {plural(count, 'message')}, and takes {most} at the most"
        return Reason("", why, tuple(record.i for record in sends), "a refusal")
    return None


_ORDER: Final = ("ORD-1", "ORD-2", "ORD-3", "PEEK-1", "PEEK-2", "RCV-3", "REB-3")
_ROUTES: Final = ("KEY-1", "KEY-2", "KEY-4", "KEY-8", "ROUTE-1", "ROUTE-2", "ROUTE-5", "TXN-8")

REASONS: Final[Mapping[str, Callable[[Scene], Reason | None]]] = {
    **dict.fromkeys(_ORDER, lambda scene: _overtaken(scene) or _inverted(scene)),
    **dict.fromkeys(_ROUTES, _apart),
    "RCV-2": _lost,
    "RCV-6": _held,
    "RCV-7": _finished,
    "RCV-8": _lock_lost,
    "RCV-9": _miscounted,
    "RCV-15": _expired,
    "SCH-1": _early,
    "SEQ-3": _misnumbered,
    "TXN-5": _torn,
    "TXN-9": _beyond_limits,
}
"""Rule -> why an answer breaks it."""


def reason(history: History, answer: Record, rules: Iterable[str]) -> Reason | None:
    """Why the answer breaks the first of these rules of which that can be said simply."""
    scene = Scene(history, answer)
    reasons = (REASONS[rule](scene) for rule in rules if rule in REASONS)
    return next((found for found in reasons if found is not None), None)


def _names(ids: list[str]) -> str:
    few = ids[:3]
    return " and ".join([", ".join(few[:-1]), few[-1]]) if len(few) > 1 else few[0]
