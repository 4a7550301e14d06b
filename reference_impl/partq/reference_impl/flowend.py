"""The front end of a queue with flows: consumers bind, and get what is in the partitions they were given.

Who has which partition is decided in `flows.py`. A message goes where its own key belongs, alone or in a
batch. There is no browsing, there are no transactions, and locks last until they are settled or their flow
loses the partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .clock import HOP, Steps
from .core import Core
from .errors import Refused
from .flows import READY, Assignments, Flow, Seat
from .freedoms import taken
from .frontend import FrontEnd
from .network import Connection
from .store import Content, Stored


class FlowEnd(FrontEnd):
    """The one front end of a queue with flows."""

    def __init__(self, broker: Core, assignments: Assignments) -> None:
        super().__init__(broker, 0)
        self.assignments = assignments

    def forget(self) -> None:
        super().forget()
        if taken(self.broker.free.keep_flows, self.clock.random):
            self.assignments.suspend()
        else:
            self.assignments.reset()

    def resume(self) -> None:
        self.assignments.resume()

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        """Store all messages or none, each where its own key belongs."""
        yield from self.arrive(lambda: self.send(contents, txn, timeout))
        self.broker.check_alive()
        since = self.clock.now
        if txn is not None:
            raise Refused("unsupported", "no transactions on a queue with flows")
        yield HOP
        for content in self.in_any_order(contents):
            key = self.broker.rules.key_of(content)
            partition = self.next_partition() if key is None else self.home(key, (content,), txn)
            self.accept(partition, key, (content,), since)
        yield HOP

    def bind(self, connection: Connection, name: str, partition: int | None) -> Steps[None]:
        """Become a consumer. A consumer has no say in its partitions."""
        yield HOP
        self.broker.check_alive()
        if partition is not None:
            self.refuse_choice()
        bound = next((flow for flow in self.assignments.flows if flow.name == name), None)
        if bound is None:
            self.assignments.bind(name, connection.proc)
        elif bound.left_over and bound.proc == connection.proc:
            bound.left_over = False
        else:
            raise Refused("invalid_operation", "a flow of that name is bound")
        yield HOP

    def refuse_choice(self) -> None:
        """A consumer cannot choose its partition."""
        raise Refused("invalid_operation", "a consumer cannot choose its partition")

    def unbind(self, connection: Connection, name: str) -> Steps[None]:
        """Stop being a consumer."""
        yield HOP
        self.broker.check_alive()
        gone = self.assignments.find(name, connection.proc) is None
        if not (gone and taken(self.broker.free.unbind_gone, self.clock.random)):
            self.assignments.lose(self.flow(connection, name))
        yield HOP

    def parted(self, connection: Connection) -> None:
        """To the broker that is as if all the client's flows had unbound."""
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
            show = self.broker.show_to_flow
            self.broker.join(shown, [show(stored, self.hand_out(seat, stored, delete)) for stored in heads])
        return shown

    def seats_of(self, flow: Flow) -> list[Seat]:
        """The partitions that the flow has."""
        return [seat for seat in self.assignments.seats if seat.flow is flow]

    def delivers(self, seat: Seat) -> bool:
        """Whether new messages of the partition may go out now."""
        return seat.state == READY and seat.partition.has_free(self.clock.now)

    def hand_out(self, seat: Seat, stored: Stored, delete: bool) -> str | None:
        """Give a message to its flow; it is unacknowledged there, or on demand deleted at once."""
        if delete:
            seat.partition.complete(stored)
            return None
        token = self.broker.token()
        seat.partition.hold(stored, token)
        seat.unacked[token] = stored
        return token

    def settle(
        self, connection: Connection, action: str, tokens: Sequence[str], txn: str | None
    ) -> Steps[None]:
        """Acknowledge all these messages, or give all of them back, or do nothing."""
        yield from self.arrive(lambda: self.settle(connection, action, tokens, txn))
        self.broker.check_alive()
        if txn is not None:
            raise Refused("unsupported", "no transactions on a queue with flows")
        yield HOP
        tokens = tuple(dict.fromkeys(tokens))
        seats = [self.seat_of(connection, token) for token in tokens]
        for seat, token in zip(seats, tokens, strict=True):
            stored = seat.unacked.pop(token)
            if action == "complete":
                seat.partition.complete(stored)
            else:
                seat.partition.abandon(stored)
                self.broker.ring()
            self.assignments.settled(seat)
        yield HOP

    def seat_of(self, connection: Connection, token: str) -> Seat:
        """Where the message with that token is unacknowledged by this client. Raises `Refused`."""
        for seat in self.assignments.seats:
            if token in seat.unacked and seat.flow is not None and seat.flow.proc == connection.proc:
                return seat
        raise Refused("lock_lost", "not unacknowledged here")
