"""RCV-1 and properties: what was sent has to be shown, and nothing beside it but what the broker adds."""

from __future__ import annotations

import pytest
from msgspec import structs

from partq.conformance.evaluation.decision import NONE, check_history
from partq.conformance.history import History
from partq.conformance.history.codec import dumps, loads
from partq.conformance.history.notation import history
from partq.conformance.oracle.judge import Judged, judge

Pairs = tuple[tuple[str, str], ...]
SENT = "p send m1 prop.x=1\np receive 1 delete -> m1#1"

SHOWN: dict[str, tuple[Pairs | None, bool]] = {
    "not shown": (None, True),
    "as sent": ((("x", "1"),), True),
    "with one that the broker adds": ((("Diagnostic-Id", "d"), ("x", "1")), True),
    "none": ((), False),
    "another value": ((("x", "2"),), False),
    "with a foreign one": ((("x", "1"), ("y", "2")), False),
}


@pytest.mark.parametrize("name", SHOWN)
def test_properties(name: str) -> None:
    """Whoever judges it, and as it is read again from a file."""
    shown, lawful = SHOWN[name]
    given = history(SENT, "azure-flat")
    sent, answer = given.records
    body = sent.args["messages"][0].body
    messages = (answer.messages[0]._replace(properties=shown, body=body),)
    changed = History(given.header, (sent, structs.replace(answer, messages=messages)))
    assert loads(dumps(changed)) == changed
    assert judge(changed).status is (Judged.ACCEPTED if lawful else Judged.REJECTED)
    for verdicts in (check_history(changed), check_history(changed, NONE)):
        assert bool(verdicts["RCV-1"].findings) is not lawful
