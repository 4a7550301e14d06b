"""The command as a process: exit code and descriptors, whatever an adapter does and wherever it writes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from partq.conformance.adapters import registry
from partq.conformance.frontends.cli.app import UNREAD, main
from partq.conformance.history.codec import read_history

BROKERS = Path(__file__).parents[2] / "adapters"
FULL = Path("/dev/full")

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc here")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")


def partq(*arguments: str, closed: Sequence[int] = (), **streams: object) -> subprocess.CompletedProcess[str]:
    """``python -m partq`` in the folder of the test brokers; ``closed``: descriptors that it does not get."""
    command = [sys.executable, "-m", "partq", *arguments]
    if closed:
        closing = "; ".join(f"os.close({number})" for number in closed)
        exec_ = f"import os, sys; {closing}; os.execv(sys.executable, {command!r})"
        command = [sys.executable, "-c", exec_]
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": BROKERS, **streams}
    return subprocess.run(command, text=True, timeout=120, check=False, **given)  # type: ignore[call-overload, no-any-return]


def one_error(ran: subprocess.CompletedProcess[str]) -> str:
    assert ran.returncode == 2, ran.stderr
    lines: list[str] = ran.stderr.strip().splitlines()
    assert lines[-1].startswith("partq: error: "), ran.stderr
    assert "Traceback" not in ran.stderr
    return lines[-1]


def test_the_package_can_be_run() -> None:
    ran = partq("--version")
    assert (ran.returncode, ran.stdout.split()[0], ran.stderr) == (0, "partq", "")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_what_a_terminal_has_no_sign_for_ends_nothing(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    options = ("--profile", "azure-premium", "--profile", "azure-standard", "--case", "same-key", "-v")
    ran = partq("run", "reference", *options, encoding=encoding)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1].startswith("NOTHING VIOLATED")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("QuitsInLacks", "QuitsInLacks.lacks(): SystemExit: 0"),
        ("EndsInLacks", "EndsInLacks.lacks(): GeneratorExit"),
        ("InterruptsInLacks", "InterruptsInLacks.lacks(): KeyboardInterrupt"),
        ("QuitsInProfiles", "QuitsInProfiles.profiles(): SystemExit: 0"),
        ("EndsInInit", "cannot make rude_broker:EndsInInit: GeneratorExit"),
        ("QuitsInSimulate", "QuitsInSimulate raised SystemExit: 0"),
        ("EndsInSimulate", "EndsInSimulate raised GeneratorExit"),
        ("QuitsLive", "QuitsLive.lacks(): SystemExit: 0"),
    ],
)
def test_an_adapter_cannot_end_the_command_with_its_own_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str, told: str
) -> None:
    monkeypatch.chdir(BROKERS)
    assert main(["run", f"rude_broker:{name}", "--case", "same-key"]) == 2
    said = capsys.readouterr()
    assert told in said.err.splitlines()[-1]
    assert said.out == ""


def test_an_answer_that_no_history_has_room_for_is_unusable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The history of the run is stored all the same."""
    monkeypatch.chdir(BROKERS)
    out = tmp_path / "kept"
    command = ["run", "rude_broker:Huge", "--case", "same-key", "--out", str(out), "--save-histories"]
    assert main(command) == 3
    said = capsys.readouterr()
    assert "receive answered 11,000,0" in said.err
    assert "answers of the adapter were unusable" in said.out
    stored = read_history(out / "histories" / "azure-premium" / "same-key.ndjson")
    assert "adapter" in {record.error for record in stored.records}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("HugeSimulated", "answered what no file can hold:2: the line would be longer than 10,000,000 bytes"),
        ("Historyless", "Historyless.simulate answered list, which is no History"),
    ],
)
def test_a_simulated_history_that_cannot_be_stored_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str, told: str
) -> None:
    monkeypatch.chdir(BROKERS)
    assert main(["run", f"rude_broker:{name}", "--case", "same-key"]) == 2
    assert told in capsys.readouterr().err


def test_a_program_that_sends_more_than_a_history_holds_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [{"proc": "c1", "op": "send", "args": {"messages": [{"id": "m", "body": "x" * 6_000_000}]}}]
    program = {"schema": "partq.program/1", "profile": "azure-flat", "steps": steps}
    (tmp_path / "p.json").write_text(json.dumps(program), encoding="utf-8")
    assert main(["replay", str(tmp_path / "p.json"), "--broker", "reference"]) == 2
    assert "steps[0].args.messages: 6,000,0" in capsys.readouterr().err


