"""Tours as programs: all of the model is passed, programs say it, the reference survives, mutants do not."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from partq.conformance.adapters import Broker, open_broker
from partq.conformance.adapters.mutants import MUTANTS
from partq.conformance.adapters.reference import CAMPAIGN, PLAIN, Reference
from partq.conformance.evaluation.decision import NONE, check_history
from partq.conformance.execution.runner import run
from partq.conformance.frontends.cli.app import main
from partq.conformance.history import History
from partq.conformance.oracle.graph_coverage import NO_PROGRAM, Tally, follow
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.workload import program as programs
from partq.conformance.workload.cases.steps import EXPIRY, LOCK
from partq.conformance.workload.program import Program
from partq.conformance.workload.program_writer import HASTE, MARGIN
from partq.conformance.workload.tours import (
    LONGEST,
    PACES,
    SCOPES,
    SHORT_DELAY,
    Known,
    Plan,
    Proven,
    Survey,
    program_of,
    surveys,
    towards,
)
from partq.model.explore import Edge, coverage, label
from partq.model.profiles import SECOND
from partq.model.requirements import PROFILE_COLUMNS
from partq.model.scope import Scope

# Of each scope at least so much of the states and of the transitions is visited on the reference, in percent.
# The rest are choices that this broker does not make: to answer nothing though there is something, to
# distribute partitions otherwise, to refuse what it may accept.
VISITED = {
    ("azure-standard", "locks"): (80, 45),
    ("azure-standard", "order"): (100, 65),
    ("azure-standard", "stale"): (100, 60),
    ("azure-standard", "peeking"): (80, 45),
    ("azure-standard", "two at once"): (90, 45),
    ("azure-standard", "transactions"): (50, 25),
    ("azure-standard", "kills"): (80, 50),
    ("azure-premium", "locks"): (90, 55),
    ("azure-premium", "order"): (100, 65),
    ("azure-premium", "stale"): (100, 60),
    ("azure-premium", "peeking"): (90, 40),
    ("azure-premium", "two at once"): (90, 45),
    ("azure-premium", "transactions"): (60, 33),
    ("azure-premium", "kills"): (80, 50),
    ("azure-premium", "outages"): (80, 45),
    ("azure-flat", "locks"): (100, 65),
    ("azure-flat", "stale"): (100, 60),
    ("azure-flat", "peeking"): (90, 50),
    ("azure-flat", "two at once"): (90, 45),
    ("azure-flat", "transactions"): (60, 40),
    ("azure-flat", "kills"): (80, 50),
    ("solace", "one flow"): (40, 30),
    ("solace", "order"): (40, 30),
    ("solace", "two flows"): (20, 15),
    ("solace", "standby"): (100, 80),
}
FREE = {
    ("azure-premium", "stale"): 68,
    ("azure-premium", "order"): 78,
    ("azure-premium", "two at once"): 70,
    ("azure-flat", "peeking"): 62,
    ("azure-flat", "locks"): 78,
    ("solace", "order"): 78,
}
"""The same for transitions, where the reference makes use of its freedoms, in sixteen runs of each tour.

A freedom more or less makes it draw otherwise: the shares are below what other seeds gave."""

PLACES = [(profile, name) for profile, scopes in SCOPES.items() for name in scopes]


@cache
def survey_of(profile: str, name: str) -> Survey:
    broker = open_broker("reference")
    broker.profile = profile
    return next(survey for survey in surveys(profile, broker.lacks()) if survey.name == name)


def ran(broker_name: str, survey: Survey) -> dict[str, History]:
    broker = open_broker(broker_name)
    broker.profile = survey.scope.profile
    return runs_of(broker, survey)


def runs_of(broker: Broker, survey: Survey, seed: int = 0) -> dict[str, History]:
    """The survey's programs on that broker, with seeds of their own, or others."""
    programs = survey.programs().items()
    return {name: run(broker, replace(program, seed=program.seed + seed)) for name, program in programs}


def test_every_scope_has_its_share() -> None:
    assert list(VISITED) == PLACES
    assert set(SCOPES) == set(PROFILE_COLUMNS)


