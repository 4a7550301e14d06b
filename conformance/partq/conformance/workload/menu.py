"""What clients can do next, one step at a time, by what they hold: for a person, or a seed, to choose
from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from partq.conformance.history import Record
from partq.conformance.workload.cases import steps
from partq.conformance.workload.program import Step
from partq.conformance.workload.script import Script
from partq.model.messages import Message
from partq.model.operations import UNDOES


class Choice(NamedTuple):
    """A step that makes sense now, and what it does in words."""

    step: Step
    text: str


class Menu:
    """The choices of a session. The first client sends ``messages``, one after the other, and has the one
    transaction. ``operations``: what is chosen from."""

    def __init__(
        self,
        clients: Sequence[str],
        messages: Sequence[Message],
        partitions: int,
        operations: frozenset[str],
    ) -> None:
        self._scripts = {client: Script(client) for client in clients}
        self._producer = clients[0]
        self._unsent = [*messages]
        self._partitions = partitions
        self._operations = operations
        self._message_of: dict[str, str] = {}
        self._down: set[int] = set()
        self._begun = False

    def learn(self, step: Step, record: Record) -> None:
        """What came of a step."""
        if "index" in step.args:
            (self._down.discard if step.op in UNDOES else self._down.add)(step.args["index"])
        for message in step.args.get("messages", ()):
            self._unsent.remove(message)
        self._begun |= "txn" in record.args
        self._message_of |= {shown.lock: shown.id for shown in record.messages if shown.lock is not None}
        if not record.is_env:
            script = self._scripts[record.proc]
            script.absorb(record.op, record.args, record.outcome, record.error, record.messages)

    def choices(self) -> list[Choice]:
        """The steps that make sense now, in an order that depends on what happened alone."""
        every = [*self._sends(), *self._transaction(), *self._consuming(), *self._faults()]
        return [choice for choice in every if choice.step.op in self._operations]

    def _sends(self) -> Iterator[Choice]:
        producer = self._producer
        if not self._unsent:
            return
        message = self._unsent[0]
        key = f" key={message.partition_key}" if message.partition_key else ""
        yield Choice(steps.send(producer, message), f"{producer} send {message.id}{key}")
        if self._scripts[producer].txn:
            text = f"{producer} send {message.id}{key} in the transaction"
            yield Choice(steps.send(producer, message, txn=True), text)

    def _transaction(self) -> Iterator[Choice]:
        producer = self._producer
        script = self._scripts[producer]
        if not self._begun:
            yield Choice(steps.begin(producer), f"{producer} begin")
        if not script.txn:
            return
        for n, lock in enumerate(script.held):
            text = f"{producer} complete {self._message_of[lock]} in the transaction"
            yield Choice(steps.complete(producer, n, txn=True), text)
        yield Choice(steps.commit(producer), f"{producer} commit")
        yield Choice(steps.rollback(producer), f"{producer} rollback")

    def _consuming(self) -> Iterator[Choice]:
        for client, script in self._scripts.items():
            yield Choice(steps.receive(client), f"{client} receive")
            yield Choice(steps.take(client), f"{client} receive and delete")
            yield Choice(steps.peek(client, 1), f"{client} peek")
            for n, lock in enumerate(script.held):
                name = self._message_of[lock]
                yield Choice(steps.complete(client, n), f"{client} complete {name}")
                yield Choice(steps.abandon(client, n), f"{client} abandon {name}")
            for n, lock in enumerate(script.ended if not self._down else ()):
                text = f"{client} complete {self._message_of[lock]} by a lock that has ended"
                yield Choice(steps.complete(client, n, stale=True), text)

    def _faults(self) -> Iterator[Choice]:
        for index in range(self._partitions):
            if index in self._down:
                yield Choice(steps.up(index), f"partition {index} comes up")
            else:
                yield Choice(steps.down(index), f"partition {index} goes down")
