"""RabbitMQ: a real server under test, as a partitioned queue.

The queue is an ``x-consistent-hash`` exchange and one durable queue for each partition, each with a single
active consumer. Here are the making and removing of these, and the server's death; the URL is in
`rabbitmq_address.py`, what a client does in `rabbitmq_client.py`. Everything is made anew for each program,
under names of its own, so that runs may share a server; only the fault ``broker_kill`` needs a server that
nobody else uses.

``PARTQ_RABBITMQ_CONTROL`` names a program that kills and starts the server (such as ``tools/rabbitmq``:
called with ``kill``, ``start`` or ``url``); it is never taken from a URL, which a stored file may hold.
"""

from __future__ import annotations

import logging
import os
import subprocess
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any, ClassVar, Final

from partq.conformance.adapters.names import UnknownBroker
from partq.conformance.adapters.protocol import Broker, Client, Indefinite, Rejected, Shares, Unreachable
from partq.conformance.adapters.rabbitmq_address import address
from partq.conformance.adapters.rabbitmq_client import WAYS, RabbitMQClient, ServerState
from partq.conformance.adapters.rabbitmq_wire import HASH_HEADER
from partq.model.profiles import PROFILES, Entity, admit

log = logging.getLogger(__name__)

CONTROL: Final = "PARTQ_RABBITMQ_CONTROL"
LEFT_BEHIND: Final = 3_600_000
"""ms after which the server removes a queue that nobody uses, should a run not be able to."""

MANY: Final = 1_000_000
"""Deliveries after which a quorum queue gives a message up. Without a limit it requeues at its tail."""

CANCEL_IS_SAFE_SINCE: Final[Mapping[tuple[int, int], int]] = {(3, 9): 27, (3, 10): 13, (3, 11): 5}
"""Series -> the release since when a classic queue with single active consumer survives that its consumer is
cancelled. Before, the next one gets nothing, and the next publish crashes the queue's process, which gives
out again what others hold (rabbitmq-server issue 5460; release notes of these)."""

SETTLED: Final = 4.0
"""Seconds that a quorum queue must be old when its server is killed. RabbitMQ writes down that it exists with
a delay (3 s at 3.10.8); killed before, it comes back without a leader and without its confirmed messages."""

CONTROL_LIMIT: Final = 150.0
EMPTY_LIMIT: Final = 10.0
"""Seconds: for the helper program; until the last consumers must have left an empty queue."""


def prefetching() -> str:
    """The profile of clients that hold several messages of a queue at a time."""
    family = PROFILES[RabbitMQ.profile]
    rules = {word: ground for word, ground in family.rules.items() if word != "ORD-3"}
    return admit(replace(family, name="rabbitmq-prefetch", title=f"{family.title}; prefetch", rules=rules))


