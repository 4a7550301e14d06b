"""TLC on a scope: what it counts is what the model's packed search counts."""

from test_tlc import needs_tlc

from partq.model.packed import count
from partq.model.scope import Scope
from partq.spec.comparison.spec_side import SpecScope, counted


def test_states_and_transitions_are_as_many_as_the_models() -> None:
    needs_tlc()
    without_the_initial_one = -1
    ours = count(Scope(messages=("a", "b"), operations=("receive", "complete", "peek")))
    theirs = counted(SpecScope(("partitioned", "numbers"), ("a", "b"), ("peek",)), workers=2)

    assert (ours.states, ours.transitions) == (theirs.distinct, theirs.generated + without_the_initial_one)