@pytest.mark.parametrize(("profile", "name"), PLACES)
def test_the_tours_pass_every_state_and_every_transition(profile: str, name: str) -> None:
    survey = survey_of(profile, name)
    passed = {edge for tour in survey.tours for edge in tour}
    assert coverage(survey.graph, passed).whole
    assert not coverage(survey.graph, passed - {survey.tours[-1][-1]}).whole


@pytest.mark.parametrize(("profile", "name"), PLACES)
def test_programs_say_what_the_tours_do_but_for_a_little(profile: str, name: str) -> None:
    survey = survey_of(profile, name)
    unsaid = {(edge.action.op, edge.answer.status) for edge in survey.unsaid}
    refused = {("complete", "error"), ("abandon", "error"), ("unbind", "error")}
    assert unsaid <= {*refused, ("rollback", "ok")}
    assert len(survey.unsaid) * 9 < survey.graph.transitions


def test_what_a_broker_lacks_is_unsaid() -> None:
    """The test above can fail."""
    scope = survey_of("azure-flat", "stale").scope
    unsaid = Survey("stale", scope, frozenset({"abandon"})).unsaid
    assert ("abandon", "ok") in {(edge.action.op, edge.answer.status) for edge in unsaid}


@pytest.mark.parametrize(("profile", "name"), PLACES)
def test_programs_can_be_stored_and_are_the_same_each_time(profile: str, name: str) -> None:
    survey = survey_of(profile, name)
    made = survey.programs()
    assert made == Survey(name, survey.scope, survey.lacks).programs()
    assert len(made) == len(survey.tours)
    for program in made.values():
        assert programs.from_json(json.loads(programs.dumps(program))) == program
        sent = [m.id for step in program.steps for m in step.args.get("messages", ())]
        assert len(sent) == len(set(sent)), "every message needs an ID of its own"
        assert not {step.op for step in program.steps} & survey.lacks


@pytest.mark.parametrize(("profile", "name"), PLACES)
def test_the_reference_survives_and_visits_its_share(profile: str, name: str) -> None:
    survey, tally = survey_of(profile, name), Tally(survey_of(profile, name))
    for tour, history in runs_of(Reference(profile), survey).items():
        found = [finding for verdict in check_history(history, NONE).values() for finding in verdict.findings]
        assert found == [], tour
        assert judge(history).status is Judged.ACCEPTED, tour
        path = tally.add(history).path
        assert path[0].source == 0
        assert all(a.target == b.source for a, b in pairwise(path))
    states, transitions = VISITED[profile, name]
    visited = tally.coverage
    assert visited.states * 100 >= states * visited.of_states, visited
    assert visited.transitions * 100 >= transitions * visited.of_transitions, visited


@pytest.mark.parametrize(("profile", "name"), FREE)
def test_a_reference_that_makes_use_of_its_freedoms_visits_more(profile: str, name: str) -> None:
    survey, tally = survey_of(profile, name), Tally(survey_of(profile, name))
    broker = Reference(profile, freedoms=CAMPAIGN)
    for seed in range(16):
        for tour, history in runs_of(broker, survey, 1000 * seed).items():
            assert judge(history).status is not Judged.REJECTED, (tour, seed)
            tally.add(history)
    visited = tally.coverage
    assert visited.transitions * 100 >= FREE[profile, name] * visited.of_transitions, visited


def test_a_survey_with_a_tour_missing_visits_less() -> None:
    """The shares above can fail."""
    survey = survey_of("azure-flat", "stale")
    histories = list(ran("reference", survey).values())
    every, few = Tally(survey), Tally(survey)
    for number, history in enumerate(histories):
        every.add(history)
        if number % 4 == 0:
            few.add(history)
    assert few.coverage.states < 27 == every.coverage.states
    assert few.coverage.transitions < every.coverage.transitions
    assert (few.runs, every.runs) == (9, 33)


