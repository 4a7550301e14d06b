"""NATS JetStream as a partitioned queue. In this folder, with Debian's nats-server and `pip install nats-py`:

    partq run nats_jetstream:NatsJetStream

*Routing.* The server partitions: its configuration maps the subject of a send, which bears the key, to one of
four, and a work-queue stream stores each of these. *Receiving.* Each stream has a durable consumer that all
clients share; a receive asks one after the other and waits at none, so that nothing is locked unseen.
*Settling.* ``+ACK``, ``-NAK`` and ``+WPI`` as requests: the server's answer says that it has dealt with it.

Each program has a server of its own, which may be killed and started again. Or set NATS_URL to a server that
runs already, with the last two lines of `CONFIGURATION`.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
import uuid
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import nats
from nats.aio.client import Client as Connection
from nats.aio.msg import Msg
from nats.errors import Error, NoRespondersError, TimeoutError
from nats.js.api import AckPolicy, RetentionPolicy
from nats.js.errors import APIError, NoStreamResponseError
from support import PrivateServer, key_of, packed, unpacked

from partq.conformance.adapters import Broker, Client, Indefinite, Rejected, Shares, Unreachable
from partq.model.messages import Delivery, Message
from partq.model.profiles import SECOND, Entity

URL: Final = os.environ.get("NATS_URL")
PARTITIONS: Final = 4
ANSWER: Final = 5.0
"""Seconds that a server which is there has to answer."""

SERVER: Final = "nats-server -c {folder}/server.conf"
CONFIGURATION: Final = """
listen: "127.0.0.1:{port}"
jetstream { store_dir: "{folder}" }
mappings = { "partq.*.*": "partq.{{wildcard(1)}}.{{partition(4,2)}}.{{wildcard(2)}}" }
"""


class NatsClient(Client):
    """One client, with a connection of its own."""

    def __init__(self, broker: NatsJetStream, connection: Connection) -> None:
        self.broker = broker
        self.connection = connection
        self.turn = 0

    def send(self, message: Message, *, txn: str | None = None, timeout: float = 60.0) -> None:
        """Publish, and wait until the stream says that it has stored the message."""
        body = packed(message).encode()
        stream = self.connection.jetstream()
        self._ask(stream.publish(self.route(message), body, timeout=min(timeout, ANSWER)))

    def receive(
        self, max_messages: int, *, mode: str = "peek_lock", timeout: float = 1.0
    ) -> Sequence[Delivery]:
        """Lock messages; ``receive_and_delete`` acknowledges them at once."""
        self._check_connection()
        try:
            taken: list[Msg] = self._ask(self._take(max_messages, timeout))
            for msg in taken if mode == "receive_and_delete" else ():
                self.complete([msg.reply])
        except Rejected as error:  # something may have been locked before
            raise Indefinite(error.kind, error.detail) from None
        return [self.shown(msg, locked=mode == "peek_lock") for msg in taken]

    def complete(self, locks: Sequence[str], *, txn: str | None = None) -> None:
        """Acknowledge."""
        self._settle(locks, b"+ACK")

    def abandon(self, locks: Sequence[str], *, txn: str | None = None) -> None:
        """Give back, to be delivered again."""
        self._settle(locks, b"-NAK")

    def renew_lock(self, lock: str) -> Sequence[Delivery]:
        """Say that somebody still works on it. How long it waits now the server does not tell."""
        self._settle([lock], b"+WPI")
        return []

    def close(self) -> None:
        """Close the connection."""
        self.broker.close_connection(self.connection)

    def route(self, message: Message) -> str:
        """Where it is published: one subject for each key, and for each message without a key."""
        key = key_of(message)
        return f"partq.{self.broker.name}.{key.encode().hex() if key else uuid.uuid4()}"

    def shown(self, msg: Msg, locked: bool) -> Delivery:
        """What the server shows of a message, and as its lock the subject that acknowledges it."""
        return unpacked(
            msg.data,
            partition=int(msg.subject.split(".")[2]),
            seq=msg.metadata.sequence.stream,
            delivery_count=msg.metadata.num_delivered - 1,
            lock=msg.reply if locked else None,
        )

    async def _take(self, most: int, timeout: float) -> list[Msg]:
        """One message of each partition, up to so many, beginning with another partition each time. Two of a
        partition would be two moments, and another client could get one between them."""
        deadline, pause, taken = time.monotonic() + timeout, 0.005, list[Msg]()
        while True:
            self.turn += 1
            for index in range(self.turn, self.turn + PARTITIONS):
                if len(taken) < most and (msg := await self._next(index % PARTITIONS)):
                    taken.append(msg)
            if taken or time.monotonic() > deadline:
                return taken
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.1)

    async def _next(self, index: int) -> Msg | None:
        """The partition's next message, if there is one now."""
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self.broker.stream(index)}.workers"
        request = b'{"batch": 1, "no_wait": true}'
        msg = await self.connection.request(subject, request, timeout=1.0, old_style=True)
        return msg if msg.reply else None  # without one it is a status: 404, no messages

    def _settle(self, locks: Sequence[str], word: bytes) -> None:
        if len(locks) > 1:
            raise Rejected("unsupported", "JetStream settles one by one, not all or none")
        if not locks[0].startswith("$JS.ACK."):
            raise Rejected("lock_lost", "no delivery bore it")
        self._ask(self.connection.request(locks[0], word, timeout=ANSWER))

    def _check_connection(self) -> None:
        if not self.connection.is_connected:
            raise Rejected("unavailable", "the connection is down")

    def _ask(self, request: Coroutine[Any, Any, Any]) -> Any:
        """Have it done. What nobody got did not happen; what is not answered may have."""
        try:
            self._check_connection()
            return self.broker.wait(request)
        except (NoRespondersError, NoStreamResponseError):
            raise Rejected("unavailable", "the server has not got it") from None
        except APIError as error:
            raise Rejected("internal", str(error)) from None
        except TimeoutError:
            raise Indefinite("timeout") from None
        finally:
            request.close()


