"""Defects in transactions: what they take in, what others see of them, and what their end does (TXN)."""

from __future__ import annotations

from collections.abc import Sequence

from ..clock import Steps
from ..faults import Faults
from ..frontend import FrontEnd, Peek
from ..limits import Limits
from ..partition import Partition
from ..rules import PartitionedRules
from ..sending import Send
from ..settings import SECOND
from ..settling import Settlement
from ..store import Content, Stored
from ..transactions import Transaction
from .families import Ending, Misrouting, Straying, after, changed, complete, noted, on_refusal, store_sent
from .forms import Frame, amid, answering, before, then
from .registry import APART, defect


@defect("TXN-1", "admit_send")
def keyless_in_transaction(self: PartitionedRules, txn: Transaction, key: str | None) -> None:
    """A send in a transaction needs no key."""
    if key is not None:
        PartitionedRules.admit_send(self, txn, key)


@defect("TXN-1", "admit_send")
def keyless_after_keyed(self: PartitionedRules, txn: Transaction, key: str | None) -> None:
    """In a transaction that has a key, a further send needs none."""
    PartitionedRules.admit_send(self, txn, txn.key if key is None else key)


@defect("TXN-1", "joins", profile="azure-standard")
def keyless_batch_in_transaction(self: FrontEnd, txn: Transaction, send: Send) -> bool:
    """A batch in a transaction needs no key; a single message does."""
    return (send.key is None and len(send.contents) > 1) or FrontEnd.joins(self, txn, send)


@defect("TXN-2", "strays")
def two_keys_in_transaction(self: Straying, txn: Transaction, key: str, send: Send) -> bool:
    """A send of a second key, of another partition, is accepted, and done outside the transaction."""
    return self.home(key, send) is not txn.partition


@defect("TXN-2", "strays")
def key_free_after_settlement(self: Straying, txn: Transaction, key: str, send: Send) -> bool:
    """In a transaction that has settled, a second key of another partition is stored outside of it."""
    return bool(txn.settlements) and self.home(key, send) is not txn.partition


@defect("TXN-2", "strays")
def transaction_folds_case(self: Straying, txn: Transaction, key: str, send: Send) -> bool:
    """A second key that differs in case only is accepted, and stored at once if it lives elsewhere."""
    alike = key.casefold() == (txn.key or "").casefold()
    return alike and self.home(key, send) is not txn.partition


@defect("TXN-2")
class ThirdSendHasAnyKey(Straying):
    """From the third message of a transaction on any key is accepted. Those of another partition are stored
    there after the commit."""

    waits = True

    def strays(self, txn: Transaction, key: str, send: Send) -> bool:
        return len(txn.sends) >= 2


@defect("TXN-7", "admit_settlement")
def transaction_settles_anywhere(self: PartitionedRules) -> None:
    """A transaction may settle messages of several partitions."""


@defect("TXN-7", "admit_settlement")
def third_settlement_anywhere(self: PartitionedRules, txn: Transaction, stored: Sequence[Stored]) -> None:
    """In a transaction that settles two messages of one partition, the third may be of any."""
    if len(txn.settlements) < 2:
        PartitionedRules.admit_settlement(self, txn, stored)


@defect("TXN-7", "admit_settlement", profile="azure-standard")
def abandons_of_two_partitions(self: FrontEnd, asked: Settlement, found: Sequence[Stored]) -> None:
    """A transaction may abandon messages of several partitions."""
    self.broker.rules.check_settlement(found, asked.txn)
    if asked.action != "abandon":
        FrontEnd.admit_settlement(self, asked, found)


@defect("TXN-8", "mistaken", profile="azure-standard", also=APART)
def transaction_has_its_own_map(self: Misrouting, key: str, send: Send) -> str:
    """In a transaction a key goes elsewhere than outside."""
    return key if send.txn is None else f"in transaction: {key}"


@defect("TXN-8", "home", profile="azure-standard", also=APART)
def sends_where_it_settled(self: FrontEnd, key: str, send: Send) -> Partition:
    """What a transaction sends that has settled something goes to that partition, whatever its key."""
    settled = None if send.txn is None else send.txn.settles_in
    there = next((partition for partition in self.partitions if partition is settled), None)
    return there or FrontEnd.home(self, key, send)


@defect("TXN-5", "enlist", then)
def visible_before_commit(self: FrontEnd, txn: Transaction) -> None:
    """Messages sent in a transaction are stored at once."""
    store_sent(self.broker, txn)


@defect("TXN-5", "enlist")
def sends_after_a_settlement_at_once(self: FrontEnd, txn: Transaction, send: Send) -> Steps[None]:
    """What is sent in a transaction that has settled something before is stored at once."""
    early = bool(txn.settlements) and not txn.sends
    yield from FrontEnd.enlist(self, txn, send)
    if early:
        store_sent(self.broker, txn)


