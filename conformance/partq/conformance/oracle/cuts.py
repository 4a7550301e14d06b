"""Excerpts of a long history, each a history of its own: what happened to a few of its messages.

What the broker did to these messages it might have done without the others, so that what nothing explains of
an excerpt nothing explains of the whole; one that is explained says nothing. Left out are: other messages,
answers that show nothing, refusals, peeks that show nothing of them, faults that were over before the first
of the messages was sent, faults and unknown receives after the last of them was gone (or all that follows
what tells of them, where many unknown receives do: any may have taken them), outages of other
partitions, unknown receives of old as far as more may have taken the messages, and flows. What only these
would tell is waived (`spared`). A transaction is there as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from msgspec import structs

from partq.conformance.history import History, Record
from partq.conformance.oracle import roles
from partq.conformance.oracle.excerpts import FLOWLESS, LEFT_OUT
from partq.conformance.oracle.reading import PUNCTUAL
from partq.conformance.oracle.strikes import Faults, Takings
from partq.model.configuration import COUNTER_BITS, FOREVER
from partq.model.grouping import grouped
from partq.model.messages import Delivery, effective_key
from partq.model.operations import DRAINED
from partq.model.profiles import profile, requirements_of

LARGEST: Final = 24
"""The limit of messages in an excerpt."""

TOGETHER: Final = 6
"""The limit of messages of one answer that are judged together."""

LEFT_OPEN: Final = 12
"""Where more unknown receives than these come after all that tells of the messages, each of which may have
taken them, the excerpt ends before: nothing is left that it could show."""

Ids = frozenset[str]


def spared(history: History) -> frozenset[str]:
    """The requirements to waive in the history's excerpts."""
    name = history.header.profile
    loose = LEFT_OUT | FLOWLESS if profile(name).flows else LEFT_OUT
    return loose & requirements_of(name)


def lateness(history: History) -> int:
    """By how many ns timers may be late in its excerpts: as in the whole, which has more operations."""
    return max(history.header.lateness, PUNCTUAL) + len(history)


