"""`partq replay` as a user meets it: only a run that puts the rule to the test says FIXED."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from canned_broker import SPLIT

from partq.conformance.adapters import Shares
from partq.conformance.evaluation import counterexample
from partq.conformance.evaluation.counterexample import Counterexample
from partq.conformance.frontends.cli.app import main
from partq.conformance.history.notation import history
from partq.conformance.verdict import Finding, Recurrence
from partq.conformance.workload import program as programs
from partq.conformance.workload.cases.table import ALL_CASES
from partq.conformance.workload.program import Program, Step
from partq.model.messages import Message
from partq.model.profiles import Entity

PROGRAM = Program(
    "azure-premium",
    tuple(Step("c1", "send", {"messages": (Message(f"m{n}", partition_key="a"),)}) for n in range(2)),
    sequential=True,
)
UNHEARD = "p1 send m1 key=a -> unknown\np2 send m2 key=a -> unknown"


def stored(
    folder: Path,
    rule: str = "ROUTE-2",
    program: Program = PROGRAM,
    seen: Recurrence | None = None,
    candidates: tuple[str, ...] = (),
) -> Path:
    """A counterexample of that rule, or one of the candidates, as found on a broker that splits keys."""
    finding = Finding(rule, "t", (0, 1), "d", "a", f"{rule}/k", candidates=candidates)
    shown = history(SPLIT, "azure-premium")
    example = Counterexample("canned_broker:Split", program, finding, shown, seen=seen)
    return counterexample.write(folder, example)


def renamed(file: Path, broker: str) -> Path:
    """The same file, but for the broker that it names."""
    data = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**data, "broker": broker}), encoding="utf-8")
    return file


@pytest.fixture(autouse=True)
def brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more, whose sends have an unknown outcome."""
    import canned_broker

    class Unheard(canned_broker.Canned):
        shows = UNHEARD

    monkeypatch.setattr(canned_broker, "Unheard", Unheard, raising=False)


@pytest.mark.parametrize(
    ("broker", "code", "word"),
    [
        ("Split", 1, "REPRODUCED ROUTE-2 on canned_broker:Split (azure-premium)"),
        ("Canned", 0, "FIXED ROUTE-2 on canned_broker:Canned (azure-premium)"),
        (
            "Silent",
            3,
            "NOT EXERCISED ROUTE-2 on canned_broker:Silent (azure-premium): it does not show again, but this "
            "program does not exercise the rule here; programs that do: "
            "partq run canned_broker:Silent --profile azure-premium --rule ROUTE-2",
        ),
        ("Unheard", 3, "NOT EXERCISED ROUTE-2"),
    ],
)
def test_only_a_rule_that_was_put_to_the_test_is_fixed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], broker: str, code: int, word: str
) -> None:
    arguments = ["replay", str(stored(tmp_path)), "--broker", f"canned_broker:{broker}"]
    assert main(arguments) == code
    said = capsys.readouterr().out
    assert said.startswith(word)
    assert ("p1 send m1 key=a -> ok @" in said) is (code == 1), "the records that show it"
    assert main([*arguments, "--tries", "3", "--format", "json"]) == code
    document = json.loads(capsys.readouterr().out)
    assert document["exit"] == code
    assert word.startswith(document["replay"])
    assert document["requirement"] == "ROUTE-2"


@pytest.mark.parametrize(("broker", "said"), [("Split", "REPRODUCED ROUTE-2"), ("Canned", "FIXED KEY-2")])
def test_of_several_rules_each_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], broker: str, said: str
) -> None:
    file = stored(tmp_path, "KEY-2", candidates=("KEY-2", "ROUTE-2"))
    main(["replay", str(file), "--broker", f"canned_broker:{broker}"])
    assert capsys.readouterr().out.startswith(said)


def test_one_sender_of_one_key_puts_route_2_to_the_test(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(stored(tmp_path)), "--broker", "reference"]) == 0
    assert capsys.readouterr().out.startswith("FIXED ROUTE-2 on reference (azure-premium)")


def test_a_rule_that_does_not_apply_is_not_fixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = stored(tmp_path, "REB-14")
    assert main(["replay", str(file), "--broker", "canned_broker:Canned"]) == 3
    assert "NOT APPLICABLE REB-14" in capsys.readouterr().out


