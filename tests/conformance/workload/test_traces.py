"""Traces of the specification as programs: those that come with the package, and bad ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from random import Random
from typing import Any

import pytest

from partq.conformance.adapters.mutants import MUTANTS, open_mutant
from partq.conformance.adapters.reference import CAMPAIGN, Reference
from partq.conformance.evaluation.decision import SUITE, check_history
from partq.conformance.execution.runner import run
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.verdict import Status
from partq.conformance.workload import program as programs
from partq.conformance.workload.cases.steps import EXPIRY, LOCK
from partq.conformance.workload.program import Program
from partq.conformance.workload.traces import Behaviour, NoProgram, behaviour_of
from partq.model.profiles import PROFILES
from partq.spec.simulation.itf import SUFFIX, TRACES, InvalidTrace, read_file, read_trace

KEPT = {file.name.removesuffix(SUFFIX): file for file in sorted(TRACES.glob(f"*{SUFFIX}"))}
REFERENCE = [name for name, family in PROFILES.items() if family.modelled]


@cache
def behaviour(name: str) -> Behaviour:
    """One of the traces that come with the package."""
    return behaviour_of(read_file(KEPT[name]))


def told(program: Program) -> list[str]:
    """The steps in a few words: client, operation, and what makes it special."""
    found = []
    for step in program.steps:
        sent = [message.id for message in step.args.get("messages", ())]
        marks = [name for name in ("txn", "ended", "again", "stale", "forged") if step.args.get(name)]
        found.append(" ".join([step.proc, step.op, *sent, *marks]))
    return found


def test_a_trace_says_what_its_clients_and_its_environment_do() -> None:
    program = behaviour("ReachTimeOver-0001").program("solace")

    assert told(program) == [
        "p send m1",
        "c1 bind",
        "env advance",  # the rebalance delay
        "c1 receive",
        "c2 bind",
        "env advance",
        "env advance",  # the handoff time
        "c2 receive",
    ]
    assert (program.entity.partitions, program.sequential) == (2, True)


def test_a_lock_that_nobody_was_given_is_a_forged_one() -> None:
    assert told(behaviour("BugStaleLockSettles-0001").program("azure-premium")) == [
        "p send m1",
        "c1 receive",
        "c1 complete forged",
    ]


def test_a_forged_lock_in_the_transaction_is_one_in_it() -> None:
    data = json.loads(KEPT["BugStaleLockSettles-0001"].read_text(encoding="utf-8"))
    data["states"][2]["answer"] |= {"op": "begin", "by": "-", "ms": {"#set": []}}
    data["states"][3]["answer"]["op"] = "txn complete"
    begun = behaviour_of(read_trace(json.dumps(data)))

    assert told(begun.program("azure-premium")) == ["c1 send m1", "c1 begin", "c1 complete txn forged"]
    assert told(begun.program("azure-premium", lacks={"complete"})) == ["c1 send m1", "c1 begin"]


def test_the_transaction_is_that_of_the_client_that_settles_in_it() -> None:
    steps = told(behaviour("ReachBoth-0001").program("azure-premium"))

    assert {"c1 begin", "c1 complete txn", "c1 commit"} <= {*steps}
    assert not [step for step in steps if step.startswith("p ")]


def test_a_trace_whose_numbers_roll_over_begins_as_near_to_that() -> None:
    rolled = behaviour("ReachRolled-0001")

    assert rolled.program("azure-premium").entity.seq_start == 2**48 - 1
    assert behaviour("ReachDrained-0001").program("azure-premium").entity.seq_start is None


def test_partitions_are_as_many_as_the_family_allows() -> None:
    partitions = {
        name: behaviour("ReachDrained-0001").program(name).entity.partitions
        for name in ("azure-standard", "azure-premium", "rabbitmq")
    }
    assert partitions == {"azure-standard": 16, "azure-premium": 2, "rabbitmq": 2}


def test_other_locks_are_renewed_while_one_expires() -> None:
    steps = [step for step in behaviour("MCPeek-0001").program("azure-premium").steps if step.proc == "env"]

    assert {step.args["by"] for step in steps} <= {EXPIRY, LOCK * 3 // 5}


@pytest.mark.parametrize("name", KEPT)
def test_every_trace_is_a_program_of_some_profile(name: str) -> None:
    families = [profile for profile in PROFILES if behaviour(name).fits(profile)]

    assert families
    for profile in families:
        program = behaviour(name).program(profile)
        assert program.steps
        assert programs.from_json(json.loads(programs.dumps(program))) == program
        assert program == behaviour(name).program(profile)


def test_what_a_broker_lacks_is_left_out() -> None:
    whole = behaviour("ReachLost-0001").program("azure-premium")
    lacking = behaviour("ReachLost-0001").program("azure-premium", lacks={"partition_down", "partition_up"})

    assert "env partition_down" in told(whole)
    assert [step for step in told(whole) if "partition" not in step] == told(lacking)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("profile", REFERENCE)
def test_the_judge_accepts_what_the_reference_makes_of_every_trace(profile: str, free: bool) -> None:
    broker = Reference(profile, freedoms=CAMPAIGN) if free else Reference(profile)
    fitting = [name for name in KEPT if behaviour(name).fits(profile)]

    assert fitting
    for name in fitting:
        history = run(broker, behaviour(name).program(profile, broker.lacks(), seed=len(name)))
        assert judge(history).status is Judged.ACCEPTED, name


@pytest.mark.parametrize(
    ("trace", "mutant"),
    [
        ("BugGoesToTheEnd", "solace-newest-first"),
        ("BugBatchOfTwoKeys", "mixed-batch-split"),
        ("BugDirtyRead", "visible-before-commit"),
        ("BugDoesNotCount", "abandon-not-counted"),
        ("BugKeylessInTxn", "keyless-in-transaction"),
        ("BugNewNumber", "abandon-renumbers"),
        ("BugNoDelay", "rebalance-without-delay"),
        ("BugNoTakeover", "standby-waits"),
        ("BugPeekCounts", "peek-counts"),
        ("BugPhantom", "refused-while-down-and-stored"),
        ("BugRollbackLosesLock", "rollback-completes"),
        ("BugRollsToOne", "rollover-to-one"),
        ("BugTwoKeysInTxn", "two-keys-in-transaction"),
        ("BugTwoKeysTaken", "conflict-stored"),
        ("BugTwoOwners", "old-owner-stays"),
    ],
)
def test_what_a_wrong_variant_shows_finds_the_mutant_with_that_fault(trace: str, mutant: str) -> None:
    broken = MUTANTS[mutant]
    program = behaviour(f"{trace}-0001").program(broken.profile)
    verdict = check_history(run(open_mutant(mutant), program), SUITE)[broken.breaks]
    sound = check_history(run(Reference(broken.profile), program), SUITE)[broken.breaks]

    assert verdict.status is Status.VIOLATED or broken.breaks in verdict.candidates
    assert sound.status in (Status.PASS, Status.NOT_EXERCISED)


def changed(change: Mapping[str, Any], number: int = 1) -> str:
    """A trace with other values in a part of one of its states: ``{"answer.op": …}``."""
    data = json.loads(KEPT["ReachLost-0001"].read_text(encoding="utf-8"))
    for place, value in change.items():
        *parts, last = place.split(".")
        inner = data["states"][number]
        for part in parts:
            inner = inner[part]
        if value is None:
            del inner[last]
        else:
            inner[last] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("change", "number", "why"),
    [
        ({"answer.op": "fly"}, 1, r"states\[1\]: answer.op: there is no operation 'fly'"),
        ({"answer.op": None}, 1, r"states\[1\]: Object missing required field `op` - at `\$.answer`"),
        ({"answer.by": "env"}, 1, r"states\[1\]: Expected `str` matching regex"),
        ({"answer.ms": {"#set": [7]}}, 1, r"states\[1\]: answer.ms: there is no message 7"),
        ({"answer.ms": {"#set": []}}, 1, r"states\[1\]: answer.ms: send names no message"),
        ({"answer.op": "partition up"}, 1, r"states\[1\]: up: partition up changes it in one place"),
        ({"up": [True]}, 1, r"states\[1\]: not as many messages as KeyOf has, or partitions as before"),
        ({"msg": []}, 1, r"states\[1\]: not as many messages"),
        ({"Modulus": 1}, 0, "params: FirstNumber is not below Modulus"),
        ({"MaxDeliveryCount": 0}, 0, "params: Expected `int` >= 1"),
        ({"KeyOf": ["a", ""]}, 0, "params: Expected `str` of length >= 1"),
    ],
)
def test_what_the_specification_does_not_do_is_no_program(
    change: Mapping[str, Any], number: int, why: str
) -> None:
    behaviour_of(read_trace(changed({})))
    with pytest.raises(NoProgram, match=why):
        behaviour_of(read_trace(changed(change, number)))


def test_a_trace_of_other_variables_says_who_writes_them_with_constants() -> None:
    with pytest.raises(NoProgram, match="`partq spec simulate` writes them"):
        behaviour_of(read_trace('{"vars":["x"],"states":[{"x":1}]}'))


def edited(random: Random, data: Any) -> Any:
    """The data with one value somewhere in it replaced, removed or doubled."""
    whole = deepcopy(data)
    inner, way = whole, []
    while isinstance(inner, dict | list) and inner:
        way.append((inner, random.choice([*(inner if isinstance(inner, dict) else range(len(inner)))])))
        inner = way[-1][0][way[-1][1]]
    holder, at = random.choice(way)
    holder[at] = random.choice([0, -1, 2**70, "", "c1", "env", True, None, [], {}, {"#set": [1, 2]}, inner])
    return whole


@pytest.mark.parametrize("name", ["ReachLost-0001", "ReachCancelled-0001", "MCTransactions-0001"])
def test_an_edited_trace_is_a_program_or_is_refused(name: str) -> None:
    random, refused = Random(name), 0
    data = json.loads(KEPT[name].read_text(encoding="utf-8"))
    for _ in range(400):
        try:
            found = behaviour_of(read_trace(json.dumps(edited(random, data))))
        except (InvalidTrace, NoProgram):
            refused += 1
            continue
        for profile in filter(found.fits, PROFILES):
            program = found.program(profile)
            assert programs.from_json(json.loads(programs.dumps(program))) == program
    assert 0 < refused < 400