class Cuts:
    """The excerpts of one entity's history. Everything is indexed once, so that a cut costs as much as it
    holds."""

    def __init__(self, history: History) -> None:
        self.header = history.header
        self.family = profile(history.header.profile)
        self.records = history.records
        self.of_message: dict[str, list[int]] = {}
        self.of_txn: dict[str, list[int]] = {}
        self.held: dict[str, str] = {}
        self.sent: dict[str, int] = {}
        self.again: set[str] = set()
        self.numbers: dict[str, tuple[int, int]] = {}
        self.unnumbered: set[str] = set()
        self.faults = Faults(self.records)
        self.unknown = Takings(self.records)
        self.always: list[int] = []
        self.updates: list[int] = []
        self.committed: dict[str, int] = {}
        self.rolled_back: dict[str, int] = {}
        self.counted: dict[str, int] = {}
        self.cancelled: dict[int, str] = {}
        numbered = [*enumerate(self.records)]
        for n, record in numbered:
            self._index(n, record)
        cancels = grouped((one.args["seq"], n) for n, one in numbered if one.op == roles.CANCELS)
        for record in self.records if cancels else ():
            for shown in record.messages:
                for n in cancels.pop(shown.seq or 0, ()):
                    self.of_message[shown.id].append(n)
                    self.cancelled[n] = shown.id
        self.txns = {txn: self._touched(places) for txn, places in self.of_txn.items()}
        self.txn_of = grouped((id, txn) for txn, ids in self.txns.items() for id in ids)

    def _index(self, n: int, record: Record) -> None:
        if record.op == roles.UPDATES:
            self.updates.append(n)
        if record.op == DRAINED:
            self.always.append(n)
        for message in record.sent:
            self.of_message.setdefault(message.id, []).append(n)
            if message.id in self.sent:
                self.again.add(message.id)
            self.sent.setdefault(message.id, n)
        for shown in record.messages:
            self.of_message.setdefault(shown.id, []).append(n)
            if shown.lock is not None and record.op not in roles.SETTLES:
                self.held.setdefault(shown.lock, shown.id)
            self.counted[shown.id] = max(self.counted.get(shown.id, 0), shown.delivery_count or 0)
            if shown.seq is None:
                self.unnumbered.add(shown.id)
            else:
                name = shown.seq >> COUNTER_BITS if self.family.partitioned else 0
                self.numbers.setdefault(shown.id, (name, shown.seq))
        for token in record.lock_tokens:
            if token in self.held:
                self.of_message[self.held[token]].append(n)
        if "txn" in record.args:
            self.of_txn.setdefault(record.args["txn"], []).append(n)
            if record.op in roles.ENDS and record.ok:
                ended = self.committed if record.op == roles.COMMITS else self.rolled_back
                ended[record.args["txn"]] = self._end(n)

    def _touched(self, places: Iterable[int]) -> Ids:
        """The messages that a transaction sends, cancels and settles."""
        cancelled = (self.cancelled[n] for n in places if n in self.cancelled)
        sent = (message.id for n in places for message in self.records[n].sent)
        settled = (self.held[t] for n in places for t in self.records[n].lock_tokens if t in self.held)
        return frozenset((*sent, *cancelled, *settled))

    def about(self, records: Iterable[int]) -> Ids:
        """The messages that these records (their ``i``) are about."""
        numbers = set(records)
        if not numbers:
            return frozenset()
        mine = [record for record in self.records if record.i in numbers]
        named = (id for r in mine for id in r.ids)
        held = (self.held[token] for r in mine for token in r.lock_tokens if token in self.held)
        txns = (self.txns.get(r.args.get("txn", ""), ()) for r in mine)
        return frozenset((*named, *held, *(id for ids in txns for id in ids)))

    def sets(self) -> Iterator[Ids]:
        """The sets of messages to cut out, each once: those of each transaction, each one, neighbours by
        number and by time of the same key, those of each answer. None with an ID that was sent again: when
        all messages of that are gone is not known here."""
        seen = set[Ids]()
        for ids in self._sets():
            closed = self._closed(ids)
            if closed and len(closed) <= LARGEST and closed not in seen and self.again.isdisjoint(closed):
                seen.add(closed)
                yield closed

    def _sets(self) -> Iterator[Ids]:
        yield from self.txns.values()
        yield from (frozenset({id}) for id in self.of_message)
        for line in (*self._by_number(), *self._by_key()):
            yield from (frozenset(pair) for pair in pairwise(line))
        for record in self.records:
            if len(record.messages) > 1 and record.op in roles.SHOWS:
                shown = [one.id for one in record.messages]
                yield from (frozenset(shown[n : n + TOGETHER]) for n in range(0, len(shown), TOGETHER))

    def _by_number(self) -> list[list[str]]:
        lines = grouped((name, (number, id)) for id, (name, number) in self.numbers.items())
        return [[id for _, id in sorted(line)] for line in lines.values()]

    def _by_key(self) -> list[list[str]]:
        lines: dict[str | None, list[str]] = {}
        for id, n in self.sent.items():
            message = next(one for one in self.records[n].args["messages"] if one.id == id)
            lines.setdefault(effective_key(message, self.family.key_rule), []).append(id)
        return list(lines.values())

    def _closed(self, ids: Ids) -> Ids:
        """The messages with all that their transactions touch; nothing where these are too many."""
        found, new = set(ids), list(ids)
        while new and len(found) <= LARGEST:
            more = {one for id in new for txn in self.txn_of.get(id, ()) for one in self.txns[txn]}
            new = list(more - found)
            found |= more
        return frozenset(found)

    def of(self, ids: Ids) -> History:
        """The excerpt about these messages, of which there have to be all of a transaction's."""
        txns = {txn for id in ids for txn in self.txn_of.get(id, ())}
        places = {n for id in ids for n in self.of_message.get(id, ())}
        places |= {n for txn in txns for n in self.of_txn[txn]}
        first = min((self.records[n].call for n in places), default=0)
        gone = self._gone(ids)
        last = max((gone, *(self._end(n) for n in places)))
        always: Sequence[int] = self.always
        told = max((self._told(n) for n in places), default=0)
        if gone == FOREVER and self.unknown.after(told) > LEFT_OPEN:
            gone, last, always = told, told, ()
        unknown = self.unknown.between(first, gone, self._takings(ids))
        places |= {*always, *self.updates, *self._faults(first, last, ids), *unknown}
        kept = (self._part(self.records[n], ids, txns) for n in sorted(places))
        return History(self.header, tuple(record for record in kept if record is not None))

    def _part(self, record: Record, ids: Ids, txns: set[str]) -> Record | None:
        """The record as the excerpt holds it."""
        txn = record.args.get("txn")
        if record.op in roles.FLOWS or (txn is not None and txn not in txns):
            return None
        refused = record.refused
        sends = "messages" in record.args
        if refused and txn is None and not record.is_env and not sends:
            return self._refused(record, ids)
        shown = tuple(one for one in record.messages if one.id in ids)
        if record.op in roles.LOOKS:
            return self._look(record, shown, ids)
        if record.op in roles.DELIVERS:
            return structs.replace(record, messages=shown) if shown or record.unknown else None
        args = dict(record.args)
        if sends and not refused:
            args["messages"] = tuple(one for one in args["messages"] if one.id in ids)
            if not args["messages"]:
                return None
        if record.op in roles.SETTLES and not refused and "locks" in args:
            args["locks"] = tuple(t for t in args["locks"] if self.held.get(t, None) in ids)
            if not args["locks"]:
                return None
        return structs.replace(record, args=args, messages=shown)

    def _look(self, record: Record, shown: tuple[Delivery, ...], ids: Ids) -> Record | None:
        """A peek that continues the last one looks from what it shows on: others may tell where that was."""
        if not record.ok or (record.messages and not shown):
            return None
        if record.args.get("from_seq") is not None:
            return structs.replace(record, messages=shown)
        numbered = self.unnumbered.isdisjoint(ids) and {self.numbers[one.id][0] for one in shown}
        if not numbered or len(numbered) > 1 or not shown[0].seq:  # from 0 on: from the first
            return None
        return structs.replace(record, messages=shown, args={**record.args, "from_seq": shown[0].seq})

    def _refused(self, record: Record, ids: Ids) -> Record | None:
        """A refused settlement: a lock that is left out may be the reason."""
        tokens = record.lock_tokens
        return record if tokens and all(self.held.get(token) in ids for token in tokens) else None

    def _gone(self, ids: Ids) -> int:
        """An instant by which all of the messages were gone, ns, or the end of the history."""
        return max((self._gone_at(id) for id in ids), default=0)

    def _gone_at(self, id: str) -> int:
        for n in self.of_message.get(id, ()):
            record = self.records[n]
            removes = record.op in roles.REMOVES or (record.op in roles.DELIVERS and record.deletes)
            if removes and record.ok:
                end = self._end(n) if "txn" not in record.args else self.committed.get(record.args["txn"])
                if end is not None:
                    return end
        return self._never_stored(id)

    def _never_stored(self, id: str) -> int:
        """When the last send of a message was refused, or rolled back, of which nothing else tells, ns."""
        return max((self._undone(n) for n in self.of_message.get(id, ())), default=0)

    def _undone(self, n: int) -> int:
        record = self.records[n]
        if "messages" not in record.args:
            return FOREVER
        refused = record.refused
        return self._end(n) if refused else self.rolled_back.get(record.args.get("txn", ""), FOREVER)

    def _told(self, n: int) -> int:
        """The last instant of which the record tells, ns."""
        record = self.records[n]
        return record.call if record.ret is None else record.ret

    def _end(self, n: int) -> int:
        """The instant by which the record certainly took effect, ns."""
        return self.records[n].end

    def _takings(self, ids: Ids) -> int:
        """How often the messages were taken unseen at the most, as far as anything shows it: counted, passed
        over by an answer, and for good."""
        counted = sum(self.counted.get(id, 0) + 1 for id in ids)
        return counted + sum(len(self.of_message.get(id, ())) for id in ids)

    def _faults(self, first: int, last: int, ids: Ids) -> Iterator[int]:
        """The faults that matter between; where the messages' partitions are all shown, those of these
        partitions and of the broker."""
        names = {self.numbers[id][0] if id in self.numbers else None for id in ids}
        anywhere = not self.family.partitioned or None in names
        return (
            n for n, where in self.faults.between(first, last) if anywhere or where is None or where in names
        )
