"""RabbitMQ: one client. What the operations of the protocol are in AMQP 0-9-1.

*Consuming.* A client registers a consumer on every queue, each on a channel of its own, and keeps it: so a
queue's single active consumer is somebody, the others stand by, and it takes a fault to change that.
`basic.get` knows no single active consumer. A client registers on its share of the queues and a moment later
on all, so that each has some where it comes first. What the server pushes waits in an inbox
until a receive asks for it.

*Settling* is not answered in AMQP, so each settlement is followed by a synchronous request on its channel:
once that is answered, the server has dealt with it.

*Disconnecting* so that the order is kept: RabbitMQ advises to close the channel rather than to cancel the
consumer, because a cancelled one's prefetched messages come back one by one, behind what the next consumer
got meanwhile. So ``consumer`` cancels where nothing can be on its way (the application holds all that the
prefetch limit allows, and can go on to settle it) and closes the channel elsewhere; and everywhere with
classic queues of servers that do not survive a cancel.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from types import ModuleType
from typing import Any, Final, NamedTuple, Protocol

from partq.conformance.adapters.protocol import Client, Indefinite, Rejected
from partq.conformance.adapters.rabbitmq_address import Address
from partq.conformance.adapters.rabbitmq_wire import ack, close_only, cut, headers, nack, reject, shown
from partq.model.messages import Delivery, Message

WAYS: Final = ("connection", "channel", "consumer", "socket")
"""How a client may lose what it holds: it closes its connection, or its channels, cancels its consumers, or
its socket is cut without a word. The first is what a drain uses: its end is known when it returns."""

LONGEST_RECONNECT: Final = 60.0
RETRY: Final = 0.1
HEAD_START: Final = 0.1
"""Seconds: how long an operation tries to connect at most, whatever its timeout, and how often; and how much
earlier a client registers on its share of the queues than on all."""


class ServerState(StrEnum):
    """Of the server, as far as the injected faults show."""

    UP = "up"
    DEAD = "dead"
    STARTING = "starting"


class Server(Protocol):
    """The server under test, as its clients need it. ``pika``: the client library · ``cancels``: whether
    consumers may be cancelled · ``deaths``: how often it was killed · ``on_event``: records an event."""

    pika: ModuleType
    address: Address
    exchange: str
    queues: tuple[str, ...]
    clients: list[RabbitMQClient]
    cancels: bool
    deaths: int
    state: ServerState
    on_event: Callable[[str, dict[str, Any]], None]

    def connection(self) -> Any:
        """A new connection; raises what pika raises."""


class _Consumer:
    """A channel of one queue, with or without a consumer on it. ``credit``: how many messages the server may
    still push; ``hidden``: how many of those pushed the application has not seen."""

    __slots__ = ("channel", "credit", "hidden", "index", "name", "tag")

    def __init__(self, name: str, index: int, channel: Any) -> None:
        self.name = name
        self.index = index
        self.channel = channel
        self.tag: str | None = None
        self.credit = 0
        self.hidden = 0


class _Held(NamedTuple):
    """A delivery that is not settled. ``tag``: the consumer it came to, whose credit it uses."""

    consumer: _Consumer
    tag: str
    number: int
    delivery: Delivery


class RabbitMQClient(Client):
    """One client, with one connection."""

    def __init__(self, broker: Server, proc: str, rank: int) -> None:
        self.broker = broker
        self.proc = proc
        self.rank = rank
        self._tell = broker.on_event  # of this run; the broker may serve another when a late answer comes
        self._busy = threading.Lock()
        self._errors: tuple[type[BaseException], ...] = (broker.pika.exceptions.AMQPError, OSError)
        self._connection: Any = None
        self._publisher: Any = None
        self._deaths = 0
        self._opened = 0
        self._started = False
        self._consumers: dict[int, _Consumer] = {}
        self._inbox: deque[_Held] = deque()
        self._locks: dict[str, _Held] = {}
        self._dead: list[_Consumer] = []

    # The protocol's operations.

    def send(self, message: Message, *, txn: str | None = None, timeout: float = 60.0) -> None:
        """Publish, persistent and mandatory, and wait for the confirm. A *nack* says that the server refuses
        responsibility, not that nothing is stored: it is indefinite."""
        pika = self.broker.pika
        properties = pika.BasicProperties(headers=headers(message), delivery_mode=2)
        with self._working(timeout):
            if self._publisher is None or not self._publisher.is_open:
                self._publisher = self._connection.channel()
                self._publisher.confirm_delivery()
            try:
                self._publisher.basic_publish(
                    self.broker.exchange, "", message.body.encode(), properties, mandatory=True
                )
            except pika.exceptions.UnroutableError:
                raise Rejected("not_found", "returned: the exchange routes it to no queue") from None
            except pika.exceptions.NackError:
                raise Indefinite("internal", "nacked by the server") from None

    def receive(
        self, max_messages: int, *, mode: str = "peek_lock", timeout: float = 1.0, entity: str | None = None
    ) -> Sequence[Delivery]:
        """What the server has pushed, as a lock each; ``receive_and_delete`` acknowledges it at once."""
        with self._working(timeout):
            self._subscribe(timeout)
            taken = self._taken(max_messages, timeout)
            if mode == "receive_and_delete":
                self._settle(taken, ack)
                return [held.delivery._replace(lock=None) for held in taken]
            for held in taken:
                self._locks[str(held.delivery.lock)] = held
        return [held.delivery for held in taken]

    def complete(self, locks: Sequence[str], *, txn: str | None = None) -> None:
        """Acknowledge."""
        self._settle_locks(locks, ack)

    def abandon(self, locks: Sequence[str], *, txn: str | None = None) -> None:
        """Requeue: one message by *reject*, several by *nack*."""
        self._settle_locks(locks, reject if len(locks) == 1 else nack)

    def disconnect(self, *, how: str = "socket") -> None:
        """Lose connection, channels or consumers; the next call makes new ones."""
        if how not in WAYS:
            raise Rejected("unsupported", f"disconnect how={how}")
        with self._busy:
            if self._connection is None or not self._connection.is_open:
                self._forget()
                return
            try:
                _DISCONNECT[how](self)
            except self._errors:  # it was lost already
                self._hang_up()

    def close(self) -> None:
        """Close the connection."""
        self.hang_up()

    def hang_up(self) -> bool:
        """Close the connection in good order: what it held goes back. False while the client is in a call."""
        if not self._busy.acquire(blocking=False):
            return False
        try:
            self._hang_up()
        finally:
            self._busy.release()
        return True

    # The connection.

    @contextlib.contextmanager
    def _working(self, timeout: float) -> Iterator[None]:
        """A live connection in the body."""
        with self._busy:
            self._connect(time.monotonic() + min(timeout, LONGEST_RECONNECT))
            with self._asking():
                yield

    @contextlib.contextmanager
    def _asking(self) -> Iterator[None]:
        """If the connection ends in the body, whatever was asked of the server may have happened."""
        try:
            yield
        except Rejected:
            raise
        except self._errors as error:
            self._lost(type(error).__name__)
            raise Indefinite("connection_lost", f"{type(error).__name__}: {error}") from error
        except BaseException as error:
            self._lost(type(error).__name__)
            raise

    def _connect(self, deadline: float) -> None:
        """Connect, trying again until then, but not while the server is known to be dead."""
        self._notice()
        broker = self.broker
        while self._connection is None:
            problem = f"the server at {broker.address.place} is {broker.state}"
            deaths = broker.deaths
            if broker.state is ServerState.UP:
                try:
                    self._connection, self._deaths = broker.connection(), deaths
                    return
                except self._errors as error:
                    problem = f"no server at {broker.address.place}: {error!r}"
            left = deadline - time.monotonic()
            if broker.state is ServerState.DEAD or left <= 0:
                raise Rejected("unavailable", problem)
            time.sleep(min(left, RETRY))

    def _notice(self) -> None:
        if self._connection is not None and not self._connection.is_open:
            self._lost("closed by the server")

    def _lost(self, how: str) -> None:
        """The connection has ended without our doing; the history must know, for the locks ended with it."""
        self._hang_up()
        if self._deaths == self.broker.deaths:
            self._tell("connection_lost", {"proc": self.proc, "how": how})

    def _hang_up(self) -> None:
        with contextlib.suppress(*self._errors):
            if self._connection is not None and self._connection.is_open:
                self._close_channels()
                self._connection.close()
        self._forget()

    def _forget(self) -> None:
        self._connection = self._publisher = None
        self._consumers.clear()
        self._inbox.clear()
        self._locks.clear()
        self._dead.clear()

    # Consuming.

    def _subscribe(self, timeout: float) -> None:
        """Register on the queues where this client has no consumer: on its share first, then on all."""
        everything = range(len(self.broker.queues))
        if not self._started:
            crowd = len(self.broker.clients)
            self._register_on(index for index in everything if index % crowd == self.rank % crowd)
            self._await(min(timeout, HEAD_START))
        if self._started or not self._inbox:
            self._register_on(everything)
        self._started = True

    def _register_on(self, indexes: Iterable[int]) -> None:
        for index in indexes:
            consumer = self._consumer(index)
            if consumer.tag is None:
                self._register(consumer, self.broker.queues[index])

    def _consumer(self, index: int) -> _Consumer:
        consumer = self._consumers.get(index)
        if consumer is None or not consumer.channel.is_open:
            if consumer is not None:
                self._close(consumer)
            channel = self._connection.channel()
            channel.basic_qos(prefetch_count=self.broker.address.prefetch)
            self._opened += 1
            consumer = _Consumer(f"{self.proc}/{self.rank}.{self._opened}", index, channel)
            self._consumers[index] = consumer
        return consumer

    def _register(self, consumer: _Consumer, queue: str) -> None:
        tag = f"{consumer.name}.{uuid.uuid4().hex[:8]}"
        consumer.tag, consumer.credit = tag, self.broker.address.prefetch

        def pushed(channel: Any, method: Any, properties: Any, body: bytes) -> None:
            lock = f"{consumer.name}.{method.delivery_tag}"
            delivery = shown(consumer.index, lock, method.redelivered, properties.headers, body)
            consumer.hidden += 1
            consumer.credit -= 1
            self._inbox.append(_Held(consumer, tag, method.delivery_tag, delivery))

        consumer.channel.basic_consume(queue, pushed, consumer_tag=tag)
        consumer.channel.add_on_cancel_callback(lambda frame: self._dead.append(consumer))

    def _taken(self, most: int, timeout: float) -> list[_Held]:
        """Up to so many from the inbox, waiting for the first and for what comes along with it."""
        self._await(timeout)
        self._connection.process_data_events(0)
        self._bury()
        taken = [self._inbox.popleft() for _ in range(min(most, len(self._inbox)))]
        for held in taken:
            held.consumer.hidden -= 1
        return taken

    def _await(self, timeout: float) -> None:
        """Wait for the first message."""
        deadline = time.monotonic() + timeout
        while not self._inbox and (left := deadline - time.monotonic()) > 0:
            self._connection.process_data_events(left)

    def _bury(self) -> None:
        """Consumers that the server cancelled: their queue has failed, and what it had given out is void."""
        for consumer in self._dead:
            if self._consumers.get(consumer.index) is consumer:
                self._close(consumer)
                self._tell("connection_lost", {"proc": self.proc, "how": "consumer cancelled by the server"})
        self._dead.clear()

    # Settling.

    def _settle_locks(self, locks: Sequence[str], settle: Callable[[Any, int], None]) -> None:
        with self._busy:
            self._notice()
            known = [self._locks.get(lock) for lock in dict.fromkeys(locks)]
            live = [held for held in known if held is not None and held.consumer.channel.is_open]
            if len(live) < len(known):
                raise Rejected("lock_lost", "its channel has ended, or it was settled")
            with self._asking():
                self._settle(live, settle)
            for lock in locks:
                self._locks.pop(lock, None)

    def _settle(self, held: Sequence[_Held], settle: Callable[[Any, int], None]) -> None:
        consumers: dict[int, _Consumer] = {}
        for one in held:
            settle(one.consumer.channel, one.number)
            if one.tag == one.consumer.tag:
                one.consumer.credit += 1
            consumers[one.consumer.index] = one.consumer
        for index, consumer in consumers.items():
            consumer.channel.queue_declare(self.broker.queues[index], passive=True)

    # Disconnecting.

    def _close_channels(self) -> None:
        for consumer in list(self._consumers.values()):
            self._close(consumer)
        if self._publisher is not None:
            self._publisher.close()
            self._publisher = None

    def _close(self, consumer: _Consumer) -> None:
        """Close its channel: all of it that is not settled goes back at once, in order."""
        if consumer.channel.is_open:
            close_only(consumer.channel)
        del self._consumers[consumer.index]
        self._inbox = deque(held for held in self._inbox if held.consumer is not consumer)
        self._locks = {name: held for name, held in self._locks.items() if held.consumer is not consumer}

    def _cancel_consumers(self) -> None:
        self._connection.process_data_events(0)
        for consumer in list(self._consumers.values()):
            if consumer.tag is None:
                continue
            if consumer.credit or consumer.hidden or not self.broker.cancels:
                self._close(consumer)
            else:
                consumer.channel.basic_cancel(consumer.tag)
                consumer.tag = None

    def _cut(self) -> None:
        try:
            cut(self._connection, self.broker.pika.exceptions.StreamLostError("cut"))
        except AttributeError as error:
            raise Rejected("unsupported", f"this pika hides its socket: {error}") from None
        with contextlib.suppress(*self._errors):
            self._connection.process_data_events(0)
        self._forget()


_DISCONNECT: Final[Mapping[str, Callable[[RabbitMQClient], None]]] = {
    "connection": RabbitMQClient._hang_up,
    "channel": RabbitMQClient._close_channels,
    "consumer": RabbitMQClient._cancel_consumers,
    "socket": RabbitMQClient._cut,
}
