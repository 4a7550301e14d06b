"""Sessions to the judge, beside the corpus: what it declines, long histories, excerpts."""

from __future__ import annotations

import pytest

from partq.conformance.adapters import open_broker
from partq.conformance.execution.runner import run
from partq.conformance.history.notation import history
from partq.conformance.oracle.blame import blame
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.oracle.long_histories import SHORT, judge_any
from partq.conformance.workload.generator import generate
from partq.conformance.workload.themes import ABOUT, THEMES

SESSIONS = {"sessions": THEMES["sessions"]}


@pytest.mark.parametrize("line", ["c accept_session s", "c receive_session s 1", "c renew_session s"])
def test_what_is_asked_of_an_entity_that_is_not_said_to_have_sessions_is_not_modelled(line: str) -> None:
    found = judge(history(f"p send m1 session=s\n{line}", "azure-flat"))
    assert (found.status, found.kind) == (Judged.UNKNOWN, "not modelled")
    assert "sessions are not modelled" in found.reason


def test_sessions_are_not_modelled_where_no_rule_is_about_them() -> None:
    found = judge(history("p send m1", "solace", requires_session=True))
    assert found.reason == "sessions are not modelled where the profile has none"


def test_an_excerpt_lacks_the_messages_that_made_a_session_the_next_one() -> None:
    """The violation is about m9 alone, and nothing is blamed for what the excerpt about it leaves out."""
    text = (
        "p send m1 session=a\np send m9 session=b\n"
        "c accept_session a next\nc receive_session a 1 delete -> m1#1\n"
        "d accept_session b next\nd receive_session b 1 -> m9#2 lock=l count=3\n"
    )
    assert judge(history(text.replace("count=3", "count=0"), "azure-flat", requires_session=True)).status is (
        Judged.ACCEPTED
    )
    assert blame(history(text, "azure-flat", requires_session=True)).candidates == ("RCV-9",)


def test_a_long_history_is_not_rejected_by_its_excerpts() -> None:
    broker = open_broker("reference")
    broker.profile = "azure-flat"
    program = generate("azure-flat", 5, length=120, lacks=broker.lacks(), themes=SESSIONS)
    whole = run(broker, program)
    assert len(whole) > SHORT
    assert judge_any(whole, nodes=6_000).judgement.status is not Judged.REJECTED


def test_a_broker_without_sessions_is_given_no_programs_about_them() -> None:
    needs = ABOUT["sessions"].needs
    drawn = [generate("azure-flat", seed, lacks=frozenset({needs})).entity for seed in range(60)]
    assert not any(entity.requires_session for entity in drawn)
    assert any(generate("azure-flat", seed).entity.requires_session for seed in range(60))