@pytest.mark.parametrize("command", [("check",), ("replay",), ("run", "reference", "--program")])
@pytest.mark.parametrize("name", ["deep.json", "deep.itf.json"])
def test_a_file_that_is_nested_deeply_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...], name: str
) -> None:
    file = tmp_path / name
    for depth in (500, 50_000):
        file.write_text('{"steps":' * depth + "1" + "}" * depth, encoding="utf-8")
        assert main([*command, str(file)]) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1


@pytest.mark.parametrize("name", ["HangsInLacks", "HangsInInit", "HangsInProfiles"])
def test_a_question_that_is_never_answered_ends(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(BROKERS)
    monkeypatch.setattr("partq.conformance.adapters.questions.PATIENCE", 0.2)
    assert main(["run", f"rude_broker:{name}", "--case", "same-key"]) == 2
    assert "did not return within 0.2 s" in capsys.readouterr().err


def test_an_import_that_never_ends_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "never_imported.py").write_text("import threading\nthreading.Event().wait()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "PATIENCE", 0.2)
    assert main(["fuzz", "never_imported:Mine", "--traces", "1", "--out", "out"]) == 2
    line = "cannot import 'never_imported': TimeoutError: no end after 0.2 s\n"
    assert capsys.readouterr().err == f"partq: error: {line}"
    assert not (tmp_path / "out").exists()


def test_the_current_folder_hides_no_package(tmp_path: Path) -> None:
    """It is searched last."""
    (tmp_path / "netrc.py").write_text("raise ImportError('not the one of Python')\n")
    (tmp_path / "with_netrc.py").write_text(
        "import netrc\nfrom partq.conformance.adapters.reference import Reference\n"
        "class Mine(Reference): ...\n"
    )
    command = [str(Path(sys.executable).with_name("partq")), "run", "with_netrc:Mine", "--case", "same-key"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@needs_full
@pytest.mark.parametrize(
    "arguments",
    [
        ("explain", "ROUTE-1"),
        ("--version",),
        ("run", "--help"),
        ("run", "canned_broker:Split", "--case", "same-key"),
        ("run", "canned_broker:Split", "--case", "same-key", "--format", "json"),
    ],
)
def test_results_that_cannot_be_written_are_one_line(arguments: tuple[str, ...]) -> None:
    with FULL.open("w") as full:
        assert one_error(partq(*arguments, stdout=full)).endswith("cannot write: No space left on device")


@needs_full
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("check", "absent"), 2),
        (("run", "canned_broker:Split", "--case", "same-key"), 1),
        (("run", "canned_broker:Canned", "--case", "same-key"), 0),
    ],
)
def test_errors_that_cannot_be_written_change_no_exit_code(arguments: tuple[str, ...], code: int) -> None:
    with FULL.open("w") as full:
        assert partq(*arguments, stderr=full).returncode == code


@pytest.mark.parametrize("closed", [(1,), (2,), (0, 1, 2)])
@pytest.mark.parametrize(("name", "code"), [("Canned", 0), ("Split", 1)])
def test_closed_descriptors_change_no_exit_code(
    tmp_path: Path, closed: tuple[int, ...], name: str, code: int
) -> None:
    """Nor do they become the files that are written."""
    out = str(tmp_path / "kept")
    ran = partq("run", f"canned_broker:{name}", "--case", "same-key", "--out", out, closed=closed)
    assert ran.returncode == code
    assert json.loads((tmp_path / "kept" / "verdicts.json").read_text(encoding="utf-8"))["exit"] == code


@pytest.mark.parametrize(
    ("at", "code"), [("import", 0), ("import", 1), ("lacks", 0), ("exit", 0), ("exit", 1), ("thread", 0)]
)
@pytest.mark.parametrize(
    "command", [("run", "--case", "same-key"), ("search", "--examples", "1"), ("fuzz", "--trace", "1")]
)
def test_a_process_that_was_ended_from_inside_is_never_green(
    tmp_path: Path, at: str, code: int, command: Sequence[str]
) -> None:
    (tmp_path / "vanishing.py").write_text(VANISHING)
    name, *rest = command
    arguments = (name, "vanishing:Vanishing", "--profile", "azure-premium", *rest)
    ran = partq(*arguments, cwd=tmp_path, env={**os.environ, "VANISH": f"{at} {code}"})
    assert (ran.returncode, ran.stdout) == (2, "")
    assert f"ended the process (exit code {code})" in one_error(ran)