@defect("TXN-5", "enlist", profile="azure-flat")
def second_send_at_once(self: FrontEnd, txn: Transaction, send: Send) -> Steps[None]:
    """The second send of a transaction is stored at once."""
    second = len(txn.sends) == 1
    yield from FrontEnd.enlist(self, txn, send)
    if second and txn.partition is not None:
        del txn.sends[1:]
        self.broker.accept(txn.partition, send.contents)


@defect("TXN-5", "opened", answering, profile="azure-flat")
def abandons_in_transactions_at_once(
    self: FrontEnd, action: str, opened: Transaction | None
) -> Transaction | None:
    """An abandon in a transaction is done at once, and stays done."""
    return None if action == "abandon" else opened


@defect("TXN-5")
class PeekSeesUncommitted(FrontEnd):
    """A peek that has room shows what was sent in open transactions."""

    def begin(self, name: str) -> Steps[None]:
        yield from super().begin(name)
        if name in self.broker.transactions:
            self.broker.transactions[name].numbers_early = True

    def page(self, peek: Peek, partition: Partition, first: int) -> list[Stored]:
        found = super().page(peek, partition, first)
        hidden = [one for one in partition.store._log if one.hidden and not one.gone and one.order >= first]
        fits = len(peek.shown) + len(found) + len(hidden) <= peek.limit
        return sorted(found + hidden, key=lambda stored: stored.order) if fits else found


@defect("TXN-5", "carry_out", before)
def commit_loses_the_last(self: FrontEnd, txn: Transaction) -> None:
    """A commit of several sends stores all but the last."""
    del txn.sends[max(1, len(txn.sends) - 1) :]


def _forget_settlements(txn: Transaction, first: int) -> None:
    """Leave those from that one on undone."""
    for _, stored, _ in txn.settlements[first:]:
        stored.enlisted = None
    del txn.settlements[first:]


@defect("TXN-5", "carry_out", before)
def commit_forgets_settlements(self: FrontEnd, txn: Transaction) -> None:
    """A commit stores what was sent, and leaves the settlements of the same transaction undone."""
    _forget_settlements(txn, 0)


@defect("TXN-5", "carry_out", before)
def third_settlement_forgotten(self: FrontEnd, txn: Transaction) -> None:
    """A commit does the first two settlements of a transaction and leaves the others undone."""
    _forget_settlements(txn, 2)


@defect("TXN-5", "carry_out", amid)
def commit_half_done_after_fault(self: FrontEnd, txn: Transaction) -> Frame:
    """A commit that is refused because the partition is down has completed what the transaction settled."""
    held = [
        stored for action, stored, token in txn.settlements if (action, stored.lock) == ("complete", token)
    ]
    return on_refusal("unavailable", lambda: complete(held))


@defect("TXN-5", "carry_out", amid, profile="azure-flat")
def refused_commit_stores(self: FrontEnd, txn: Transaction) -> Frame:
    """A commit that is refused because a lock has ended stores what was sent."""
    return on_refusal("lock_lost", lambda: store_sent(self.broker, txn))


@defect("TXN-5", "carry_out", profile="azure-flat")
def settlements_lag_behind_commit(self: FrontEnd, txn: Transaction, since: int) -> None:
    """A commit does what was settled in the transaction ten seconds later, if the locks hold then."""
    if not all(stored.partition.holds(stored, token, self.clock.now) for _, stored, token in txn.settlements):
        FrontEnd.carry_out(self, txn, since)
        return

    def settle() -> None:
        for action, stored, token in txn.settlements:
            if stored.lock == token:
                (stored.partition.complete if action == "complete" else stored.partition.abandon)(stored)
        self.broker.ring()

    with changed(txn, settlements=[]):
        FrontEnd.carry_out(self, txn, since)
    self.clock.spawn(after(self.clock, 10 * SECOND, settle))


@defect("TXN-5", "carry_out", profile="azure-standard")
def committed_in_steps(self: FrontEnd, txn: Transaction, since: int) -> None:
    """The first message that a transaction sent is seen after the commit, the others ten seconds later."""
    later, txn.sends = txn.sends[1:], txn.sends[:1]
    FrontEnd.carry_out(self, txn, since)
    txn.reserve(later, self.clock.now)

    def reveal() -> None:
        txn.reveal()
        self.broker.ring()

    self.clock.spawn(after(self.clock, 10 * SECOND, reveal))


