"""What a profile of one's own does not promise is no violation, and takes no blame."""

from __future__ import annotations

from dataclasses import replace

import pytest

from partq.conformance.history.notation import history
from partq.conformance.oracle.blame import blame
from partq.conformance.oracle.judge import Judged, judge
from partq.model.family import OrderDomain
from partq.model.profiles import PROFILES, admit, unpromised

QUEUE = PROFILES["partitioned-queue"]
MINE = admit(
    replace(
        QUEUE,
        name="numbers-and-order",
        shows_seq=True,
        peek=True,
        order=OrderDomain.KEY,
        rules={**QUEUE.rules, "SEQ-1": None, "ORD-3": None, "PEEK-6": None},
    )
)
SENDS = "p send m1 key=k\np send m2 key=k\np send m3 key=k\n"


@pytest.mark.parametrize(
    "received",
    [
        pytest.param("m1#1.1, m2#1.5, m3#1.9", id="SEQ-4: numbers are left out"),
        pytest.param("m1#1.9, m2#1.5, m3#1.1", id="SEQ-3: a later message has the smaller number"),
    ],
)
def test_numbers_do_what_no_rule_of_the_profile_forbids(received: str) -> None:
    text = f"{SENDS}c receive 3 delete -> {received}"
    assert judge(history(text, profile=MINE)).status is Judged.ACCEPTED
    assert judge(history(text, profile="azure-premium")).status is Judged.REJECTED


def test_a_number_given_twice_is_a_violation_all_the_same() -> None:
    said = blame(history(f"{SENDS}c receive 3 delete -> m1#1.1, m2#1.1, m3#1.2", profile=MINE))
    assert "SEQ-1" in said.level


def test_what_is_not_promised_leaves_blame_to_what_is() -> None:
    said = blame(
        history(
            f"""{SENDS}
            c receive 1 -> m1#1.1 lock=l1
            c peek 10 -> m1#1.1, m2#1.3, m3#1.4
            c abandon l1
            d peek 10 -> m1#1.1, m2#1.3, m3#1.4
            c receive 3 delete -> m2#1.3, m3#1.4, m1#1.1""",
            profile=MINE,
        )
    )
    assert set(said.level) == {"PEEK-6", "ORD-3"}


def test_the_catalogue_says_what_holds_instead_under_its_own_profiles() -> None:
    assert not any(unpromised(name) for name in ("azure-standard", "azure-premium", "azure-flat", "solace"))
    assert "SEQ-4" in unpromised(MINE) and "SEQ-1" not in unpromised(MINE)
