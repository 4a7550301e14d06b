"""What of a live run may still come: messages that were accepted and are not certainly gone, and locks that
have not ended. It says how long waiting makes sense; nothing is judged here."""

from __future__ import annotations

from partq.conformance.execution.adapter_calls import CallResult
from partq.conformance.workload.operations.record import Args
from partq.model.operations import OPS, Outcome


class Ledger:
    """``accepted``: the messages whose send did not fail and that are not gone. ``locked``: the message of
    each lock that was given. ``last_lock``: when a lock was last given, or may have been; ns, None: never."""

    def __init__(self) -> None:
        self.accepted: set[str] = set()
        self.locked: dict[str, str] = {}
        self.last_lock: int | None = None

    @property
    def nothing_left(self) -> bool:
        """Whether every message that was accepted has certainly gone."""
        return not self.accepted

    def locks_left(self, now: int, duration: int) -> int:
        """ns until every lock has ended, settled or not, if it lasts that long; 0 where there is none."""
        return 0 if self.last_lock is None else max(0, self.last_lock + duration + 1 - now)

    def note(self, op: str, args: Args, result: CallResult, now: int) -> None:
        """Take in what came of an operation. What is part of a transaction may not happen, and stays."""
        if "messages" in args and result.outcome != Outcome.ERROR:
            self.accepted.update(message.id for message in args["messages"])
        elif OPS[op].delivers and args.get("mode", "peek_lock") == "receive_and_delete":
            self.accepted.difference_update(message.id for message in result.messages)
        elif OPS[op].locks:
            if result.messages or result.outcome == Outcome.UNKNOWN:
                self.last_lock = now
            self.locked |= {one.lock: one.id for one in result.messages if one.lock is not None}
        elif OPS[op].removes and result.outcome == Outcome.OK and args.get("txn") is None:
            self.accepted.difference_update(self.locked.get(lock, "") for lock in args["locks"])
