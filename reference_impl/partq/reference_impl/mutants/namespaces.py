"""Defects in which queues a namespace holds beside the first (ENT-3, ENT-4, ENT-5)."""

from __future__ import annotations

from ..errors import Refused
from ..frontend import FrontEnd
from ..namespaces import Made, Namespace
from .forms import before, then
from .registry import defect


@defect("ENT-4", "check_kind", profile="azure-standard")
def no_plain_queue_beside(self: Namespace, partitioned: bool) -> None:
    """A queue without partitions is refused in a namespace that has one with."""
    if not partitioned:
        raise Refused("invalid_operation", "the namespace is partitioned")


@defect("ENT-4", "put", profile="azure-standard")
def every_queue_is_partitioned(self: Namespace, name: str, partitioned: bool) -> Made:
    """A queue without partitions is created with some."""
    return Namespace.put(self, name, True)


@defect("ENT-4", "put", before, profile="azure-standard")
def one_kind_replaces_the_other(self: Namespace, partitioned: bool) -> None:
    """A queue that is created removes those of the other kind."""
    for name in [name for name, kind in self.others.items() if kind is not partitioned]:
        del self.others[name]


@defect("ENT-5", "check_room", profile="azure-standard")
def no_entity_quota(self: Namespace, partitioned: bool, kinds: list[bool]) -> None:
    """A namespace takes any number of queues."""


@defect("ENT-5", "most_partitioned", profile="azure-standard")
def one_more_partitioned(self: Namespace) -> int:
    """A namespace takes one partitioned queue more than it may."""
    return Namespace.most_partitioned(self) + 1


@defect("ENT-5", "most_partitioned", profile="azure-standard")
def partitioned_queues_without_quota(self: Namespace) -> int:
    """Only the number of all queues is limited."""
    return self.most()


@defect("ENT-5", "kinds", profile="azure-standard")
def first_queue_counts_twice(self: Namespace) -> list[bool]:
    """The quota is reached one queue too soon."""
    return [*Namespace.kinds(self), True]


@defect("ENT-5", "check_room", profile="azure-standard")
def quota_called_invalid(self: Namespace, partitioned: bool, kinds: list[bool]) -> None:
    """One queue beyond the quota is refused as if it could never be."""
    try:
        Namespace.check_room(self, partitioned, kinds)
    except Refused:
        raise Refused("invalid_operation", "no such queue") from None


@defect("ENT-5", "put", profile="azure-standard")
def failed_create_takes_a_place(self: Namespace, name: str, partitioned: bool) -> Made:
    """While a partition is down a create fails, and the queue is there."""
    made = Namespace.put(self, name, partitioned)
    if self.broker.accounts.unhealthy():
        raise self.broker.outage("a partition is down")
    return made


@defect("ENT-4", "drop", then, profile="azure-standard")
def failed_delete_deletes(self: Namespace) -> None:
    """While a partition is down a delete fails, and the queue is gone."""
    if self.broker.accounts.unhealthy():
        raise self.broker.outage("a partition is down")


@defect("KEY-9", "check_settled", before)
def management_called_invalid_amid_an_outage(self: FrontEnd) -> None:
    """While a partition is down updates, creates and deletes are refused as if they could never be."""
    if self.broker.accounts.unhealthy():
        raise Refused("invalid_operation", "a partition is down")


@defect("ENT-3", "check_kind")
def plain_queue_on_premium(self: Namespace, partitioned: bool) -> None:
    """A queue without partitions is created on Premium, too."""
