"""Where messages are: what a history shows of partitions and numbers, wherever it shows it, in the trace's
terms.

Partitions become 1, 2, …; a number becomes its distance from the first one that is shown of its partition,
so that a roll-over makes no difference. What no broker can show (one message in two places, one partition
with two tags) makes an operation impossible. Which steps an operation becomes is `translation`'s business.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from .graves import Graves
from .hidden import Hidden
from .recording import Operation, Recording, Sent, Shown

ORIGIN: Final = 1_000_000
"""The first number that a trace shows of a partition."""

LIMIT: Final = 2**28
"""Beyond every number of a trace."""

_SPARE: Final = 1_000
"""How many messages of a partition may come before the first that is shown."""

_UNKNOWN: Final = (0, -1)


class Places:
    """The partitions and numbers of one recording.

    ``sent``: the messages, by ID, from 1 on; what scheduled ones are activated as comes last (``births``).
    ``names``: the partitions' places by name. ``impossible``: the records that no
    broker can show. The other fields are those of `Trace`."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.partitioned = "partitioned" in recording.words
        self.messages = [message for one in recording.operations for message in one.sent]
        self.messages += [
            one._replace(id=one.later, later=None, past=False, copies=(), repeats=())
            for one in self.messages
            if one.later
        ]
        self.sent = {message.id: n for n, message in enumerate(self.messages, 1)}
        self.births = [self.sent.get(message.later or "", 0) for message in self.messages]
        self.impossible: set[int] = set()
        self.tags: dict[int, int] = {}
        self.names: dict[int, int] = {} if self.partitioned else {0: 1}
        self._name_partitions()
        self.origin: dict[int, int] = {}
        self.place = [_UNKNOWN] * len(self.messages)
        self.graves = Graves(recording, self.sent, self._relative)
        self._place_messages()
        self.owner: list[dict[int, int]] = [{} for _ in range(self.count)]
        for m, (part, number) in enumerate(self.place, 1):
            if number >= 0:
                self.owner[part - 1].setdefault(number, m)
        self.floor = [min(owner, default=0) for owner in self.owner]
        self.top = [max(owner, default=0) for owner in self.owner]
        self.start = [floor - _SPARE if floor else ORIGIN for floor in self.floor]
        self._start_where_known()
        self._compare_counts()
        self.allowed, self.likely = self._allowed()

    # Partitions

    def name(self, shown: Shown) -> int | None:
        """What the partition of a message is called, where that is shown."""
        if not self.partitioned:
            return 0
        return shown.partition if shown.partition is not None else shown.tag

    def part(self, m: int) -> int:
        """The partition of a message, 0 where it is not known."""
        return self.place[m - 1][0]

    def number(self, m: int) -> int:
        """The number of a message, -1 where it is not known."""
        return self.place[m - 1][1]

    def _name_partitions(self) -> None:
        limit = self.recording.partitions if self.partitioned else 1
        for one, shown in self._mentioned():
            name = one.partition if shown is None else self.name(shown)
            if name is None:
                continue
            if name not in self.names:
                if len(self.names) == limit:
                    self.impossible.add(one.record)
                    continue
                self.names[name] = len(self.names) + 1
            tag = None if shown is None else shown.tag
            if tag is not None and self.partitioned and self.tags.setdefault(name, tag) != tag:
                self.impossible.add(one.record)
        self._forbid_twins()
        flows = "flows" in self.recording.words
        self.count = limit if flows else min(limit, len(self.names) + 1) if self.partitioned else 1

    def _mentioned(self) -> Iterator[tuple[Operation, Shown | None]]:
        """Whatever names a partition."""
        for one in self.recording.operations:
            yield from ((one, shown) for shown in one.shown)
            if one.op != "bind":
                yield one, None

    def _forbid_twins(self) -> None:
        """Two partitions with the same tag (SEQ-2)."""
        first = {tag: name for name, tag in reversed(self.tags.items())}
        twins = {name for name, tag in self.tags.items() if first[tag] != name}
        self.impossible |= {
            one.record for one, shown in self._mentioned() if shown is not None and self.name(shown) in twins
        }

    # Messages

    def _place_messages(self) -> None:
        for one, shown in self._mentioned():
            if shown is None:
                continue
            m = self.sent.get(shown.id)
            place = self._place_of(shown._replace(number=None) if one.dead else shown)
            if m is None or shown.altered or place is None or not self._agrees(m, place):
                self.impossible.add(one.record)
                continue
            self.place[m - 1] = (max(self.part(m), place[0]), max(self.number(m), place[1]))
            if one.dead and not self.graves.take(m, self.part(m), shown):
                self.impossible.add(one.record)

    def _agrees(self, m: int, place: tuple[int, int]) -> bool:
        """Whether the message may be there, as far as either is known."""
        known = zip(self.place[m - 1], place, _UNKNOWN, strict=True)
        return all(old == new or none in (old, new) for old, new, none in known)

    def _place_of(self, shown: Shown) -> tuple[int, int] | None:
        """Partition and number, as far as they are shown; None if there can be no such number."""
        name = self.name(shown)
        part = 0 if name is None else self.names.get(name, 0)
        if shown.number is None or not part:
            return part, -1
        number = self._relative(shown.number, self.origin.setdefault(part, shown.number))
        # of one partition, how far two numbers may be apart: each needs a send, or a try
        reach = min(10 * (len(self.messages) + len(self.recording.operations)) + 100, ORIGIN // 2)
        return (part, number) if abs(number - ORIGIN) <= reach else None

    def _relative(self, number: int, origin: int) -> int:
        half, size = 1 << (self.recording.bits - 1), 1 << self.recording.bits
        return (number - origin + half) % size - half + ORIGIN

    def _start_where_known(self) -> None:
        if self.recording.first is None:
            return
        for p, origin in self.origin.items():
            start = self._relative(self.recording.first, origin)
            if start >= 0:
                self.start[p - 1] = self.floor[p - 1] = start

    def cursor(self, since: tuple[int, int], dead: bool) -> list[int]:
        """Where a walk from a number on starts, in each partition."""
        origin = self.graves.origin if dead else self.origin
        tag, number = since
        names = {position: name for name, position in self.names.items()}
        found = []
        for p in range(1, self.count + 1):
            mine = self.tags.get(names[p]) if p in names and self.partitioned else tag
            if mine == tag and p in origin:
                found.append(max(-1, min(self._relative(number, origin[p]) - 1, LIMIT)))
            else:
                found.append(LIMIT if mine is not None and mine < tag else -1)
        return found

    # What follows from it

    def _compare_counts(self) -> None:
        """A peek may show the count of before a lock's end, but none less than one shown before (PEEK-6)."""
        seen = [
            (one, shown)
            for one in self.recording.operations
            for shown in one.shown
            if shown.tries is not None and one.op != "renew_lock"
        ]
        for one, shown in seen:
            earlier = (
                other.tries or 0
                for before, other in seen
                if other.id == shown.id and before.ret is not None and before.ret < one.call
            )
            if one.op == "peek" and max(earlier, default=0) > (shown.tries or 0):
                self.impossible.add(one.record)

    def _allowed(self) -> tuple[list[frozenset[int]], list[frozenset[int]]]:
        """For each message the partitions that may take it, of a key's messages the same (ROUTE-1); and of
        these a likely one, where they are hidden."""
        groups: dict[Hashable, list[int]] = {}
        for m, message in enumerate(self.messages, 1):
            groups.setdefault(m if message.key is None else (message.key,), []).append(m)
        flows = "flows" in self.recording.words
        hidden = Hidden(self.recording, self.sent, self.names, self.count) if flows else None
        found = self._shown_parts() if hidden is None else hidden.candidates()
        for group in groups.values():
            common = frozenset.intersection(*(found[m] for m in group))
            found |= dict.fromkeys(group, common) if common else {}
        if hidden is not None:
            hidden.settle([*groups.values()], found)
            likely = dict(found)
            hidden.guess([*groups.values()], likely)
        else:
            likely = found | self._out_of_the_way(groups.values(), found)
        ms = range(1, len(self.messages) + 1)
        return [found[m] for m in ms], [likely[m] for m in ms]

    def _out_of_the_way(
        self, groups: Iterable[Sequence[int]], found: Mapping[int, frozenset[int]]
    ) -> dict[int, frozenset[int]]:
        """Of messages whose partition nothing shows a likely one: that of what they are activated as, or of
        what else is in the same transaction, or one that is never named."""
        held = {shown.lock: shown.id for one in self.recording.operations for shown in one.shown}
        within: dict[int, str | None] = {}
        near: dict[str | None, set[int]] = {}
        for one in self.recording.operations:
            ids = [message.id for message in one.sent] + [held[lock] for lock in one.locks if lock in held]
            within |= {self.sent[message.id]: one.txn for message in one.sent}
            if one.txn is not None and not one.refused:
                near.setdefault(one.txn, set()).update(
                    self.part(self.sent[id]) for id in ids if id in self.sent
                )
        unnamed = {self.count} - {*self.names.values()}
        likely: dict[int, frozenset[int]] = {}
        for group in groups:
            among = {self.part(self.births[m - 1]) for m in group if self.births[m - 1]}
            among.update(*(near.get(within.get(m), ()) for m in group))
            best = found[group[0]] & (among - {0} or unnamed)
            if len(found[group[0]]) > 1 and best:
                likely |= dict.fromkeys(group, frozenset({min(best)}))
        return likely

    def _shown_parts(self) -> dict[int, frozenset[int]]:
        everywhere = frozenset(range(1, self.count + 1))
        return {m: frozenset({part}) if part else everywhere for m, (part, _) in enumerate(self.place, 1)}


def renamed(messages: Sequence[Sent], operations: Sequence[Operation]) -> dict[str | None, str]:
    """The keys, and sessions, as k1, k2, … in order of first use; "-" for none."""
    names: dict[str | None, str] = {None: "-"}
    for name in (*(message.key for message in messages), *(one.session for one in operations)):
        names.setdefault(name, f"k{len(names)}")
    return names
