"""Which copies a subscription may get of one message, where rules have actions, and which of them is shown.

A send is read as one of the message and of all that the rules of its history would make of it; each has a
name of its own, and so has each appearance, by what is shown of it. Which of them are stored the model
says. Nothing is guessed: an appearance that may be of several is `Ambiguous`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import chain
from typing import Final

from msgspec import structs

from partq.conformance.history import Record
from partq.conformance.history.entities import is_dead_letters
from partq.conformance.oracle.identity import Ambiguous
from partq.conformance.oracle.uses import Records
from partq.model.messages import Delivery, Made, Message, as_made, is_made, is_shown_as
from partq.model.profiles import DEFAULT_RULE
from partq.model.topics.changes import Unsettled, parsed
from partq.model.topics.norm import matches

RULE_NAME: Final = "RuleName"
"""The user property that names the rule whose action made a copy."""

_Number = tuple[str, bool, int | None, int | None]
"""What tells whether two appearances are of the same copy."""


def copies_apart(records: Records) -> Records:
    """The records with the copies that rules may make. Raises `Ambiguous`."""
    acting = [record for record in records if record.args.get("rule", {}).get("action")]
    told = any(name == RULE_NAME for r in records for one in r.messages for name, _ in one.properties or ())
    return _Copies(records, acting).named() if acting or told else records


class _Copies:
    """``births``: by ID the message that was sent, and what each rule may make of it that may be there by
    then. ``acting``: the additions of rules with an action. ``showing``: the operations whose answers show
    user properties."""

    def __init__(self, records: Records, acting: Sequence[Record]) -> None:
        self.records, self.acting = records, acting
        sends = [(record, message) for record in records for message in record.sent]
        self.births = {message.id: self._births(record, message) for record, message in sends}
        self.showing = {r.op for r in records if any(shown.properties for shown in r.messages)}
        self.silent = {DEFAULT_RULE} | {
            record.args["rule"]["name"]
            for record in records
            if "rule" in record.args and not record.args["rule"].get("action")
        }
        every = chain.from_iterable(self.births.values())
        steps = (parsed(record.args["rule"]["action"]).steps for record in acting)
        self.known = {name for one in every for name, _ in one.properties}
        self.known.update(name for name, _ in chain.from_iterable(steps))
        self.of_number = self._by_number()

    def _births(self, send: Record, message: Message) -> tuple[Message, ...]:
        if is_made(message.id) or message.property(RULE_NAME) is not None:
            raise Ambiguous(f"{message.id!r} is sent as if a rule had made it")
        own = {field.name: getattr(message, field.name) for field in fields(Message)}
        try:
            changed = {
                (rule["name"], rule["action"]): parsed(rule["action"]).made_of(message.properties)
                for rule in (record.args["rule"] for record in self.acting if _may_count(record, send))
                if True in matches(rule["filter"], message)
            }
        except Unsettled as why:
            raise Ambiguous(str(why)) from None
        return message, *(
            Made(**own | {"id": as_made(message.id, nth), "properties": properties}, of=message, by=by)
            for nth, (by, properties) in enumerate(changed.items(), start=1)
        )

    def named(self) -> Records:
        return tuple(self._named(record) for record in self.records)

    def _named(self, record: Record) -> Record:
        if record.sent:
            births = tuple(one for message in record.sent for one in self.births[message.id])
            return structs.replace(record, args={**record.args, "messages": births})
        shown = tuple(self._birth(record, one) for one in record.messages)
        return structs.replace(record, messages=shown) if shown else record

    def _birth(self, record: Record, shown: Delivery) -> Delivery:
        """The appearance under the name of the one birth that it may be of; of none: as it is."""
        found = self._fits(record, shown)
        if len(found) > 1 and shown.seq is not None:
            found = [one for one in found if one in self.of_number[_number(record, shown)]]
        if len(found) > 1:
            raise Ambiguous(f"which copy of {shown.id!r} is shown is not known")
        if not found:
            return shown
        rest = shown.properties and tuple(pair for pair in shown.properties if pair[0] != RULE_NAME)
        return shown._replace(id=found[0].id, properties=rest)

    def _by_number(self) -> Mapping[_Number, Sequence[Message]]:
        """Of which births the appearances under each number may be."""
        found: dict[_Number, Sequence[Message]] = {}
        for record in self.records:
            for shown in () if "messages" in record.args else record.messages:
                number, fits = _number(record, shown), self._fits(record, shown)
                found[number] = [one for one in found.get(number, fits) if one in fits]
        return found

    def _fits(self, record: Record, shown: Delivery) -> list[Message]:
        return [one for one in self.births.get(shown.id, ()) if self._is_of(record, shown, one)]

    def _is_of(self, record: Record, shown: Delivery, birth: Message) -> bool:
        """Whether it may be that one. A message that shows no properties has none, where others show some."""
        seen = () if shown.properties is None and record.op in self.showing else shown.properties
        if not is_shown_as(birth, shown) or seen is None:
            return is_shown_as(birth, shown)
        rule = next((value for name, value in seen if name == RULE_NAME), None)
        rest = {pair for pair in seen if pair[0] in self.known}
        by = rule == birth.by[0] if isinstance(birth, Made) else rule in self.silent
        return (rule is None or by) and rest == {*birth.properties}


def _may_count(change: Record, send: Record) -> bool:
    """Whether the change may be there when the message is copied."""
    return send.unknown or "txn" in send.args or change.call <= send.end


def _number(record: Record, shown: Delivery) -> _Number:
    return shown.id, is_dead_letters(record.entity), shown.partition, shown.seq
