"""What must stay true of the repository: namespace, addresses, complexity, weight of the pytest plugin."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("model", "spec", "conformance", "reference_impl", "reports")
BARE = re.compile(r"(?m)^\s*(?:from|import) (\w+)\b(?!\.)")
HEAVY = ("pyspark", "pyarrow", "pika", "networkx", "jinja2", "lark")

# In pieces, so that this file does not match itself.
REGISTRY = re.compile(
    "|".join(
        re.escape(host + end)
        for host, end in (
            ("pypi.", "org"),
            ("pypi.", "io"),
            ("pythonhosted.", "org"),
            ("piwheels.", "org"),
            ("maven.apache.", "org"),
            ("repo1.", "maven"),
            ("central.", "sonatype"),
            ("npmjs.", "org"),
            ("crates.", "io"),
            ("proxy.golang.", "org"),
            ("deb.debian.", "org"),
            ("archive.ubuntu.", "com"),
        )
    )
)
INDEX_OPTION = re.compile(r"(?m)^\s*(-i|-f|--index-url|--extra-index-url|--find-links|--trusted-host)\b")


def tracked_files() -> list[Path]:
    """Every file that git knows of and that is text."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    paths = [ROOT / name for name in names.decode().split("\0") if name]
    return [path for path in paths if path.is_file() and b"\0" not in path.read_bytes()[:8192]]


@pytest.mark.parametrize("source", SOURCES)
def test_namespace_stays_open(source: str) -> None:
    """One `partq/__init__.py` would hide the other four source roots."""
    assert (ROOT / source / "partq" / source / "__init__.py").is_file()
    assert (ROOT / source / "partq" / source / "py.typed").is_file()
    besides = {"__main__.py"} if source == "conformance" else set()
    found = {path.name for path in (ROOT / source / "partq").iterdir() if path.name != "__pycache__"}
    assert found == {source, *besides}


def test_what_tests_share_is_found_whatever_folder_is_named() -> None:
    """`pytest tests` imports no test by its folder: each folder with a shared module is on pytest's path."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        path = [ROOT / entry for entry in tomllib.load(file)["tool"]["pytest"]["ini_options"]["pythonpath"]]
    tests = list((ROOT / "tests").rglob("*.py"))
    shared = {test.stem: test.parent for test in tests if not test.stem.startswith(("test_", "conftest"))}
    missing = {
        f"{test.relative_to(ROOT)}: {name}"
        for test in tests
        for name in BARE.findall(test.read_text(encoding="utf-8"))
        if name in shared and shared[name] not in path
    }
    assert shared
    assert missing == set()


@pytest.mark.parametrize("command", [("pytest",), (sys.executable, "-m", "pytest")])
def test_tests_can_be_collected_from_the_root(command: tuple[str, ...]) -> None:
    """Those that share `world`, named as a part of the whole."""
    tool = command if len(command) > 1 else (str(Path(sys.executable).with_name("pytest")),)
    chosen = ("tests", "--ignore-glob=*/conformance/*", "--ignore-glob=*/spec/*", "--ignore-glob=*/model/*")
    done = subprocess.run(
        [*tool, "--collect-only", "-q", "-n0", "-p", "no:cacheprovider", *chosen],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "tests/reference_impl/test_reference_queue.py::" in done.stdout


def test_no_registry_address_in_tracked_files() -> None:
    """Where packages come from is the user's configuration, not ours."""
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in tracked_files()
        for match in REGISTRY.finditer(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert found == []


def test_no_function_is_exempt_from_the_bound_on_complexity() -> None:
    """The bound may fall; and ``make lint`` holds every function to it."""
    bound = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]
    assert bound["mccabe"]["max-complexity"] <= 12
    assert "C90" in bound["select"]
    exempt = re.compile("noqa: " + "[A-Z0-9, ]*C90")
    python = [path for path in tracked_files() if path.suffix == ".py"]
    assert [str(path.relative_to(ROOT)) for path in python if exempt.search(path.read_text())] == []


def test_lock_has_hashes_and_no_index() -> None:
    """Every pin bears a hash; no option sends pip elsewhere."""
    lock = (ROOT / "requirements.lock").read_text()
    assert INDEX_OPTION.search(lock) is None
    assert "://" not in lock
    pins = re.split(r"(?m)^(?=[A-Za-z0-9])", lock)[1:]
    assert len(pins) > 20
    assert [pin.split()[0] for pin in pins if "==" not in pin or "--hash=sha256:" not in pin] == []


def test_plugin_import_is_light() -> None:
    """Every pytest run on a machine where partq is installed imports the plugin."""
    plugin = "partq.conformance.frontends.pytest_plugin.plugin"
    code = f"import sys, {plugin}\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


def test_pytest_without_our_options_stays_light(tmp_path: Path) -> None:
    """Not only importing the plugin, but also what its hooks do in somebody else's suite."""
    (tmp_path / "test_theirs.py").write_text(
        f"import sys\ndef test_light():\n    assert [n for n in {HEAVY!r} if n in sys.modules] == []\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", "."]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
