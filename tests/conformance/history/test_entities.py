"""What belongs to which entity of a history."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from partq.conformance.evaluation.decision import check_history
from partq.conformance.history import History
from partq.conformance.history.notation import history
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.verdict import Status


def of_two(text: str, others: set[int], entity: str = "r") -> History:
    """The history of the lines, of which these are another entity's."""
    given = history(text)
    records = tuple(structs.replace(r, entity=entity if r.i in others else r.entity) for r in given.records)
    return replace(given, records=records)


def violated(given: History) -> list[str]:
    return [rule for rule, verdict in check_history(given).items() if verdict.status is Status.VIOLATED]


ACROSS = """
    p begin t
    p send m1 key=a txn=t
    env advance 90s
    p send m2 key=a txn=t
    env advance 90s
    p {} t
    c receive 2 delete -> m1#1.1
    c receive 2 delete -> m2#1.1
    env drained
    env drained
"""


def test_a_transaction_of_two_entities_has_one_begin_and_one_end() -> None:
    given = of_two(ACROSS.format("commit"), {3, 7, 9})
    assert judge(given).status is Judged.UNKNOWN, "how long it was idle is not known of either alone"
    assert not violated(given)
    assert violated(of_two(ACROSS.format("rollback"), {3, 7, 9})) == ["TXN-5"], "screens see its end in both"


def test_locks_of_one_name_are_settled_where_the_settlement_says() -> None:
    text = "p send m1\np send m2\nc receive 1 -> m1#1.1 lock=l\nd receive 1 -> m2#1.1 lock=l\n"
    given = of_two(text + "c complete l\nd complete l\nenv drained\nenv drained", {1, 3, 5, 7})
    assert judge(given).status is Judged.ACCEPTED and not violated(given)


def test_a_settlement_is_of_the_entity_that_gave_its_lock() -> None:
    text = "p send m1\np send m2\nc receive 1 -> m1#1.1 lock=l\nc complete l\nd receive 1 delete -> m2#1.1\n"
    given = of_two(text + "env drained\nenv drained", {1, 3, 4, 6})
    assert judge(given).status is Judged.ACCEPTED and not violated(given)


@pytest.mark.parametrize("asked", ["b", "b/$DeadLetterQueue"])
def test_a_subscription_that_the_topic_is_not_said_to_have_is_not_decided(asked: str) -> None:
    text = f"p send m1\nc receive 1 entity=Subscriptions/{asked} -> error not_found\n"
    given = history(
        text + "d receive 1 delete entity=Subscriptions/a -> m1#1.1", subscriptions=(("a", "true"),)
    )
    assert judge(given).status is Judged.UNKNOWN and not violated(given)


def test_an_outage_of_a_queue_on_the_way_is_not_overlooked() -> None:
    text = "env partition_down 1\np send m1 key=k\nenv drained entity=ForwardTo/b"
    given = history(text, "azure-standard", forward_to=["a", "b"])
    struck = structs.replace(given.records[0], entity=f"{given.records[1].entity}/ForwardTo/A")
    found = judge(replace(given, records=(struck, *given.records[1:])))
    assert found.status is Judged.UNKNOWN and "whose partition" in found.reason