@pytest.mark.parametrize("broker", ["Gone", "Broken"])
def test_a_broker_that_cannot_be_run_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], broker: str
) -> None:
    assert main(["replay", str(stored(tmp_path)), "--broker", f"canned_broker:{broker}"]) == 2
    told = capsys.readouterr().err.strip().splitlines()
    assert len(told) == 1
    assert told[0].startswith("partq: error: ")


def test_a_password_that_was_left_out_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(stored(tmp_path)), "--broker", "rabbitmq://me:***@host/"]) == 2
    assert "the password is not stored" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("broker", "named"),
    [
        ("rude_broker:Noted", "rude_broker:Noted"),
        ("os:abort", "os:abort"),
        ("rabbitmq://me:secret@localhost:1/", "rabbitmq://me:***@localhost:1/"),
        ("reference:evil", "reference:evil"),
    ],
)
def test_a_file_chooses_no_code_and_no_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], broker: str, named: str
) -> None:
    """The module that it names is not even imported."""
    file = renamed(stored(tmp_path), broker)
    sys.modules.pop("rude_broker", None)
    assert main(["replay", str(file)]) == 2
    said = capsys.readouterr().err
    assert f"names '{named}', which does not come with partq" in said
    assert "secret" not in said
    assert "rude_broker" not in sys.modules


@pytest.mark.parametrize(("broker", "code"), [("mutant:route-by-body", 1), ("reference", 0)])
def test_a_file_may_name_a_broker_that_comes_with_partq(tmp_path: Path, broker: str, code: int) -> None:
    program = ALL_CASES["same-key"].build("azure-standard")
    assert main(["replay", str(renamed(stored(tmp_path, program=program), broker))]) == code


def test_what_is_no_broker_class_is_not_called(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("os:abort", "builtins:input", "subprocess:Popen"):
        assert main(["replay", str(stored(tmp_path)), "--broker", name]) == 2
        assert f"{name} is not a subclass of" in capsys.readouterr().err


def test_a_rule_that_there_is_not_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(stored(tmp_path, "ROUTE-99"))]) == 2
    told = capsys.readouterr().err.strip().splitlines()
    assert len(told) == 1
    assert "no rule 'ROUTE-99'" in told[0]


@pytest.mark.parametrize(
    ("broker", "code", "word"),
    [
        ("Split", 1, "VIOLATED on canned_broker:Split (azure-premium)"),
        ("Canned", 0, "NOTHING FOUND on canned_broker:Canned (azure-premium)"),
        ("Silent", 3, "UNDECIDED on canned_broker:Silent (azure-premium): nothing was exercised"),
    ],
)
def test_a_mere_program_asks_of_all_rules(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], broker: str, code: int, word: str
) -> None:
    file = tmp_path / "program.json"
    file.write_text(programs.dumps(PROGRAM), encoding="utf-8")
    assert main(["replay", str(file), "--broker", f"canned_broker:{broker}"]) == code
    assert capsys.readouterr().out.startswith(word)


def test_a_mere_program_is_put_to_the_exact_judge_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "program.json"
    file.write_text(programs.dumps(replace(PROGRAM, profile="azure-flat")), encoding="utf-8")
    assert main(["replay", str(file), "--broker", "canned_broker:Overtaken"]) == 1
    told = capsys.readouterr().out
    assert told.startswith("VIOLATED on canned_broker:Overtaken (azure-flat): RCV-3 or RCV-2 violated")


def test_fixed_says_in_how_many_tries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["replay", str(stored(tmp_path)), "--broker", "canned_broker:Canned"]
    assert main(arguments) == 0
    assert "tries" not in capsys.readouterr().out
    assert main([*arguments, "--tries", "3"]) == 0
    assert capsys.readouterr().out.strip().endswith("(azure-premium) (not seen in 3 tries)")


