"""The front end of a queue with flows: consumers bind, and get what is in the partitions they were given.

Who has which partition is decided in `flows.py`. A message goes where its own key belongs, alone or in a
batch. There is no browsing, there are no transactions, and locks last until they are settled or their flow
loses the partition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .clock import HOP, Steps
from .core import Core
from .errors import Refused
from .flows import Assignments
from .freedoms import taken
from .frontend import FrontEnd
from .handoffs import READY, Flow, Seat
from .network import Connection
from .scaling import Scaling
from .sending import Send
from .settling import Settlement
from .store import Content, Stored
from .transactions import Transaction


class FlowEnd(FrontEnd):
    """The one front end of a queue with flows."""

    def __init__(self, broker: Core, assignments: Assignments, scaling: Scaling) -> None:
        super().__init__(broker, 0)
        self.assignments = assignments
        self.scaling = scaling

    def forget(self) -> None:
        super().forget()
        if taken(self.broker.free.keep_flows, self.clock.random):
            self.assignments.suspend()
        else:
            self.assignments.reset()

    def resume(self) -> None:
        self.assignments.resume()

    def admit(self, contents: Sequence[Content], txn: str | None) -> str | None:
        """A request has no key: each of its messages has one of its own."""
        return None

    def transaction(self, name: str) -> Transaction:
        raise Refused("unsupported", "no transactions on a queue with flows")

    def store(self, send: Send) -> Steps[None]:
        """Store all messages or none, each where its own key belongs."""
        yield HOP
        for content in self.in_any_order(send.contents):
            key = self.key_in(send, content)
            one = Send((content,), key, send.txn, send.timeout, send.since)
            self.put(one, self.next_partition() if key is None else self.home(key, one))
        yield HOP

    def key_in(self, send: Send, content: Content) -> str | None:
        """The key of one message of a request."""
        return self.broker.rules.key_of(content)

    def bind(self, connection: Connection, name: str, partition: int | None) -> Steps[None]:
        """Become a consumer, which cannot choose its partitions."""
        yield HOP
        self.broker.check_alive()
        self.admit_bind(connection.proc, name, partition)
        bound = next((flow for flow in self.assignments.flows if flow.name == name), None)
        if bound is None:
            self.assignments.bind(name, connection.proc)
        elif bound.left_over and bound.proc == connection.proc:
            bound.left_over = False
        else:
            raise Refused("invalid_operation", "a flow of that name is bound")
        yield HOP

    def rebind(self, connection: Connection, name: str) -> Steps[None]:
        """Become a consumer again, after a lost connection."""
        yield HOP
        self.broker.check_alive()
        if any(flow.name == name for flow in self.assignments.flows):
            raise Refused("invalid_operation", "a flow of that name is bound")
        self.assignments.rebind(name, connection.proc)
        yield HOP

    def admit_bind(self, proc: str, name: str, partition: int | None) -> None:
        """Raises `Refused` for a consumer that asks for a partition."""
        if partition is not None:
            raise Refused("invalid_operation", "a consumer cannot choose its partition")

    def unbind(self, connection: Connection, name: str) -> Steps[None]:
        """Stop being a consumer."""
        yield HOP
        self.broker.check_alive()
        gone = self.assignments.find(name, connection.proc) is None
        if not (gone and taken(self.broker.free.unbind_gone, self.clock.random)):
            self.assignments.lose(self.flow(connection, name))
        yield HOP

    def update(self, connection: Connection, settings: Mapping[str, Any]) -> Steps[None]:
        """Change settings of the queue."""
        yield HOP
        self.broker.check_has("REB-17")
        self.broker.check_alive()
        self.scaling.update(settings)
        yield HOP

    def parted(self, connection: Connection) -> None:
        """A client has disconnected: the broker treats its flows as unbound."""
        self.assignments.part(connection.proc)

    def flow(self, connection: Connection, name: str | None) -> Flow:
        """The client's flow. Raises `Refused`."""
        flow = self.assignments.find(name, connection.proc)
        if flow is None:
            raise Refused("not_found", "no such flow")
        return flow

    def receive(
        self, connection: Connection, most: int, delete: bool, timeout: int, name: str | None = None
    ) -> Steps[list[Any]]:
        """Up to ``most`` messages of the flow's partitions, waiting up to ``timeout`` ns for the first."""
        deadline = self.clock.now + timeout
        yield HOP
        if taken(self.broker.free.answer_nothing, self.clock.random):
            yield deadline
            return []
        self.broker.check_alive()
        self.flow(connection, name)
        yield HOP
        most = self.broker.fewer(most, self.broker.free.answer_short)
        while True:
            shown = self.collect(self.flow(connection, name), most, delete)
            if shown or self.clock.now >= deadline:
                yield HOP
                return shown
            yield from self.wait(deadline)

    def collect(self, flow: Flow, most: int, delete: bool) -> list[Any]:
        """The oldest messages of the flow's partitions, some of each."""
        shown: list[Any] = []
        seats = self.assignments.shuffled([seat for seat in self.seats_of(flow) if self.delivers(seat)])
        for seat in seats:
            heads = seat.partition.heads(most - len(shown))
            self.broker.join(shown, [self.hand_over(seat, stored, delete) for stored in heads])
        return shown

    def seats_of(self, flow: Flow) -> list[Seat]:
        """The partitions assigned to the flow."""
        return [seat for seat in self.assignments.seats if seat.flow is flow]

    def delivers(self, seat: Seat) -> bool:
        """Whether new messages of the partition may go out now."""
        return seat.state == READY and seat.partition.has_free(self.clock.now)

    def hand_over(self, seat: Seat, stored: Stored, delete: bool) -> Any:
        """Give a message to its flow; it is unacknowledged there, or on demand deleted at once."""
        if delete:
            seat.partition.complete(stored)
            return self.broker.show_to_flow(stored, None)
        token = self.broker.token()
        seat.partition.hold(stored, token)
        seat.unacked[token] = stored
        return self.broker.show_to_flow(stored, token)

    def settle_locks(self, asked: Settlement) -> Steps[None]:
        """Acknowledge all these messages, or give all of them back, or do nothing."""
        yield HOP
        tokens = tuple(token for token in dict.fromkeys(asked.tokens) if not self.scaling.forgives(token))
        seats = [self.seat_of(asked.connection, token) for token in tokens]
        for seat, token in zip(seats, tokens, strict=True):
            self.acknowledge(asked.action, seat, token)
        yield HOP

    def acknowledge(self, action: str, seat: Seat, token: str) -> None:
        """Settle one unacknowledged message: delete it, or give it back."""
        stored = seat.unacked.pop(token)
        if action == "complete":
            seat.partition.complete(stored)
        else:
            seat.partition.abandon(stored)
            self.broker.ring()
        self.assignments.settled(seat)

    def seat_of(self, connection: Connection, token: str) -> Seat:
        """Where the message with that token is unacknowledged by this client. Raises `Refused`."""
        for seat in self.assignments.seats:
            if token in seat.unacked and seat.flow is not None and seat.flow.proc == connection.proc:
                return seat
        raise Refused("lock_lost", "not unacknowledged here")
