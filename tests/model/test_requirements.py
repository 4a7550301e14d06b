"""The catalogue is complete and well-formed, and damaged data is refused in words that help."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from collections import Counter
from collections.abc import MutableMapping
from typing import cast
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partq.model import clauses
from partq.model import requirements as rq

GROUPS = (
    "ENT",
    "KEY",
    "ROUTE",
    "SEQ",
    "RCV",
    "SES",
    "TXN",
    "DUP",
    "PEEK",
    "SCH",
    "FWD",
    "TOPIC",
    "MGT",
    "REB",
    "ORD",
)

SHOULD = {"ENT-6", "KEY-6", "ROUTE-4", "TXN-9", "FWD-2"}
MAY = {"ROUTE-3", "ROUTE-9", "RCV-4", "RCV-5", "RCV-11", "PEEK-3", "SCH-5", "MGT-3"}

COMMON = """
schema = "partq.requirements/1"
[sources]
A = { name = "a page", kind = "vendor page" }
[groups]
KEY = "Keys"
[[contradictions]]
title = "One or two"
requirements = ["KEY-1"]
sources = ["A"]
conflict = "It says both."
settled = "One."
"""

RULES = """
[[requirements]]
id = "KEY-1"
group = "KEY"
title = "Session ID is key"
level = "MUST"
profiles = ["solace"]
sources = ["A"]
text = '''
The session ID
is   the key.'''
"""


def every_id() -> list[str]:
    return list(rq.catalogue())


# --- what is shipped


def test_each_group_is_numbered_without_holes() -> None:
    counts = Counter(rule.group for rule in rq.catalogue().values())
    assert set(counts) == set(GROUPS)
    for group, count in counts.items():
        numbers = {int(id.split("-")[1]) for id in every_id() if id.startswith(f"{group}-")}
        assert numbers == set(range(1, count + 1))


def test_reading_order() -> None:
    """Groups as listed, numbers ascending within them; RCV-15 (expiry) reads before RCV-14."""
    expected = sorted(every_id(), key=lambda id: (GROUPS.index(id.split("-")[0]), int(id.split("-")[1])))
    at = expected.index("RCV-14")
    expected[at : at + 2] = ["RCV-15", "RCV-14"]
    assert every_id() == expected
    assert tuple(rq.groups()) == GROUPS


def test_levels() -> None:
    by_level = {level: {r.id for r in rq.catalogue().values() if r.level is level} for level in rq.Level}
    assert by_level[rq.Level.SHOULD] == SHOULD
    assert by_level[rq.Level.MAY] == MAY
    assert by_level[rq.Level.MUST] == set(every_id()) - SHOULD - MAY


@pytest.mark.parametrize("profile", rq.PROFILE_COLUMNS)
def test_rows_of_a_profile(profile: str) -> None:
    rows = rq.selected(profile)
    assert rows
    assert list(rows) == [id for id, rule in rq.catalogue().items() if profile in rule.profiles]


def test_the_rules_that_hold_everywhere() -> None:
    everywhere = {id for id, rule in rq.catalogue().items() if rule.profiles == rq.PROFILE_COLUMNS}
    assert everywhere == {"KEY-9", "RCV-1", "RCV-2", "RCV-6", "RCV-7", "RCV-11", "PEEK-4", "PEEK-6"}


def test_partitioned_only_rules_of_both_vendors() -> None:
    partitioned = ("azure-standard", "azure-premium", "solace")
    assert {r.id for r in rq.catalogue().values() if r.profiles == partitioned} == {
        "ROUTE-1",
        "ROUTE-2",
        "ROUTE-4",
    }


def test_titles_are_short_and_distinct() -> None:
    titles = [rule.title for rule in rq.catalogue().values()]
    assert [t for t in titles if not 3 <= len(t.split()) <= 7] == []
    assert len(set(titles)) == len(titles)


def test_sources_are_resolved_and_used() -> None:
    used = {code for rule in rq.catalogue().values() for code in rule.sources}
    assert used == set(rq.sources()) == {"A", "A20", "M", "S", "D", "K", "I", "P"}
    assert all(code == source.code for code, source in rq.sources().items())


def test_sources_that_the_public_can_read_have_their_pages() -> None:
    pages = {code: source.pages for code, source in rq.sources().items() if source.pages}
    assert set(pages) == {"A", "M", "S", "D", "P"}
    azure_and_solace = (titles for code, titles in pages.items() if code != "P")
    own = (rule.pages for rule in rq.catalogue().values())
    hosts = {urlsplit(url).hostname for titles in (*azure_and_solace, *own) for url in titles.values()}
    assert hosts == {"learn.microsoft.com", "docs.solace.com"}


def test_open_questions() -> None:
    assert {rule.id for rule in rq.catalogue().values() if rule.is_open} == {"SEQ-4", "SEQ-6", "REB-9"}
    for rule in rq.catalogue().values():
        if rule.open_question is not None:
            assert rule.open_question.endswith("?")
            assert rule.reading is not None, f"{rule.id} must say how it is read meanwhile"


def test_contradictions() -> None:
    found = rq.contradictions()
    assert len(found) == 6
    assert [c.requirements[0] for c in found] == ["ROUTE-3", "SEQ-4", "ENT-1", "PEEK-1", "RCV-12", "REB-4"]


def test_ids_mentioned_in_prose_exist() -> None:
    prose = [f"{r.text} {r.reading or ''}" for r in rq.catalogue().values()]
    prose += [f"{c.conflict} {c.settled}" for c in rq.contradictions()]
    named = {id for text in prose for id in re.findall(rf"\b(?:{'|'.join(GROUPS)})-\d+", text)}
    assert {"TXN-7", "REB-4"} <= named <= set(every_id())


def test_loaded_once_and_read_only() -> None:
    assert rq.catalogue() is rq.catalogue()
    with pytest.raises(TypeError):
        cast(MutableMapping[str, object], rq.catalogue())["X-1"] = None
    with pytest.raises(dataclasses.FrozenInstanceError):
        rq.requirement("KEY-1").title = "other"  # type: ignore[misc]


def test_import_reads_nothing() -> None:
    code = (
        "from partq.model import requirements as r;"
        "assert r._shipped.cache_info().currsize == 0;"
        "assert r.catalogue();"
        "assert r._shipped.cache_info().currsize == 1"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# --- looking up


@given(st.sampled_from(every_id()))
def test_every_listed_id_is_found(id: str) -> None:
    rule = rq.requirement(id)
    assert rule is rq.catalogue()[id]
    assert rule.id == id


@given(st.text(max_size=12).filter(lambda text: text not in rq.catalogue()))
def test_no_other_id_is_found(id: str) -> None:
    with pytest.raises(rq.UnknownRequirement, match="unknown requirement "):
        rq.requirement(id)


@pytest.mark.parametrize(
    ("typed", "meant"), [("ROUT-1", "ROUTE-1"), ("txn-5", "TXN-5"), ("REB19", "REB-1"), ("PEAK-2", "PEEK-2")]
)
def test_unknown_id_suggests_near_ones(typed: str, meant: str) -> None:
    with pytest.raises(KeyError) as caught:
        rq.requirement(typed)
    assert str(caught.value).startswith(f"unknown requirement '{typed}'; did you mean ")
    assert meant in str(caught.value)


def test_unknown_id_without_likeness_suggests_nothing() -> None:
    with pytest.raises(rq.UnknownRequirement) as caught:
        rq.requirement("ZZZZ")
    assert str(caught.value) == "unknown requirement 'ZZZZ'"


# --- bad data


def test_the_small_example_is_good() -> None:
    parsed = rq.parse(COMMON, {"routing": RULES})
    assert parsed.requirements["KEY-1"].mechanism == "routing"
    assert parsed.requirements["KEY-1"].text == "The session ID is the key."
    assert parsed.sources["A"] == rq.Source("A", "a page", "vendor page")
    assert parsed.contradictions[0].requirements == ("KEY-1",)


BAD = {
    "duplicate id": (RULES, RULES + RULES, "requirements entry 2 (KEY-1): field 'id' repeats KEY-1"),
    "unknown level": ('"MUST"', '"MUSTY"', "(KEY-1): field 'level' has an unknown value 'MUSTY'; did you"),
    "level in lower case": ('"MUST"', '"must"', "field 'level' has an unknown value 'must'"),
    "unknown profile": ('["solace"]', '["solac"]', "'profiles' has an unknown value 'solac'; did you mean"),
    "unknown source": (
        'sources = ["A"]\ntext',
        'sources = ["B"]\ntext',
        "'sources' has an unknown value 'B'; known: A",
    ),
    "unknown group": ('group = "KEY"', 'group = "KEYS"', "field 'group' has an unknown value 'KEYS'"),
    "missing text": (RULES[RULES.index("text =") :], "", "(KEY-1): field 'text' is missing"),
    "blank text": (
        RULES[RULES.index("text =") :],
        "text = ' '\n",
        "field 'text' must be text that is not empty",
    ),
    "text of another type": (RULES[RULES.index("text =") :], "text = 3\n", "field 'text' must be text"),
    "no id": ('id = "KEY-1"', "", "requirements entry 1: field 'id' is missing"),
    "id outside its group": ('"KEY-1"\ng', '"SEQ-1"\ng', "field 'id' must be KEY- and a number: 'SEQ-1'"),
    "id with a leading zero": ('"KEY-1"\ng', '"KEY-01"\ng', "field 'id' must be KEY- and a number: 'KEY-01'"),
    "no profile at all": ('["solace"]', "[]", "field 'profiles' must be a list that is not empty"),
    "profile twice": ('["solace"]', '["solace", "solace"]', "'profiles' names something twice"),
    "profile not text": ('["solace"]', "[[1]]", "field 'profiles' has an unknown value [1]"),
    "mistyped field": ("\nlevel", '\nreadin = "x"\nlevel', "(KEY-1): field 'readin' is not known"),
    "mistyped table": ("[groups]", "[sauces]\n[groups]", "catalogue.toml:5: field 'sauces' is not known"),
    "mistyped table of rules": (
        "[[req",
        "[sauces]\n[[req",
        "routing/rules.toml:2: field 'sauces' is not known",
    ),
    "open without question": ("\nlevel", "\nopen = true\nlevel", "field 'open' must be true exactly"),
    "question without open": ("\nlevel", '\nopen_question = "?"\nlevel', "field 'open' must be true exactly"),
    "open not a flag": ("\nlevel", '\nopen = "yes"\nlevel', "field 'open' must be true or false"),
    "contradiction of no rule": ('= ["KEY-1"]', '= ["KEY-2"]', "contradictions entry 1 (One or two): field"),
    "schema of another kind": (
        "requirements/1",
        "requirements/2",
        "'schema' is 'partq.requirements/2'",
    ),
    "source not a table": (
        '{ name = "a page", kind = "vendor page" }',
        "1",
        "[sources]: [A]: is not a",
    ),
    "page without https": (
        'kind = "vendor page"',
        'kind = "vendor page", pages = { "a page" = "http://vendor.example/a" }',
        "[sources]: [A]: [pages]: field 'a page' must be an https address: 'http://vendor.example/a'",
    ),
    "page that is a script": (
        'kind = "vendor page"',
        'kind = "vendor page", pages = { "a page" = "javascript:alert(1)" }',
        "must be an https address",
    ),
    "bad syntax": ('id = "KEY-1"', "id = ", "routing/rules.toml:3: not valid TOML: "),
    "behind an unknown rule": ("\nlevel", '\nafter = "KEY-7"\nlevel', "'after' has an unknown value 'KEY-7'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data_is_refused(case: str) -> None:
    old, new, said = BAD[case]
    common, rules = COMMON.replace(old, new, 1), RULES.replace(old, new, 1)
    assert (common == COMMON) is not (rules == RULES)
    with pytest.raises(rq.CatalogueError) as caught:
        rq.parse(common, {"routing": rules})
    file = "routing/rules.toml" if common == COMMON else "catalogue.toml"
    assert re.match(rf"{file}:\d+: ", str(caught.value))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("requirements = [1]", "routing/rules.toml:1: requirements entry 1: is not a table"),
        ("requirements = []", "catalogue.toml:1: field 'requirements' is empty: no rules.toml has a rule"),
        ("requirements = 7", "routing/rules.toml:1: field 'requirements' must be an array of tables"),
        ("", "routing/rules.toml:1: field 'requirements' is missing"),
    ],
)
def test_rules_must_be_tables(rules: str, said: str) -> None:
    with pytest.raises(rq.CatalogueError, match=re.escape(said)):
        rq.parse(COMMON, {"routing": rules})


# --- several files


def test_rules_are_in_reading_order_whatever_files_they_are_in() -> None:
    """By number, but for a rule that stands `after` another one."""
    rules = {n: RULES.replace("KEY-1", f"KEY-{n}") for n in (1, 2, 3, 10)}
    rules[10] = rules[10].replace("\ngroup", '\nafter = "KEY-1"\ngroup')
    ways = [
        {"a": rules[10] + rules[2], "b": rules[1] + rules[3]},
        {"b": rules[3] + rules[2] + rules[1], "a": rules[10]},
    ]
    for way in ways:
        assert list(rq.parse(COMMON, way).requirements) == ["KEY-1", "KEY-10", "KEY-2", "KEY-3"]


def test_an_error_names_the_file_that_it_is_in() -> None:
    other = RULES.replace("KEY-1", "KEY-2")
    with pytest.raises(
        rq.CatalogueError, match=r"^b/rules\.toml:14: requirements entry 2 \(KEY-1\): .* repeats"
    ):
        rq.parse(COMMON, {"a": RULES, "b": other + RULES})
    circle = other.replace("\nlevel", '\nprecedes = ["KEY-2"]\nlevel')
    with pytest.raises(rq.CatalogueError, match=r"^b/rules\.toml:6: .* field 'precedes' comes back to KEY-2"):
        rq.parse(COMMON, {"a": RULES, "b": circle})


@pytest.mark.parametrize("id", every_id())
def test_a_rule_lies_where_the_model_implements_it(id: str) -> None:
    """Its file is in a folder that has a clause of it, if any has."""
    folders = {name.partition(".")[0] for name in clauses.of(id)}
    assert not folders or rq.requirement(id).mechanism in folders


# --- precedence


def test_the_special_comes_before_the_general() -> None:
    for rule in rq.catalogue().values():
        for general in rule.precedes:
            assert rq.special_first((general, rule.id)) == (rule.id, general)
    assert rq.special_first(("RCV-2", "TXN-5", "RCV-7", "KEY-1")) == ("KEY-1", "TXN-5", "RCV-7", "RCV-2")
    assert rq.special_first(list(rq.catalogue())[::-1]) == rq.special_first(rq.catalogue())
    assert sorted(rq.special_first(rq.catalogue())) == sorted(rq.catalogue())


@pytest.mark.parametrize(
    ("precedes", "problem"),
    [
        ('["KEY-1"]', "(KEY-1): field 'precedes' comes back to KEY-1"),
        ('["KEY-7"]', "unknown value 'KEY-7'"),
        ("[]", "must be a list that is not empty"),
        ('["KEY-1", 7]', "unknown value 7"),
        ('"KEY-1"', "must be a list"),
    ],
)
def test_a_precedence_that_goes_nowhere_or_in_a_circle_is_refused(precedes: str, problem: str) -> None:
    rules = RULES.replace('sources = ["A"]\ntext', f'sources = ["A"]\nprecedes = {precedes}\ntext')
    with pytest.raises(rq.CatalogueError, match=re.escape(problem)):
        rq.parse(COMMON, {"routing": rules})


def test_a_rule_that_none_of_the_others_precedes() -> None:
    """ROUTE-5 precedes ROUTE-2, and that SEQ-2."""
    assert rq.unpreceded(["ROUTE-2", "SEQ-2", "RCV-1"], by=["ROUTE-5"]) == ()
    assert rq.unpreceded(["ROUTE-2", "KEY-2", "SEQ-2"], by=["KEY-2"]) == ("ROUTE-2", "KEY-2")