@pytest.mark.parametrize(
    ("seen", "times"),
    [
        (None, 7),
        (Recurrence(5, 5), 3),
        (Recurrence(1, 1), 7),
        (Recurrence(3, 10), 15),
    ],
)
def test_a_live_broker_is_tried_until_a_miss_is_improbable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen: Recurrence | None, times: int
) -> None:
    import canned_broker

    opened: list[Entity] = []

    class Counting(canned_broker.Refusing):
        def open(self, entity: Entity) -> None:
            opened.append(entity)

    monkeypatch.setattr(canned_broker, "Counting", Counting, raising=False)
    file = stored(tmp_path, seen=seen)
    assert main(["replay", str(file), "--broker", "canned_broker:Counting"]) == 3
    assert len(opened) == times
    assert (1 - (seen or Recurrence(1, 1)).rate) ** times <= 0.01


@pytest.mark.parametrize(
    ("seen", "code", "told"),
    [
        (
            Recurrence(9, 9),
            0,
            "FIXED ROUTE-2 on reference:live (azure-premium) (not seen in 2 tries; it was ",
        ),
        (Recurrence(1, 2), 3, "NOT SEEN AGAIN ROUTE-2 on reference:live (azure-premium) (not seen in 2 "),
    ],
)
def test_what_does_not_show_is_fixed_only_where_a_miss_is_improbable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seen: Recurrence, code: int, told: str
) -> None:
    file = stored(tmp_path, program=ALL_CASES["same-key"].build("azure-premium"), seen=seen)
    assert main(["replay", str(file), "--broker", "reference:live", "--tries", "2"]) == code
    out = capsys.readouterr().out
    assert out.startswith(told)
    assert f"a miss has a probability of {seen.miss(2):.2g}" in out
    assert ("12 clean tries are needed" in out) is (code == 3)


def test_what_shows_says_how_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import wrong_toys

    class Seldom(wrong_toys.ToyKeysApart):  # type: ignore[name-defined, misc]
        """Keys apart in every other run."""

        opened = 0

        shares = Shares.EVERYTHING

        def open(self, entity: Entity) -> Entity:
            Seldom.opened += 1
            kind = wrong_toys.KeysApart if Seldom.opened % 2 else wrong_toys.Queue
            Seldom.defect = kind
            known: Entity = super().open(entity)
            return known

    monkeypatch.setattr(wrong_toys, "Seldom", Seldom, raising=False)
    file = stored(tmp_path, program=ALL_CASES["same-key"].build("azure-premium"))
    assert main(["replay", str(file), "--broker", "wrong_toys:Seldom", "--tries", "4"]) == 1
    out = capsys.readouterr().out
    first = out.splitlines()[0]
    assert first == "REPRODUCED ROUTE-2 on wrong_toys:Seldom (azure-premium) (2 of 4 tries)"
    assert "   azure-premium, try " in out and " (seen in 2 of 4 tries), " in out


def test_several_tries_at_once_where_the_broker_allows_it(tmp_path: Path) -> None:
    assert main(["replay", str(stored(tmp_path)), "--broker", "canned_broker:Sociable", "--tries", "4"]) == 3


@pytest.mark.parametrize(
    "seen", [3, [1, 2], {"times": 0, "tries": 1}, {"times": 3, "tries": 2}, {"times": 1}]
)
def test_how_often_it_was_seen_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seen: object
) -> None:
    file = stored(tmp_path)
    file.write_text(json.dumps({**json.loads(file.read_text()), "seen": seen}))
    assert main(["replay", str(file), "--broker", "reference"]) == 2
    assert str(file) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("hello", "is no JSON file"),
        ('{"schema":"partq.history/1"}', "is of schema 'partq.history/1'"),
        ('{"schema":"partq.history/1"}\n{"i":0}', "is no JSON file"),
        ("[]", "has no schema"),
    ],
)
def test_a_file_of_another_kind_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, told: str
) -> None:
    (tmp_path / "file").write_text(text, encoding="utf-8")
    assert main(["replay", str(tmp_path / "file")]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert told in lines[0]
    others = "a history: partq check; a trace: partq run --program"
    assert lines[0].endswith(f": a counterexample or a program is expected ({others})")


def test_what_the_drain_showed_violated_it_may_show_fixed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A counterexample may be shrunk until its clients only send."""
    file = stored(tmp_path, "RCV-1", seen=Recurrence(3, 3))
    assert main(["replay", str(file), "--broker", "reference:live"]) == 0
    assert capsys.readouterr().out.startswith("FIXED RCV-1 on reference:live")
