"""A front end that can be made to take something else for the key. No mutant is here."""

from __future__ import annotations

from collections.abc import Sequence

from ..frontend import FrontEnd
from ..partition import Partition
from ..store import Content


class Misrouting(FrontEnd):
    """While everything is up, messages are routed by what `mistaken` says instead of by their key. What a
    fault of the wrong partition would do to them is thus no part of the defect."""

    def mistaken(self, key: str, contents: Sequence[Content], txn: str | None) -> str:
        """What is taken for the key."""
        return key

    def home(self, key: str, contents: Sequence[Content], txn: str | None) -> Partition:
        if all(partition.up for partition in self.partitions):
            key = self.mistaken(key, contents, txn)
        return super().home(key, contents, txn)
