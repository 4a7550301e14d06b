"""SQL filters: what they say of a message, what is refused, and that the reference, whose reading is written
apart, has one that the model allows."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace

import pytest

from partq.model.filters import FALSE, LONGEST, SQL, TRUE, UNKNOWN, InvalidFilter, parsed
from partq.model.messages import Message
from partq.model.profiles import rule_problem
from partq.reference_impl.errors import Refused
from partq.reference_impl.freedoms import Freedoms
from partq.reference_impl.topics import Copies

RED = Message("m1", properties=(("Colour", "Red"), ("empty", ""), ("share", "50%")), partition_key="k1")
BARE = Message("m2", session_id="s")


@pytest.mark.parametrize(
    ("text", "red", "bare"),
    [
        ("colour = 'Red'", {TRUE}, {UNKNOWN}),
        ("NOT colour <> 'Red'", {TRUE}, {UNKNOWN}),
        ("colour = 'red' AND user.colour != 'blue'", {TRUE, FALSE}, {UNKNOWN}),
        ("colour = 'Red '", {TRUE, FALSE}, {UNKNOWN}),
        ("colour IS NULL", {FALSE}, {TRUE}),
        ("empty IS NOT NULL AND EXISTS(empty)", {TRUE}, {FALSE}),
        ("colour IN ('blue', 'Red')", {TRUE}, {UNKNOWN}),
        ("colour NOT IN ('blue', 'green')", {TRUE}, {UNKNOWN}),
        ("colour LIKE 'R%' AND colour LIKE '_e_' AND colour NOT LIKE '_'", {TRUE}, {UNKNOWN}),
        ("colour LIKE 'R.d' OR colour LIKE '%d%d'", {FALSE}, {UNKNOWN}),
        ("share LIKE '__!%' ESCAPE '!' AND share LIKE '5_!%' ESCAPE '!'", {TRUE}, {UNKNOWN}),
        ("1 = 1 OR colour = 'x' AND 1 = 0", {TRUE}, {TRUE}),
        ("NOT 1 = 0 AND (2 > -1) AND 9 >= 9 AND NOT 9 < 9 AND TRUE <> FALSE", {TRUE}, {TRUE}),
        ("nope = 'x' OR sys.MessageId = 'm1'", {TRUE}, {UNKNOWN}),
        ("sys.SessionId = 's'", {FALSE, UNKNOWN}, {TRUE}),
        ("sys.PartitionKey IN ('k1', 's')", {TRUE}, {TRUE, FALSE, UNKNOWN}),
        ("EXISTS(sys.SessionId) OR [emp]]ty] = 'it''s'", {TRUE, UNKNOWN}, {TRUE}),
    ],
)
def test_what_a_filter_says(text: str, red: set[int], bare: set[int]) -> None:
    found = parsed(SQL + text)
    assert (found.test(RED), found.test(BARE), found.doubts) == (red, bare, "")


@pytest.mark.parametrize("text", ["colour > 'm'", "colour = 5", "5 LIKE '5'", "colour LIKE '!a' ESCAPE '!'"])
def test_what_no_source_settles_is_in_doubt(text: str) -> None:
    assert parsed(SQL + text).doubts.startswith("no source says")


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "colour", "colour == 'x'", "colour = 'x", 'colour = "x"', "and = 'x'", "IN ('x')"),
        *("(1 = 1", "1 = 1)", "a = 'b'; DROP TABLE c", "a = 'b' -- c", "__import__('os')", "a IN ()"),
        *("a LIKE 'b' ESCAPE ''", "a LIKE 'b' ESCAPE '!!'", "sys.Label = 'x'", "broker.a = 'x'"),
        *("1 = 9223372036854775808", "NOT " * 40 + "1 = 1", f"a = '{'x' * LONGEST}'", "a = NULL"),
    ],
)
def test_what_is_no_filter_is_refused(text: str) -> None:
    with pytest.raises(InvalidFilter):
        parsed(SQL + text)
    assert rule_problem(SQL + text)


def test_a_filter_as_long_as_may_be_is_read_in_no_time() -> None:
    """Neither parentheses nor wildcards make it try many ways."""
    assert parsed(SQL + "(" * 500 + "1 = 1" + ")" * 500).test(BARE) == {TRUE}
    many = SQL + "a LIKE '" + "%a" * 500 + "b'"
    assert parsed(many).test(Message("m", properties=(("a", "a" * 5_000),))) == {FALSE}


NAMES = (
    "colour",
    "COLOUR",
    "user.colour",
    "[share]",
    "nope",
    "sys.SessionId",
    "sys.PartitionKey",
    "sys.messageid",
)
TEXTS = ("'red'", "'Red'", "'re%'", "'r_d'", "''", "'50%'", "'%e%'", "'_!%' ESCAPE '!'", "'s'", "'m1'")


def _filter(random: Random, depth: int) -> str:
    name, text, deny = random.choice(NAMES), random.choice(TEXTS), random.choice(("", "NOT "))
    plain = text.partition(" ")[0]
    simple = (
        f"{name} {random.choice(('=', '<>', '!='))} {plain}",
        f"{name} IS {deny}NULL",
        f"{name} {deny}IN ({plain}, 'k1')",
        f"{name} {deny}LIKE {text}",
        f"{deny}EXISTS({name})",
        f"{random.randrange(3)} {random.choice(('<', '<=', '>', '>=', '=', '<>'))} 1",
    )
    if not depth or random.random() < 0.4:
        return random.choice(simple)
    several = [_filter(random, depth - 1) for _ in range(1 + random.randrange(3))]
    joined = f" {random.choice(('AND', 'or'))} ".join(several)
    return random.choice((joined, f"NOT {several[0]}", f"({joined})"))


def _copies(freedoms: Freedoms) -> Copies:
    queue = SimpleNamespace(free=freedoms, clock=SimpleNamespace(random=Random(1).random))
    return Copies({"a": queue})


@pytest.mark.parametrize("ignore_case", [0.0, 1.0])
def test_the_reference_reads_filters_in_a_way_that_is_allowed(ignore_case: float) -> None:
    random, copies, certain = Random(22), _copies(Freedoms(ignore_case=ignore_case)), 0
    for _ in range(1_500):
        rule = SQL + _filter(random, 3)
        copies.check(rule)
        for message in (RED, BARE):
            allowed = {truth == TRUE for truth in parsed(rule).test(message)}
            assert copies.holds(rule, message) in allowed, (rule, message)
            certain += len(allowed) == 1
    assert certain > 2_000, "most filters say one thing"


@pytest.mark.parametrize("text", ["a == 'b'", "NOT " * 60 + "1 = 1", "x" * 2_000, "sys.Label = 'x'"])
def test_the_reference_refuses_what_is_no_filter(text: str) -> None:
    with pytest.raises(Refused):
        _copies(Freedoms()).check(SQL + text)
