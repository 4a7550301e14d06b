"""Every opinion on every history of the corpus: screens, judge, blame, plain search, and TLC where it is."""

from __future__ import annotations

from collections.abc import Iterator
from time import thread_time
from typing import Final

import pytest
from benchmarks.validation import rejected_for_times_or_marks
from plain_search import is_explained

from corpus import Entry, corpus
from partq.conformance.evaluation.decision import check_history
from partq.conformance.history import History, Record
from partq.conformance.history.entities import ByEntity
from partq.conformance.oracle import excerpts as module
from partq.conformance.oracle.blame import blame
from partq.conformance.oracle.excerpts import beginning, excerpts
from partq.conformance.oracle.guidance import Guide, Known
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.oracle.reading import Excerpt, Impossible, Question, Reading, Unanswerable
from partq.conformance.oracle.roles import SHOWS
from partq.conformance.oracle.search import Found, Search
from partq.conformance.oracle.search import Outcome as Searched
from partq.conformance.oracle.specified import recordings_of
from partq.conformance.screens.assess import inspect
from partq.conformance.verdict import Status as VerdictStatus
from partq.model import clauses
from partq.model.operations import Outcome
from partq.model.profiles import requirements_of
from partq.spec.tools.toolbox import ToolMissing, java, tlc_jar
from partq.spec.validation import Limits, Recording, Status, Validated, batches, validate

NODES, AGAIN, WAIVED, PLAIN = 20_000, 100_000, 2_000, 5_000
"""How many nodes the judge visits, a second look, a search with one rule waived, and the plain search."""

UNORDERED = ("rebalancing/bad: a flow's answer in the wrong order",)
"""The plain search does not know that one answer of a flow has an order; the guide does."""

SEVERAL = (
    "rebalancing/bad: the new flow is ready before the handoff ends, and the old one settles",
    "peeking/bad: a walk that goes back half way after a fault has two explanations",
    "peeking/bad: a receive after the peek tells on it",
    "sessions/bad: the second message of a session first",
    "sessions/bad: both holders receive",
)
"""Of these one rule alone explains the whole, but several explain the shortest prefix that is rejected."""

WITNESSES = 8
FEW = {"admission": 4, "transactions": 5}
"""How many records show one violation at the most."""

LIMITS = Limits(states=3_000)
BATCH = 100
LONGEST = 100
"""Of longer histories, two that tell how keys are spread, TLC takes a second for each state."""
LIMITED = ("more than", "TLC did not end within", "in which order")
"""How the reasons begin for which TLC may leave a history undecided: any other is a defect of the text."""


def _each(*judged: Judged) -> pytest.MarkDecorator:
    """A test for each history of which the judge is to say one of these."""
    entries = {name: entry for name, entry in corpus().items() if entry.judge in judged}
    return pytest.mark.parametrize("entry", entries.values(), ids=entries)


every = _each(*Judged)


@every
def test_screens(entry: Entry) -> None:
    seen = inspect(entry.history)
    assert not [id for id, doubt in seen.doubts.items() if doubt.crashed]
    assert set(seen.findings) == entry.found
    assert {*seen.candidates.values()} == entry.one_of
    assert seen.open.keys() - seen.candidates.keys() == entry.open
    assert seen.found.keys() == entry.found, "what is no finding is not counted"
    counted = {rule: seen.exercised.get(rule, 0) for rule in entry.exercised}
    assert counted == entry.exercised if isinstance(entry.exercised, dict) else all(counted.values())


@every
def test_a_finding_has_all_that_a_reader_needs(entry: Entry) -> None:
    for rule, findings in inspect(entry.history).findings.items():
        for finding in findings:
            assert finding.title and finding.detail and finding.allowed
            assert finding.key.startswith(f"{rule}/") and "m1" not in finding.key
            assert 1 <= len(finding.witness) <= FEW.get(entry.mechanism, WITNESSES)


@every
def test_judge(entry: Entry) -> None:
    given = entry.history
    said = judge(given, seconds=60, nodes=NODES)
    assert said.status is entry.judge and bool(said.reason) is (said.status is not Judged.ACCEPTED)
    assert entry.stuck is None or (said.stuck[0] == entry.stuck and entry.stuck not in said.explained)
    if said.status is Judged.ACCEPTED:
        passing = ByEntity(given).passing
        known = {
            r.i
            for r in given.records
            if _is_explained(r) and not (r.entity in passing and r.op in SHOWS) and not _is_left_out(given, r)
        }
        assert known <= set(said.explained) and not said.stuck and not said.allowed
    if said.status is not Judged.UNKNOWN:
        assert judge(given, seconds=60, nodes=AGAIN, again=True).status is said.status


def _is_explained(record: Record) -> bool:
    """Whether an order that explains the history has the record in it: what failed may not have happened."""
    if record.op == "advance" or record.outcome == Outcome.UNKNOWN:
        return False
    fails = record.is_env or record.op == "disconnect" or record.error == "unsupported"
    return record.outcome == Outcome.OK or not fails


LEFT_OUT: Final = {"peek", "drained", "partition_up", "cancel_scheduled"}
"""What is not compared where a part of a topic is down, or a cancel may be late, and nothing is shown."""


def _is_left_out(given: History, record: Record) -> bool:
    amid = any(r.op in {"partition_down", "cancel_scheduled"} for r in given.records)
    topic = any(entity.subscriptions for entity in given.header.entities.values())
    return amid and topic and record.op in LEFT_OUT and not record.messages