class RabbitMQ(Broker):
    """A RabbitMQ server under test. One object serves one program after the other."""

    profile = "rabbitmq"
    client_class = RabbitMQClient
    ways_to_disconnect: ClassVar[tuple[str, ...]] = WAYS
    shares: ClassVar[Shares] = Shares.FAULTS

    def __init__(self, url: str) -> None:
        self.address = address(url)
        self.pika = _pika()
        self.exchange = ""
        self.queues: tuple[str, ...] = ()
        self.clients: list[RabbitMQClient] = []
        self.cancels = True
        self.deaths = 0
        self.state = ServerState.UP

    def profiles(self) -> tuple[str, ...]:
        """Of a client that prefetches it is not promised that what it gives back comes next (ORD-3)."""
        return (self.profile if self.address.prefetch == 1 else prefetching(),)

    def open(self, entity: Entity) -> Entity | None:
        """Declare exchange and queues. Raises `Unreachable` where the server does not answer or refuses."""
        partitions = self.address.partitions or entity.partitions
        self.exchange, self.queues, self.clients = "", (), []
        errors = self.pika.exceptions
        try:
            with self.connection() as connection:
                self.cancels = self.address.cancel == "always" or self._cancel_is_safe(connection)
                self._declare(connection.channel(), partitions)
        except (errors.ProbableAuthenticationError, errors.ProbableAccessDeniedError) as error:
            where = f"{self.address.place}, virtual host {self.address.vhost!r}"
            raise Unreachable(f"RabbitMQ at {where} refuses user {self.address.user!r}: {error}") from None
        except errors.ChannelClosedByBroker as error:
            hint = "; run 'rabbitmq-plugins enable rabbitmq_consistent_hash_exchange'"
            text = f"RabbitMQ at {self.address.place} refuses the queue: {error.reply_text}"
            raise Unreachable(text + (hint if "exchange type" in error.reply_text else "")) from None
        except (errors.AMQPError, OSError):
            hint = "start it ('tools/rabbitmq start' prints a URL), or correct host and port"
            raise Unreachable(f"no RabbitMQ server answers at {self.address.place}: {hint}") from None
        if self.address.type == "quorum" and os.environ.get(CONTROL):
            time.sleep(SETTLED)
        return replace(entity, partitions=partitions)

    def _cancel_is_safe(self, connection: Any) -> bool:
        """Whether consumers may be cancelled without harm, by the server's version where it says one."""
        impl = getattr(connection, "_impl", None)
        said = (getattr(impl, "server_properties", None) or {}).get("version", "")
        version = [int(part) for part in str(said).split(".")[:3] if part.isdecimal()]
        if self.address.type != "classic" or len(version) < 3:
            return True
        series = (version[0], version[1])
        return series > max(CANCEL_IS_SAFE_SINCE) or version[2] >= CANCEL_IS_SAFE_SINCE.get(series, 10**9)

    def _declare(self, channel: Any, partitions: int) -> None:
        self.exchange = f"partq.{uuid.uuid4().hex}"
        self.queues = tuple(f"{self.exchange}.{index}" for index in range(partitions))
        channel.exchange_declare(
            self.exchange,
            "x-consistent-hash",
            durable=True,
            auto_delete=True,
            arguments={"hash-header": HASH_HEADER},
        )
        arguments = {
            "x-queue-type": self.address.type,
            "x-single-active-consumer": True,
            "x-expires": LEFT_BEHIND,
        }
        if self.address.type == "quorum":
            arguments["x-delivery-limit"] = MANY
        for queue in self.queues:
            channel.queue_declare(queue, durable=True, arguments=arguments)
            channel.queue_bind(queue, self.exchange, routing_key="1")

    def connection(self) -> Any:
        """A new connection; raises what pika raises."""
        at, pika = self.address, self.pika
        return pika.BlockingConnection(
            pika.ConnectionParameters(
                host=at.host,
                port=at.port,
                virtual_host=at.vhost,
                credentials=pika.PlainCredentials(at.user, at.password),
                # A client that has nothing to do must not lose its locks for being silent.
                heartbeat=0,
                blocked_connection_timeout=30,
                socket_timeout=10,
                stack_timeout=20,
            )
        )

    def connect(self, proc: str) -> Client:
        """A client with a connection of its own, opened with its first call."""
        client = RabbitMQClient(self, proc, rank=len(self.clients))
        self.clients.append(client)
        return client

    def is_empty(self) -> bool | None:
        """Whether no queue holds anything. All clients hang up first, for what they hold is not counted."""
        hung_up = [client.hang_up() for client in self.clients]
        if not all(hung_up):
            return False
        deadline = time.monotonic() + EMPTY_LIMIT
        try:
            with self.connection() as connection:
                channel = connection.channel()
                return all(self._is_bare(channel, queue, deadline) for queue in self.queues)
        except (self.pika.exceptions.AMQPError, OSError):
            return False

    def _is_bare(self, channel: Any, queue: str, deadline: float) -> bool:
        """Whether the queue has no message, once it has no consumer."""
        while True:
            seen = channel.queue_declare(queue, passive=True).method
            if seen.message_count or time.monotonic() > deadline:
                return False
            if not seen.consumer_count:
                return True
            time.sleep(0.05)

    # Faults: the server's death.

    def lacks(self) -> frozenset[str]:
        """Partitions cannot be stopped one by one, and the server only by a helper program."""
        missing = super().lacks() | {"partition_down", "partition_up", "frontend_lost"}
        return missing if os.environ.get(CONTROL) else missing | {"broker_kill", "broker_start"}

    def inject(self, fault: str, args: dict[str, Any]) -> dict[str, Any]:
        """``broker_kill`` (SIGKILL) and ``broker_start``, by the helper program."""
        if fault in self.lacks():
            raise Rejected("unsupported", f"{fault} (set {CONTROL})")
        if fault == "broker_kill":
            self._kill()
        else:
            self._start()
        return {}

    def _is_controlled(self) -> bool:
        """Whether the helper program's server is this one."""
        return address(self._control("url")).port == self.address.port

    def _kill(self) -> None:
        if not self._is_controlled():
            raise Rejected(
                "unsupported", f"{CONTROL} has another server than the one at {self.address.place}"
            )
        self.deaths += 1
        self.state = ServerState.DEAD
        self._control("kill")

    def _start(self) -> None:
        self.state = ServerState.STARTING
        self._control("start")
        self.state = ServerState.UP

    def _control(self, action: str) -> str:
        command = [os.environ[CONTROL], action]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=CONTROL_LIMIT,
                check=True,
                stdin=subprocess.DEVNULL,
            )
        except (OSError, subprocess.SubprocessError) as error:
            detail = getattr(error, "stderr", None) or error
            raise Indefinite("internal", f"{' '.join(command)}: {detail}") from error
        return done.stdout.strip()

    def restore(self) -> None:
        """Start the server, if the helper program is there and the server is its own."""
        try:
            if os.environ.get(CONTROL) and self._is_controlled():
                self._start()
        except Rejected as error:
            log.warning("not brought up at %s: %s", self.address.place, error)

    def close(self) -> None:
        """Delete exchange and queues; a server that was killed is started for that, and left running."""
        for client in self.clients:
            client.hang_up()
        try:
            if self.state is not ServerState.UP:
                self._start()
            if not self.exchange:
                return
            with self.connection() as connection:
                channel = connection.channel()
                for queue in self.queues:
                    channel.queue_delete(queue)
                channel.exchange_delete(self.exchange)
        except (Rejected, self.pika.exceptions.AMQPError, OSError):
            log.warning("left behind at %s: %s*; the server removes it", self.address.place, self.exchange)


def _pika() -> ModuleType:
    """The client library, imported only now. Raises `UnknownBroker` where it is missing."""
    try:
        import pika
        import pika.exceptions
    except ImportError:
        raise UnknownBroker("RabbitMQ needs the library pika: pip install 'partq[rabbitmq]'") from None
    # Connections end here all the time, on purpose; without a handler pika writes that to standard error.
    logging.getLogger("pika").addHandler(logging.NullHandler())
    module: ModuleType = pika
    return module