@defect("TXN-5", "roll_back", before)
def rollback_sends(self: FrontEnd, txn: Transaction) -> None:
    """A rollback gives the locks back, and stores what was sent."""
    store_sent(self.broker, txn)


@defect("TXN-5", "roll_back", before)
def fourth_rollback_stores(self: FrontEnd, txn: Transaction) -> None:
    """From the fourth on, a rollback at a front end stores what was sent."""
    noted(self)["rollbacks"] += 1
    if noted(self)["rollbacks"] > 3:
        store_sent(self.broker, txn)


@defect("TXN-5", "roll_back")
def rollback_completes(self: FrontEnd, txn: Transaction) -> None:
    """No rollback undoes a completion."""
    completed = [stored for action, stored, _ in txn.settlements if action == "complete"]
    FrontEnd.roll_back(self, txn)
    complete(completed)


@defect("TXN-5", "roll_back", also=("RCV-6",))
def rollback_ends_locks(self: FrontEnd, txn: Transaction) -> None:
    """A rollback gives back what was settled in the transaction. That ends locks whose time is not over."""
    settled = list(txn.settlements)
    FrontEnd.roll_back(self, txn)
    for _, stored, token in settled:
        if stored.partition.holds(stored, token, self.clock.now):
            stored.partition.release(stored)
    self.broker.ring()


@defect("TXN-5", "kill", before, profile="azure-flat")
def kill_commits_what_was_sent(self: Faults) -> None:
    """A kill stores what was sent in transactions that are open."""
    for txn in self.broker.transactions.values():
        store_sent(self.broker, txn)


@defect("TXN-5", "frontend_lost", then)
def front_end_loss_stores_what_was_sent(self: Faults) -> None:
    """The loss of a front end stores what was sent in open transactions, and rolls the rest of them back."""
    for txn in [txn for txn in self.broker.transactions.values() if txn.partition is not None and txn.sends]:
        store_sent(self.broker, txn)
        txn.rollback()
        del self.broker.transactions[txn.name]


@defect("TXN-10")
class EndsTwice(Ending):
    """A commit or a rollback of a transaction that is over answers ok."""

    REQUEST = ("commit", "rollback")


@defect("TXN-10", profile="azure-flat")
class CommitAfterRollbackSaidOk(Ending):
    """A commit after a rollback answers ok, and does nothing."""

    REQUEST = ("commit",)
    ENDS = ("rollback",)


@defect("TXN-10")
class EnlistsAfterTheEnd(Ending):
    """A send in a transaction that was committed is answered, and forgotten."""

    REQUEST = ("send",)
    ENDS = ("commit",)


@defect("TXN-10", profile="azure-flat")
class SendsAfterTheEnd(Ending):
    """A send in a transaction that is over is done as if it were in none."""

    LOOSE = ("send",)


@defect("TXN-10", profile="azure-standard")
class SettlesAfterTheEnd(Ending):
    """A settlement in a transaction that is over is done as if it were in none."""

    LOOSE = ("settle",)


@defect("TXN-9", "is_over")
def idle_for_ever(self: Limits) -> bool:
    """A transaction is never rolled back for being idle."""
    return False


@defect("TXN-9", "idle", answering, profile="azure-flat")
def twice_as_patient(self: Limits, found: int) -> int:
    """A transaction may be idle for twice as long."""
    return found // 2


@defect("TXN-9", "is_over", answering, profile="azure-standard")
def settlements_keep_it_open(self: Limits, txn: Transaction, found: bool) -> bool:
    """A transaction that has settled something is not rolled back for being idle."""
    return found and not txn.settlements


@defect("TXN-9", "is_over", answering, profile="azure-flat")
def idle_only_before_its_first_send(self: Limits, txn: Transaction, found: bool) -> bool:
    """A transaction that has sent something is not rolled back for being idle."""
    return found and not txn.contents()


@defect("TXN-9", "check_room")
def any_number_in_a_transaction(self: Limits) -> None:
    """A transaction takes any number of messages."""


@defect("TXN-9", "weight", profile="azure-flat")
def batch_counts_as_one(self: Limits, contents: Sequence[Content]) -> int:
    """A batch counts as one message of its transaction."""
    return 1


@defect("TXN-9", "sent", answering, profile="azure-standard")
def one_more_in_a_transaction(self: Limits, found: int) -> int:
    """A transaction takes one message more than its limit."""
    return found - 1


@defect("TXN-9", "check_room")
def limit_refuses_once(self: Limits, txn: Transaction, contents: Sequence[Content]) -> None:
    """After one send was refused for the limit, the transaction takes any number of messages."""
    if not noted(self)[txn.name]:
        with on_refusal("quota", lambda: noted(self).update((txn.name,))):
            Limits.check_room(self, txn, contents)
