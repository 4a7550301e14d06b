"""The toy broker of the examples with a defect each, of its queue or of its clients."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import wrong_clients

from partq.model.messages import Message
from partq.model.profiles import SECOND, Entity

sys.path.append(str(Path(__file__).parents[3] / "examples"))

from toy_broker import Queue, Toy  # type: ignore[import-not-found]

Row = list[Any]


class KeysApart(Queue):  # type: ignore[misc]
    def put(self, key: str | None, message: Message) -> None:
        super().put(None, message)


class SomeKeysApart(Queue):  # type: ignore[misc]
    def put(self, key: str | None, message: Message) -> None:
        super().put(None if message.id.endswith(("2", "5", "8")) else key, message)


class NewestFirst(Queue):  # type: ignore[misc]
    def _free(self, most: int) -> list[Row]:
        super()._free(0)
        return [row for part in self.partitions for row in reversed(part) if row[2] is None][:most]


class Swapped(Queue):  # type: ignore[misc]
    def _free(self, most: int) -> list[Row]:
        rows = super()._free(sys.maxsize)
        return [*rows[1:2], *rows[:1], *rows[2:]][:most]


class Renumbered(Queue):  # type: ignore[misc]
    def settle(self, locks: Sequence[str], delete: bool) -> str | None:
        for part, counter in zip(self.partitions, self.counters, strict=True):
            for row in part:
                row[0] = next(counter) if row[2] in locks else row[0]
        wrong: str | None = super().settle(locks, delete)
        return wrong


class LongLost(Queue):  # type: ignore[misc]
    def put(self, key: str | None, message: Message) -> None:
        if message.properties == ():
            super().put(key, message)


class NoLocks(Queue):  # type: ignore[misc]
    def _free(self, most: int) -> list[Row]:
        super()._free(0)
        return [row for part in self.partitions for row in part][:most]


class ShortLocks(Queue):  # type: ignore[misc]
    def lock(self, most: int, timeout: float) -> list[Row]:
        rows: list[Row] = super().lock(most, timeout)
        for part in self.partitions:
            for row in part:
                row[3] = min(row[3], time.monotonic() + self.lock_seconds / 4)
        return rows


class LateAllowed(Queue):  # type: ignore[misc]
    def settle(self, locks: Sequence[str], delete: bool) -> str | None:
        for part in self.partitions:
            for row in part:
                row[3] = time.monotonic() + 1 if row[2] in locks else row[3]
        wrong: str | None = super().settle(locks, delete)
        return wrong


class NotCounted(Queue):  # type: ignore[misc]
    def settle(self, locks: Sequence[str], delete: bool) -> str | None:
        for part in self.partitions:
            for row in part:
                row[4] -= row[2] in locks
        wrong: str | None = super().settle(locks, delete)
        return wrong


class CountedFirst(Queue):  # type: ignore[misc]
    def put(self, key: str | None, message: Message) -> None:
        super().put(key, message)
        for part in self.partitions:
            for row in part:
                row[4] = row[4] or 1


class SameNumber(Queue):  # type: ignore[misc]
    def put(self, key: str | None, message: Message) -> None:
        super().put(key, message)
        for part in self.partitions:
            if len(part) > 1:
                part[-1][0] = part[-2][0]


QUEUES: Final = (
    KeysApart,
    SomeKeysApart,
    NewestFirst,
    Swapped,
    Renumbered,
    LongLost,
    NoLocks,
    ShortLocks,
    LateAllowed,
    NotCounted,
    CountedFirst,
    SameNumber,
)
CLIENTS: Final = (
    wrong_clients.Loses,
    wrong_clients.Duplicates,
    wrong_clients.Garbles,
    wrong_clients.Rekeys,
    wrong_clients.Expires,
    wrong_clients.Forgets,
    wrong_clients.CompletesFirst,
    wrong_clients.AbandonCompletes,
)
DEFECTS: Final = tuple(kind.__name__ for kind in (*QUEUES, *CLIENTS))


class Wrong(Toy):  # type: ignore[misc]
    """The toy with one of the queues, as a class of its own."""

    defect: Callable[[int, float, int], Any]

    def open(self, entity: Entity) -> Entity:
        known: Entity = super().open(entity)
        lock_seconds = entity.lock_duration / SECOND
        self.queue = type(self).defect(entity.partitions, lock_seconds, entity.max_delivery_count)
        return known


for queue in QUEUES:
    globals()[f"Toy{queue.__name__}"] = type(f"Toy{queue.__name__}", (Wrong,), {"defect": queue})
for client in CLIENTS:
    globals()[f"Toy{client.__name__}"] = wrong_clients.planted(client, Toy)
