"""What deliveries and assignment events say of the partitions where messages are."""

from partq.conformance.history.notation import history
from partq.conformance.oracle.colouring import colouring
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


def test_what_is_settled_while_a_handoff_is_told_of_may_have_been_waited_for() -> None:
    told_meanwhile = f"{PAUSED}c complete k @11s-13s\nenv assignment 2 f unassigned @12s\n"

    assert clues(told_meanwhile).pauses == [(1, ("key b",))]


def test_what_passes_on_before_a_handoff_ends_holds_nothing_unsettled() -> None:
    passed_on = f"{PAUSED}env assignment 2 f unassigned\nenv assignment 2 g ready\n"
    waited = f"{PAUSED}env advance 20s\nenv assignment 2 f unassigned\nenv assignment 2 g ready\n"
    killed = f"{PAUSED}env broker_kill\nenv broker_start\nenv assignment 2 f unassigned\n"
    settled = f"{PAUSED}c complete k\nenv assignment 2 f unassigned\nenv assignment 2 g ready\n"

    assert clues(passed_on).likely == {"key a": 0b101, "key b": 0b101}
    assert clues(waited).likely == clues(killed).likely == {"key a": 0b111, "key b": 0b111}
    assert clues(settled).likely == {"key a": 0b101, "key b": 0b111}


def test_what_is_delivered_first_does_not_wait_behind_what_is_older() -> None:
    lost = f"{TAKEN}c unbind f\nd bind g\nenv advance 20s\n"
    back = f"{TAKEN}c abandon l\nc receive 1 flow=f -> m1 lock=n\nc unbind f\nd bind g\nenv advance 20s\n"
    others = "d receive 2 flow=g -> m2 lock=x, m1 lock=y"

    assert clues(lost + others).apart == {"key a": ["key b"], "key b": ["key a"]}
    assert clues(back + others).apart == {"key a": ["key b"], "key b": ["key a"]}
    assert clues(f"{TAKEN}c abandon l\nc abandon k\nc receive 2 flow=f -> m2 lock=x, m1 lock=y").apart == {}


def test_what_was_received_had_been_sent_by_then() -> None:
    unknown = "p send m1 key=a -> unknown\np send m2 key=b -> unknown\n"
    text = TAKEN.replace("p send m1 key=a\np send m2 key=b\n", unknown)
    later = "p send m3 key=c\nc unbind f\nd bind g\nenv advance 20s\n"
    overtaken = "d receive 3 flow=g -> m3 lock=z, m1 lock=x, m2 lock=y"

    assert clues(f"{text}{later}{overtaken}").apart == {
        "key a": ["key c"],
        "key b": ["key c"],
        "key c": ["key a", "key b"],
    }


def test_first_deliveries_tell_the_order_of_what_was_sent_at_once() -> None:
    at_once = "p send m1 key=a @1-9\nq send m2 key=b @2-8\n"
    text = TAKEN.replace("p send m1 key=a\np send m2 key=b\n", at_once)
    lost = f"{text}c unbind f\nd bind g\nenv advance 20s\n"

    assert clues(f"{lost}d receive 2 flow=g -> m2 lock=x, m1 lock=y").apart == {
        "key a": ["key b"],
        "key b": ["key a"],
    }
    assert clues(f"{lost}d receive 2 flow=g -> m1 lock=x, m2 lock=y").apart == {}


def test_a_pause_that_a_kill_ended_held_what_was_unsettled_when_it_began() -> None:
    killed = f"{PAUSED}env broker_kill\nenv broker_start\nc bind h\nenv advance 20s\n"
    back = f"{killed}env assignment 2 h ready\nc receive 2 flow=h -> m1 lock=x, m2 lock=y\n"

    assert clues(f"{back}c complete x y\n").pauses == [(1, ("key a", "key b"))]


def test_a_handoff_that_waited_waited_for_one_of_several() -> None:
    anywhere = dict.fromkeys("abc", 0b111)
    apart = {"a": ["b"], "b": ["a"]}
    both = [(1, ("a", "b", "c")), (2, ("a", "b", "c"))]
    found = colouring(Clues({}, anywhere, {**anywhere, "a": 0b010}, apart, both, ()), 3, {})

    assert found["a"] == 1
    assert 2 in (found["b"], found["c"])
    assert found["b"] != 1


def test_what_cannot_share_a_partition_moves_until_it_does_not() -> None:
    names = [f"m{n:02}" for n in range(40)]
    near = {a: [b for b in names if a != b and abs(int(a[1:]) - int(b[1:])) < 4] for a in names}
    free = dict.fromkeys(names, 0b1111)
    found = colouring(Clues({}, free, free, near, (), ()), 4, {})

    assert all(found[a] != found[b] for a in names for b in near[a])
