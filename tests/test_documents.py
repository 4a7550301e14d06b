"""What the documents show to be typed in works as it stands."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import re
import runpy
import sys
from pathlib import Path

import jupytext
import pytest

from partq.conformance.adapters.protocol import CLIENT_OPS
from partq.conformance.adapters.shape import BROKER_CALLS
from partq.conformance.frontends import api, baseline_file
from partq.conformance.frontends.cli.app import main
from partq.conformance.frontends.settings import FIELDS, settings_of
from partq.conformance.verdict import Kind
from partq.model import charts, profile_file
from partq.model.conditions import CONDITIONS
from partq.model.family import ENTITY_BOUNDS, Profile
from partq.model.mechanisms import MECHANISMS
from partq.model.requirements import catalogue

ROOT = Path(__file__).parents[1]

BROKER = """
class _Queue:
    def __init__(self):
        self.rows = []

    def put(self, message):
        self.rows.append(message)

    def take(self, most, timeout):
        taken, self.rows = self.rows[:most], self.rows[most:]
        return taken

    def count(self):
        return len(self.rows)


class connect_to_my_broker:
    def fresh_queue(self, partitions):
        return _Queue()
"""
"""What the README leaves to its reader."""

LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")


def block(document: str, language: str, beginning: str) -> str:
    """The first block of that language that begins so."""
    text = (ROOT / document).read_text(encoding="utf-8")
    blocks = re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    found: str = next(one for one in blocks if one.startswith(beginning))
    return found


def leads(page: Path, link: str) -> bool:
    """Whether there is what a link of that page names: a file, and the heading in it, if it names one."""
    file, _, heading = link.partition("#")
    there = page.parent / file if file else page
    if not there.exists():
        return False
    headings = re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), re.MULTILINE) if heading else []
    return not heading or heading in [
        re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings
    ]


def execute(notebook: str) -> list[object]:
    """Run the notebook's cells in one namespace, as Jupyter does. What each one shows: the value of a last
    expression, or None. What a cell raises names the cell."""
    known: dict[str, object] = {}
    shown: list[object] = []
    code = (cell for cell in jupytext.reads(notebook, "md").cells if cell.cell_type == "code")
    for number, cell in enumerate(code, 1):
        body = ast.parse(cell.source, f"cell {number}").body
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), f"cell {number}", "exec"), known)
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), known))
        else:
            shown.append(None)
    return shown


def test_the_notebook_runs(capsys: pytest.CaptureFixture[str]) -> None:
    shown = execute((ROOT / "docs/notebook.md").read_text(encoding="utf-8"))
    assert "NOT CONFORMANT: ROUTE-2" in capsys.readouterr().out
    pages = [value._repr_html_() for value in shown if hasattr(value, "_repr_html_")]
    assert len(pages) >= 4
    assert all("ROUTE-2" in page for page in pages[:3])


def test_a_notebook_with_a_wrong_cell_does_not_run() -> None:
    with pytest.raises(AssertionError) as caught:
        execute("```python\nx = 1\n```\n\ntext\n\n```python\nassert x == 2\n```\n")
    assert str(caught.traceback[-1].path) == "cell 2"


def test_the_api_page_lists_what_there_is() -> None:
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    for call in (api.check, api.run, api.explain):
        (told,) = re.findall(rf"`{call.__name__}(\(.*?\))` \|", page)
        names = re.findall(r"(\w+)(?:=[^,)]*\(?\)?)?(?=[,)])", told.replace("=()", "=0"))
        assert names == list(inspect.signature(call).parameters), call.__name__
    public = {name for name in vars(api.Result) if not name.startswith("_")}
    assert {name for name in public if f"`{name}" not in page} == set()


@pytest.mark.parametrize("broker", ["reference", "toy_broker:Toy"])
def test_the_program_that_is_shown_can_be_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], broker: str
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    file = tmp_path / "program.json"
    file.write_text(block("docs/program.md", "json", '{"schema"'), encoding="utf-8")
    assert main(["replay", str(file), "--broker", broker, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["requirements"]
    assert {rule: rows[rule]["status"] for rule in ("RCV-1", "RCV-2", "RCV-8", "ROUTE-1")} == {
        "RCV-1": "pass",
        "RCV-2": "pass",
        "RCV-8": "pass",
        "ROUTE-1": "pass",
    }


def test_the_skeleton_of_an_adapter_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = block("README.md", "python", "from partq.conformance.adapters import")
    (tmp_path / "mine.py").write_text(text + BROKER, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    assert main(["run", "mine:MyBroker", "--profile", "azure-premium", "--case", "same-key", "-v"]) == 0
    assert "RCV-2" in capsys.readouterr().out


def test_the_adapter_page_shows_every_method_as_it_is() -> None:
    tool = runpy.run_path(str(ROOT / "tools/adapter-methods"))
    protocol = tool["PROTOCOL"].read_text(encoding="utf-8")
    page = tool["PAGE"].read_text(encoding="utf-8")
    assert tool["page"](page, tool["methods"](protocol)) == page, "run tools/adapter-methods"
    changed = protocol.replace("timeout: float = 60.0", "timeout: float = 61.0", 1)
    assert tool["page"](page, tool["methods"](changed)) != page
    for call in (*CLIENT_OPS, *BROKER_CALLS):
        assert f"    def {call}(" in page, call


def test_the_settings_that_are_shown_are_all_there_are() -> None:
    settings = settings_of(block("docs/ci.md", "toml", "[tool.partq]"), Path("pyproject.toml"))
    assert settings is not None
    assert all(getattr(settings, name) not in (None, ()) for name in FIELDS)


def test_the_baseline_that_is_shown_can_be_read() -> None:
    entries = baseline_file.loads(block("docs/ci.md", "toml", "schema"), "docs/ci.md")
    assert [entry.kind for entry in entries] == [Kind.VIOLATED, Kind.VIOLATED, Kind.OPEN]


def test_the_places_that_the_glossary_names_are_there() -> None:
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")][1:]
    words = [row[0].removeprefix("| ") for row in rows]
    assert words == sorted(words)
    for _, _, places in rows:
        for place in re.findall(r"`([^`]+)`", places):
            inside = ROOT / "conformance/partq/conformance" / place
            assert inside.exists() or (ROOT / place).exists(), place


def test_profiles_md_has_every_field_and_an_example_that_is_a_profile() -> None:
    text = (ROOT / "docs" / "profiles.md").read_text(encoding="utf-8")
    example = text.split("```toml\n")[1].split("```")[0]
    acme = profile_file.parse(example, "docs/profiles.md", profile_file.words_for_rules())
    assert (acme.name, len(acme.rules), acme.default_entity.partitions) == ("acme", 7, 4)
    told = dict(re.findall(r"^\| `(\w+)` \| `?([a-z0-9-]+)`? \|", text, re.MULTILINE))
    for field in dataclasses.fields(Profile):
        if field.name in profile_file.SWITCHES:
            assert told[field.name] == ("any" if field.default == () else str(field.default).lower())
    assert all(f"`{name}`" in text for name in (*profile_file.FIELDS, *ENTITY_BOUNDS))
    assert all(f"| {said} |" in text for said in profile_file.FLAGS.values())
    assert all(f"`{condition}`" in " ".join(text.split()) for condition in CONDITIONS)


def test_the_history_that_the_readme_judges_is_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (command,) = re.findall(
        r"^partq (check .*?) *#", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    monkeypatch.chdir(ROOT)
    assert main(command.split()) == 0
    assert "NOTHING VIOLATED" in capsys.readouterr().out


def test_every_link_between_documents_leads_somewhere() -> None:
    """To a file, and to a heading of it."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "spec").glob("*.md")]
    links = [(page, link) for page in pages for link in LINK.findall(page.read_text(encoding="utf-8"))]
    assert len(links) > 50
    assert [f"{page.relative_to(ROOT)}: {link}" for page, link in links if not leads(page, link)] == []
    page = ROOT / "docs/rules/locks.md"
    assert leads(page, "README.md#time")
    assert not leads(page, "README.md#tide")
    assert not leads(page, "semantics.md")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_page_of_a_mechanism_lists_its_rules_and_its_chart(mechanism: str) -> None:
    text = (ROOT / "docs/rules" / f"{mechanism}.md").read_text(encoding="utf-8")
    told = text.split("\n## Its rules\n")[1]
    listed = re.findall(r"[A-Z]+-\d+", told.split("`partq explain")[0])
    assert listed == [id for id, rule in catalogue().items() if rule.mechanism == mechanism]
    assert (f"`partq graph {mechanism}`" in told) is (mechanism in charts.PARTS)
    assert f"[{mechanism}]({mechanism}.md)" in (ROOT / "docs/rules/README.md").read_text(encoding="utf-8")
