"""Profiles that are not built in: as files, and embedded in what was run under them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from partq.conformance.history import Header, History
from partq.conformance.history.codec import HistoryError, dumps, loads
from partq.conformance.history.codec_profiles import named_profile
from partq.conformance.workload import program as programs
from partq.conformance.workload.program import InvalidProgram, Program
from partq.model.profiles import PROFILES, UnknownProfile, embedded, profile

MINE: dict[str, Any] = {
    "schema": "partq.profile/1",
    "name": "mine",
    "title": "Mine",
    "rules": ["KEY-2", "ROUTE", "RCV-1", "RCV-6"],
    "switches": {"peek": False},
}
TOML = """\
schema = "partq.profile/1"
name = "mine"
title = "Mine"
rules = ["KEY-2", "ROUTE", "RCV-1", "RCV-6"]
switches = { peek = false }
"""


def header(**more: Any) -> bytes:
    return (
        json.dumps({"schema": "partq.history/1", "clock": "virtual", "profile": MINE, **more}).encode()
        + b"\n"
    )


def test_a_file_and_what_is_embedded_are_one_profile(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(TOML)
    name = named_profile("mine.toml", tmp_path)
    assert name.startswith("mine@")
    assert name == named_profile(str(tmp_path / "mine.toml")) == loads(header()).header.profile
    assert not profile(name).peek
    assert embedded([name, "solace"]) == {name: MINE}


def test_histories_and_programs_embed_it() -> None:
    name = loads(header()).header.profile
    history, program = History(Header(name), ()), Program(name, ())
    assert json.loads(dumps(history).splitlines()[0])["profile"] == MINE
    assert loads(dumps(history)) == history
    assert programs.to_json(program)["profile"] == MINE
    assert programs.from_json(json.loads(programs.dumps(program))) == program


@pytest.mark.parametrize("name", PROFILES)
def test_a_built_in_profile_stays_a_name(name: str) -> None:
    assert json.loads(dumps(History(Header(name), ())).splitlines()[0])["profile"] == name
    assert programs.to_json(Program(name, ()))["profile"] == name


def test_another_process_needs_no_file_of_it(tmp_path: Path) -> None:
    stored = tmp_path / "history.ndjson"
    stored.write_bytes(header())
    code = (
        "import sys; from partq.conformance.history.codec import read_history;"
        "from partq.model.profiles import requirements_of;"
        "print(len(requirements_of(read_history(sys.argv[1]).header.profile)))"
    )
    done = subprocess.run([sys.executable, "-c", code, stored], capture_output=True, text=True, check=True)
    assert done.stdout == "13\n"


def test_two_of_one_name_are_not_confused() -> None:
    one = loads(header()).header.profile
    other = loads(header(profile={**MINE, "switches": {}})).header.profile
    assert one != other
    assert (profile(one).peek, profile(other).peek) == (False, True)


HOSTILE: dict[str, tuple[Any, str]] = {
    "name of one that was read": ("mine@12345678", "profile: unknown profile 'mine@12345678'"),
    "number": (3, "profile: unknown profile 3"),
    "list": ([], "profile: unknown profile a list of 0"),
    "empty": ({}, "profile.schema: field 'schema' is missing"),
    "unknown rule": (
        {**MINE, "rules": ["KEYY-2"]},
        "profile.rules: field 'rules' has an unknown value 'KEYY-2'",
    ),
    "rules are deep": ({**MINE, "rules": json.loads("[" * 500 + "]" * 500)}, "profile.rules: "),
    "title of terminal codes": ({**MINE, "title": "\x1b[31m"}, "profile.title: "),
    "half a character": ({**MINE, "title": "\ud800"}, "surrogate"),
    "switch": ({**MINE, "switches": {"\x1b]0;": True}}, "is not known"),
    "field": ({**MINE, "x\n" * 500: True}, "is not known"),
    "page of a script": ({**MINE, "pages": {"a": "javascript:alert(1)"}}, "must be an https address"),
    "entity": ({**MINE, "entity": {"partitions": 10**30}}, "profile.entity.partitions: "),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_profile_is_one_line(case: str) -> None:
    data, said = HOSTILE[case]
    with pytest.raises(HistoryError) as caught:
        loads(header(profile=data), "h.ndjson")
    text = str(caught.value)
    assert text.startswith("h.ndjson:1: ")
    assert said in text
    assert text.isprintable()
    assert len(text) < 400
    if case != "half a character":  # programs hold no text that is printed
        with pytest.raises(InvalidProgram):
            programs.from_json({"schema": "partq.program/1", "steps": [], "profile": data})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff", "not valid TOML: 'utf-8' codec"),
        (b"", "mine.toml:1: field 'schema' is missing"),
        (b"a = " + b"[" * 50_000, "nested too deeply"),
        (b"#" * 200_000, "longer than 100,000 characters"),
        (None, "No such file or directory"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, content: bytes | None, said: str) -> None:
    if content is not None:
        (tmp_path / "mine.toml").write_bytes(content)
    with pytest.raises(UnknownProfile) as caught:
        named_profile("mine.toml", tmp_path)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_profile_says_how_to_make_one() -> None:
    with pytest.raises(UnknownProfile, match="partq profile new"):
        named_profile("nats")