VANISHING = """
import os, threading
from partq.conformance.adapters.reference import Reference

AT, CODE = os.environ["VANISH"].split()

def vanish(at):
    if at == AT:
        os._exit(int(CODE))

vanish("import")
if AT == "thread":
    threading.Timer(0.1, os._exit, [0]).start()
    threading.Event().wait()

class Vanishing(Reference):
    def lacks(self):
        vanish("lacks")
        return super().lacks()

    def stage(self, program, on_event):
        vanish("exit")
        return super().stage(program, on_event)
"""


def test_an_end_after_the_last_word_does_not_change_it(tmp_path: Path) -> None:
    """What a library does at the interpreter's end, for instance."""
    (tmp_path / "late.py").write_text(
        "import atexit, os\nfrom partq.conformance.adapters.reference import Reference\n"
        "atexit.register(os._exit, 0)\nclass Late(Reference): ...\n"
    )
    assert partq("run", "late:Late", "--case", "no-such-case", cwd=tmp_path).returncode == 2


@pytest.mark.parametrize("whole_group", [False, True], ids=["the process", "its group, as a terminal does"])
def test_an_interrupt_is_one_wherever_it_is_sent(tmp_path: Path, whole_group: bool) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    command = [sys.executable, "-m", "partq", "run", "slow:Slow", "--case", "same-key"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=tmp_path, text=True, start_new_session=True, **pipes) as process:  # type: ignore[call-overload]
        assert process.stderr.readline() == "waiting\n"
        (os.killpg if whole_group else os.kill)(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.splitlines()[-1] == "partq: interrupted"
    assert "Traceback" not in said


SLOW = """
import sys, threading
print("waiting", file=sys.stderr, flush=True)
threading.Event().wait()
"""


@needs_proc
def test_a_command_that_is_killed_goes_on_nowhere(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    command = [sys.executable, "-m", "partq", "run", "slow:Slow", "--case", "same-key"]
    with subprocess.Popen(command, cwd=tmp_path, text=True, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "waiting\n"
        process.kill()
        assert process.stderr.read() == "", "its end closes it, once the process that works has ended"


def test_nobody_reading_results_is_no_verdict() -> None:
    """Also of plain text, which typer would make the exit code 1."""
    unread, results = os.pipe()
    os.close(unread)
    ran = partq("run", "canned_broker:Split", "--case", "same-key", "--format", "json", stdout=results)
    os.close(results)
    assert ran.returncode == UNREAD
    assert "Traceback" not in ran.stderr


def test_what_an_adapter_prints_is_no_result() -> None:
    ran = partq("run", "rude_broker:Prints", "--case", "same-key", "--format", "json")
    assert json.loads(ran.stdout)["broker"] == "rude_broker:Prints"
    for said in ("printed", "written", "said elsewhere"):
        assert said in ran.stderr.splitlines()


def test_a_crash_says_where() -> None:
    ran = partq("run", "rude_broker:Crashes", "--case", "same-key")
    assert ran.returncode == -signal.SIGSEGV
    assert "Segmentation fault" in ran.stderr
    assert "rude_broker.py" in ran.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "amqps://me:SECRET@host/"),
        ("run", "rabbitmq://me:SECRET@host/?nosuch=1"),
        ("run", "rabbitmq://me:SECRET@host:none/"),
        ("run", "rabbitmq://me:SECRET@[host/"),
        ("run", "rabbitmq://host/?password=SECRET"),
        ("run", "amqp://me:SECRET@host/", "--case", "same-key"),
        ("run", "reference", "amqp://me:SECRET@host/"),
        ("run", "reference", "--profile", "amqp://me:SECRET@host/"),
        ("check", "amqp://me:SECRET@host/"),
        ("replay", "amqp://me:SECRET@host/"),
        ("search", "amqps://me:SECRET@host/"),
        ("tours", "amqps://me:SECRET@host/"),
    ],
)
def test_no_error_shows_a_password(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.err.startswith("partq: error: ")
    assert "SECRET" not in said.err + said.out


@pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="the system does not say where arguments are"
)
def test_the_process_title_shows_no_password() -> None:
    code = (
        "from pathlib import Path; from partq.conformance.frontends.cli.process import answered\n"
        "answered(lambda: print(Path('/proc/self/cmdline').read_text(), flush=True) or 0)"
    )
    words = ["amqp://me:SECRET@host/v", "--broker=amqp://me:SECRET@host", "plain"]
    ran = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    title = ran.stdout.strip().split("\0")[3:6]
    assert [word.rstrip("*") for word in title] == [
        "amqp://me:***@host/v",
        "--broker=amqp://me:***@host",
        "plain",
    ]


