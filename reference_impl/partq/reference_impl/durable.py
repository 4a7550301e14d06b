"""A broker whose messages outlive its process: each partition's lie in an SQLite file of its own.

An answer leaves when all that was done until then is in the files, each file in one transaction. What a
started broker finds there is all it knows: whatever it had in memory beside it is gone.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol

from .broker import Broker, Parts
from .clock import Clock, Steps
from .duplicates import Memory
from .faults import Faults
from .network import Answer, Connection
from .partition import Partition
from .settings import Config
from .store import SessionStates, Store, Stored, Ticket

KEPT: Final = ("enqueued_at", "count", "tries", "lock", "until", "deferred", "due", "ends", "reason")
"""What is kept of a stored message beside its content, its place in the order, and its number, which may have
64 bits and is text therefore: the columns' names."""

SCHEMA: Final = f"""
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS messages
    (queue, place, number, content, {", ".join(KEPT)}, PRIMARY KEY (queue, place)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counters (queue PRIMARY KEY, counter, orders, latest) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS message_ids (name PRIMARY KEY, stored_at) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS session_states (name PRIMARY KEY, state) WITHOUT ROWID;
"""

QUEUES: Final = ("dead letters", "main")
"""Where a message of a partition may lie: the column ``queue``."""

SERIAL_BITS: Final = 32
"""Bits of a lock's serial number; above them stands how often the files were opened before."""


class DurableStore(Store):
    """The messages of one queue in a partition's file. What is ``hidden`` is not kept: nobody accepted it."""

    __slots__ = ("_changed", "_queue", "_written")

    def __init__(self, bits: int, start: int, name: int, queue: str) -> None:
        super().__init__(bits, start, name)
        self._queue = queue
        self._changed: dict[int, Stored] = {}
        self._written: tuple[int, ...] = ()

    def keep(self, stored: Stored) -> None:
        """Write the message as it is when the next answer leaves."""
        self._changed[stored.order] = stored

    def write(self, db: sqlite3.Connection) -> None:
        """Put what changed into the file's open transaction. Raises `sqlite3.Error`."""
        counters = str(self._counter), self._orders, self.latest
        db.execute("REPLACE INTO counters VALUES (?, ?, ?, ?)", (self._queue, *counters))
        for place, stored in self._changed.items():
            if stored.gone or stored.hidden:
                db.execute("DELETE FROM messages WHERE queue = ? AND place = ?", (self._queue, place))
            else:
                row = (self._queue, *_row(stored))
                db.execute(f"REPLACE INTO messages VALUES ({', '.join('?' * len(row))})", row)

    def has_changed(self) -> bool:
        """Whether something is to be written."""
        return bool(self._changed) or self._written != (self._counter, self._orders, self.latest)

    def is_written(self) -> None:
        """The file's transaction is complete."""
        self._changed.clear()
        self._written = self._counter, self._orders, self.latest

    def load(self, db: sqlite3.Connection, partition: Partition, now: int) -> None:
        """Forget all that is in memory, and be what the file says. Locks are lost, those whose time was over
        have ended before. Raises `sqlite3.Error`."""
        for stored in self._log:
            stored.gone = True
        rows = self._found(db, "SELECT * FROM messages WHERE queue = ? ORDER BY place")
        self._log = [_stored(row, partition) for row in rows]
        self._holes = 0
        for _, counter, orders, latest in self._found(db, "SELECT * FROM counters WHERE queue = ?"):
            self._counter, self._orders, self.latest = int(counter), orders, latest
        self.is_written()
        for stored in self._log:
            if stored.lock is not None and 0 < stored.until <= now:
                stored.count += 1
        partition.recover()

    def _found(self, db: sqlite3.Connection, query: str) -> list[Sequence[Any]]:
        return db.execute(query, (self._queue,)).fetchall()


def _row(stored: Stored) -> Sequence[Any]:
    content = json.dumps(asdict(Ticket.of(stored.content)))
    return stored.order, str(stored.number), content, *(getattr(stored, name) for name in KEPT)


def _stored(row: Sequence[Any], partition: Partition) -> Stored:
    _, place, number, content, *kept = row
    fields = json.loads(content)
    fields["properties"] = tuple(map(tuple, fields["properties"]))
    stored = Stored(Ticket(**fields), place, int(number), 0, partition)
    for name, value in zip(KEPT, kept, strict=True):
        setattr(stored, name, value)
    stored.deferred = bool(stored.deferred)
    stored.told = stored.count
    return stored


class Table:
    """What is remembered by name in a file's table ``TABLE``. ``unwritten``: what is new, by name."""

    TABLE: ClassVar[str]

    unwritten: dict[str, Any]

    def has_changed(self) -> bool:
        """Whether something is to be written."""
        return bool(self.unwritten)

    def is_written(self) -> None:
        """The file's transaction is complete."""
        self.unwritten.clear()

    def write(self, db: sqlite3.Connection) -> None:
        """Put what is new into the file's open transaction. Raises `sqlite3.Error`."""
        db.executemany(f"REPLACE INTO {self.TABLE} VALUES (?, ?)", self.unwritten.items())

    def load(self, db: sqlite3.Connection) -> None:
        """Know what the file says, and nothing else. Raises `sqlite3.Error`."""
        self.unwritten = {}
        self.restore(dict(db.execute(f"SELECT * FROM {self.TABLE}")))

    def restore(self, found: dict[str, Any]) -> None:
        """Know this, and nothing else."""
        raise NotImplementedError


