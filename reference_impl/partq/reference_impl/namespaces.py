"""The namespace that a queue is in: the other queues there, by name, and how many there may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .clock import HOP, Steps
from .errors import Refused
from .freedoms import taken
from .settings import Config


class Made(NamedTuple):
    """What a queue has become."""

    partitioned: bool


class Namespace:
    """The queues of a namespace but for the first: name -> whether it is partitioned. ``left``: of those that
    were deleted the kinds, as their places are not free at once."""

    def __init__(self, broker: Any) -> None:
        self.broker = broker
        self.config: Config = broker.config
        self.others: dict[str, bool] = {}
        self.left: list[bool] = []

    def admit(self, name: str, partitioned: bool) -> None:
        """Raises `Refused` where there can be no such queue."""
        self.check_kind(partitioned)
        if name in self.others:
            raise Refused("invalid_operation", "there is a queue of that name")
        late = bool(self.left) and taken(self.broker.free.slow_to_free, self.broker.clock.random)
        if self.config.has("ENT-5"):
            self.check_room(partitioned, [*self.kinds(), *(self.left if late else ())])

    def check_kind(self, partitioned: bool) -> None:
        """All queues of a Premium namespace are partitioned."""
        if not partitioned and self.config.has("ENT-3"):
            raise Refused("invalid_operation", "every queue here is partitioned")

    def check_room(self, partitioned: bool, kinds: list[bool]) -> None:
        """Beside queues of these kinds there is room for one more. Raises `Refused`."""
        if len(kinds) >= self.most():
            raise Refused("quota", "the namespace has no room for another queue")
        if partitioned and sum(kinds) >= self.most_partitioned():
            raise Refused("quota", "the namespace has no room for another partitioned queue")

    def kinds(self) -> list[bool]:
        """Of each queue whether it is partitioned."""
        return [self.config.partitioned, *self.others.values()]

    def most(self) -> int:
        """How many queues there may be."""
        return self.config.max_entities

    def most_partitioned(self) -> int:
        """How many of them may be partitioned."""
        return self.config.max_partitioned_entities

    def put(self, name: str, partitioned: bool) -> Made:
        """Make the queue."""
        self.others[name] = partitioned
        return Made(partitioned)

    def drop(self, name: str) -> None:
        """Delete the queue. Raises `Refused`."""
        if name not in self.others:
            raise Refused("not_found", "there is no queue of that name")
        self.left.append(self.others.pop(name))


class Founding:
    """A front end's side of it: queues are created and deleted."""

    broker: Any

    def create(self, connection: Any, settings: Mapping[str, Any]) -> Steps[list[Made]]:
        """Create a queue."""
        yield HOP
        self.check_settled()
        name, partitioned = settings["name"], settings["partitioned"]
        self.broker.namespace.admit(name, partitioned)
        made = self.broker.namespace.put(name, partitioned)
        yield HOP
        return [made]

    def delete(self, connection: Any, settings: Mapping[str, Any]) -> Steps[None]:
        """Delete a queue."""
        yield HOP
        self.check_settled()
        self.broker.namespace.drop(settings["name"])
        yield HOP

    def check_settled(self) -> None:
        """Raises `Refused` where there is no management, or an outage prevents it."""
        broker = self.broker
        broker.check_has("ENT-1")
        broker.check_alive()
        if broker.accounts.unhealthy() and taken(broker.free.refuse_update, broker.clock.random):
            raise broker.outage("a partition is down")
