"""The threads of a live run, one for each client and one for the environment, and the caller's own, which
watches them: how they are started, given up when a call hangs, hurried when the run is broken off, and ended
with their broker. What they do, and what is recorded of it, is in `live.py`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, TypeVar

from partq.conformance.adapters.protocol import Broker
from partq.conformance.execution.adapter_calls import words
from partq.conformance.execution.cancellation import Stopped
from partq.conformance.execution.client_thread import NEVER, ClientThread

T = TypeVar("T")

MOMENT: Final = 2.0
"""Seconds that calls still under way have to end when a run is broken off, and each client to close."""

PARTING: Final = 10.0
"""Seconds that the broker has to close then."""


class Problems:
    """Errors outside the recorded history (threads, connections, cleanup), reported when the run ends.

    ``say`` is called with each error of an adapter, in words and once. What ``say`` raises,
    or a defect of ours, waits here for the thread that called the run; ``turn`` is notified of it."""

    def __init__(self, turn: threading.Condition, say: Callable[[str], None]) -> None:
        self.turn = turn
        self.say = say
        self.said: set[str] = set()
        self.raised: list[BaseException] = []

    def report(self, problem: str) -> None:
        """Say it, unless it was said. Raises nothing."""
        if problem not in self.said:
            self.said.add(problem)
            try:
                self.say(problem)
            except BaseException as error:
                self.failed(error)

    def failed(self, error: BaseException) -> None:
        """Keep it for the caller."""
        with self.turn:
            self.raised.append(error)
            self.turn.notify_all()

    def check(self) -> None:
        """Raises the first that was raised."""
        if self.raised:
            raise self.raised[0]


class WatchedThreads:
    """The threads by their ``proc``. ``turn`` guards everything that they share; whoever changes it notifies.
    ``over``: the run has ended. ``hurried``: it was broken off."""

    def __init__(self, broker: Broker, procs: Iterable[str], on_problem: Callable[[str], None]) -> None:
        self.broker = broker
        self.turn = threading.Condition()
        self.problems = Problems(self.turn, on_problem)
        self.over = threading.Event()
        self.hurried = False
        self._closed = False
        self._by_proc = {proc: self._new(proc) for proc in procs}

    def _new(self, proc: str) -> ClientThread:
        return ClientThread(proc, self.turn, self.broker.connect, self.problems.failed)

    def __getitem__(self, proc: str) -> ClientThread:
        return self._by_proc[proc]

    @property
    def any_lost(self) -> bool:
        """Whether one was given up."""
        return any(thread.lost for thread in self._by_proc.values())

    @property
    def idle(self) -> bool:
        """Whether none has anything left to do."""
        return not any(thread.waiting for thread in self._by_proc.values())

    def connected(self, proc: str, limit: float) -> ClientThread:
        """The thread of that client, which connects first, within so many seconds, if it is a new one."""
        thread = self._by_proc.get(proc) or self._by_proc.setdefault(proc, self._new(proc))
        if thread.ident is None:
            thread.start()
            self.ask(thread, thread.connected, limit)
        return thread

    def ask(self, thread: ClientThread, call: Callable[[], T], limit: float) -> T | None:
        """Make a call on the adapter that no history records, and wait for its end, at most so many seconds:
        its answer, None where there is none."""
        answers: list[T] = []
        self.do(thread, partial(self._guarded, thread, lambda: answers.append(call()), limit))
        return answers[0] if answers else None

    def do(self, thread: ClientThread, job: Callable[[], None]) -> None:
        """Have the job done, and wait for its end."""
        thread.submit(job)
        self.watch(lambda: not thread.waiting)

    def watch(self, done: Callable[[], bool]) -> None:
        """Wait until it is done, and give up the threads that hang meanwhile. Raises, while the run is not
        over, `Stopped` and what ``on_problem`` raised."""
        with self.turn:
            while not done():
                if not self.over.is_set():
                    self.problems.check()
                    if self.hurried:
                        raise Stopped
                now = time.monotonic()
                for thread in self._by_proc.values():
                    if thread.deadline <= now:
                        self._give_up(thread)
                soonest = min(thread.deadline for thread in self._by_proc.values())
                if not done():
                    self.turn.wait(None if soonest == NEVER else max(0.0, soonest - now))
            if not self.over.is_set():
                self.problems.check()

    def _give_up(self, thread: ClientThread) -> None:
        thread.lost, thread.waiting, thread.deadline = True, 0, NEVER
        self.broker.hung = True
        if not self.hurried:
            self.problems.report(
                f"{thread.proc}: a call did not return in time; this client does nothing more"
            )
        self.turn.notify_all()

    def hurry(self) -> None:
        """The run is broken off: whoever is in a call has a moment to end it."""
        with self.turn:
            self.hurried = True
            soon = time.monotonic() + MOMENT
            for thread in tuple(self._by_proc.values()):
                thread.deadline = min(thread.deadline, soon) if thread.deadline != NEVER else NEVER
            self.turn.notify_all()

    def _guarded(self, thread: ClientThread, call: Callable[[], object], limit: float) -> None:
        with self.turn:
            thread.deadline = time.monotonic() + (min(limit, MOMENT) if self.hurried else limit)
            self.turn.notify_all()
        try:
            call()
        except BaseException as error:
            self.problems.report(f"{thread.proc}: {words(error)}")
        with self.turn:
            thread.deadline = NEVER

    def end(self, each: float, broker: float) -> None:
        """Close everything, in the middle of a run too: each client, and the broker, within so many
        seconds."""
        self.over.set()
        self._wake()
        threads = [thread for thread in self._by_proc.values() if thread.is_alive() and not thread.lost]
        for thread in threads:
            if thread.client is not None:
                thread.submit(partial(self._guarded, thread, thread.disconnected, each))
            thread.jobs.put(None)
        self.watch(lambda: not any(thread.waiting for thread in threads))
        threading.Thread(target=self._close_broker, name="partq-close", daemon=True).start()
        with self.turn:
            self.turn.wait_for(lambda: self._closed or self.hurried, broker)
            self.turn.wait_for(lambda: self._closed, PARTING if self.hurried else 0)
            if not self._closed:
                self.broker.hung = True
                self.problems.report("Broker.close did not return in time")

    def _wake(self) -> None:
        with self.turn:
            self.turn.notify_all()

    def _close_broker(self) -> None:
        try:
            self.broker.close()
        except BaseException as error:
            self.problems.report(f"Broker.close raised {words(error)}")
        self._closed = True
        self._wake()
