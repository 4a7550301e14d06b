"""SQL actions of rules: what they make of user properties, what is refused, and that the reference, whose
reading is written apart, makes the same of them."""

from __future__ import annotations

import pytest

from partq.model.filters import LONGEST
from partq.model.topics.changes import MOST, InvalidAction, Unsettled, parsed
from partq.reference_impl.annotations import Annotations, statements
from partq.reference_impl.errors import Refused

OWN = (("colour", "blue"), ("size", ""))


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("SET colour = 'red'", {"colour": "red", "size": ""}),
        ("set user.colour='it''s';Remove [size];", {"colour": "it's"}),
        ("SET [a ]] b] = ''; REMOVE nope", {"colour": "blue", "size": "", "a ] b": ""}),
        ("REMOVE colour; REMOVE size", {}),
        ("SET settled = 'x'", {"colour": "blue", "size": "", "settled": "x"}),
    ],
)
def test_what_an_action_makes(text: str, made: dict[str, str]) -> None:
    assert dict(parsed(text).made_of(OWN)) == made
    assert dict(Annotations().changed(OWN, statements(text))) == made


@pytest.mark.parametrize(
    "text",
    [
        *("", ";", "SET a = b", "SET a = 1", "SET a = 'b' SET c = 'd'", "SET a = 'b',", "DROP TABLE a"),
        *("SET sys.Label = 'a'", "REMOVE sys.MessageId", "broker.a = 'b'", "SET set = 'a'", 'SET a = "b"'),
        *("__import__('os')", f"SET a = '{'b' * LONGEST}'"),
        ";".join(f"REMOVE a{n}" for n in range(MOST + 1)),
    ],
)
def test_what_is_no_action(text: str) -> None:
    with pytest.raises(InvalidAction):
        parsed(text)
    if text:
        with pytest.raises(Refused):
            Annotations().check_action(text)


def test_what_no_source_settles() -> None:
    with pytest.raises(Unsettled):
        parsed("SET a = 'b'; REMOVE A")
    with pytest.raises(Unsettled):
        parsed("SET Colour = 'red'").made_of(OWN)
