"""Set aside: transactions (TXN)."""

from __future__ import annotations

from collections.abc import Sequence

from ...faults import Faults
from ...frontend import FrontEnd
from ...limits import Limits
from ...partition import Partition
from ...rules import PartitionedRules
from ...sending import Send
from ...settling import Settlement
from ...store import Content, Stored
from ...transactions import Transaction
from ..families import Ending, Straying, last_end, on_refusal, store_sent
from ..forms import Frame, amid, answering, before
from ..registry import APART, defect


@defect("TXN-1", "joins", profile="azure-standard")
def one_front_end_takes_keyless(self: FrontEnd, txn: Transaction, send: Send) -> bool:
    """At one front end a send in a transaction needs no key."""
    return (send.key is None and last_end(self)) or FrontEnd.joins(self, txn, send)


@defect("TXN-2")
class SecondPartitionKeyAccepted(Straying):
    """A second key is noticed as a session ID only. Else, if it belongs to another partition, its message is
    stored there after the commit."""

    waits = True

    def strays(self, txn: Transaction, key: str, send: Send) -> bool:
        return send.contents[0].session_id is None and self.home(key, send) is not txn.partition


@defect("TXN-5", "roll_back", profile="azure-flat")
def rolled_back_locks_refused(self: FrontEnd, txn: Transaction) -> None:
    """After a rollback the locks that were used in the transaction settle nothing any more."""
    used = list(txn.settlements)
    FrontEnd.roll_back(self, txn)
    for _, stored, token in used:
        if stored.lock == token:
            stored.enlisted = txn.name


@defect("TXN-5", "carry_out", before, profile="azure-standard")
def one_front_end_commits_no_sends(self: FrontEnd, txn: Transaction) -> None:
    """At one front end a commit settles, and forgets what was sent."""
    if last_end(self):
        txn.sends.clear()


@defect("TXN-5", "take_down", before)
def outage_commits_what_was_sent(self: Faults, partition: Partition) -> None:
    """A partition that goes down stores what open transactions sent to it, and rolls the rest back."""
    for txn in list(self.broker.transactions.values()):
        if txn.partition is partition and txn.sends:
            store_sent(self.broker, txn)
            txn.rollback()
            del self.broker.transactions[txn.name]


@defect("TXN-5", "roll_back", profile="azure-standard")
def rollback_keeps_abandons(self: FrontEnd, txn: Transaction) -> None:
    """No rollback undoes an abandon."""
    abandons = [(stored, token) for action, stored, token in txn.settlements if action == "abandon"]
    FrontEnd.roll_back(self, txn)
    for stored, token in abandons:
        if stored.partition.holds(stored, token, self.clock.now):
            stored.partition.abandon(stored)
    self.broker.ring()


@defect("TXN-5", "in_transaction", amid)
def refusal_empties_transaction(self: FrontEnd, txn: Transaction) -> Frame:
    """A request that is refused as invalid in a transaction makes it forget what was sent in it before."""
    return on_refusal("invalid_operation", txn.sends.clear)


@defect("TXN-7", "admit_settlement", profile="azure-standard")
def completions_of_two_partitions(self: FrontEnd, asked: Settlement, found: Sequence[Stored]) -> None:
    """A transaction that sends nothing may complete messages of several partitions."""
    self.broker.rules.check_settlement(found, asked.txn)
    settles_only = asked.txn is not None and asked.txn.partition is None
    if not (asked.action == "complete" and settles_only):
        FrontEnd.admit_settlement(self, asked, found)


@defect("TXN-7", "admit_settlement")
def keyless_settled_in_any_partition(
    self: PartitionedRules, txn: Transaction, stored: Sequence[Stored]
) -> None:
    """A transaction that sends nothing may settle messages without a key in several partitions."""
    keyless = all(self.key_of(one.content) is None for one in stored)
    if not (keyless and txn.partition is None):
        PartitionedRules.admit_settlement(self, txn, stored)


@defect("TXN-8", "home", answering, also=APART)
def transaction_goes_to_the_next(self: FrontEnd, send: Send, home: Partition) -> Partition:
    """In a transaction a key belongs to the partition after its own, unless that has settled there."""
    if send.txn is not None and send.txn.place is not home:
        home = self.partitions[(self.partitions.index(home) + 1) % len(self.partitions)]
    return home


@defect("TXN-8", "home", profile="azure-standard", also=APART)
def transaction_reads_keys_in_lower_case(self: FrontEnd, key: str, send: Send) -> Partition:
    """In a transaction a key goes where it belongs in lower case."""
    return FrontEnd.home(self, key if send.txn is None else key.lower(), send)


@defect("TXN-10", profile="azure-standard")
class RollbackAfterCommitSaidOk(Ending):
    """A rollback after a commit answers ok, and does nothing."""

    REQUEST = ("rollback",)
    ENDS = ("commit",)


@defect("TXN-10")
class SettlementAfterTheEndForgotten(Ending):
    """A settlement in a transaction that was committed or rolled back is answered, and forgotten."""

    REQUEST = ("settle",)


@defect("TXN-9", "idle")
def any_transaction_keeps_all_open(self: Limits) -> int:
    """What is asked for in one transaction restarts the time of all."""
    return self.clock.now - max(txn.used for txn in self.broker.transactions.values())


@defect("TXN-9", "is_over", answering, profile="azure-flat")
def last_open_transaction_stays(self: Limits, found: bool) -> bool:
    """A transaction is not rolled back for being idle while no other one is open."""
    return found and len(self.broker.transactions) > 1


@defect("TXN-9", "check_room", profile="azure-standard")
def batches_checked_by_themselves(self: Limits, txn: Transaction, contents: Sequence[Content]) -> None:
    """A batch is held against the limit without what its transaction sent before."""
    if len(contents) == 1:
        Limits.check_room(self, txn, contents)


@defect("TXN-9", "check_room")
def no_limit_beside_a_settlement(self: Limits, txn: Transaction, contents: Sequence[Content]) -> None:
    """A transaction that settles takes any number of messages."""
    if not txn.settlements:
        Limits.check_room(self, txn, contents)
