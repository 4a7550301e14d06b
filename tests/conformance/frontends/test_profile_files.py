"""A profile of one's own, by its file, wherever a profile can be named; and where its file is not."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from partq.conformance.adapters import UnknownBroker, claimed_profiles, open_broker
from partq.conformance.frontends import api
from partq.conformance.frontends.campaign.plan import Plan, even
from partq.conformance.frontends.campaign.work import ChunkResult, do_unit
from partq.conformance.frontends.cli.app import main
from partq.conformance.frontends.cli.one_trace import Trace
from partq.conformance.frontends.settings import settings_near
from partq.conformance.history.codec import read_history
from partq.conformance.history.codec_profiles import named_profile, typed
from partq.model.profiles import profile, requirements_of

TOML = """\
schema = "partq.profile/1"
name = "mine"
title = "A queue of mine"
rules = ["KEY-2", "ROUTE-1", "ROUTE-2", "RCV-1", "RCV-2", "RCV-6", "RCV-7"]

[switches]
caching_front_ends = true
transactions = true
partitions = [1, 2, 4]

[entity]
partitions = 4
"""
BROKER = """\
from partq.conformance.adapters.stage import StagedBroker
from partq.conformance.adapters.mutants import open_mutant
from partq.conformance.adapters.reference import Reference

class Mine(StagedBroker):
    profile = "mine.toml"
    lacks = Reference().lacks
    broker = Reference()
    def stage(self, program, on_event):
        return self.broker.stage(program, on_event)

class Broken(Mine):
    broker = open_mutant("batches-have-their-own-map")

class Astray(Mine):
    profile = "nowhere.toml"
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a broker and its profile; the current one is another."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "mine.toml").write_text(TOML)
    (folder / "my_own_broker.py").write_text(dedent(BROKER))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(folder)
    yield folder
    sys.modules.pop("my_own_broker", None)


def test_a_class_names_its_profile_from_its_own_folder(project: Path) -> None:
    (name,) = claimed_profiles(open_broker("my_own_broker:Mine"))
    assert profile(name).title == "A queue of mine"
    with pytest.raises(UnknownBroker, match=r"Astray.profiles\(\): .*nowhere.toml: No such file"):
        claimed_profiles(open_broker("my_own_broker:Astray"))
    elsewhere = type("Elsewhere", (type(open_broker("my_own_broker:Mine")),), {"__module__": __name__})
    assert claimed_profiles(elsewhere()) == (name,)