@pytest.mark.parametrize("command", ["run", "search"])
def test_an_adapter_that_changes_the_folder_does_not_move_the_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    more = {
        "run": ("--case", "same-key", "--save-histories", "--out", "kept"),
        "search": ("--examples", "2", "--length", "2", "--out", "kept"),
    }
    assert main([command, "rude_broker:Wanders", *more[command]]) == 1
    said = capsys.readouterr().out
    file = "kept/counterexamples/azure-premium/ROUTE-2-apart.json" if command == "run" else "kept"
    assert f"partq replay {file} --broker" in said
    assert (tmp_path / file).is_file()
    if command == "run":
        assert len(read_history(tmp_path / "kept/histories/azure-premium/same-key.ndjson")) == 3


def test_what_an_adapter_does_to_its_arguments_is_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["run", "rude_broker:Mutating", "--case", "same-key", "--save-histories", "--out", "kept"])
    stored = read_history(tmp_path / "kept/histories/azure-premium/same-key.ndjson")
    sent = [message.id for record in stored.records for message in record.args.get("messages", ())]
    assert sent
    assert "mutated" not in sent
    assert stored.header.entities["queue"].partitions != 77


def is_running(number: int) -> bool:
    stat = Path(f"/proc/{number}/stat")
    return stat.exists() and stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"


@needs_proc
def test_processes_that_an_adapter_left_are_ended_unless_they_have_a_session() -> None:
    """They would hold the pipe that the results are read from."""
    ran = partq("run", "rude_broker:Leaves", "--case", "same-key", "--format", "json")
    assert ran.returncode == 0
    left, detached = (int(line.split()[1]) for line in ran.stderr.splitlines() if line.startswith("left "))
    assert re.search(rf"ends what the adapter left running: \S+ \({left}\)$", ran.stderr, re.MULTILINE)
    assert not is_running(left)
    assert is_running(detached)
    os.kill(detached, signal.SIGKILL)


@needs_proc
def test_a_fork_writes_no_results() -> None:
    ran = partq("run", "rude_broker:Forks", "--case", "same-key", "--format", "json")
    assert ran.returncode == 0
    assert json.loads(ran.stdout)["exit"] == 0


WITHOUT = (
    "import sys; sys.modules |= dict.fromkeys(sys.argv.pop(1).split(','))\n"
    "from partq.conformance.frontends.cli.app import main; sys.exit(main())"
)


@pytest.mark.parametrize("missing", ["pyspark", "pyarrow", "pandas", "pyspark,pyarrow"])
@pytest.mark.parametrize("command", [("fuzz", "reference"), ("mutants",)])
def test_a_campaign_without_its_extra_is_one_line(
    tmp_path: Path, command: tuple[str, ...], missing: str
) -> None:
    words = [*command, "--traces", "1", "--out", str(tmp_path / "c")]
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT, missing, *words], capture_output=True, text=True, check=False
    )
    named = missing.replace(",", " and ")
    assert ran.stderr == f"partq: error: {named} not installed: pip install 'partq[spark]'\n"
    assert (ran.returncode, ran.stdout) == (2, "")


@pytest.mark.parametrize(
    "arguments", [("list", "mutants"), ("fuzz", "--help"), ("run", "reference", "--programs", "1")]
)
def test_what_needs_no_extra_does_without(arguments: tuple[str, ...]) -> None:
    words = [sys.executable, "-c", WITHOUT, "pyspark,pyarrow", *arguments]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 0
