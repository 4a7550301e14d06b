"""A broker that does nothing, or never answers, is no conformant one: its verdicts are inconclusive, whoever
asks for them."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Final

import canned_broker
import pytest
from canned_broker import Busy, Canned, Deaf, Stuck

from partq.conformance.adapters import Broker, Rejected, open_broker
from partq.conformance.evaluation.activity import activity
from partq.conformance.evaluation.decision import check_history
from partq.conformance.evaluation.suite import run_suite
from partq.conformance.execution.runner import Limits, run
from partq.conformance.frontends import api
from partq.conformance.frontends.campaign.plan import Chunk
from partq.conformance.frontends.campaign.totals import _stalled, _verdicts
from partq.conformance.frontends.campaign.work import ChunkResult, do_chunk
from partq.conformance.frontends.cli.app import main
from partq.conformance.history.codec_profiles import named_profile
from partq.conformance.history.notation import history
from partq.conformance.screens.registry import ALL
from partq.conformance.verdict import Status, Verdict, Verdicts, narrowed, required, stalled
from partq.conformance.workload.generator import generate, trace_seed
from partq.conformance.workload.program import Program, Step
from partq.model.messages import Message
from partq.model.profiles import PROFILES

EXAMPLES = Path(__file__).parents[3] / "examples"

DEAF = "receives returned nothing while messages waited"
STUCK = "calls of complete never returned"
BUSY = "calls of send failed though no fault struck"
PLANTED: dict[type[Canned], str] = {
    Deaf: f"20 of 20 {DEAF}",
    Stuck: f"10 of 10 {STUCK}",
    Busy: f"20 of 30 {BUSY}",
}
"""Broker -> what is said of ten of its histories, all alike."""


@pytest.mark.parametrize("kind", PLANTED)
def test_the_suite_is_inconclusive(kind: type[Canned]) -> None:
    said = PLANTED[kind]
    assert run_suite(kind(), "azure-premium", (), 10, 1).besides == [(3, f"{said} (azure-premium)")]


@pytest.mark.parametrize("kind", PLANTED)
def test_check_is_inconclusive(kind: type[Canned]) -> None:
    said = PLANTED[kind]
    result = api.check([history(kind.shows, kind.profile)] * 10)
    assert (result.exit_code, result.conclusion) == (3, f"INCONCLUSIVE: {said} (azure-premium)")


@pytest.mark.parametrize("kind", PLANTED)
def test_a_campaign_is_inconclusive(kind: type[Canned]) -> None:
    chunk = Chunk(f"canned_broker:{kind.__name__}", "azure-premium", 0, 10)
    result = do_chunk(chunk, seed=7, length=1)
    assert isinstance(result, ChunkResult)
    said, lane = PLANTED[kind], (chunk.broker, chunk.profile)
    assert _stalled(lane, result.rows()["counts"]) == [(3, f"{said} (azure-premium)")]
    assert _stalled((chunk.broker, "azure-flat"), result.rows()["counts"]) == []


@pytest.mark.parametrize("kind", PLANTED)
def test_a_search_is_inconclusive(kind: type[Canned], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", f"canned_broker:{kind.__name__}", "--examples", "20", "--length", "2"]) == 3
    out, _ = capsys.readouterr()
    assert PLANTED[kind].partition(" of ")[2].partition(" ")[2] in out


def test_the_first_line_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--profile", "azure-premium", "--case", "same-key", "--programs", "10")
    assert main(["run", "canned_broker:Deaf", *arguments]) == 3
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("inconclusive: ") and DEAF in first


@pytest.mark.parametrize("kind", [Deaf, Busy])
def test_few_calls_say_nothing(kind: type[Canned]) -> None:
    assert stalled("azure-premium", activity(history(kind.shows, kind.profile))) == []


def test_where_every_call_is_in_trouble_few_suffice() -> None:
    """One that never returns; three receives that got nothing of what was there."""
    one = activity(history(Stuck.shows, Stuck.profile))
    assert stalled("azure-premium", one) == [(3, f"1 of 1 {STUCK} (azure-premium)")]
    text = "p send m1\n" + "q receive 1 -> nothing\n" * 3
    deaf = activity(history(text, "azure-premium"))
    assert stalled("azure-premium", deaf) == [(3, f"3 of 3 {DEAF} (azure-premium)")]
    fed = activity(history(text + "q receive 1 -> m1", "azure-premium"))
    assert stalled("azure-premium", fed) == []


def test_a_refused_disconnect_says_nothing() -> None:
    text = "p send m1 @1-2\np disconnect -> error unavailable @3-4"
    counts = sum((activity(history(text, "solace")) for _ in range(20)), Counter[str]())
    assert stalled("solace", counts) == []


def test_what_only_the_drain_saw_is_not_exercised() -> None:
    verdicts = check_history(history(Deaf.shows, "azure-premium"))
    passed = [id for id, verdict in verdicts.items() if verdict.status is Status.PASS]
    assert passed == ["KEY-9"]  # which the answers to the sends exercise


LAWFUL = {
    "an empty queue": "p1 receive 1 -> nothing\n" * 9,
    "all was delivered": "p1 send m1\np1 receive 1 delete -> m1#3.1\n" + "p1 receive 1 -> nothing\n" * 9,
    "another client holds a message": (
        "p1 send m1\np1 send m2\np2 receive 1 -> m1#3.1 lock=l\n" + "p1 receive 1 -> nothing\n" * 9
    ),
    "a receive of unknown outcome may have been given it": (
        "p1 send m1\np2 receive 1 -> unknown timeout\n" + "p1 receive 1 -> nothing\n" * 9
    ),
    "it is not committed": "p1 begin t\np1 send m1 key=a txn=t\n" + "p1 receive 1 -> nothing\n" * 9,
    "a partition is down": (
        "p1 send m1\nenv partition_down 3\n"
        + "p1 receive 1 -> nothing\np2 send m2 -> error unavailable\n" * 9
    ),
    "refused for good": "p1 complete l -> error lock_lost\n" * 9,
    "not offered": "p1 peek 1 -> error unsupported\n" * 9,
    "a fault under way": "".join(f"p{n} send m{n} ...\n" for n in range(9)) + "env broker_kill",
}


@pytest.mark.parametrize("name", LAWFUL)
def test_nothing_is_said_where(name: str) -> None:
    assert stalled("azure-standard", activity(history(LAWFUL[name]))) == []


def test_a_flow_without_partitions_is_given_nothing() -> None:
    idle = "p2 receive 1 flow=g -> nothing\n" * 9
    text = f"p1 bind f\np2 bind g\np1 send m1\n{idle}"
    assert stalled("solace", activity(history(text, "solace"))) != []
    assert stalled("solace", activity(history(f"{text}p1 receive 1 flow=f -> m1 lock=l", "solace"))) == []


@pytest.mark.parametrize("profile", PROFILES)
def test_of_the_reference_which_takes_its_freedoms_nothing_is_said(profile: str) -> None:
    broker, total = open_broker("reference"), Counter[str]()
    broker.profile = profile
    for number in range(40):
        counts = activity(run(broker, generate(profile, trace_seed(23, number))))
        assert stalled(profile, counts) == []
        total += counts
    assert stalled(profile, total) == []
    assert total["called receive with a message there"] > 50


UNNUMBERED = "".join(f"p1 send m{n} key=a\n" for n in range(10)) + "".join(
    f"p1 receive 1 -> m{n} lock=l{n} until=30s\np1 complete l{n}\n" for n in range(10)
)


def test_what_a_broker_never_shows_does_not_apply() -> None:
    verdicts = api.check(history(UNNUMBERED)).requirements
    unshown = {
        "SEQ-1": "sequence numbers",
        "SEQ-7": "sequence numbers, enqueued times",
        "ROUTE-1": "partitions",
        "RCV-9": "delivery counts",
    }
    for id, fields in unshown.items():
        assert verdicts[id].status is Status.NOT_APPLICABLE
        assert verdicts[id].reason == f"the broker shows no {fields}"
    assert verdicts["RCV-13"].status is Status.PASS
    assert verdicts["PEEK-4"].status is Status.NOT_EXERCISED


def test_what_it_showed_once_applies() -> None:
    numbered = history("p1 send m\np1 receive 1 delete -> m#3.1 count=0")
    verdicts = api.check([history(UNNUMBERED), numbered]).requirements
    assert [verdicts[id].status for id in ("SEQ-1", "ROUTE-1", "RCV-9")] == [Status.NOT_EXERCISED] * 3
    assert verdicts["SEQ-7"].reason == "the broker shows no enqueued times"


def test_few_messages_do_not_tell_what_a_broker_never_shows() -> None:
    few = history("p1 send m\np1 receive 1 delete -> m")
    assert api.check(few).requirements["SEQ-1"].status is Status.NOT_EXERCISED


def test_only_what_was_not_exercised_does_not_apply() -> None:
    shown, statuses = activity(history(UNNUMBERED)), [*Status]
    for status in statuses:
        verdict = narrowed({"SEQ-1": Verdict(status, 1)}, "azure-standard", ALL, shown)["SEQ-1"]
        changed = status is Status.NOT_EXERCISED
        assert verdict.status is (Status.NOT_APPLICABLE if changed else status)


def test_an_operation_that_a_broker_always_refuses_as_unsupported_is_one_it_lacks() -> None:
    refusing = history("p1 send m\np1 peek 1 -> error unsupported")
    assert api.check(refusing).requirements["PEEK-4"].reason == "the broker lacks peek"
    peeking = history("p1 peek 1 -> nothing")
    assert api.check([refusing, peeking]).requirements["PEEK-4"].status is Status.NOT_EXERCISED


class Unnumbered(Canned):
    shows = UNNUMBERED + "p1 peek 1 -> error unsupported"


def test_what_takes_locks_does_not_apply_to_a_broker_without() -> None:
    deleting = "p1 send m key=k\np1 receive 1 delete -> m\np1 receive 1 -> error unsupported"
    verdicts = api.check(history(deleting, "ordered-queue")).requirements
    for id in ("RCV-6", "ORD-2", "ORD-3"):
        assert verdicts[id].reason == "the broker lacks locks"
    assert verdicts["RCV-7"].status is Status.PASS
    locking = history("p1 receive 1 -> nothing", "ordered-queue")
    verdicts = api.check([history(deleting, "ordered-queue"), locking]).requirements
    assert verdicts["RCV-6"].status is Status.NOT_EXERCISED


def test_what_is_required_can_be_met_without_what_does_not_apply() -> None:
    def met(verdicts: Verdicts) -> bool:
        return not required({"azure-premium": verdicts}, False, ["12%"])

    assert not met(check_history(history(Unnumbered.shows, "azure-premium")))
    assert met(run_suite(Unnumbered(), "azure-premium", (), 3, 1).verdicts)


FAULTY: Final = """\
schema = "partq.profile/1"
name = "faulty"
title = "A queue of which faults are promised much"
rules = ["KEY-9", "RCV-1", "RCV-2", "ROUTE-5", "ROUTE-6", "ROUTE-7", "ROUTE-8"]
"""


@pytest.mark.parametrize(("inject", "met"), [(True, True), (False, False)])
def test_under_a_profile_of_its_own_a_share_is_met_without_the_rules_on_faults_that_it_refuses(
    inject: bool, met: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from toy_broker import Toy

    class Firm(Toy):  # type: ignore[misc]
        def inject(self, fault: str, args: dict[str, object]) -> dict[str, object]:
            raise Rejected("unsupported")

    (tmp_path / "faulty.toml").write_text(FAULTY)
    name = named_profile("faulty.toml", tmp_path)
    sent = Step("c1", "send", {"messages": (Message("m1", partition_key="k"),)})
    steps = (sent, Step("c1", "receive", {"max": 1}), Step("env", "partition_down", {"index": 0}))
    program = Program(name, steps if inject else steps[:-1], sequential=True)
    verdicts = api.check(run(Firm(), program, limits=Limits(wait=0.01, advance=0.01, drain=0.01)))
    assert (required({name: verdicts.requirements}, False, ["60%"]) == []) is met
    told = {id: one.status for id, one in verdicts.requirements.items() if id.startswith("ROUTE-")}
    faults = {told[id] for id in ("ROUTE-5", "ROUTE-6", "ROUTE-7", "ROUTE-8")}
    assert faults == {Status.NOT_APPLICABLE if inject else Status.NOT_EXERCISED}
    assert sys.modules.pop("toy_broker")


def test_a_campaign_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canned_broker, "Unnumbered", Unnumbered, raising=False)
    result = do_chunk(Chunk("canned_broker:Unnumbered", "azure-premium", 0, 3), seed=7, length=1)
    assert isinstance(result, ChunkResult)
    rows = result.rows()
    verdicts = _verdicts(("canned_broker:Unnumbered", "azure-premium"), rows, (), ())
    suite = run_suite(Unnumbered(), "azure-premium", (), 3, 1).verdicts
    assert {id: v.status for id, v in verdicts.items()} == {id: v.status for id, v in suite.items()}


def test_a_fault_that_inject_refuses_as_unsupported_is_one_the_broker_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from toy_broker import Toy  # type: ignore[import-not-found]

    class Firm(Toy):  # type: ignore[misc]
        def inject(self, fault: str, args: dict[str, object]) -> dict[str, object]:
            if fault == "partition_down":
                raise Rejected("unsupported")
            return {}

    steps = (Step("env", "partition_down", {"index": 0}), Step("env", "broker_kill"))
    limits = Limits(wait=0.01, advance=0.01, drain=0.01)
    shown = run(Firm(), Program("azure-premium", steps, sequential=True), limits=limits)
    assert "partition_down" in shown.header.lacks
    assert "broker_kill" not in shown.header.lacks
    assert api.check(shown).requirements["ROUTE-6"].reason == "the broker lacks partition_down"
    untried = run(Firm(), Program("azure-premium", (), sequential=True), limits=limits)
    assert api.check([untried, shown]).requirements["ROUTE-6"].status is Status.NOT_APPLICABLE
    assert api.check(untried).requirements["ROUTE-6"].status is Status.NOT_EXERCISED
    assert sys.modules.pop("toy_broker")


PROGRAM = Program(
    "azure-premium",
    (
        *(Step("c1", "send", {"messages": (Message(f"m{n}", partition_key="k"),)}) for n in range(2)),
        *(Step("c1", "receive", {"max": 1, "timeout": 1_000_000}) for _ in range(8)),
        Step("c1", "complete", {"pick": [0]}),
    ),
    sequential=True,
)


def test_a_live_broker_that_serves_nobody_but_the_drain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from toy_broker import Toy, ToyClient  # type: ignore[import-not-found]

    class Deafened(Toy):  # type: ignore[misc]
        def connect(self, proc: str) -> object:
            client = ToyClient(self)
            if proc != "drain":
                client.receive = lambda *args, **more: []
            return client

    broker: Broker = Deafened()
    broker.profile = "azure-premium"
    shown = run(broker, PROGRAM, limits=Limits(wait=0.01, advance=0.01, drain=0.01))
    assert stalled("azure-premium", activity(shown)) == [(3, f"8 of 8 {DEAF} (azure-premium)")]
    assert check_history(shown)["RCV-2"].status is Status.NOT_EXERCISED


def test_a_live_broker_whose_completions_never_return(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from threading import Event

    from toy_broker import Toy, ToyClient

    class Hanging(ToyClient):  # type: ignore[misc]
        def complete(self, locks: object, *, txn: str | None = None) -> None:
            Event().wait(5)

    class Hung(Toy):  # type: ignore[misc]
        def connect(self, proc: str) -> object:
            return Hanging(self)

    total = Counter[str]()
    for _ in range(3):
        broker: Broker = Hung()
        broker.profile = "azure-premium"
        total += activity(run(broker, PROGRAM, limits=Limits(hang=0.05, wait=0.01, advance=0.01, drain=0.01)))
    assert stalled("azure-premium", total) == [(3, f"3 of 3 {STUCK} (azure-premium)")]
    assert sys.modules.pop("toy_broker")
