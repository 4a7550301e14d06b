"""A history while it is being made, by several threads on the wall clock.

A record is there from its call on, as never returned; its end replaces it. So nothing is lost whatever
becomes of the thread that began it. Who calls what is the runner's business.
"""

from __future__ import annotations

import threading
import time

from msgspec.structs import replace

from partq.conformance.execution.adapter_calls import CallResult
from partq.conformance.history import Record
from partq.conformance.history.entities import addressed
from partq.conformance.workload.operations.record import Args
from partq.model.operations import ENV, Outcome


class Recorder:
    """The records of one entity and its dead-letter queue, numbered in order of their calls."""

    def __init__(self, entity: str) -> None:
        self.entity = entity
        self._lock = threading.Lock()
        self._origin = time.monotonic_ns()
        self._records: list[Record | None] = []

    def now(self) -> int:
        """The history's clock: ns since the recorder was made."""
        return time.monotonic_ns() - self._origin

    def begin(self, proc: str, op: str, args: Args) -> int:
        """Record a call. Its number."""
        with self._lock:
            i = len(self._records)
            call = self.now()
            entity, own = addressed(self.entity, args)
            self._records.append(Record(i, proc, op, entity, call, None, own, Outcome.UNKNOWN, "hang"))
        return i

    def end(self, i: int, result: CallResult) -> None:
        """Record what came of a call.

        A fault of which nobody knows whether it struck is one that never returned: it may strike any time.
        """
        with self._lock:
            begun = self._records[i]
            if begun is None:
                return
            self._records[i] = replace(
                begun,
                ret=None if begun.is_env and result.outcome == Outcome.UNKNOWN else self.now(),
                args=begun.args if result.args is None else result.args,
                outcome=result.outcome,
                error=result.error,
                messages=result.messages,
            )

    def drop(self, i: int) -> None:
        """Take back an event that turned out not to have happened."""
        with self._lock:
            self._records[i] = None

    def event(self, op: str, args: Args) -> None:
        """Record an environment event that takes no time."""
        with self._lock:
            i, now = len(self._records), self.now()
            entity, own = addressed(self.entity, args)
            self._records.append(Record(i, ENV, op, entity, now, now, own))

    def records(self) -> tuple[Record, ...]:
        """All of it so far, in order of calls. Nothing that comes later changes it."""
        with self._lock:
            return tuple(record for record in self._records if record is not None)
