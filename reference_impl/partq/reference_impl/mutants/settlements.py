"""Defects in settlements that name several locks, in renewals, and in locks that were lost (RCV)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..clock import HOP, Steps
from ..errors import Refused
from ..flowend import FlowEnd
from ..flows import READY, Flow, Seat
from ..frontend import FrontEnd
from ..network import Connection
from ..partition import Partition
from ..rules import PartitionedRules
from ..store import Stored
from .locks import LockEndsEarly
from .losing import lose
from .peeking import FEW
from .registry import defect


class _Settling(FrontEnd):
    """A front end that looks at a settlement's locks before it does it."""

    def live(self, token: str) -> Stored | None:
        """The message that this lock holds now."""
        stored = self.broker.locks.get(token)
        if stored is None or not stored.partition.holds(stored, token, self.clock.now):
            return None
        return stored


@defect("mixed-settlement-half-done", "RCV-8")
class _HalfDone(_Settling):
    """A request that names three locks or more, one of them lost, is refused, and done for the others."""

    def settle(
        self, connection: Connection, action: str, tokens: Sequence[str], txn: str | None
    ) -> Steps[None]:
        try:
            yield from super().settle(connection, action, tokens, txn)
        except Refused as refused:
            live = [stored for stored in map(self.live, tokens) if stored is not None and not stored.enlisted]
            one_place = len({stored.partition.name for stored in live}) == 1 and live[0].partition.up
            if refused.kind == "lock_lost" and txn is None and len(tokens) > 2 and one_place:
                for stored in live:
                    self.apply(action, stored)
            raise


@defect("third-lock-unchecked", "RCV-8", profile="azure-flat")
class _ThirdLockUnchecked(_Settling):
    """From the third lock on those of a request that are lost are passed over in silence."""

    def settle(
        self, connection: Connection, action: str, tokens: Sequence[str], txn: str | None
    ) -> Steps[None]:
        kept = [*tokens[:2], *(token for token in tokens[2:] if self.live(token) is not None)]
        yield from super().settle(connection, action, kept, txn)


@defect("forged-lock-accepted", "RCV-8")
class _ForgedLockAccepted(FrontEnd):
    """Settling by a lock that no client was ever given is said to be done."""

    def settle(
        self, connection: Connection, action: str, tokens: Sequence[str], txn: str | None
    ) -> Steps[None]:
        known = [token for token in tokens if token.startswith("lock-")]
        if known or not self.broker.alive:
            yield from super().settle(connection, action, known or tokens, txn)
        else:
            yield HOP


@defect("renews-lost-lock", "RCV-8", profile="azure-flat")
class _RenewsLostLock(_Settling):
    """A lock whose time is over can be renewed, as long as nobody else has got the message since."""

    def renew(self, token: str) -> Steps[list[Any]]:
        yield HOP
        stored = self.broker.locks.get(token)
        if stored is None or stored.lock != token or self.live(token) is not None or not self.broker.alive:
            return (yield from super().renew(token))
        stored.partition.renew(stored, self.clock.now + self.broker.config.lock_duration)
        shown = [self.broker.show(stored, token)]
        yield HOP
        return shown


@defect("third-lock-anywhere", "RCV-14", profile="azure-standard")
class _ThirdLockAnywhere(PartitionedRules):
    """Of a request that settles three messages or more only the first two must be of one partition."""

    def check_settlement(self, stored: Sequence[Stored]) -> None:
        super().check_settlement(stored[:2])


@defect("redelivery-locks-short", "RCV-6", profile="azure-flat")
class _RedeliveryLocksShort(LockEndsEarly):
    """A message's second lock, and those after it, is shown in full and kept for a third of its time."""

    def shortens(self, stored: Stored) -> bool:
        return stored.tries > 1


@defect("renewed-comes-back", "RCV-7", profile="azure-flat")
class _RenewedComesBack(FrontEnd):
    """Completing a message whose lock was renewed only ends its lock. (Transactions do it right.)"""

    def renew(self, token: str) -> Steps[list[Any]]:
        shown = yield from super().renew(token)
        for end in self.broker.front_ends:
            vars(end).setdefault("_renewed", set()).add(token)
        return shown

    def apply(self, action: str, stored: Stored) -> None:
        if action == "complete" and stored.lock in vars(self).get("_renewed", ()):
            stored.partition.release(stored)
            self.broker.ring()
        else:
            super().apply(action, stored)


@defect("renewals-counted", "RCV-9", profile="azure-flat")
class _RenewalsCounted(Partition):
    """A renewal raises the delivery count by one, if it is below three."""

    def renew(self, stored: Stored, until: int) -> None:
        stored.count += stored.count < FEW
        super().renew(stored, until)


@defect("cache-ignores-max", "RCV-12")
class _CacheIgnoresMax(FrontEnd):
    """A client gets all that its front end has fetched earlier, however few it asks for."""

    def cached(self, most: int, delete: bool) -> list[Any]:
        return super().cached(most if delete else max(most, 64), delete)


@defect("late-settlement-deletes", "RCV-2", profile="solace")
class _LateSettlementDeletes(FlowEnd):
    """Acknowledging what went back to its partition is refused, and deletes the message if it waits there."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._given: dict[str, Stored] = {}

    def hand_out(self, seat: Seat, stored: Stored, delete: bool) -> str | None:
        token = super().hand_out(seat, stored, delete)
        if token is not None:
            self._given[token] = stored
        return token

    def settle(
        self, connection: Connection, action: str, tokens: Sequence[str], txn: str | None
    ) -> Steps[None]:
        try:
            yield from super().settle(connection, action, tokens, txn)
        except Refused as refused:
            for token in tokens if refused.kind == "lock_lost" and action == "complete" else ():
                stored = self._given.get(token)
                if stored is not None and stored.lock is None:
                    lose(stored)
            raise


@defect("unsettled-delivered-again", "RCV-6", profile="solace")
class _UnsettledDeliveredAgain(FlowEnd):
    """A flow that has got all there is gets its oldest unsettled message once more."""

    def collect(self, flow: Flow, most: int, delete: bool) -> list[Any]:
        shown = super().collect(flow, most, delete)
        for seat in self.seats_of(flow) if not shown and not delete else ():
            token, stored = next(iter(seat.unacked.items()), ("", None))
            if seat.state == READY and stored is not None and stored.tries == 1:
                del seat.unacked[token]
                seat.partition.release(stored)
                return super().collect(flow, most, delete)
        return shown
