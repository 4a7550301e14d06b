"""Redis Streams as a partitioned queue. In this folder, with Debian's redis-server and `pip install redis`:

    partq run redis_streams:RedisStreams

*Routing.* Redis has no partitioned queue: its users make one of several streams, and the client picks one by
a hash of the key. *Receiving.* All clients are consumers of one group. A receive first claims what was out
for longer than a lock lasts (XAUTOCLAIM), then reads what was never delivered (XREADGROUP). *Settling.* XACK
and XDEL in one transaction. There is no way to give a message back, nor to hold on to it for longer.

Each program has a server of its own, which writes each command to its file before it answers, and may be
killed and started again. Or set REDIS_URL to a server that runs already.
"""

from __future__ import annotations

import os
import time
import uuid
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any, Final

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from support import PrivateServer, key_of, packed, unpacked

from partq.conformance.adapters import Broker, Client, Indefinite, Rejected, Shares, Unreachable
from partq.model.messages import Delivery, Message
from partq.model.profiles import SECOND, Entity

URL: Final = os.environ.get("REDIS_URL")
SERVER: Final = (
    "redis-server --port {port} --bind 127.0.0.1 --dir {folder} --appendonly yes --appendfsync always"
)
GROUP: Final = "workers"
NEVER_GIVEN: Final = ("none", "0-0")
ANSWER: Final = 5.0
"""Seconds that a server which is there has to answer."""


class RedisClient(Client):
    """One client, with a connection of its own: a consumer of the group."""

    def __init__(self, broker: RedisStreams, proc: str) -> None:
        self.broker = broker
        self.proc = proc
        self.redis = broker.connection()
        self.turns = count()

    def send(self, message: Message, *, txn: str | None = None, timeout: float = 60.0) -> None:
        """Append it to the stream of its key."""
        self.send_batch([message])

    def send_batch(
        self, messages: Sequence[Message], *, txn: str | None = None, timeout: float = 60.0
    ) -> None:
        """Append all of them in one transaction."""
        with self._asking(), self.redis.pipeline(transaction=True) as request:
            for message in messages:
                request.xadd(self.route(message), {"message": packed(message)})
            request.execute()

    def receive(
        self, max_messages: int, *, mode: str = "peek_lock", timeout: float = 1.0
    ) -> Sequence[Delivery]:
        """Lock messages; ``receive_and_delete`` acknowledges them at once."""
        deadline, pause = time.monotonic() + timeout, 0.005
        while not (taken := self._take(max_messages)) and time.monotonic() < deadline:
            time.sleep(pause)
            pause = min(2 * pause, 0.1)
        if mode == "peek_lock" or not taken:
            return taken
        try:
            self.complete([str(delivery.lock) for delivery in taken])
        except Rejected as error:  # they are locked
            raise Indefinite(error.kind, error.detail) from None
        return [delivery._replace(lock=None) for delivery in taken]

    def complete(self, locks: Sequence[str], *, txn: str | None = None) -> None:
        """Acknowledge and delete all of them in one transaction. Who acknowledges is not asked."""
        with self._asking(), self.redis.pipeline(transaction=True) as request:
            for stream, entry in (self.broker.locks.get(lock, NEVER_GIVEN) for lock in locks):
                request.xack(stream, GROUP, entry)
                request.xdel(stream, entry)
            acknowledged = request.execute()[::2]
        if not any(acknowledged):
            raise Rejected("lock_lost")

    def close(self) -> None:
        """Close the connection."""
        self.redis.close()

    def route(self, message: Message) -> str:
        """Of the key's partition; of any, in turns, without a key."""
        key = key_of(message)
        number = zlib.crc32(key.encode()) if key else next(self.turns)
        return self.broker.streams[number % len(self.broker.streams)]

    def shown(self, index: int, entry: str, fields: dict[str, str], again: bool) -> Delivery:
        """What the server shows of a message, under a lock of our own that names this delivery."""
        lock = f"{self.proc}-{next(self.turns)}"
        self.broker.locks[lock] = self.broker.streams[index], entry
        return unpacked(fields["message"], partition=index, lock=lock, redelivered=again)

    def _take(self, most: int) -> list[Delivery]:
        """Up to so many messages, partition by partition, beginning with another one each time. Of a
        partition what has expired or what is new: both would be two moments, with others between them."""
        taken: list[Delivery] = []
        turn, partitions = next(self.turns), len(self.broker.streams)
        with self._asking():
            for index in (number % partitions for number in range(turn, turn + partitions)):
                if left := most - len(taken):
                    rows = self._expired(index, left)
                    again = bool(rows)
                    rows = rows or self._fresh(index, left)
                    taken += [self.shown(index, *row, again) for row in rows]
        return taken

    def _expired(self, index: int, most: int) -> list[tuple[str, dict[str, str]]]:
        stream, milliseconds = self.broker.streams[index], self.broker.lock_ms
        _, rows, _ = self.redis.xautoclaim(stream, GROUP, self.proc, milliseconds, count=most)
        return rows

    def _fresh(self, index: int, most: int) -> list[tuple[str, dict[str, str]]]:
        found = self.redis.xreadgroup(GROUP, self.proc, {self.broker.streams[index]: ">"}, count=most)
        return [row for _, rows in found for row in rows]

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """The library raises the same for what was not sent and for what was not answered: ping first."""
        try:
            self.redis.ping()
        except redis.RedisError as error:
            raise Rejected("unavailable", str(error)) from None
        try:
            yield
        except redis.ResponseError as error:
            raise Rejected("internal", str(error)) from None
        except redis.RedisError as error:
            raise Indefinite("connection_lost", str(error)) from None


