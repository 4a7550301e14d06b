"""What deliveries and assignment events say of the partitions where messages are."""

from partq.conformance.history.notation import history
from partq.conformance.oracle.placement import Clues
from partq.conformance.oracle.reading import Reading

BOUND = """\
p send m1 key=a
p send m2 key=b
c bind f
env advance 5s
env assignment 1 f ready
env assignment 2 f ready
env assignment 3 f ready
"""
TAKEN = f"{BOUND}c receive 2 flow=f -> m1 lock=l, m2 lock=k\n"
PAUSED = f"{TAKEN}d bind g\nenv advance 5s\nenv assignment 2 f paused\n"


def clues(text: str) -> Clues:
    """Those of a Solace queue with three partitions."""
    question = Reading(history(text, "solace", partitions=3)).entities[0].question()
    found = question.known(True).clues
    assert found is not None
    return found


def test_a_paused_partition_holds_what_is_unsettled() -> None:
    settled = f"{PAUSED}c complete k\n"
    cancelled = f"{PAUSED}d unbind g\nenv assignment 2 f ready\n"
    passed_on = "env assignment 2 f unassigned\nenv assignment 2 g ready\n"

    assert clues(f"{PAUSED}env advance 20s\n{passed_on}").pauses == [(1, ("key a", "key b"))]
    assert clues(f"{settled}env advance 20s\n{passed_on}").pauses == [(1, ("key a",))]
    assert clues(f"{settled}{passed_on}").pauses == [(1, ("key b",))]
    assert clues(cancelled).pauses == [(1, ("key a", "key b"))]


def test_what_is_delivered_first_does_not_wait_behind_what_is_older() -> None:
    lost = f"{TAKEN}c unbind f\nd bind g\nenv advance 20s\n"
    back = f"{TAKEN}c abandon l\nc receive 1 flow=f -> m1 lock=n\nc unbind f\nd bind g\nenv advance 20s\n"
    others = "d receive 2 flow=g -> m2 lock=x, m1 lock=y"

    assert clues(lost + others).apart == {"key a": ["key b"], "key b": ["key a"]}
    assert clues(back + others).apart == {"key a": ["key b"], "key b": ["key a"]}
    assert clues(f"{TAKEN}c abandon l\nc abandon k\nc receive 2 flow=f -> m2 lock=x, m1 lock=y").apart == {}
