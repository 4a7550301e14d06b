"""Transactions: who owns what is missing, and what is told of it."""

from __future__ import annotations

import pytest

from corpus import corpus
from partq.conformance.history.notation import history
from partq.conformance.screens.assess import inspect

SENT = "p1 begin t\np1 send m1 key=a txn=t\np1 send m2 key=a txn=t\n"
"""Two sends in an open transaction."""


def test_who_owns_what_is_missing() -> None:
    def owners(text: str) -> dict[str, str]:
        findings = inspect(history(text)).findings
        return {id: found.detail for id, several in findings.items() for found in several}

    batch = "p1 send_batch b1 key=a, b2 key=a\n"
    lost = SENT + "p1 commit t\n" + batch + "p1 receive 9 -> b1#3.1\nenv drained"
    assert owners(lost) == {
        "KEY-7": "'b2' was never seen, also not in the drain; of the same batch 'b1' was seen",
        "TXN-5": "'m1', 'm2' were never seen, also not in the drain",
    }
    assert owners(lost.replace("env drained", "")) == {}
    assert set(owners("p1 send x key=a\n" + lost)) == {"RCV-2"}


TOLD = {
    "committed in part": "'m2' was never seen, also not in the drain; of the same transaction 'm1' was seen",
    "not at all": "'m1', 'm2' were never seen, also not in the drain",
    "before the commit": "'m1', sent in transaction 't', whose commit was called at 1.500000001s, was seen "
    "by 1.5s",
    "after a rollback": "'m1', sent in transaction 't', which was not committed, was seen by 57ns",
}


@pytest.mark.parametrize("name", TOLD)
def test_what_became_of_the_sends_is_told(name: str) -> None:
    found = inspect(corpus()[f"transactions/bad: {name}"].history).findings
    assert [finding.detail for finding in found["TXN-5"]] == [TOLD[name]]
