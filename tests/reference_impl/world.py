"""A broker in virtual time for tests: clients written as coroutines, answers as plain values."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from partq.reference_impl.broker import SECOND, Broker, Config, Parts, Shown
from partq.reference_impl.clock import Simulation, Steps
from partq.reference_impl.durable import DurableBroker
from partq.reference_impl.network import Answer, Connection


@dataclass(frozen=True)
class Post:
    """A message to send."""

    id: str
    body: str = ""
    session_id: str | None = None
    partition_key: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    scheduled_at: int | None = None
    ttl: int | None = None
    without_id: bool = False


class World:
    """One broker and its clock. Each method that asks the broker is a coroutine and answers what the client
    learned: ``(outcome, kind, messages)``. ``folder``: for its files, if it is a durable one; ``start``:
    ns at which its clock begins."""

    def __init__(
        self,
        seed: int = 1,
        parts: Parts | None = None,
        folder: Path | None = None,
        start: int = 0,
        **settings: Any,
    ) -> None:
        self.told: list[tuple[int, int, str, str]] = []
        self.clock = Simulation(seed, start)
        config = Config(tell=self._tell, **settings)
        self.broker = (
            DurableBroker(config, self.clock, folder, outlives=False)
            if folder is not None
            else Broker(config, self.clock, parts)
        )
        self.connections: dict[str, Connection] = {}

    def _tell(self, partition: int, flow: str, state: str) -> None:
        self.told.append((self.clock.now, partition, flow, state))

    def run(self, *coroutines: Generator[Any, None, Any]) -> list[Any]:
        """Run them all to the end, interleaved; their results."""
        results: list[Any] = [None] * len(coroutines)

        def kept(place: int, steps: Generator[Any, None, Any]) -> Steps[None]:
            results[place] = yield from steps

        for place, steps in enumerate(coroutines):
            self.clock.spawn(kept(place, steps))
        self.clock.run()
        return results

    def do(self, operation: Generator[Any, None, Any]) -> Any:
        """Run one coroutine to its end; its result."""
        return self.run(operation)[0]

    def client(self, proc: str) -> Connection:
        if proc not in self.connections:
            self.connections[proc] = self.broker.connect(proc)
        return self.connections[proc]

    def _call(self, proc: str, op: str, *args: Any, dead_letters: bool = False) -> Steps[Answer]:
        connection = self.client(proc)
        end = self.broker.end_of(connection)
        end = end.dead_letters if dead_letters and end.dead_letters is not None else end
        return (yield from connection.call(getattr(end, op)(*args)))

    def send(
        self, *posts: Post, proc: str = "c", txn: str | None = None, timeout: int = 60 * SECOND
    ) -> Steps[Answer]:
        return self._call(proc, "send", posts, txn, timeout)

    def schedule(
        self, *posts: Post, proc: str = "c", txn: str | None = None, timeout: int = 60 * SECOND
    ) -> Steps[Answer]:
        return self._call(proc, "schedule", posts, txn, timeout)

    def cancel(self, number: int, *, proc: str = "c", txn: str | None = None) -> Steps[Answer]:
        return self._call(proc, "cancel", number, txn)

    def receive(
        self,
        most: int = 1,
        *,
        proc: str = "c",
        delete: bool = False,
        timeout: int = SECOND,
        flow: str = "",
        dead_letters: bool = False,
    ) -> Steps[Answer]:
        asked = self.client(proc), most, delete, timeout, flow
        return self._call(proc, "receive", *asked, dead_letters=dead_letters)

    def settle(
        self, action: str, *tokens: str, proc: str = "c", txn: str | None = None, reason: str | None = None
    ) -> Steps[Answer]:
        return self._call(proc, "settle", self.client(proc), action, tokens, txn, reason)

    def receive_deferred(self, *numbers: int | None, proc: str = "c") -> Steps[Answer]:
        return self._call(proc, "receive_deferred", self.client(proc), numbers)

    def accept(self, session: str | None, *, proc: str = "c", timeout: int = SECOND) -> Steps[Answer]:
        return self._call(proc, "accept_session", self.client(proc), session, timeout)

    def receive_in(
        self, session: str, most: int = 1, *, proc: str = "c", delete: bool = False
    ) -> Steps[Answer]:
        return self._call(proc, "receive_session", self.client(proc), session, most, delete, SECOND)

    def renew_session(self, session: str, *, proc: str = "c") -> Steps[Answer]:
        return self._call(proc, "renew_session", self.client(proc), session)

    def note(self, session: str, state: str, *, proc: str = "c") -> Steps[Answer]:
        return self._call(proc, "set_session_state", self.client(proc), session, state)

    def noted(self, session: str, *, proc: str = "c") -> Steps[Answer]:
        return self._call(proc, "get_session_state", self.client(proc), session)

    def close(self, session: str, *, proc: str = "c") -> Steps[Answer]:
        return self._call(proc, "close_session", self.client(proc), session)

    def get(self, *, proc: str = "c") -> Steps[Answer]:
        return self._call(proc, "get", self.client(proc))

    def update(self, *, proc: str = "c", **settings: Any) -> Steps[Answer]:
        return self._call(proc, "update", self.client(proc), settings)

    def create(self, name: str, partitioned: bool = True, *, proc: str = "c") -> Steps[Answer]:
        settings = {"name": name, "partitioned": partitioned}
        return self._call(proc, "create", self.client(proc), settings)

    def delete(self, name: str, *, proc: str = "c") -> Steps[Answer]:
        return self._call(proc, "delete", self.client(proc), {"name": name})

    def renew(self, token: str, *, proc: str = "c") -> Steps[Answer]:
        return self._call(proc, "renew", token)

    def peek(
        self, most: int = 100, *, proc: str = "c", number: int | None = None, dead_letters: bool = False
    ) -> Steps[Answer]:
        return self._call(proc, "peek", self.client(proc), most, number, dead_letters=dead_letters)

    def begin(self, txn: str = "t") -> Steps[Answer]:
        return self._call("c", "begin", txn)

    def commit(self, txn: str = "t") -> Steps[Answer]:
        return self._call("c", "commit", txn)

    def rollback(self, txn: str = "t") -> Steps[Answer]:
        return self._call("c", "rollback", txn)

    def bind(self, flow: str, *, proc: str = "c", partition: int | None = None) -> Steps[Answer]:
        return self._call(proc, "bind", self.client(proc), flow, partition)

    def unbind(self, flow: str, *, proc: str = "c") -> Steps[Answer]:
        return self._call(proc, "unbind", self.client(proc), flow)

    def disconnect(self, *, proc: str = "c") -> Steps[Answer]:
        return self._call(proc, "disconnect", self.client(proc))

    def sleep(self, ns: int) -> Steps[None]:
        yield self.clock.now + ns

    def until(self, at: int) -> Steps[None]:
        yield at


def outcome(answer: Answer) -> str:
    """``ok``, or the kind of error with a ``?`` where it is unsure."""
    state, kind, _ = answer
    if state == "ok":
        return "ok"
    return f"{kind}?" if state == "unknown" else str(kind)


def ids(answer: Answer) -> list[str]:
    """The messages of an answer by ID."""
    return [shown.id for shown in answer[2]]


def only(answer: Answer) -> Shown:
    """The one message of an answer."""
    (shown,) = answer[2]
    assert isinstance(shown, Shown)
    return shown


def key_for(broker: Broker, index: int) -> str:
    """A key that lives in that partition."""
    return next(key for n in range(1000) if broker.partition_for(key := f"k{n}") is broker.partitions[index])
