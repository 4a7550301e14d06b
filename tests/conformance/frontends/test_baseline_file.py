"""A baseline as text: what is written can be read, and what is wrong is told in one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partq.conformance.frontends.baseline_file import HEAD, doubtful, dumps, loads, unconditional
from partq.conformance.frontends.toml_tables import BadTable
from partq.conformance.verdict import ANOTHER, Entry, Fault, Kind, entries_for
from partq.model.conditions import ALWAYS, CONDITIONS

RULE = st.sampled_from(["ROUTE-2", "SEQ-5", "RCV-9"])
TEXT = st.text(st.characters(exclude_categories=("Cs",)), min_size=1).map(str.strip).filter(bool)

ENTRIES = st.builds(
    Entry,
    st.just(Kind.VIOLATED),
    st.lists(RULE, min_size=1, max_size=3, unique=True).map(tuple),
    TEXT,
    st.sampled_from(["", "azure-premium"]),
    st.one_of(st.just(""), TEXT),
    st.booleans(),
    st.lists(st.sampled_from([*CONDITIONS]), unique=True, max_size=2).map(tuple),
)


@given(st.lists(ENTRIES))
def test_what_is_written_can_be_read(entries: list[Entry]) -> None:
    assert loads(HEAD + dumps(entries), "b.toml") == tuple(entries)


def test_as_people_write_it() -> None:
    text = """
    schema = "partq.baseline/1"

    [[violated]]
    rule = ["SEQ-5", "another rule"]
    cause = "SEQ-5/gap"
    condition = "after broker_kill"
    reason = "BUG-1: counters leap after a failover"
    sometimes = true

    [[open]]
    rule = "KEY-2"
    profile = "azure-standard"
    reason = "follows from BUG-1"
    """
    assert loads(text, "b.toml") == (
        Entry(
            Kind.VIOLATED,
            ("SEQ-5", ANOTHER),
            "BUG-1: counters leap after a failover",
            cause="SEQ-5/gap",
            sometimes=True,
            conditions=("after broker_kill",),
        ),
        Entry(Kind.OPEN, ("KEY-2",), "follows from BUG-1", "azure-standard"),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("= 1", "not valid TOML"),
        ("", "schema: expected 'partq.baseline/1'"),
        ("[[violatd]]", "unknown key 'violatd'; did you mean violated?"),
        ("violated = 1", "violated: expected tables that begin with [[violated]]"),
        ("[violated]", "violated: expected tables that begin with [[violated]]"),
        ("violated = [1]", "[[violated]] 1: expected a table"),
        ("[[violated]]\nreason = 'r'", "[[violated]] 1: rule is missing"),
        ("[[violated]]\nrule = 'SEQ-5'", "[[violated]] 1: reason is missing"),
        ("[[violated]]\nrule = 'SEQ-5'\nreason = ' '", "reason: expected a text, not ' '"),
        ("[[violated]]\nrule = 'SEQ-999'\nreason = 'r'", "'SEQ-999' is no rule (partq list rules)"),
        ("[[violated]]\nrule = ['another rule']\nreason = 'r'", "name at least one rule"),
        ("[[violated]]\nrule = 'SEQ-5'\nreason = 'r'\nprofil = 'x'", "did you mean profile?"),
        ("[[violated]]\nrule = 'SEQ-5'\nreason = 'r'\nprofile = 'azure'", "[[violated]] 1: "),
        ("[[violated]]\nrule = 'SEQ-5'\nreason = 'r'\nsometimes = 1", "sometimes: expected true or false"),
        ("[[violated]]\nrule = 'SEQ-5'\nreason = 'r'\ncondition = 'on mondays'", "'on mondays' is none of"),
        ("[[open]]\nrule = 'SEQ-5'\nreason = 'r'\ncondition = 'always'", "unknown key 'condition'"),
        ("[[open]]\nrule = ['SEQ-5']\nreason = 'r'", "rule: expected a text"),
        ("[[open]]\nrule = 'SEQ-5'\nreason = 'r'\ncause = 'c'", "unknown key 'cause'"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(text: str, said: str) -> None:
    whole = text if not text or text.startswith("=") else f"schema = 'partq.baseline/1'\n{text}"
    with pytest.raises(BadTable) as caught:
        loads(whole, "b.toml")
    assert str(caught.value).startswith("b.toml: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_entry_without_a_condition_is_read_and_warned_about() -> None:
    head = "schema = 'partq.baseline/1'\n"
    old = "[[violated]]\nrule = 'RCV-7'\nsometimes = true\nreason = 'r'\n"
    new = "[[violated]]\nrule = 'RCV-7'\ncause = 'c'\ncondition = 'after broker_kill'\nreason = 'r'\n"
    (line,) = doubtful(loads(head + new + old, "b.toml"), "b.toml")
    assert line.startswith(
        "b.toml: [[violated]] 2: it has no condition, and so hides other violations of RCV-7"
    )
    assert "\n" not in line


def test_an_entry_that_is_written_without_a_narrower_condition_is_warned_about() -> None:
    def warned(*circumstances: tuple[str, ...]) -> list[str]:
        new = [Fault(Kind.VIOLATED, "azure-premium", ("RCV-7",), "RCV-7/again", 1, circumstances)]
        return [*unconditional(entries_for(new, "why"), new, "b.toml")]

    assert not warned(("after broker_kill", ALWAYS), ("with two consumers", ALWAYS))
    (line,) = warned((ALWAYS,))
    assert line == (
        "b.toml: RCV-7 (azure-premium, RCV-7/again) has the condition 'always', since it was found with no "
        "narrower one, and so excuses every later violation with this cause. Better mend it (docs/ci.md)"
    )
    (line,) = warned((ALWAYS,), ("after broker_kill", ALWAYS))
    assert "since some findings have no narrower one" in line
    assert "To excuse only a part, write 'after broker_kill' (docs/ci.md)" in line
