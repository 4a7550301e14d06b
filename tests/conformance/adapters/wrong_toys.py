"""The toy broker of the examples with a defect each: of routing, order, loss, duplication, locks, content."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from partq.model.messages import Message
from partq.model.profiles import SECOND, Entity

sys.path.append(str(Path(__file__).parents[3] / "examples"))

from toy_broker import Queue, Toy  # type: ignore[import-not-found]

Row = list[Any]

KEYS: Final = ("session_id", "partition_key")


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


class ThirdLost(Queue):  # type: ignore[misc]
    def put(self, key: str | None, message: Message) -> None:
        self.put_so_far = getattr(self, "put_so_far", 0) + 1
        if self.put_so_far != 3:
            super().put(key, message)


class AbandonLoses(Queue):  # type: ignore[misc]
    def settle(self, locks: Sequence[str], delete: bool) -> str | None:
        wrong: str | None = super().settle(locks, True)
        return wrong


class ExpiryLoses(Queue):  # type: ignore[misc]
    def _free(self, most: int) -> list[Row]:
        for part in self.partitions:
            part[:] = [row for row in part if row[2] is None or row[3] > time.monotonic()]
        return list(super()._free(most))


class LongLost(Queue):  # type: ignore[misc]
    def put(self, key: str | None, message: Message) -> None:
        if message.properties == ():
            super().put(key, message)


class CompleteReleases(Queue):  # type: ignore[misc]
    def settle(self, locks: Sequence[str], delete: bool) -> str | None:
        rows = [row for part in self.partitions for row in part if row[2] in locks and row[4] == 0]
        wrong: str | None = super().settle(locks, delete and not rows)
        return wrong


class StoredTwice(Queue):  # type: ignore[misc]
    def put(self, key: str | None, message: Message) -> None:
        super().put(key, message)
        self.put_so_far = getattr(self, "put_so_far", 0) + 1
        if self.put_so_far == 2:
            super().put(key, message)


class FirstOfSeveral(Queue):  # type: ignore[misc]
    def settle(self, locks: Sequence[str], delete: bool) -> str | None:
        wrong: str | None = super().settle(locks[:1], delete)
        return wrong


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


class Garbled(Queue):  # type: ignore[misc]
    def put(self, key: str | None, message: Message) -> None:
        super().put(key, replace(message, body="hm") if message.id.endswith("3") else message)


class KeyChanged(Queue):  # type: ignore[misc]
    """Stored where its own key belongs, but shown with another. One left out would be no defect: a broker
    need not show all (docs/history.md)."""

    def put(self, key: str | None, message: Message) -> None:
        keys = {name: f"not {own}" for name in KEYS if (own := getattr(message, name)) is not None}
        super().put(key, replace(message, **keys))


class SameNumber(Queue):  # type: ignore[misc]
    def put(self, key: str | None, message: Message) -> None:
        super().put(key, message)
        for part in self.partitions:
            if len(part) > 1:
                part[-1][0] = part[-2][0]


DEFECTS: Final[dict[str, Callable[[int, float], Any]]] = {
    kind.__name__: kind
    for kind in (
        KeysApart,
        SomeKeysApart,
        NewestFirst,
        Swapped,
        Renumbered,
        ThirdLost,
        AbandonLoses,
        ExpiryLoses,
        LongLost,
        CompleteReleases,
        StoredTwice,
        FirstOfSeveral,
        NoLocks,
        ShortLocks,
        LateAllowed,
        NotCounted,
        CountedFirst,
        Garbled,
        KeyChanged,
        SameNumber,
    )
}


class Wrong(Toy):  # type: ignore[misc]
    """The toy with one of the defects, as a class of its own."""

    defect: Callable[[int, float], Any]

    def open(self, entity: Entity) -> Entity:
        known: Entity = super().open(entity)
        self.queue = type(self).defect(entity.partitions, entity.lock_duration / SECOND)
        return known


for name, kind in DEFECTS.items():
    globals()[f"Toy{name}"] = type(f"Toy{name}", (Wrong,), {"defect": kind})
