"""Which sends and settlements must be accepted or refused: good histories, and bad ones with their rule."""

from __future__ import annotations

from inspections import inspected

HOME = "p1 send h1 key=a\np1 receive 1 -> h1#3.1 lock=h until=25s\n"
"""Key a lives in partition 3, as far as one message tells."""


def test_the_fault_is_among_the_witnesses() -> None:
    findings = inspected(HOME + "env partition_down 3\np1 send m1 key=a").findings
    assert findings["ROUTE-5"][0].witness == (2, 3)


BATCHES = (
    "p send_batch m1 key=a, m2 key=a\np send_batch m3, m4 -> error invalid_operation\n"
    "p send_batch m5, m6 -> error invalid_operation"
)


def test_keyless_batches_are_refused_for_their_ids_unless_all_messages_need_sessions() -> None:
    assert set(inspected(BATCHES).findings) == {"KEY-5"}
    assert not inspected(BATCHES.replace("key=", "session="), requires_session=True).findings
