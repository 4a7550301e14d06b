"""Set aside: sessions (SES)."""

from __future__ import annotations

from collections.abc import Sequence

from ...frontend import FrontEnd
from ...partition import Partition
from ...sessions import Held, SessionLocks, SessionStates
from ...store import Content, Stored
from ..registry import defect


@defect("SES-1", "choose")
def second_of_three_first(self: SessionLocks, partition: Partition, name: str) -> list[Stored]:
    """Where three messages of a session wait, the second one is delivered first."""
    found = SessionLocks.choose(self, partition, name)
    return found if len(found) < 3 else [found[1], found[0], *found[2:]]


@defect("SES-3", "check_sessions", profile="azure-standard")
def key_passes_for_a_session(self: FrontEnd, contents: Sequence[Content]) -> None:
    """A partition key is taken for a session ID."""
    FrontEnd.check_sessions(self, [one for one in contents if one.partition_key is None])


@defect("SES-4", "grant", profile="azure-flat")
def held_without_messages_accepted(self: SessionLocks, name: str, proc: str) -> Held:
    """A session that is held is accepted as long as no message of it is locked."""
    if not self.locked(name):
        self.held.pop(name, None)
    return SessionLocks.grant(self, name, proc)


@defect("SES-5", "give_back")
def close_counts_from_the_second_on(self: SessionLocks, stored: Stored) -> None:
    """A message that has failed before is counted once more when its session is closed."""
    if stored.count:
        stored.partition.abandon(stored)
    else:
        SessionLocks.give_back(self, stored)


@defect("SES-2", profile="azure-standard")
class WritesInWait(SessionStates):
    """A write shows when the next one comes."""

    waiting: tuple[str, str] | None = None

    def put(self, name: str, state: str) -> None:
        if self.waiting is not None:
            super().put(*self.waiting)
        self.waiting = name, state


@defect("SES-2", "grant", profile="azure-flat")
def new_holder_starts_anew(self: SessionLocks, name: str, proc: str) -> Held:
    """A session that is accepted has no state yet, whatever the holder before wrote."""
    held = SessionLocks.grant(self, name, proc)
    self.write_state(held, "")
    return held
