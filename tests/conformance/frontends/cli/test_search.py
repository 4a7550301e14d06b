"""`partq search` as a user meets it: what it prints, leaves behind and answers, and that nothing found is a
verdict only of what was put to the test."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import canned_broker
import pytest
from jsonschema import Draft202012Validator

from partq.conformance import schemas
from partq.conformance.adapters import Broker, Client
from partq.conformance.frontends.cli.app import main
from partq.conformance.workload.program import from_json
from partq.model.messages import Delivery, Message
from partq.model.profiles import SECOND, Entity

PartqIn = Callable[..., tuple[int, str, str]]


@pytest.fixture
def partq_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> PartqIn:
    """Runs a command in a folder that has nothing but ``here.json``: its exit code, output and errors."""
    (tmp_path / "here.json").touch()
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


UNHEARD = "p1 send m1 key=a -> unknown\np2 send m2 key=a -> unknown"


class Unheard(canned_broker.Canned):
    """All of its sends have an unknown outcome."""

    shows = UNHEARD


@pytest.mark.parametrize(
    ("broker", "code", "told"),
    [
        ("Canned", 0, "azure-premium: nothing found in 5 programs\n"),
        ("Silent", 3, "azure-premium: nothing found in 5 programs; nothing was exercised\n"),
        ("Unheard", 3, "azure-premium: nothing found in 5 programs; nothing was exercised\n"),
        ("Split", 1, "ROUTE-2"),
    ],
)
def test_nothing_found_in_nothing_exercised_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], broker: str, code: int, told: str
) -> None:
    monkeypatch.setattr(canned_broker, "Unheard", Unheard, raising=False)
    assert main(["search", f"canned_broker:{broker}", "--examples", "5", "--length", "3"]) == code
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(("broker", "code"), [("Canned", 0), ("Silent", 3), ("Unheard", 3), ("Split", 1)])
def test_the_document_says_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], broker: str, code: int
) -> None:
    monkeypatch.setattr(canned_broker, "Unheard", Unheard, raising=False)
    search = ["search", f"canned_broker:{broker}", "--examples", "5", "--length", "3", "--format", "json"]
    assert main(search) == code
    document = json.loads(capsys.readouterr().out)
    Draft202012Validator(schemas.load("verdicts")).validate(document)
    assert document["exit"] == code
    assert (document["found"] is not None) == (code == 1)
    if code == 1:
        assert "ROUTE-2" in document["found"]["violations"][0]
        assert document["requirements"]["ROUTE-2"]["status"] == "violated"
        assert from_json(document["found"]["program"]).profile == "azure-premium"


def test_the_worst_profile_decides(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Half(canned_broker.Any):
        """Does nothing under one of its profiles."""

        def simulate(self, program: object) -> object:
            self.shows = "" if self.profile == "azure-standard" else canned_broker.TOGETHER
            return super().simulate(program)  # type: ignore[arg-type]

    monkeypatch.setattr(canned_broker, "Half", Half, raising=False)
    both = ("--profile", "azure-standard", "--profile", "azure-premium")
    assert main(["search", "canned_broker:Half", *both, "--examples", "3", "--length", "2"]) == 3
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("canned_broker:Any", "--profile", "rabbitmq"), "rabbitmq: not modelled"),
        (("rabbitmq://guest:guest@localhost:1/%2f",), "rabbitmq: not modelled"),
        (("canned_broker:Gone",), "start the broker first"),
        (("canned_broker:Broken",), "ZeroDivisionError: oh dear"),
        (("canned_broker:Boasting",), "ZeroDivisionError: nothing at all"),
        (("canned_broker:Split", "--out", "here.json"), "here.json exists"),
        (("canned_broker:Split", "--out", "nowhere/there.json"), "nowhere/there.json: No such file"),
    ],
)
def test_what_cannot_be_searched_is_one_line(
    partq_in: PartqIn, arguments: tuple[str, ...], told: str
) -> None:
    code, out, err = partq_in("search", *arguments, "--examples", "5")
    assert (code, out) == (2, "")
    assert told in err
    assert len(err.splitlines()) == 1


def test_only_what_is_modelled_is_searched_unless_asked(
    partq_in: PartqIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Both(canned_broker.Canned):
        def profiles(self) -> tuple[str, ...]:
            return "rabbitmq", "azure-premium"

    monkeypatch.setattr(canned_broker, "Both", Both, raising=False)
    code, out, _ = partq_in("search", "canned_broker:Both", "--examples", "3", "--length", "2")
    assert (code, out) == (0, "azure-premium: nothing found in 3 programs\n")
    assert partq_in("search", "canned_broker:Both", "--profile", "rabbitmq")[0] == 2


def test_nothing_is_left_in_the_folder(partq_in: PartqIn, tmp_path: Path) -> None:
    code, out, _ = partq_in("search", "canned_broker:Split", "--examples", "5", "--out", "found.json")
    assert code == 1
    assert "ROUTE-2 violated: " in out
    assert "p1 send m1 key=a -> ok @1ns-2ns" in out
    assert {path.name for path in tmp_path.iterdir()} == {"here.json", "found.json"}


def test_a_live_broker_shows_progress_and_what_its_adapter_does_wrong(
    partq_in: PartqIn,
) -> None:
    code, _, err = partq_in("search", "canned_broker:Clientless", "--examples", "3", "--length", "2")
    assert code == 3
    assert "azure-premium: searching (program 1, 3 to search)" in err
    assert "connect answered NoneType" in err


class Garbling(canned_broker.Refusing):
    """A live broker that delivers another text than was sent."""

    class Garbler(Client):
        def __init__(self, stored: list[str]) -> None:
            self.stored = stored

        def send(self, message: Message, *, txn: str | None = None, timeout: float = 60.0) -> None:
            self.stored.append(message.id)

        def receive(
            self, max_messages: int, *, mode: str = "peek_lock", timeout: float = 1.0
        ) -> list[Delivery]:
            return [Delivery(self.stored.pop(), body="hm")] if self.stored else []

    client_class = Garbler
    lock_duration = SECOND // 10

    def open(self, entity: Entity) -> None:
        self.stored: list[str] = []

    def connect(self, proc: str) -> Client:
        return self.Garbler(self.stored)

    lacks = Broker.lacks


def test_what_is_found_on_a_live_broker_is_shown_before_it_is_shrunk(
    partq_in: PartqIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canned_broker, "Garbling", Garbling, raising=False)
    code, out, err = partq_in("search", "canned_broker:Garbling", "--length", "4", "--seconds", "6")
    assert code == 1
    assert "azure-premium: found, and being shrunk:\nRCV-1 violated" in err
    assert out.count("RCV-1 violated") == err.count("RCV-1 violated") == 1


def test_a_search_ends_when_its_time_is_over(partq_in: PartqIn) -> None:
    options = ("--examples", "100000", "--length", "1", "--seconds", "1")
    code, out, _ = partq_in("search", "canned_broker:Canned", *options)
    assert code == 3, "not all the programs that were asked for were run"
    assert out.endswith(" programs of 100000, then the 1 s were over\n")
    document = json.loads(partq_in("search", "canned_broker:Canned", *options, "--format", "json")[1])
    assert document["exit"] == 3
    assert "programs of 100000, then the 1 s were over" in document["conclusion"]


SPLIT = ("canned_broker:Split", "--examples", "5", "--length", "3")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--exclude", "ROUTE-2"), {0, 3}),
        (("--exclude", "ROUTE"), {0, 3}),
        (("--rule", "RCV"), {0, 3}),
        (("--rule", "ROUTE-2"), {1}),
        (("--rule", "ROUTE", "--exclude", "ROUTE-2"), {0, 3}),
        (("--exclude", "RCV-1"), {1}),
    ],
)
def test_a_search_goes_past_what_it_is_not_asked_about(
    partq_in: PartqIn, options: tuple[str, ...], code: set[int]
) -> None:
    found, out, _ = partq_in("search", *SPLIT, *options)
    assert found in code
    assert ("ROUTE-2" in out) is (code == {1})


def test_a_search_goes_past_what_is_known(partq_in: PartqIn) -> None:
    entry = "[[violated]]\nrule = 'ROUTE-2'\nreason = 'r'\ncondition = "
    head = "schema = 'partq.baseline/1'\n"
    Path("known.toml").write_text(f"{head}{entry}'always'\n")
    code, out, err = partq_in("search", *SPLIT, "--baseline", "known.toml")
    assert code in (0, 3)
    assert "nothing found in 5 programs" in out
    assert "it has no cause, and so hides" in err
    Path("known.toml").write_text(f"{head}{entry}'after broker_kill'\n")
    assert partq_in("search", *SPLIT, "--baseline", "known.toml")[0] == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--rule", "ROUTE-99"), "'ROUTE-99' is no rule and no group of rules"),
        (("--rule", "ROUTE-2", "--exclude", "ROUTE"), "--exclude leaves no rule"),
    ],
)
def test_a_rule_that_is_none_is_one_line(partq_in: PartqIn, options: tuple[str, ...], told: str) -> None:
    for command in (("search", *SPLIT), ("run", "canned_broker:Split")):
        code, out, err = partq_in(*command, *options)
        assert (code, out, len(err.splitlines())) == (2, "", 1)
        assert told in err


def test_so_does_a_run(partq_in: PartqIn) -> None:
    run = ("run", "canned_broker:Split", "--programs", "3", "--case", "same-key", "--format", "json")
    assert json.loads(partq_in(*run)[1])["requirements"]["ROUTE-2"]["status"] == "violated"
    code, out, _ = partq_in(*run, "--exclude", "ROUTE-2")
    document = json.loads(out)
    assert code != 1
    assert document["requirements"]["ROUTE-2"]["status"] == "not applicable"
    assert "--exclude" in document["requirements"]["ROUTE-2"]["reason"]