class NatsJetStream(Broker):
    """Makes streams, consumers and clients; kills and starts the server if it is its own."""

    profile = "nats_jetstream.toml"
    client_class = NatsClient
    shares = Shares.FAULTS if URL else Shares.NOTHING
    lock_duration = SECOND
    server: PrivateServer | None = None
    control: Connection | None = None

    def open(self, entity: Entity) -> Entity:
        """A stream and a consumer for each partition."""
        self.name = uuid.uuid4().hex[:8]
        self.clients: list[NatsClient] = []
        self.server = self.control = None
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        if not URL:
            self.server = PrivateServer(*SERVER.split(), configuration=CONFIGURATION)
        self.url = URL or f"nats://127.0.0.1:{self.server.port}"
        try:
            self.control = self.wait(self._connection())
            self.wait(self._declare(entity.lock_duration / SECOND))
        except (Error, OSError) as error:
            raise Unreachable(f"no JetStream answers at {self.url}: {error}") from None
        return replace(entity, partitions=PARTITIONS, seq_start=1)

    def connect(self, proc: str) -> Client:
        """A connection of its own for each client."""
        self.clients.append(self.client_class(self, self.wait(self._connection())))
        return self.clients[-1]

    def inject(self, fault: str, args: dict[str, Any]) -> dict[str, Any]:
        """Kill the server, or start it again and wait until its clients have found it. No partition can be
        taken down alone, and a server at a URL is not ours to kill."""
        if URL or fault not in ("broker_kill", "broker_start"):
            raise Rejected("unsupported")
        if fault == "broker_kill":
            self.server.kill()
        else:
            self.server.start()
            self.wait(asyncio.wait_for(self._found_again(), ANSWER))
        return {}

    def is_empty(self) -> bool:
        """Nothing is left to deliver, and nothing is locked. What the streams hold does not tell: a server
        that was killed may keep a message whose acknowledgement it has."""
        stream = self.control.jetstream()
        workers = (self.wait(stream.consumer_info(self.stream(i), "workers")) for i in range(PARTITIONS))
        return not any(worker.num_pending or worker.num_ack_pending for worker in workers)

    def close(self) -> None:
        """Remove the server, or from one that stays the streams."""
        if self.server:
            self.server.remove()
        if self.control:
            for index in range(PARTITIONS) if URL else ():
                self.wait(self.control.jetstream().delete_stream(self.stream(index)))
            self.close_connection(self.control)
        self.loop.call_soon_threadsafe(self.loop.stop)

    def stream(self, index: int) -> str:
        """The name of a partition's stream."""
        return f"{self.name}-{index}"

    def wait(self, request: Coroutine[Any, Any, Any]) -> Any:
        """The library is asynchronous, an adapter is not: let the library's thread do it."""
        return asyncio.run_coroutine_threadsafe(request, self.loop).result()

    def close_connection(self, connection: Connection) -> None:
        """The library may not come to an end with a connection that it has lost."""
        with suppress(Exception):
            self.wait(asyncio.wait_for(connection.close(), 1))

    async def _connection(self) -> Connection:
        return await nats.connect(
            self.url, reconnect_time_wait=0.05, max_reconnect_attempts=600, error_cb=self._quiet
        )

    async def _quiet(self, error: Exception) -> None:
        """The library would print each attempt to find a killed server."""

    async def _declare(self, lock_seconds: float) -> None:
        js, once = self.control.jetstream(), RetentionPolicy.WORK_QUEUE
        for index, name in enumerate(map(self.stream, range(PARTITIONS))):
            await js.add_stream(name=name, subjects=[f"partq.{self.name}.{index}.*"], retention=once)
            options = {"durable_name": "workers", "ack_policy": AckPolicy.EXPLICIT, "ack_wait": lock_seconds}
            await js.add_consumer(name, **options)

    async def _found_again(self) -> None:
        connections = [self.control, *(client.connection for client in self.clients)]
        while not all(one.is_connected for one in connections):
            await asyncio.sleep(0.02)
