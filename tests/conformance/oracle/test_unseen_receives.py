"""What a receive of unknown outcome may have taken, and what it may not."""

from __future__ import annotations

import pytest

from partq.conformance.history import History
from partq.conformance.history.entities import ByEntity, entities_of
from partq.conformance.history.notation import history
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.oracle.plain_search import is_explained
from partq.conformance.oracle.question import question_of

RESTART = "env broker_kill\nenv broker_start\n"

HANDED_ONE_BY_ONE = (
    "p send m1 key=a @1-2\np bind f @3-4\n"
    "env assignment 0 f ready @5000000004\nenv assignment 1 f ready @5000000005\n"
    "p receive {} flow=f -> unknown timeout @5000000010-5000000011\nq bind g @5000000030-5000000031\n"
    "env assignment 0 f paused @10000000032\nenv assignment 0 f unassigned @13000000032\n"
    "env assignment 0 g ready @13000000032\n"
    "q receive 1 flow=g -> m1 redelivered=yes @13000000040-13000000041\n"
    "p send m2 key=b @13000000050-13000000051\np unbind f @13000000060-13000000061\n"
    "env assignment 1 f unbound @13000000062\nenv assignment 1 f unassigned @18000000064\n"
    "env assignment 1 g ready @18000000064\n"
    "q receive 1 flow=g -> m2 redelivered=yes @20000000000-20000000001"
)

PARTITIONS = (
    "p send m1 key=a\nr peek 1 -> m1#1.1\nq receive {} delete -> unknown timeout\n"
    "r peek 1 from=1.0 -> nothing\np send m2 key={}\np send m3 key={}\nr peek 2 from={} -> m3#{}"
)

LOCKED_AND_FREE = (
    f"p send m1\nq receive 1 -> m1 lock=l count=0\np send m2\n{RESTART}"
    f"q receive {{}} -> unknown timeout\n{RESTART}q receive 2 delete -> m1 count=2, m2 count=1"
)

TAKEN: dict[str, tuple[str, str]] = {
    "of two partitions, at two instants": ("azure-premium", PARTITIONS.format(2, "b", "b", "2.0", "2.2")),
    "past what another front end holds": (
        "azure-premium",
        "p send m1 key=a\np send m2 key=a\np send m3 key=a\nq receive 1 delete -> unknown timeout\n"
        "r peek 3 -> m1#1.1, m3#1.3",
    ),
    "a message whose lock had ended, and a free one": ("azure-flat", LOCKED_AND_FREE.format(2)),
    "one with a count that a peek left open": (
        "azure-flat",
        f"p send m1\nq receive 1 -> m1 lock=l count=0\n{RESTART}r peek 1 -> m1 count=0\n"
        f"q receive 1 -> unknown timeout\n{RESTART}q receive 1 delete -> m1 count=2",
    ),
    "for a flow one after the other": ("solace", HANDED_ONE_BY_ONE.format(2)),
}

NOT_TAKEN: dict[str, tuple[str, str]] = {
    "of one partition, at two instants": ("azure-premium", PARTITIONS.format(2, "a", "a", "1.0", "1.3")),
    "more than it asked for, of two partitions": (
        "azure-premium",
        PARTITIONS.format(1, "b", "b", "2.0", "2.2"),
    ),
    "more than it asked for, locked and free": ("azure-flat", LOCKED_AND_FREE.format(1)),
    "more than it asked for, for a flow": ("solace", HANDED_ONE_BY_ONE.format(1)),
    "what is not its turn": (
        "azure-flat",
        "p send m1\np send m2\nq receive 1 delete -> unknown timeout\nr peek 2 -> m1#1\nenv drained",
    ),
    "what is locked": (
        "azure-flat",
        "p send m1\nq receive 1 -> m1#1 lock=l until=30s\nr receive 1 delete -> unknown timeout\n"
        "q peek 1 -> nothing @5-6",
    ),
}


def told(profile: str, text: str) -> History:
    return history(text, profile, partitions=1 if profile == "azure-flat" else 2)


def plainly(given: History) -> bool | None:
    return is_explained(question_of(ByEntity(given), entities_of(given)[0], 0, frozenset()))


@pytest.mark.parametrize("name", TAKEN)
def test_it_may_have_taken(name: str) -> None:
    given = told(*TAKEN[name])
    assert judge(given).status is Judged.ACCEPTED and plainly(given) is True


@pytest.mark.parametrize("name", NOT_TAKEN)
def test_it_has_not_taken(name: str) -> None:
    given = told(*NOT_TAKEN[name])
    assert judge(given).status is Judged.REJECTED and plainly(given) is False


def many(messages: int, taken: int) -> History:
    """Some of the locks that a kill may have ended had been given again, unseen, when the next kill came: the
    last ones, as their counts show."""
    ids = [f"m{n}" for n in range(messages)]
    locks = ", ".join(f"{id} lock=l{id} count=0" for id in ids)
    shown = ", ".join(f"{id} count={2 if id in ids[-taken:] else 1}" for id in ids)
    sends = "".join(f"p send {id}\n" for id in ids)
    return told(
        "azure-flat",
        f"{sends}q receive {messages} -> {locks}\n{RESTART}q receive {taken} -> unknown timeout\n{RESTART}"
        f"q receive {messages} delete -> {shown}",
    )


@pytest.mark.parametrize("nodes", [50, 500, 1_500])
def test_where_there_are_too_many_sets_it_is_unknown(nodes: int) -> None:
    found = judge(many(16, taken=5), seconds=60.0, nodes=nodes)
    assert found.status is Judged.UNKNOWN and found.kind == "over the budget"


def test_every_set_is_tried_in_the_end() -> None:
    assert judge(many(7, taken=3), seconds=60.0).status is Judged.ACCEPTED
