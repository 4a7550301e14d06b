"""A front end that can be made to take something else for the key. No mutant is here."""

from __future__ import annotations

from collections.abc import Sequence

from ..clock import HOP, Steps
from ..frontend import FrontEnd
from ..partition import Partition
from ..store import Content


class Misrouting(FrontEnd):
    """Messages are stored where what `mistaken` says belongs, instead of their key, if that partition is up;
    they are refused where both are down. What faults do to misrouted messages is no part of the defect."""

    def mistaken(self, key: str, contents: Sequence[Content], txn: str | None) -> str:
        """What is taken for the key."""
        return key

    def home(self, key: str, contents: Sequence[Content], txn: str | None) -> Partition:
        home = super().home(key, contents, txn)
        wrong = super().home(self.mistaken(key, contents, txn), contents, txn)
        return wrong if wrong.up else home

    def accept(self, partition: Partition, key: str | None, contents: Sequence[Content], since: int) -> None:
        if key is not None:
            partition = self.home(key, contents, None)
        super().accept(partition, key, contents, since)

    def _give_up(self, timeout: int) -> Steps[None]:
        yield HOP

    def _reroute(self, contents: Sequence[Content], timeout: int) -> Steps[Partition]:
        key = self.broker.rules.common_key(contents)
        if key is None:
            return (yield from super()._reroute(contents, timeout))
        home = self.home(key, contents, None)
        if not home.up:
            yield from super()._give_up(timeout)
        return home
