"""The distributions that a rebalance may have chosen, those first of which the next events tell."""

from partq.conformance.history.notation import history
from partq.conformance.oracle.reading import Reading
from partq.conformance.oracle.rebalances import Foretold
from partq.model.state import Flows

HISTORY = """\
c bind f
env advance 5s
env assignment 1 f ready
env assignment 2 f ready
env assignment 3 f ready
env assignment 4 f ready
d bind g
env advance 5s
env assignment 4 f unassigned
env assignment 4 g ready
env assignment 3 f unassigned
d bind h
env assignment 3 g ready
env assignment 1 f unassigned
env assignment 1 g ready
env advance 5s
env assignment 2 f unassigned
env assignment 2 h ready
"""
FLOWS = Flows(
    active=(("f", "c"), ("g", "d")),
    standby=(),
    owner=(("f", "ready"),) * 4,
    handoff=(None,) * 4,
    timer=None,
)


def test_what_is_told_first_was_chosen_first() -> None:
    """Three partitions go to the second flow sooner or later, and it may have two."""
    question = Reading(history(HISTORY, "solace", partitions=4)).entities[0].question()
    known = question.known(True)
    done = sum(1 << n for n, effect in enumerate(known.effects) if effect.record < 7)
    for unordered in (frozenset[int](), frozenset(range(4))):
        foretold = Foretold(known.effects, known.events, unordered, known.handoff)

        assert next(foretold.targets(FLOWS, done, hasty=True, latest=foretold.end)) == ("f", "f", "g", "g")
