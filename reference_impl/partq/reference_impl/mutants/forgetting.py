"""A front end that can be made to forget what is asked of transactions that are over. No mutant is here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..clock import HOP, Steps
from ..frontend import FrontEnd
from ..network import Connection
from ..store import Content


class Forgetting(FrontEnd):
    """A ``REQUEST`` in a transaction that was ended here by one of ``ENDS`` is answered, and not done. Both
    are names of requests."""

    REQUEST: ClassVar[str]
    ENDS: ClassVar[tuple[str, ...]]

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._over: set[str | None] = set()

    def commit(self, name: str) -> Steps[None]:
        return self._answer("commit", name, super().commit(name))

    def rollback(self, name: str) -> Steps[None]:
        return self._answer("rollback", name, super().rollback(name))

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        return self._answer("send", txn, super().send(contents, txn, timeout))

    def settle(
        self, connection: Connection, action: str, tokens: Sequence[str], txn: str | None
    ) -> Steps[None]:
        return self._answer("settle", txn, super().settle(connection, action, tokens, txn))

    def _answer(self, request: str, name: str | None, steps: Steps[None]) -> Steps[None]:
        """Take the request's steps, unless it is to be forgotten."""
        over = name in self._over and name not in self.broker.transactions
        if request == self.REQUEST and over and self.broker.alive:
            yield HOP
            return
        yield from steps
        if request in self.ENDS:
            self._over.add(name)
