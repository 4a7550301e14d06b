"""A front end whose transactions can be made to take in what belongs elsewhere. No mutant is here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..clock import HOP, Steps
from ..frontend import FrontEnd
from ..partition import Partition
from ..store import Content
from ..transactions import Transaction


class Straying(FrontEnd):
    """What is sent in a transaction with a second key is stored where that belongs, after the commit, if
    `strays` says so."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._strays: dict[Transaction, list[tuple[Partition, Sequence[Content]]]] = {}

    def strays(self, txn: Transaction, key: str, contents: Sequence[Content]) -> bool:
        """Whether what is sent with this key, which is not the transaction's, goes elsewhere."""
        return False

    def _send_in(self, txn: Transaction, key: str | None, contents: Sequence[Content]) -> Steps[None]:
        if key is None or txn.key in (None, key) or not self.strays(txn, key, contents):
            yield from super()._send_in(txn, key, contents)
            return
        yield HOP
        self.broker.check_open(txn)
        home = self.home(key, contents, txn.name)
        self.broker.check_up(home)
        self._strays.setdefault(txn, []).append((home, contents))

    def commit(self, name: str) -> Steps[None]:
        txn = self.broker.transactions.get(name)
        yield from super().commit(name)
        for home, contents in self._strays.pop(txn, ()) if txn is not None else ():
            self.broker.accept(home, contents)
