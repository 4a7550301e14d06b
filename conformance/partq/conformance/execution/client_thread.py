"""One client's thread, or the environment's. What it does is said by the runner."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

from partq.conformance.adapters.protocol import Client
from partq.conformance.execution.adapter_calls import InvalidAnswer
from partq.conformance.execution.drain import StepResult
from partq.conformance.workload.script import Script

NEVER: Final = float("inf")


class ClientThread(threading.Thread):
    """Does its jobs in order until it is given up. ``turn`` guards all that other threads may see of it.
    ``failed`` is called with what a job raised; the next one is done all the same."""

    def __init__(
        self,
        proc: str,
        turn: threading.Condition,
        connect: Callable[[str], Client],
        failed: Callable[[BaseException], None],
    ) -> None:
        super().__init__(name=f"partq-{proc}", daemon=True)
        self.proc = proc
        self.turn = turn
        self.connect = connect
        self.failed = failed
        self.script = Script(proc)
        self.client: Client | None = None
        self.jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self.waiting = 0
        self.positions: deque[int] = deque()
        self.lost = False
        self.deadline = NEVER
        self.record: int | None = None
        self.did: StepResult | None = None

    @property
    def begun_before(self) -> float:
        """The position of its first step that has not begun."""
        return NEVER if self.lost or not self.positions else self.positions[0]

    def submit(self, job: Callable[[], None]) -> None:
        """Add a job."""
        with self.turn:
            self.waiting += 1
        self.jobs.put(job)

    def run(self) -> None:
        """Do the jobs until there is one that is None. A job counts as done however it ends."""
        while (job := self.jobs.get()) is not None:
            try:
                job()
            except BaseException as error:
                self.failed(error)
            with self.turn:
                if self.lost:
                    return
                self.waiting, self.deadline = self.waiting - 1, NEVER
                self.turn.notify_all()

    def connected(self) -> Client:
        """The client, connected when it is first asked for. Raises what the adapter raises, and
        `InvalidAnswer`."""
        if self.client is None:
            client: object = self.connect(self.proc)
            if not isinstance(client, Client):
                raise InvalidAnswer(f"connect answered {type(client).__name__}, which is no Client")
            self.client = client
        return self.client

    def disconnected(self) -> None:
        """Close the client, if there is one."""
        if self.client is not None:
            self.client.close()
