"""Defects in which queues a namespace holds beside the first (ENT-4, ENT-5)."""

from __future__ import annotations

from ...errors import Refused
from ...namespaces import Namespace
from ..registry import defect


@defect("ENT-4", "check_kind", profile="azure-standard")
def second_kind_is_final(self: Namespace, partitioned: bool) -> None:
    """Once there is a queue without partitions, no further one has some."""
    if partitioned and not all(self.others.values()):
        raise Refused("invalid_operation", "there is a queue without partitions")


@defect("ENT-5", "kinds", profile="azure-standard")
def first_queue_does_not_count(self: Namespace) -> list[bool]:
    """Only what was created counts."""
    return [*self.others.values()]
