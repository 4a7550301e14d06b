"""Shrinking: what is taken away, what is made simpler, and that it ends. Nothing is run here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from partq.conformance.workload.generator import generate
from partq.conformance.workload.program import Program, Step, from_json, to_json
from partq.conformance.workload.shrinker import shrink
from partq.conformance.workload.themes import THEMES
from partq.model.messages import JMS_KEY, SOLACE_KEY, Message

Shows = Callable[[Program], bool]


def send(proc: str, name: str, key: str | None = None, **args: object) -> Step:
    return Step(proc, "send", {"messages": (Message(name, f"body of {name}", partition_key=key),), **args})


def program(*steps: Step, **settings: object) -> Program:
    return Program("azure-premium", steps, **settings)  # type: ignore[arg-type]


def ops(found: Program) -> list[str]:
    return [step.op for step in found.steps]


def counting(shows: Shows) -> tuple[Shows, list[Program]]:
    asked: list[Program] = []

    def ask(candidate: Program) -> bool:
        asked.append(candidate)
        return shows(candidate)

    return ask, asked


NOISE = [send(f"c{n % 3}", f"m{n}", f"k{n % 4}") for n in range(30)]


def test_what_does_not_matter_goes() -> None:
    kill, peek = Step("env", "broker_kill"), Step("c1", "peek", {"max": 3})
    found = shrink(
        program(*NOISE[:10], kill, *NOISE[10:20], peek, *NOISE[20:]),
        lambda p: "peek" in ops(p)[ops(p).index("broker_kill") :] if "broker_kill" in ops(p) else False,
    )
    assert found.steps == (kill, peek)
    assert found.sequential


def test_a_repair_keeps_its_fault() -> None:
    kill, start = Step("env", "broker_kill"), Step("env", "broker_start")
    whole = program(*NOISE[:4], kill, *NOISE[4:8], start, *NOISE[8:12])

    assert shrink(whole, lambda p: "broker_start" in ops(p)).steps == (kill, start)
    assert shrink(program(start, *NOISE[:4]), lambda p: "broker_start" in ops(p)).steps == (start,)


def test_nothing_is_left_where_everything_shows() -> None:
    assert len(shrink(program(*NOISE), lambda p: True).steps) <= 1


def test_what_cannot_be_made_smaller_stays_as_it_is() -> None:
    whole = program(*NOISE[:4])
    assert shrink(whole, lambda p: p == whole) == whole


def keys(p: Program) -> Counter[str]:
    return Counter(m.partition_key or "" for step in p.steps for m in step.args["messages"])


def test_keys_are_made_one_where_they_are_evidence_together() -> None:
    """Two of each key are as good as four of one: taking one away leads nowhere."""
    whole = program(*(send("c1", f"m{n}", f"k{n % 3}") for n in range(6)))

    def shows(p: Program) -> bool:
        return sum(count - 1 for count in keys(p).values()) >= 3

    found = shrink(whole, shows)
    assert len(found.steps) == 4
    assert len(keys(found)) == 1


@pytest.mark.parametrize("name", [SOLACE_KEY, JMS_KEY])
def test_keys_in_properties_are_keys(name: str) -> None:
    messages = [Message(f"m{n}", properties=((name, f"k{n}"), ("other", f"k{n}"))) for n in range(3)]
    whole = program(*(Step("c1", "send", {"messages": (message,)}) for message in messages))

    def shows(p: Program) -> bool:
        return [len(m.properties) for step in p.steps for m in step.args["messages"]] == [2, 2, 2]

    found = shrink(whole, shows)
    last = found.steps[-1].args["messages"][0]
    assert last.property(name) == "k0"
    assert last.property("other") == "k2", "what is no key gets no other value"


def test_clients_are_made_one() -> None:
    found = shrink(program(*NOISE[:6]), lambda p: len(p.steps) >= 2)
    assert found.procs == (found.steps[0].proc,)


def test_a_step_is_moved_where_it_belongs_when_nothing_overlaps() -> None:
    """At once the kill comes after the send, though it is listed before."""
    kill, sent = Step("env", "broker_kill"), send("c1", "m1")

    def shows(p: Program) -> bool:
        if sorted(ops(p)) != ["broker_kill", "send"]:
            return False
        return not p.sequential or ops(p) == ["send", "broker_kill"]

    found = shrink(program(kill, sent), shows)
    assert found.sequential
    assert ops(found) == ["send", "broker_kill"]


def test_other_interleavings_are_tried() -> None:
    whole = program(send("c1", "m1"), send("c2", "m2"), seed=99)
    found = shrink(whole, lambda p: not p.sequential and (len(p.steps) == 2 or p.seed == 3))
    assert found.seed == 3
    assert len(found.steps) < 2


def test_what_is_inside_steps_is_made_simpler() -> None:
    batch = tuple(Message(f"m{n}", "a long body") for n in range(4))
    whole = program(
        Step("c1", "send_batch", {"messages": batch, "txn": True}),
        Step("c1", "complete", {"pick": [0, 1, 2]}),
    )
    found = shrink(whole, lambda p: len(p.steps) == 2)
    first, second = found.steps
    assert first.op == "send"
    assert [len(message.body) for message in first.args["messages"]] == [1]
    assert "txn" not in first.args
    assert len(second.args["pick"]) == 1


def test_messages_bear_only_what_matters() -> None:
    rich = Message("m1", session_id="k", partition_key="k", properties=(("a", "1"), ("b", "2")), ttl=5)
    whole = program(
        Step("c1", "send", {"messages": (rich,)}), Step("c1", "send_batch", {"messages": (rich,)})
    )

    def shows(p: Program) -> bool:
        sent = [m for step in p.steps for m in step.args["messages"]]
        return any(m.property("b") for m in sent) and any(m.partition_key for m in sent)

    (step,) = shrink(whole, shows).steps
    assert step.args["messages"] == (Message("m1", partition_key="k", properties=(("b", "2"),)),)


def test_the_budget_is_kept_and_the_result_shows() -> None:
    shows, asked = counting(lambda p: len(p.steps) >= 3)
    found = shrink(program(*NOISE), shows, budget=20)
    assert len(asked) <= 20
    assert len(found.steps) >= 3


def test_equal_questions_give_equal_answers() -> None:
    def shows(p: Program) -> bool:
        return sum(step.proc == "c1" for step in p.steps) >= 2

    assert shrink(program(*NOISE), shows) == shrink(program(*NOISE), shows)


@pytest.mark.parametrize("profile", ["azure-premium", "solace"])
def test_a_step_of_every_operation_can_be_made_smaller(profile: str) -> None:
    """Its arguments are understood, and what comes out of each attempt is a program."""
    drawn = [
        generate(profile, seed, themes=dict.fromkeys(THEMES, weights))
        for weights in THEMES.values()
        for seed in range(3)
    ]
    for step in {step.op: step for whole in drawn for step in whole.steps}.values():
        alone = replace(drawn[0], steps=(step,))
        ask, asked = counting(lambda candidate, alone=alone: candidate == alone)  # type: ignore[misc]
        assert shrink(alone, ask) == alone
        assert all(from_json(to_json(candidate)) == candidate for candidate in asked)
