"""A profile's file: what it says, and errors that name its line."""

from __future__ import annotations

import json

import pytest

from partq.model.conditions import CONDITIONS
from partq.model.profile_file import FLAGS, LONGEST, ProfileError, digest, parse, plain, read, words_for_rules
from partq.model.profiles import BUILT_IN, Divergence, Ground, admit, grounds_of, profile, requirements_of
from partq.model.requirements import catalogue

GOOD = """\
schema = "partq.profile/1"
name = "mine"
title = "Mine, two shards"
adds_properties = ["x-shard"]

[switches]
key_rule = "service-bus"
partitions = [2, 4]
peek = false

[entity]
partitions = 2

[pages]
"The manual" = "https://vendor.example/manual"

[rules.ROUTE]
page = "The manual"
says = "a key stays in its shard"

[rules.RCV-6]

[rules.ROUTE-2]
page = "The manual"
says = "by the key alone"

[[divergences]]
rule = "RCV-6"
condition = "after broker_kill"
reason = "the lock table is in memory"
"""
WORDS = words_for_rules()


def test_what_a_file_says() -> None:
    family = parse(GOOD, "mine.toml", WORDS)
    assert (family.name, family.title, family.partitions) == ("mine", "Mine, two shards", (2, 4))
    assert (family.peek, family.locks_expire, family.default_entity.partitions) == (False, True, 2)
    assert family.divergences == (Divergence("RCV-6", "after broker_kill", "the lock table is in memory"),)
    assert family.adds_properties == ("x-shard",)


def test_the_most_special_ground_of_a_rule_is_the_ground() -> None:
    name = admit(parse(GOOD, "mine.toml", WORDS))
    grounds = grounds_of(name)
    assert list(grounds) == [id for id in catalogue() if id.startswith("ROUTE-") or id == "RCV-6"]
    assert grounds["ROUTE-1"] == Ground("The manual", "a key stays in its shard")
    assert grounds["ROUTE-2"] == Ground("The manual", "by the key alone")
    assert grounds["RCV-6"] is None
    assert requirements_of(name) == set(grounds)


@pytest.mark.parametrize("name", BUILT_IN)
def test_plain_data_says_all_of_it(name: str) -> None:
    data = json.loads(json.dumps(plain(profile(name))))
    assert read(data, "here", WORDS) == profile(name)
    assert admit(read(data, "here")) == name


def test_a_name_and_what_it_says_are_one() -> None:
    one, other = parse(GOOD, "a", WORDS), parse(GOOD.replace("peek = false", "peek = true"), "b", WORDS)
    first, second = admit(one), admit(other)
    assert first != second
    assert {first.partition("@")[0], second.partition("@")[0]} == {"mine"}
    assert (profile(first).peek, profile(second).peek) == (False, True)
    commented = GOOD.replace("[switches]", "# a remark\n\n[switches]\nlocks_expire = true")
    assert admit(parse(commented, "c", WORDS)) == first
    assert digest(profile(first)) == digest(one)


def test_a_changed_copy_of_a_built_in_profile_is_another() -> None:
    data = plain(profile("solace"))
    assert admit(read({**data, "title": "Not it"}, "here")).startswith("solace@")
    assert profile("solace").title != "Not it"