def test_a_run_under_a_file_goes_wherever_its_results_go(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["run", "my_own_broker:Broken", "--programs", "30", "--out", "kept", "--save-histories"]
    assert main([*arguments, "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    (name,) = document["profiles"]
    assert name.startswith("mine@")
    assert document["profiles"][name]["ROUTE-2"]["status"] == "violated"
    assert document["profiles"][name]["SEQ-2"]["reason"] == "not a rule of the profile mine"
    example = json.loads(Path(document["counterexamples"][0]).read_text())
    assert example["program"]["profile"] == example["history"][0]["profile"]
    assert example["program"]["profile"]["title"] == "A queue of mine"
    stored = next(Path("kept").rglob("*.ndjson"))
    assert read_history(stored).header.profile == name


def test_the_same_profile_by_option_by_settings_and_by_the_api(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "pyproject.toml").write_text('[tool.partq]\nbroker = "reference"\nprofile = "mine.toml"\n')
    (word,) = settings_near(project).profile
    result = api.run("my_own_broker:Mine", word, programs=3, cases=["same-key"])
    assert list(result.verdicts) == [claimed_profiles(open_broker("my_own_broker:Mine"))[0]]
    main(
        ["run", "my_own_broker:Mine", "--profile", "project/mine.toml", "--programs", "1", "--format", "json"]
    )
    assert list(json.loads(capsys.readouterr().out)["profiles"]) == list(result.verdicts)
    assert main(["list", "rules", "--profile", word, "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)["rules"]
    assert {entry["name"] for entry in listed} == requirements_of(next(iter(result.verdicts)))


def test_a_history_is_judged_by_another_profile(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", "mutant:batches-have-their-own-map", "--programs", "5", "--out", "kept", "--save-histories"])
    capsys.readouterr()
    stored = str(next(Path("kept").rglob("*.ndjson")))
    main(["check", stored, "--profile", "project/mine.toml", "--format", "json"])
    assert next(iter(json.loads(capsys.readouterr().out)["profiles"])).startswith("mine@")


def test_a_baseline_names_it_without_a_digest(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", "my_own_broker:Broken", "--programs", "30"]
    assert main([*arguments, "--write-baseline", "known.toml"]) == 0
    assert 'profile = "mine"' in Path("known.toml").read_text()
    (project / "mine.toml").write_text(TOML.replace("A queue of mine", "The same with another title"))
    assert main([*arguments, "--baseline", "known.toml"]) == 0


@pytest.mark.parametrize(
    "words", [("run", "reference"), ("check", "x.ndjson"), ("list", "rules"), ("search", "reference")]
)
@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("bad.toml", "bad.toml:3: field 'titel' is not known; did you mean title"),
        ("nowhere.toml", "nowhere.toml: No such file or directory"),
        ("nats", "unknown profile 'nats'"),
    ],
)
def test_a_bad_file_is_one_line_and_exit_code_2(
    project: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], file: str, said: str
) -> None:
    Path("bad.toml").write_text(TOML.replace("title =", "titel =").replace("rules =", 'title = "A"\nrules ='))
    Path("x.ndjson").write_text("")
    assert main([*words, "--profile", file]) == 2
    err = capsys.readouterr().err
    assert said in " ".join(err.split())
    assert len(err.splitlines()) == 1


def elsewhere(folder: Path, code: str, *arguments: str) -> str:
    """What a Python process says that has neither the profile's file nor anything that was read here."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(folder)},
    )  # fmt: skip
    return done.stdout


def test_executors_of_a_campaign_know_the_profile(project: Path) -> None:
    name = named_profile("mine.toml", project)
    plan = Plan(even("my_own_broker:Broken", (name,), 60), 7, None)
    assert plan.to_json()["profiles"][name]["title"] == "A queue of mine"
    assert "profiles" not in Plan(even("reference", ("solace",), 3), 7, None).to_json()
    Path("plan").write_bytes(pickle.dumps(plan))  # as Spark sends it
    (project / "mine.toml").unlink()
    code = (
        "import pickle, sys; from partq.conformance.frontends.campaign.work import do_unit\n"
        "plan = pickle.load(open(sys.argv[1], 'rb')); plan.make_profiles_known()\n"
        "(result,) = do_unit(plan.unit(0), plan.seed, plan.length)\n"
        "print(*sorted(result.named))"
    )
    (here,) = do_unit(plan.unit(0), plan.seed, plan.length)
    assert isinstance(here, ChunkResult)
    assert elsewhere(project, code, "plan").split() == sorted(here.named)
    assert "ROUTE-2" in here.named


def test_results_are_shown_where_the_file_is_not(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "mine.toml").write_text(TOML.replace("A queue of mine", "<script>alert(1)</script> & mine"))
    assert main(["run", "my_own_broker:Broken", "--programs", "30", "--out", "kept"]) == 1
    example = min(Path("kept/counterexamples").rglob("*.json"))
    rule = json.loads(example.read_text())["finding"]["requirement"]
    (project / "mine.toml").unlink()
    code = "import sys; from partq.conformance.frontends.cli.app import main; main(sys.argv[1:])"
    assert "report kept" in elsewhere(project, code, "report", "kept")
    page = Path("kept/report.html").read_text()
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; mine" in page
    assert "<script>alert(1)" not in page
    replayed = elsewhere(project, code, "replay", str(example), "--broker", "my_own_broker:Broken")
    assert replayed.startswith(f"REPRODUCED {rule} ")
    assert "mine@" in elsewhere(project, code, "compare", "kept", "kept")


def test_results_that_embed_a_bad_profile_are_one_line(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["run", "my_own_broker:Mine", "--programs", "1", "--out", "kept"])
    file = Path("kept/verdicts.json")
    stored = json.loads(file.read_text())
    (said,) = stored["profile_files"].values()
    said["rules"] = {"KEYY-2": {}}
    file.write_text(json.dumps(stored))
    capsys.readouterr()
    assert main(["report", "kept"]) == 2
    err = " ".join(capsys.readouterr().err.split())
    assert "kept/verdicts.json: profile.rules.KEYY-2: field 'KEYY-2' is no rule, group or column" in err


DIVERGENCE = """
[[divergences]]
rule = "ROUTE-2"
condition = "%s"
cause = "%s"
reason = "batches have a map of their own"

[[divergences]]
rule = "ROUTE-1"
condition = "always"
cause = "ROUTE-1/send ok"
reason = "batches have a map of their own"
"""
REASON = "batches have a map of their own"


def test_a_divergence_that_the_profile_names_is_known_under_its_condition_alone(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["run", "my_own_broker:Broken", "--programs", "40"]
    for condition, cause, code in (
        ("always", "ROUTE-2/apart", 0),
        ("always", "ROUTE-2/another", 1),
        ("in a transaction", "ROUTE-2/apart", 1),
    ):
        (project / "mine.toml").write_text(TOML + DIVERGENCE % (condition, cause))
        assert main([*arguments, "--format", "json"]) == code
        document = json.loads(capsys.readouterr().out)
        (verdicts,) = document["profiles"].values()
        assert verdicts["ROUTE-2"]["status"] == "violated"
        held = document["baseline"]
        assert any(one["kind"] == "violated" for one in held["new"]) == (code == 1)
        assert code == 1 or {one["reason"] for one in held["known"]} == {REASON}


def test_commands_name_the_file(project: Path) -> None:
    command = Trace("my_own_broker:Mine", named_profile("project/mine.toml"), 3, 7).command
    assert command.endswith("--trace 3 --seed 7 --profile project/mine.toml")
    assert typed("solace") == "solace"
    assert typed("elsewhere@12345678") == "elsewhere.toml"
