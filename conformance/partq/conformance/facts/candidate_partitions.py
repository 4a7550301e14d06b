"""The partitions each message can have been in, by the flows through which it was delivered.

With flows a client never sees a partition. But a delivery comes from a partition that was `ready` for the
receiving flow at some instant of the receive, and a message never changes its partition. So every message has
a set of partitions that it can have been in, as bits.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import reduce
from operator import and_
from typing import Final

from partq.conformance.facts.flow_timeline import FlowTimeline
from partq.conformance.facts.index import CALL, Facts, Observation
from partq.conformance.facts.lifetimes import Lifetime, Lifetimes
from partq.conformance.history import Record
from partq.model.grouping import grouped

ANYWHERE: Final = -1
"""The set of all partitions, for a message without evidence."""


class Path:
    """One message that was delivered. ``ready``: the partitions that were ready for the receiving flow at
    every delivery; empty: no partition explains them all."""

    __slots__ = ("life", "ready")

    def __init__(self, life: Lifetime) -> None:
        self.life = life
        self.ready = ANYWHERE


class Paths:
    """``by_id``: the messages that were received · ``by_key``: those with a key, by key · ``conclusive``: how
    many deliveries came when their flow had not every partition · ``pauses``: the receives through a flow
    of which a partition was paused."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._exclusive: bool | None = None
        self._lives = facts.derive(Lifetimes)
        self.timeline = facts.derive(FlowTimeline)
        self.by_id: dict[str, Path] = {}
        self.by_key: dict[str, list[Path]] = {}
        self.conclusive = 0
        self.pauses = 0
        paused = {
            flow
            for flow, assignments in self.timeline.assignments_of.items()
            if any(state == "paused" for assignment in assignments for state, _ in assignment.states)
        }
        for record in facts.receives:
            if record.args.get("flow") in paused and self.held(record) != self.ready(record):
                self.pauses += 1
            if record.messages:
                self._follow(record)

    def held(self, record: Record) -> int:
        """The partitions that the receiving flow may have had during the receive, ready or paused."""
        held = self.timeline.partitions(record.args.get("flow", ""), "ready", "paused")
        return held.over(*record.span)

    def ready(self, record: Record) -> int:
        """The partitions that may have delivered to the receiving flow during the receive. Near the history's
        end the event of one may be missing."""
        skew = self.facts.header.skew_ns
        if skew and (record.ret is None or record.ret > self.timeline.horizon - skew):
            return self.timeline.everything or ANYWHERE
        return self.timeline.partitions(record.args.get("flow", ""), "ready").over(*record.span)

    def _follow(self, record: Record) -> None:
        mask = self.ready(record)
        if mask != self.timeline.everything:
            self.conclusive += len(record.messages)
        by_id = self.by_id
        for delivery in record.messages:
            path = by_id.get(delivery.id)
            if path is None:
                life = self._lives.get(delivery.id)
                if life is None:
                    continue
                path = by_id[delivery.id] = Path(life)
                if life.sent.key is not None:
                    self.by_key.setdefault(life.sent.key, []).append(path)
            path.ready &= mask

    @property
    def sound(self) -> bool:
        """Whether every message, and every key, can have been in one partition. If not, then no message is
        certainly where it seems to have been."""
        groups = [
            *self.by_key.values(),
            *([path] for path in self.by_id.values() if path.life.sent.key is None),
        ]
        return all(reduce(and_, (path.ready for path in group)) for group in groups)

    def located(self) -> Iterator[tuple[int, Observation]]:
        """The deliveries of messages whose partition is known, with its bit number; none if not `sound`."""
        if self.sound:
            for path in self.by_id.values():
                if path.ready.bit_count() == 1:
                    yield from ((path.ready.bit_length() - 1, seen) for seen in path.life.deliveries)

    @property
    def exclusive(self) -> bool:
        """Whether there is evidence that flows get only what is theirs: `_left_to_another`, found once."""
        if self._exclusive is None:
            self._exclusive = self._left_to_another()
        return self._exclusive

    def _left_to_another(self) -> bool:
        """Whether some flow certainly left to another what it could have had: it got nothing while the
        other's message was there, and no assignment changed until that came."""
        empty = (one for one in self.facts.receives if not one.messages and one.ok and self.ready(one))
        modest = grouped((one.args.get("flow", ""), one) for one in empty)
        return any(
            self._passed_by(modest, since, taken)
            for path in self.by_id.values()
            for since, taken in self._free_spells(path)
        )

    def _free_spells(self, path: Path) -> Iterator[tuple[int, Record]]:
        """Since when the message was available, and which receive took it: after its send, and after its
        partition came to another flow."""
        sent, before = path.life.record, path.life.deliveries[0]
        if sent.ret is not None and sent.ok:
            yield max(sent.ret, self._last_move(before.record)), before.record
        for seen in path.life.deliveries[1:]:
            if not before.settlements and seen.record.args.get("flow") != before.record.args.get("flow"):
                yield self._last_move(seen.record), seen.record
            before = seen

    def _last_move(self, receive: Record) -> int:
        """The last assignment event before the receive returned."""
        events = self.facts.assignment_events
        at = bisect_right(events, receive.end, key=CALL)
        return events[at - 1].call if at else 0

    def _passed_by(self, modest: dict[str, list[Record]], since: int, taken: Record) -> bool:
        for flow, records in modest.items():
            at = bisect_right(records, since, key=CALL)
            if at < len(records) and flow != taken.args.get("flow"):
                ret = records[at].ret
                if ret is not None and ret < taken.call:
                    return True
        return False
