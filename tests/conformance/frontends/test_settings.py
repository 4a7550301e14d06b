"""[tool.partq]: what it says, where it is looked for, and what is wrong with it, in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from partq.conformance.frontends.settings import NOTHING, Settings, settings_near, settings_of
from partq.conformance.frontends.toml_tables import BadTable

FILE = Path("folder/pyproject.toml")

ALL = """
[project]
name = "mine"

[tool.partq]
broker = "mine:MyBroker"
profile = ["azure-premium", "azure-standard"]
programs = 20
seed = 0
strict = true
baseline = "known.toml"
require = "90%"
open = "1%"
"""


def test_all_of_it() -> None:
    assert settings_of(ALL, FILE) == Settings(
        "mine:MyBroker",
        ("azure-premium", "azure-standard"),
        20,
        0,
        True,
        Path("folder/known.toml"),
        ("90%",),
        "1%",
        FILE,
    )


@pytest.mark.parametrize("text", ["", "[tool.other]", "tool = 1"])
def test_no_table(text: str) -> None:
    assert settings_of(text, FILE) is None


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("brokr = 'x'", "unknown key 'brokr'; did you mean broker?"),
        ("zzz = 1", "unknown key 'zzz'; known: broker, profile, "),
        ("broker = 1", "broker: expected a text, not 1"),
        ("broker = ''", "broker: expected a text, not ''"),
        ("profile = [1]", "profile: expected a text or a list of texts, not [1]"),
        ("profile = []", "profile: expected a text or a list of texts"),
        ("profile = 'azure-premum'", "azure-premium"),
        ("programs = -1", "programs: expected a whole number, 0 or more, not -1"),
        ("seed = true", "seed: expected a whole number"),
        ("seed = 1.0", "seed: expected a whole number"),
        ("strict = 'yes'", "strict: expected true or false, not 'yes'"),
        ("require = ['101%']", "'101%' is neither a rule"),
        ("open = '0.1'", "'0.1' is no share such as 0.1%, nor 0"),
        ("open = 0.1", "open: expected a text, not 0.1"),
        ("broker = ", "not valid TOML"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(table: str, said: str) -> None:
    with pytest.raises(BadTable) as caught:
        settings_of(f"[tool.partq]\n{table}", FILE)
    assert str(caught.value).startswith(f"{FILE}: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def written(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    return folder


def test_the_nearest_table_up_to_the_root_of_the_repository(tmp_path: Path) -> None:
    written(tmp_path, "[tool.partq]\nseed = 1")
    root = written(tmp_path / "repository", "[tool.partq]\nseed = 2")
    inner = written(root / "inner", "[project]")
    assert settings_near(inner) == NOTHING, "it is in no repository"
    (root / ".git").mkdir()
    assert settings_near(inner).seed == 2
    written(inner, "[tool.partq]\nseed = 3")
    assert settings_near(inner).seed == 3
    (root / "pyproject.toml").unlink()
    assert settings_near(root) == NOTHING, "what is above the repository is not its own"


def test_they_are_for_their_own_broker() -> None:
    settings = Settings(broker="mine:MyBroker", seed=7)
    assert settings.of(None).seed == settings.of("mine:MyBroker").seed == 7
    assert settings.of("reference") == NOTHING
    assert Settings(seed=7).of("reference").seed == 7


def test_no_command_line_is_needed() -> None:
    """For the pytest plugin, which loads in every run of pytest."""
    script = (
        "import sys, partq.conformance.frontends.settings; assert not {'typer', 'rich'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