@pytest.mark.parametrize(
    ("mutant", "name"),
    [
        ("settles-with-lost-lock", "stale"),
        ("lost-on-second-abandon", "locks"),
        ("newest-first", "order"),
        ("peek-ends-with-first-partition", "peeking"),
        ("walk-ends-for-good", "two at once"),
        ("commit-forgets-settlements", "transactions"),
        ("kill-undoes-completions", "kills"),
        ("stored-nowhere-up", "outages"),
        ("orphans-forgotten", "one flow"),
        ("rebalance-without-delay", "two flows"),
        ("surplus-rebalances", "standby"),
    ],
)
def test_a_mutant_is_killed_by_tours_alone_and_by_its_own_rule(mutant: str, name: str) -> None:
    known = MUTANTS[mutant]
    histories = ran(f"mutant:{mutant}", survey_of(known.profile, name)).values()
    broken = {rule for h in histories for rule, verdict in check_history(h, NONE).items() if verdict.findings}
    assert known.breaks in broken
    assert broken <= {known.breaks, *known.also}


# Further rounds


def rounds_of(broker: Broker, survey: Survey, rounds: int) -> Tally:
    """What so many rounds visit."""
    tally = Tally(survey)
    programs = survey.programs()
    for number in range(2, rounds + 2):
        for program in programs.values():
            tally.add(run(broker, program), program.seed)
        programs = survey.further(tally.plan(tally.hidden()), 1, number)
    return tally


ROUNDS = {("azure-premium", "stale"): 75, ("azure-flat", "kills"): 80, ("solace", "one flow"): 46}
"""Of these scopes at least so much, in percent, is visited in twelve rounds."""


@pytest.mark.parametrize(("profile", "name"), ROUNDS)
def test_further_rounds_visit_more_and_what_is_left_has_a_reason(profile: str, name: str) -> None:
    survey = survey_of(profile, name)
    broker = Reference(profile, freedoms=CAMPAIGN)
    once, often = rounds_of(broker, survey, 1), rounds_of(broker, survey, 12)
    visited, total = len(often.passed), survey.graph.transitions
    assert once.passed.keys() <= often.passed.keys() and len(once.passed) < visited
    assert visited * 100 >= ROUNDS[profile, name] * total
    hidden = set().union(*often.hidden().values())
    assert hidden.isdisjoint(often.passed)
    assert (visited + len(hidden)) * 100 >= 82 * total
    assert rounds_of(broker, survey, 12).passed == often.passed


def test_a_reference_without_freedoms_visits_fewer_in_as_many_rounds() -> None:
    """The shares above can fail."""
    survey = survey_of("azure-premium", "stale")
    plain, free = (rounds_of(Reference("azure-premium", freedoms=f), survey, 12) for f in (PLAIN, CAMPAIGN))
    assert len(plain.passed) + 8 < len(free.passed)
    assert plain.hidden()[NO_PROGRAM] == free.hidden()[NO_PROGRAM] != set()


def test_seeds_are_new_or_of_what_is_rare_or_of_what_is_rare_on_the_way() -> None:
    survey = survey_of("azure-flat", "stale")
    edges = [edge for edges in survey.graph.edges for edge in edges][:100]
    passed = Counter({edge: n + 1 for n, edge in enumerate(edges)})
    plan = Plan([], passed, seeds={edge: [n] for n, edge in enumerate(edges)})
    proven = Proven(plan, Random(1).random)
    drawn = [proven.seed([edges[99], edges[70]], 1000) for _ in range(3000)]
    new, way, rare, usual = (sum(map(drawn.count, ns)) for ns in ([1000], [70], range(25), range(75, 100)))
    assert 900 < new < 1100 and 900 < way < 1100
    assert rare > 1.5 * usual > 0
    nothing = Proven(Plan([], Counter()), Random(1).random)
    assert {nothing.seed(edges, 1000) for _ in range(100)} == {1000}


def test_further_tours_lead_to_what_is_wanted_and_show_it() -> None:
    survey = survey_of("azure-flat", "stale")
    wanted = [e for edges in survey.graph.edges for e in edges if e.action.op == "expire"][:3]
    found = towards(survey, Plan(wanted, Counter()), Random(1))
    assert len(found) == 3
    for tour, edge in zip(found, wanted, strict=True):
        assert tour[0].source == 0 and all(a.target == b.source for a, b in pairwise(tour))
        onward = tour[tour.index(edge) + 1]
        before = {(e.action, e.answer) for e in survey.graph.edges[edge.source]}
        assert (onward.action, onward.answer) not in before
    assert towards(survey, Plan([], Counter()), Random(1)) == []


