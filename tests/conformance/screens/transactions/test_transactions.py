"""Transactions: who owns what is missing, and what is told of it."""

from __future__ import annotations

import pytest

from corpus import corpus
from partq.conformance.facts.index import facts_of
from partq.conformance.history.notation import history
from partq.conformance.screens.assess import inspect
from partq.conformance.screens.attribution import missing_ids

SENT = "p1 begin t\np1 send m1 key=a txn=t\np1 send m2 key=a txn=t\n"
"""Two sends in an open transaction."""


def test_who_owns_what_is_missing() -> None:
    def owners(text: str) -> dict[str, str]:
        (facts,) = facts_of(history(text))
        return dict(missing_ids(facts))

    batch = "p1 send_batch b1 key=a, b2 key=a\n"
    lost = SENT + "p1 commit t\n" + batch + "p1 receive 9 -> b1#3.1\nenv drained"
    assert owners(lost) == {"b2": "KEY-7", "m1": "TXN-5", "m2": "TXN-5"}
    assert owners(lost.replace("env drained", "")) == {}
    assert owners("p1 send x key=a\n" + lost) == {}


TOLD = {
    "committed in part": "'m2' was committed and never seen, also not in the drain; of the same transaction "
    "'m1' was seen",
    "not at all": "'m1', 'm2' were committed and never seen, also not in the drain",
    "before the commit": "'m1', sent in transaction 't', was seen by 1.5s; its commit was called at "
    "1.500000001s",
    "after a rollback": "'m1', sent in transaction 't', which was not committed, was seen by 57ns",
}


@pytest.mark.parametrize("name", TOLD)
def test_what_became_of_the_sends_is_told(name: str) -> None:
    found = inspect(corpus()[f"transactions/bad: {name}"].history).findings
    assert [finding.detail for finding in found["TXN-5"]] == [TOLD[name]]