BAD = {
    "syntax": ("[pages]", "[pages", 14, "not valid TOML"),
    "a number of thousands of digits": ("[2, 4]", f"[{'9' * 5000}]", None, "not valid TOML"),
    "a hexadecimal one": ("[2, 4]", f"[0x{'f' * 5000}]", 8, "'partitions' must be a list of whole numbers"),
    "nested deeply": ('["x-shard"]', "[" * 5000 + "]" * 5000, None, "nested too deeply"),
    "too long": ("# ", "#", None, "longer than"),
    "another schema": ("profile/1", "profile/2", 1, "field 'schema' is 'partq.profile/2'"),
    "no schema": ('schema = "partq.profile/1"', "", 1, "field 'schema' is missing"),
    "name of other letters": ('"mine"', '"Mine broker"', 2, "field 'name' must be words of small letters"),
    "name too long": ('"mine"', f'"{"m" * 41}"', 2, "field 'name' must be words"),
    "title that colours a terminal": ("Mine, two", "\\u001b[31m", 3, "cannot be printed"),
    "unknown field": (
        "adds_properties",
        "add_properties",
        4,
        "'add_properties' is not known; did you mean adds_",
    ),
    "properties": ('["x-shard"]', "[1]", 4, "'adds_properties' must be a list of texts"),
    "unknown switch": ("peek =", "peak =", 9, "[switches]: field 'peak' is not known; did you mean peek?"),
    "switch of another type": ("peek = false", "peek = 0", 9, "field 'peek' must be true or false"),
    "unknown key rule": ('"service-bus"', '"bus"', 7, "'key_rule' has an unknown value 'bus'"),
    "partitions": ("[2, 4]", "[0]", 8, "field 'partitions' must be a list of whole numbers from 1 to 1024"),
    "switches are no table": ("[switches]", "[[switches]]", 6, "[switches]: is not a table"),
    "entity": (
        "partitions = 2",
        "partitions = 2.0",
        12,
        "[entity]: field 'partitions' must be a whole number",
    ),
    "usual partitions are not allowed": (
        "partitions = 2\n",
        "partitions = 3\n",
        12,
        "none of those in [switches]",
    ),
    "page": ("https", "javascript", 15, "field 'The manual' must be an https address"),
    "unknown rule": (
        "rules.RCV-6",
        "rules.RVC-6",
        21,
        "'RVC-6' is no rule, group or column; did you mean RCV-6",
    ),
    "page that is not there": (
        'page = "The manual"\nsays = "by',
        'page = "A"\nsays = "by',
        24,
        "unknown value 'A'",
    ),
    "ground of one half": ('says = "by the key alone"', "", 23, "field 'says' is missing"),
    "divergence of no rule": ('rule = "RCV-6"', 'rule = "RCV"', 28, "field 'rule' is no rule"),
    "unknown condition": ("after broker_kill", "after broker_kil", 29, "did you mean after broker_kill"),
    "always": ("after broker_kill", "always", 29, "is 'always' without a cause"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_refused_in_a_line_that_says_where(case: str) -> None:
    old, new, line, said = BAD[case]
    damaged = GOOD + "#" * LONGEST if case == "too long" else GOOD.replace(old, new, 1)
    assert damaged != GOOD
    with pytest.raises(ProfileError) as caught:
        parse(damaged, "mine.toml", WORDS)
    text = str(caught.value)
    assert (
        text.startswith("mine.toml: " if line is None else f"mine.toml:{line}: ") or "not valid TOML" in text
    )
    assert said in text
    assert text.isprintable()
    assert len(text) < 300


@pytest.mark.parametrize("rules", ["[]", '["ROUTE", "ROUTE"]', "{}", '"ROUTE"', '["route"]', "[[1]]", "3"])
def test_rules_must_bind_something_once(rules: str) -> None:
    text = f'schema = "partq.profile/1"\nname = "a"\ntitle = "A"\nrules = {rules}\n'
    with pytest.raises(ProfileError, match=r"mine\.toml:4: "):
        parse(text, "mine.toml", WORDS)


def test_every_switch_has_a_sentence_and_is_a_field() -> None:
    family = profile("azure-premium")
    assert all(type(getattr(family, name)) is bool and text for name, text in FLAGS.items())
    assert CONDITIONS


def test_rules_of_order_need_an_order_domain() -> None:
    unsaid = GOOD.replace("[rules.RCV-6]", "[rules.ORD-1]").partition("[[divergences]]")[0]
    with pytest.raises(ProfileError, match=r'mine.toml.*order is missing: ORD-1 binds.*"key" or "partition"'):
        parse(unsaid, "mine.toml", WORDS)
    said = unsaid.replace("peek = false", 'peek = false\norder = "partition"')
    assert parse(said, "mine.toml", WORDS).order == "partition"