def test_ways_avoid_what_they_are_to_do_without_and_what_is_rare() -> None:
    survey = survey_of("azure-flat", "stale")
    edges = survey.graph.edges
    wanted = [
        e for e in edges[next(e.target for e in edges[0] if e.action.op == "send")] if e.answer.messages
    ]
    ways = [e for e in edges[0] if e.action.op == "send"]
    assert towards(survey, Plan(wanted, Counter(), frozenset(ways)), Random(1)) == []
    liked, rare = Counter({ways[0]: 1000}), towards(survey, Plan(wanted, Counter(ways)), Random(1))
    assert all(tour[0] in ways for tour in rare)
    assert {tour[0] for tour in towards(survey, Plan(wanted, liked), Random(1))} == {ways[0]}


def test_clients_speak_of_what_they_know() -> None:
    path = walk(FLAT, "send m1", "c1: receive → m1", "complete 0.0.1")
    known = Known()
    assert [known.says(edge) for edge in path] == [True, True, False]
    assert known.after(path[1]).says(path[2])
    begin = replace_op(path[0], "begin")
    assert known.says(begin) and not known.after(begin).says(begin)
    assert known.after(begin).after(replace_op(path[0], "rollback")).says(begin)


def replace_op(edge: Edge, op: str) -> Edge:
    return edge._replace(action=edge.action._replace(op=op))


# One tour, step by step


FLAT = Survey("small", Scope("azure-flat", 1, ("-", "-"), 2, operations=("receive", "complete", "expire")))


def walk(survey: Survey, *labels: str) -> list[Edge]:
    """The path whose transitions are called so."""
    path: list[Edge] = []
    for wanted in labels:
        node = path[-1].target if path else 0
        path.append(
            next(e for e in survey.graph.edges[node] if wanted in (says(e), label(e.action, e.answer)))
        )
    return path


def says(edge: Edge) -> str:
    """A label with its client."""
    return f"{edge.action.proc}: {label(edge.action, edge.answer)}"


def steps_of(survey: Survey, path: Sequence[Edge]) -> list[tuple[object, ...]]:
    steps = program_of(survey, path, 1).steps
    return [(step.proc, step.op, *(v for k, v in step.args.items() if k in ("by", "pick"))) for step in steps]


def test_a_lock_that_ends_alone_lets_the_others_be_renewed() -> None:
    path = walk(FLAT, "send m1", "send m2", "c1: receive → m1", "c2: receive → m2", "expire 0", "expire 0")
    half = LOCK * 3 // 5
    assert steps_of(FLAT, path) == [
        ("p", "send"),
        ("p", "send"),
        ("c1", "receive"),
        ("c2", "receive"),
        ("env", "advance", half),
        ("c2", "renew_lock", [0]),
        ("env", "advance", half),
        ("env", "advance", EXPIRY),
    ]
    broker = open_broker("reference")
    broker.profile = "azure-flat"
    history = run(broker, program_of(FLAT, path[:-1], 1))
    held = [(d.id, d.delivery_count) for r in history.records if r.proc == "drain" for d in r.messages]
    assert sorted(held) == [("m1", 1), ("m2", 1)]


def test_the_reference_goes_the_tours_way_where_it_has_no_choice() -> None:
    path = walk(
        FLAT, "send m1", "c1: receive → m1", "expire 0", "c2: receive → m1", "complete 0.0.2", "send m2"
    )
    broker = open_broker("reference")
    broker.profile = "azure-flat"
    found = follow(FLAT, run(broker, program_of(FLAT, path, 1)))
    assert found == (tuple(path), None)


def test_what_a_broker_lacks_is_left_out() -> None:
    without = surveys("azure-premium", frozenset({"peek", "begin", "renew_lock"}))
    assert all({"peek", "transactions"}.isdisjoint(survey.scope.operations) for survey in without)
    steps = {step.op for survey in without for p in survey.programs().values() for step in p.steps}
    assert steps.isdisjoint({"peek", "begin", "renew_lock"}) and "complete" in steps
    assert surveys("rabbitmq") == ()


