"""Values as TLC prints them."""

import pytest

from partq.spec.tools.values import InvalidValue, read_state, read_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("-1", -1),
        ("TRUE", True),
        ('"c1"', "c1"),
        (r'"say \"hi\""', 'say "hi"'),
        ("m1", "m1"),
        ("1..3", frozenset({1, 2, 3})),
        ("[ms |-> 2..2]", {"ms": frozenset({2})}),
        ("{}", frozenset()),
        ('{1, "a", <<>>}', frozenset({1, "a", ()})),
        ("<<1, <<2>>>>", (1, (2,))),
        ('[at |-> {1}, by |-> "c1"]', {"at": frozenset({1}), "by": "c1"}),
        ("(1 :> TRUE @@ 2 :> FALSE)", {1: True, 2: False}),
        ("{[a |-> 1], [a |-> 2]}", frozenset({read_value("[a |-> 1]"), read_value("[a |-> 2]")})),
    ],
)
def test_a_value_is_read(text: str, value: object) -> None:
    assert read_value(text) == value


@pytest.mark.parametrize(
    "text", ["", "{1", "1 2", "[a 1]", "(1 :> )", "<<1}", "__import__('os')", "a.b", '"', "1..", "1..a"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue):
        read_value(text)


def test_a_state_is_a_record_of_its_variables() -> None:
    text = '/\\ up = <<TRUE,\n  FALSE>>\n/\\ msg = (1 :> [at |-> "ready"])'

    assert read_state(text) == {"up": (True, False), "msg": {1: {"at": "ready"}}}


def test_a_state_of_one_variable_bears_no_conjunction() -> None:
    assert read_state("x = 3") == {"x": 3}