class RedisStreams(Broker):
    """Makes streams and clients; kills and starts the server if it is its own."""

    profile = "redis_streams.toml"
    client_class = RedisClient
    shares = Shares.FAULTS if URL else Shares.NOTHING
    lock_duration = SECOND
    server: PrivateServer | None = None

    def open(self, entity: Entity) -> None:
        """A stream for each partition, under a name that nobody else has, and the group."""
        name = uuid.uuid4().hex[:8]
        self.locks: dict[str, tuple[str, str]] = {}
        self.streams = [f"{name}-{index}" for index in range(entity.partitions)]
        self.lock_ms = entity.lock_duration // 1_000_000
        self.server = None if URL else PrivateServer(*SERVER.split())
        self.url = URL or f"redis://127.0.0.1:{self.server.port}"
        self.control = self.connection()
        self._await()
        for stream in self.streams:
            self.control.xgroup_create(stream, GROUP, id="0", mkstream=True)

    def connect(self, proc: str) -> Client:
        """A connection of its own for each client."""
        return self.client_class(self, proc)

    def lacks(self) -> frozenset[str]:
        """No partition can be taken down alone, and a server at a URL is not ours to kill."""
        faults = {"partition_down", "partition_up", "frontend_lost"}
        return super().lacks() | faults | ({"broker_kill", "broker_start"} if URL else set())

    def inject(self, fault: str, args: dict[str, Any]) -> dict[str, Any]:
        """Kill the server, or start it again."""
        if fault in self.lacks():
            raise Rejected("unsupported")
        if fault == "broker_kill":
            self.server.kill()
        else:
            self.server.start()
            self._await()
        return {}

    def is_empty(self) -> bool:
        """What is acknowledged is deleted: what a stream holds is free or locked."""
        return not any(self.control.xlen(stream) for stream in self.streams)

    def close(self) -> None:
        """Remove the server, or from one that stays the streams."""
        if self.server:
            self.server.remove()
        elif URL:
            with suppress(redis.RedisError):
                self.control.delete(*self.streams)

    def connection(self) -> Any:
        """Makes itself anew where it was lost, but repeats nothing: a send could be stored twice."""
        return redis.from_url(
            self.url, decode_responses=True, socket_timeout=ANSWER, retry=Retry(NoBackoff(), 0)
        )

    def _await(self) -> None:
        deadline = time.monotonic() + ANSWER
        while True:
            try:
                self.control.ping()
                return
            except redis.RedisError as error:
                if time.monotonic() > deadline:
                    raise Unreachable(f"no Redis answers at {self.url}: {error}") from None
                time.sleep(0.02)