def test_further_tours_have_three_paces() -> None:
    survey = survey_of("solace", "two flows")
    plan = Plan([edge for edges in survey.graph.edges for edge in edges], Counter())
    further = survey.further(plan, 1, 2)
    paces = Counter(pace for program in further.values() if (pace := pace_of(program)) is not None)
    usual, hasty, short = (5 * SECOND, MARGIN), (5 * SECOND, HASTE), (SHORT_DELAY, SHORT_DELAY // 50)
    assert paces.keys() == {usual, hasty, short} and min(paces.values()) > 50
    assert {pace_of(program) for program in survey.programs().values()} <= {None, usual}
    by_seed = Counter((program.seed % len(PACES), pace_of(program)) for program in further.values())
    assert len([1 for _, pace in by_seed if pace is not None]) == 3


def pace_of(program: Program) -> tuple[int, int] | None:
    """Its rebalance delay, and by how much it waits longer for that, if it does wait for it."""
    delay = program.entity.rebalance_delay
    waits = [step.args["by"] - delay for step in program.steps if step.op == "advance"]
    return min(((delay, wait) for wait in waits if 0 < wait <= MARGIN), default=None)


def test_tours_are_short() -> None:
    assert max(len(tour) for tour in survey_of("azure-flat", "locks").tours) < 2 * LONGEST


# The command


def partq(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_command_runs_counts_and_stores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    flat = ("--profile", "azure-flat", "--scope", "stale")
    code, out, err = partq(capsys, "tours", "reference", *flat, "--format", "json", "--out", "programs")
    assert code == 0
    assert err == "azure-flat, stale: 33 tours\n"
    row = json.loads(out)["visited"]["azure-flat"]["stale"]
    assert (row["tours"], row["states"], row["of_states"], row["of_transitions"]) == (33, 27, 27, 192)
    files = sorted(Path("programs/azure-flat").iterdir())
    assert len(files) == 33
    assert partq(capsys, "replay", str(files[0]), "--broker", "reference")[0] == 0
    assert "27 of 27" in partq(capsys, "tours", "reference", *flat)[1]
    assert partq(capsys, "tours", "reference", *flat, "--out", "programs")[0] == 2


def test_the_command_runs_further_rounds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = (
        "tours",
        "reference",
        "--profile",
        "azure-flat",
        "--scope",
        "stale",
        "--rounds",
        "3",
        "--seed",
        "4",
    )
    code, out, err = partq(capsys, *asked, "--format", "json", "--out", "programs")
    assert code == 0
    first, second, third = err.splitlines()
    assert first == "azure-flat, stale: 33 tours"
    assert second.startswith("azure-flat, stale, round 2: ") and third.startswith(
        "azure-flat, stale, round 3: "
    )
    row = json.loads(out)["visited"]["azure-flat"]["stale"]
    assert row["rounds"] == 3 and row["hidden"]["no program says them"] == 20
    assert row["tours"] == len(list(Path("programs/azure-flat").iterdir()))
    assert row["transitions"] + sum(row["hidden"].values()) + row["open"] == row["of_transitions"]
    assert row["left_out"]["no program says them"] == {"abandon → error": 10, "complete → error": 10}
    assert sum(row["left_out"]["no run chose them"].values()) == row["open"] > 0
    again = partq(capsys, *asked, "--format", "json")[1]
    assert json.loads(again)["visited"] == json.loads(out)["visited"]
    table = " ".join(partq(capsys, *asked)[1].split())
    assert "not to be seen: 20 transitions (no program says them: 20; no history needs them: 0)" in table
    assert "stale: no program says them: abandon → error (10), complete → error (10)" in table


def test_the_command_shows_what_a_mutant_broke(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = partq(capsys, "tours", "mutant:settles-with-lost-lock", "--scope", "stale")
    assert code == 1
    assert "RCV-8 violated" in out and "azure-premium, stale " in out


def test_a_broker_that_fails_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = partq(capsys, "tours", "canned_broker:Broken", "--scope", "stale")
    assert (code, out) == (2, "")
    assert "ZeroDivisionError" in err.splitlines()[-1]


def test_the_command_refuses_what_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = partq(capsys, "tours", "canned_broker:Any", "--profile", "rabbitmq")
    assert code == 2 and "no tours for rabbitmq" in err
    code, _, err = partq(capsys, "tours", "reference", "--profile", "solace", "--scope", "stale")
    assert code == 2 and "two flows" in err
