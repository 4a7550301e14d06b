"""``partq profile``: begin one, show one, check one; ``partq init --profile``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from partq.conformance.frontends.cli.app import main
from partq.conformance.frontends.profile_text import written
from partq.model.profile_file import parse, plain, words_for_rules
from partq.model.profiles import BUILT_IN, Divergence, Ground, Profile, profile


@pytest.mark.parametrize("begins", [False, True])
@pytest.mark.parametrize("name", BUILT_IN)
def test_what_is_written_says_the_same(name: str, begins: bool) -> None:
    text = written(profile(name), begins)
    assert parse(text, name, words_for_rules()) == profile(name)


def test_all_that_can_be_said_is_written() -> None:
    family = Profile(
        "mine",
        'A "title" \\ of mine',
        {"ROUTE": Ground('The "page"', "what it\u2019s saying\\"), "RCV-6": None},
        pages={'The "page"': "https://vendor.example/a"},
        adds_properties=("x-*", 'a"b'),
        divergences=(Divergence("RCV-6", "after broker_kill", "why", "RCV-6/x"),),
    )
    assert plain(parse(written(family), "mine", words_for_rules())) == plain(family)


def test_a_profile_is_begun_checked_and_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["profile", "new", "nats"]) == 0
    assert capsys.readouterr().out.startswith("written: nats.toml, like partitioned-queue\n")
    assert main(["profile", "check", "nats.toml"]) == 0
    checked = capsys.readouterr().out
    assert "8 rules bind (8 MUST)" in checked
    assert "the title is still to be written" in checked
    assert main(["profile", "new", "nats"]) == 2
    assert "nats.toml exists" in capsys.readouterr().err
    assert main(["list", "rules", "--profile", "nats"]) == 2
    assert "Or for the file say nats.toml" in " ".join(capsys.readouterr().err.split())
    assert main(["profile", "show", "nats.toml"]) == 0
    assert parse(capsys.readouterr().out, "out") == parse(Path("nats.toml").read_text(), "nats.toml")
    assert main(["profile", "show", "nats.toml", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "nats"


def test_a_vendors_words_are_not_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["profile", "new", "mine", "--like", "rabbitmq"]) == 0
    begun = parse(Path("mine.toml").read_text(), "mine.toml", words_for_rules())
    assert begun.rules == dict.fromkeys(profile("rabbitmq").rules)
    assert not begun.pages
    assert begun.kill_remaps_keys


@pytest.mark.parametrize("name", ["Nats", "a b", "../a", "a" * 41, "-a", "a.b"])
def test_what_is_no_name_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["profile", "new", "--", name], ["init", "--profile=" + name, "nowhere"]):
        assert main(command) == 2
        assert "is no name of a profile" in " ".join(capsys.readouterr().err.split())
    assert not Path("nowhere").exists()


def test_doubts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'schema = "partq.profile/1"\nname = "mine"\ntitle = "Mine"\n'
        "[switches]\nshows_seq = false\nkill_remaps_keys = true\n"
        '[pages]\n"A" = "https://vendor.example/"\n'
        '[rules]\nSEQ-1 = {}\nROUTE-1 = { page = "A", says = "b" }\n'
    )
    assert main(["profile", "check", str(file), "--format", "json"]) == 0
    idle, unsaid, judge = sorted(json.loads(capsys.readouterr().out)["doubts"])
    assert idle == "never exercised, since shows_seq is false: SEQ-1"
    assert unsaid.startswith("the judge is not asked")
    assert judge == "without a page of the vendor: SEQ-1"


def test_a_project_begins_with_a_profile_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["init", "--profile", "my-queue"]) == 0
    assert 'profile = "my-queue.toml"' in Path("my_broker.py").read_text()
    assert 'profile = "my-queue.toml"' in Path("pyproject.toml").read_text()
    assert "partq run --case queue-keys " in capsys.readouterr().out
    assert "--case queue-keys " in Path("my_broker.py").read_text()
    assert main(["run", "--case", "queue-keys", "--format", "json"]) == 0
    (name,) = json.loads(capsys.readouterr().out)["profiles"]
    assert name.startswith("my-queue@")