@_each(Judged.REJECTED)
def test_blame(entry: Entry) -> None:
    said = blame(entry.history, seconds=60, nodes=WAIVED)
    assert " ".join(said.candidates) == " ".join(entry.blame)
    assert said.complete is not entry.incomplete
    assert said.violated == (said.candidates[0] if len(said.candidates) == 1 and said.complete else None)
    assert set(said.consulted) <= requirements_of(entry.profile)


@_each(Judged.REJECTED)
def test_what_explains_it_with_a_rule_waived_explains_its_excerpts(entry: Entry) -> None:
    assert not {rule for rule in entry.blame if _rejects_an_excerpt(entry, rule)}


@pytest.mark.parametrize(
    ("rule", "shows"),
    [
        ("PEEK-6", "delivery/bad: lost after a peek"),
        ("RCV-14", "delivery/bad: two partitions in one settlement, of which one is settled"),
        ("RCV-8", "delivery/bad: two locks of three are lost, and the third is settled all the same"),
        ("SCH-1", "scheduling/bad: it keeps its number"),
        ("REB-15", "rebalancing/bad: a partition that nobody knows is shown"),
    ],
)
def test_but_not_with_one_that_spreads(rule: str, shows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = corpus()[shows]
    assert not _rejects_an_excerpt(entry, rule)
    monkeypatch.setattr(module, "SPREADING", module.SPREADING - {rule})
    assert rule in entry.blame and _rejects_an_excerpt(entry, rule)


def _rejects_an_excerpt(entry: Entry, rule: str) -> bool:
    """Whether with the rule waived nothing explains some excerpt."""
    questions = list(_questions(entry, frozenset({rule})))
    parts = ((part, question) for question in questions for part in excerpts(question, _stuck(question)))
    return any(_searched(part, question) is Searched.REJECTED for part, question in parts)


def _questions(entry: Entry, waived: frozenset[str]) -> Iterator[Question]:
    for entity in Reading(entry.history).entities:
        try:
            yield entity.question(waived=waived)
        except (Impossible, Unanswerable):
            continue


def _stuck(question: Question) -> Found:
    """As if a search had been stuck at each of the effects, over all of its messages."""
    concerned = [
        frozenset(one.id for one in (*effect.action.messages, *effect.observed.messages))
        for effect in question.effects
    ]
    return Found(Searched.GAVE_UP, (), question.effects, (), 0, tuple(concerned))


def _searched(excerpt: Excerpt, question: Question) -> Searched:
    start, known = beginning(excerpt, question.start)
    guidance = Guide(Known(excerpt.effects, known)).guidance()
    return Search(excerpt.effects, guidance, thread_time() + 5, limit=300).run(start).outcome


@_each(Judged.ACCEPTED, Judged.REJECTED)
def test_verdict(entry: Entry) -> None:
    """What the judge accepts violates nothing; where blame names one rule, and screens no other, that."""
    verdicts = check_history(entry.history)
    violated = {id for id, verdict in verdicts.items() if verdict.status is VerdictStatus.VIOLATED}
    if entry.judge is Judged.ACCEPTED:
        assert violated.isdisjoint(clauses.covered())
    elif len(entry.blame) == 1 and entry.found <= {*entry.blame} and not entry.incomplete:
        assert violated == (set() if entry.name in SEVERAL else {*entry.blame})


@_each(Judged.ACCEPTED, Judged.REJECTED)
def test_plain_search(entry: Entry) -> None:
    try:
        questions = [entity.question() for entity in Reading(entry.history).entities]
        explained = [is_explained(question, PLAIN) for question in questions]
    except Impossible:
        explained = [False]
    if entry.name in UNORDERED:
        assert explained == [True]
    else:
        assert None in explained or all(explained) is (entry.judge is Judged.ACCEPTED)


@pytest.mark.slow
@pytest.mark.timeout(1_200)  # TLC runs over dozens of histories
@pytest.mark.parametrize("mechanism", sorted({entry.mechanism for entry in corpus().values()}))
def test_tlc(mechanism: str) -> None:
    try:
        java(), tlc_jar()
    except ToolMissing as error:
        pytest.skip(str(error))
    asked = {
        name: recording
        for name, entry in corpus().items()
        if entry.mechanism == mechanism and entry.judge is not Judged.UNKNOWN
        for recording in recordings_of(entry.history).values()
        if isinstance(recording, Recording) and len(recording.operations) <= LONGEST
    }
    names, recordings = list(asked), list(asked.values())
    found: dict[str, Validated] = {}
    for batch in batches(recordings, BATCH):
        answers = validate([recordings[n] for n in batch], LIMITS, locate=False)
        found |= zip([names[n] for n in batch], answers, strict=True)
    wrong = [name for name, said in found.items() if _disagrees(corpus()[name], said)]
    assert not wrong
    undecided = {said.reason for said in found.values() if said.status is Status.UNKNOWN}
    assert not [reason for reason in undecided if not reason.startswith(LIMITED)]


def _disagrees(entry: Entry, said: Validated) -> bool:
    """Whether TLC decides otherwise than is expected, and not for times or marks, which it does not see."""
    if not said.decided or str(said.status) == entry.tlc:
        return False
    return said.status is not Status.ACCEPTED or not rejected_for_times_or_marks(entry.history)
