"""Checking takes time in proportion to the history, also where everything happens to one message."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import pytest

from partq.conformance.facts.index import Facts, facts_of
from partq.conformance.history import Header, History, Record
from partq.conformance.screens import peeking
from partq.conformance.screens.delivery import delivery
from partq.conformance.screens.protocol import Report
from partq.model.messages import Delivery, Message
from partq.model.profiles import PROFILES, SECOND

LOCK = 30 * SECOND


class Teller:
    """Writes a history, one operation after the other."""

    def __init__(self, profile: str) -> None:
        self.profile = profile
        self.records: list[Record] = []
        self.now = 0

    def tell(self, op: str, args: dict[str, Any], messages: tuple[Delivery, ...] = ()) -> None:
        """One operation that answers ok."""
        call = self.now = self.now + 2
        self.records.append(Record(len(self.records), "p1", op, "q", call, call + 1, args, messages=messages))

    def facts(self) -> Facts:
        """The facts of what was told."""
        header = Header(self.profile, {"q": PROFILES[self.profile].default_entity})
        return facts_of(History(header, tuple(self.records)))[0]


def one_message(profile: str, size: int) -> Facts:
    """One message, received, peeked and abandoned again and again."""
    teller = Teller(profile)
    teller.tell("send", {"messages": (Message("m", partition_key="k"),)})
    for count in range(size // 4):
        shown = Delivery("m", "", 1 << 48, 1, None, count)
        held = shown._replace(lock=f"l{count}", locked_until=teller.now + LOCK)
        teller.tell("receive", {"max": 1}, (held,))
        teller.tell("peek", {"max": 1, "from_seq": 0}, (shown,))
        teller.tell("abandon", {"locks": (f"l{count}",)})
        teller.tell("peek", {"max": 1, "from_seq": 0}, (shown._replace(delivery_count=count + 1),))
    return teller.facts()


def many_messages(profile: str, size: int) -> Facts:
    """Many messages waiting while those before them are peeked and deleted."""
    teller = Teller(profile)
    half = size // 4
    shown = [Delivery(f"m{n}", "", (1 << 48) + n, 1, None, 0) for n in range(2 * half)]
    for n in range(half):
        teller.tell("send", {"messages": (Message(f"m{n}", partition_key="k"),)})
    for n in range(half):
        teller.tell("peek", {"max": 2, "from_seq": 0}, tuple(shown[n : n + 2]))
        teller.tell("receive", {"max": 1, "mode": "receive_and_delete"}, (shown[n],))
        teller.tell("send", {"messages": (Message(f"m{half + n}", partition_key="k"),)})
    return teller.facts()


def seconds(check: Callable[[Facts], Report], tell: Callable[[str, int], Facts], size: int) -> float:
    """The least processor time of seven checks, as others may be at work. Nothing may be found."""
    best = float("inf")
    for _ in range(7):
        facts = tell("azure-premium", size)
        gc.collect()
        start = time.process_time()
        report = check(facts)
        best = min(best, time.process_time() - start)
        assert not report.findings
    return best


@pytest.mark.parametrize("check", [delivery.check, peeking.check], ids=["delivery", "peeking"])
@pytest.mark.parametrize("tell", [one_message, many_messages])
def test_four_times_the_history_takes_far_less_than_sixteen_times_as_long(
    check: Callable[[Facts], Report], tell: Callable[[str, int], Facts]
) -> None:
    assert seconds(check, tell, 8000) < 10 * seconds(check, tell, 2000)