class DurableMemory(Table, Memory):
    """The message IDs that a partition remembers, as they are in its file."""

    TABLE = "message_ids"

    def remember(self, name: tuple[str, str | None], now: int) -> None:
        super().remember(name, now)
        self.unwritten[json.dumps(name)] = now

    def restore(self, found: dict[str, Any]) -> None:
        self.stored_at = {(id, key): at for name, at in found.items() for id, key in (json.loads(name),)}


class DurableStates(Table, SessionStates):
    """The states of a partition's sessions, as they are in its file."""

    TABLE = "session_states"

    def put(self, name: str, state: str) -> None:
        super().put(name, state)
        self.unwritten[name] = state

    def restore(self, found: dict[str, Any]) -> None:
        self.texts = found


class Kept(Protocol):
    """What writes its changes into a file's open transaction, and raises `sqlite3.Error`."""

    def has_changed(self) -> bool: ...
    def write(self, db: sqlite3.Connection) -> None: ...
    def is_written(self) -> None: ...


class File:
    """One partition's file, with the two stores and the tables that lie in it."""

    def __init__(
        self, path: Path, partition: Partition, beside: Partition, config: Config, outlives: bool
    ) -> None:
        self.path = path
        self.db = sqlite3.connect(path, 0, isolation_level=None, check_same_thread=False)
        self.db.execute(f"PRAGMA synchronous = {'FULL' if outlives else 'OFF'}")
        self.db.executescript(SCHEMA)
        self.life: int = self.db.execute("PRAGMA user_version").fetchone()[0]
        self.db.execute(f"PRAGMA user_version = {self.life + 1}")
        name = partition.name if config.partitioned else 0
        self.stores: list[tuple[Partition, DurableStore]] = []
        for part, queue in zip((beside, partition), QUEUES, strict=True):
            part.store = store = DurableStore(config.counter_bits, config.seq_start, name, queue)
            self.stores.append((part, store))
        tables: Sequence[object] = partition.memory, partition.session_states
        self.tables = [table for table in tables if isinstance(table, Table)]
        self.kept: list[Kept] = [*(store for _, store in self.stores), *self.tables]

    def load(self, now: int) -> None:
        """Let the partition start over from what was written. Raises `sqlite3.Error`."""
        for table in self.tables:
            table.load(self.db)
        for part, store in self.stores:
            store.load(self.db, part, now)
            part.bury()

    def write(self) -> None:
        """Write what has changed, all of it or nothing. Raises `sqlite3.Error`."""
        changed = [one for one in self.kept if one.has_changed()]
        if not changed:
            return
        with self.db:
            self.db.execute("BEGIN")
            for one in changed:
                one.write(self.db)
        for one in changed:
            one.is_written()

    def close(self) -> None:
        """Release the file."""
        self.db.close()


class Writing(Connection):
    """A client's connection whose answers wait for the files."""

    __slots__ = ("broker",)

    def __init__(self, broker: DurableBroker, proc: str, clock: Clock, end: int) -> None:
        super().__init__(proc, clock, end)
        self.broker = broker

    def call(self, operation: Steps[Sequence[Any] | None]) -> Steps[Answer]:
        answer = yield from super().call(operation)
        return answer if self.broker.has_written() else ("unknown", "internal", ())


class Recovery(Faults):
    """A start reads the files."""

    broker: DurableBroker

    def start(self) -> None:
        self.broker.load()
        super().start()


class DurableBroker(Broker):
    """A queue whose messages are in the files of ``folder``. Whoever opens it again gives the settings of
    before, and a clock that has gone on; one process at a time. The process may end at any instant; the
    machine, too, if the files ``outlives`` it. Raises `sqlite3.Error`."""

    def __init__(self, config: Config, clock: Clock, folder: Path, outlives: bool = True) -> None:
        if config.subscriptions or config.forward_to:
            raise ValueError("the messages of a topic, or of queues that forward, are kept in memory alone")
        super().__init__(
            config, clock, Parts(faults=Recovery, memory=DurableMemory, session_states=DurableStates)
        )
        self._connection = partial(Writing, self)
        self.files = [
            File(folder / f"partition-{partition.name}.db", partition, beside, config, outlives)
            for partition, beside in zip(self.partitions, self.dead_letters, strict=True)
        ]
        self._tokens = self.files[0].life << SERIAL_BITS
        self.load()
        self.timetable.resume()

    def load(self) -> None:
        """Know what is in the files, and nothing else. Raises `sqlite3.Error`."""
        for file in self.files:
            file.load(self.clock.now)
        self.lifetimes.any = self.timetable.any = True

    def has_written(self) -> bool:
        """Write what has changed. A broker that cannot is dead: what it says is worth nothing."""
        try:
            for file in self.files if self.alive else ():
                file.write()
        except sqlite3.Error:
            self.faults.kill()
            return False
        return True

    def close(self) -> None:
        """Release the files."""
        for file in self.files:
            file.close()
