"""Campaigns on Spark: the same everywhere, whatever dies on the way."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from fnmatch import fnmatch
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import TYPE_CHECKING, NoReturn, cast

import pytest
from campaign_commands import ARGS, PROFILE, digest, fuzz, started

from partq.conformance.frontends.campaign import jvm
from partq.conformance.frontends.campaign.errors import CampaignError, SparkFailed
from partq.conformance.frontends.campaign.plan import Plan, even
from partq.conformance.frontends.campaign.spark import Tally, run_wave

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of the campaign that most of these tests do, on two cores, undisturbed."""
    folder = tmp_path_factory.mktemp("expected")
    done = fuzz(folder, "reference", *ARGS, "--out", "out", "--master", "local[2]")
    assert all(line == "starting Spark" or " of 520 traces, " in line for line in done.stderr.splitlines())
    assert json.loads((folder / "out" / "campaign.json").read_text())["complete"] is True
    return digest(done)


@pytest.mark.parametrize("master", ["local[1]", "local-cluster[2,1,1024]"])
def test_the_digest_does_not_depend_on_the_master(tmp_path: Path, master: str, expected: str) -> None:
    done = fuzz(tmp_path, "reference", *ARGS, "--out", "out", "--master", master, "--wave", "1")
    assert digest(done) == expected


MORTAL = dedent(
    """
    import os, signal
    from pathlib import Path
    from partq.conformance.adapters.reference import Reference

    class Mortal(Reference):
        def stage(self, program, on_event):
            mark = Path(__file__).with_name("died-once")
            if not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().stage(program, on_event)
    """
)


def test_a_killed_worker_is_tried_again_to_the_same_result(tmp_path: Path) -> None:
    (tmp_path / "mortal.py").write_text(MORTAL)
    done = fuzz(tmp_path, "mortal:Mortal", *ARGS, "--out", "out", "--master", "local[2]")
    assert (tmp_path / "died-once").exists()
    again = fuzz(tmp_path, "mortal:Mortal", *ARGS, "--out", "again", "--master", "local[2]")
    assert digest(done) == digest(again)


def test_a_folder_is_refused_without_resume_and_taken_with_it(tmp_path: Path) -> None:
    first = fuzz(tmp_path, "reference", *ARGS, "--out", "out", "--master", "local[2]")
    refused = fuzz(tmp_path, "reference", *ARGS, "--out", "out", "--master", "local[2]")
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()  # before Spark is started
    assert "--resume" in line
    uri = f"file:{tmp_path / 'out'}"
    resumed = fuzz(tmp_path, "reference", *ARGS, "--out", uri, "--master", "local[2]", "--resume")
    assert digest(resumed) == digest(first)


FAULTY = dedent(
    """
    import os
    from pathlib import Path
    from partq.conformance.adapters import Broker, Client
    from partq.conformance.adapters.reference import Reference

    def tried():
        with Path(__file__).with_name("tries").open("a") as tries:
            tries.write("x")

    class Simulated(Reference):
        def stage(self, program, on_event):
            if program.steps:
                tried()
                raise ValueError("oh\\ndear")
            return super().stage(program, on_event)

    class Sender(Client):
        def send(self, message, *, txn=None, timeout=60.0):
            pass

    class Live(Broker):
        client_class = Sender

        def connect(self, proc):
            return Sender()

        def open(self, entity):
            if "SPARK_ENV_LOADED" in os.environ:
                tried()
                raise ConnectionError("oh\\ndear")

    class Deadly(Reference):
        def stage(self, program, on_event):
            if program.steps:
                tried()
                os.kill(os.getpid(), 9)
            return super().stage(program, on_event)

    class Hungry(Reference):
        def stage(self, program, on_event):
            if program.steps:
                tried()
                part = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 64
                self.hoard = [bytes(part) for _ in range(64)]  # of addresses: zeros take no memory
            return super().stage(program, on_event)

    class Endless(Reference):
        def stage(self, program, on_event):
            if program.steps:
                tried()
                while True: pass
            return super().stage(program, on_event)
    """
)


@pytest.mark.parametrize(
    ("broker", "tries", "told"),
    [
        ("Simulated", 1, "a chunk failed: Simulated raised ValueError: oh dear (*), in trace 0; that *"),
        ("Live", 4, "a chunk failed 4 times: Live.open raised ConnectionError: oh dear (*faulty.py:*)"),
        ("Deadly", 4, "a chunk failed 4 times: Python worker exited unexpectedly (crashed).*"),
        ("Hungry", 1, "a chunk failed: Hungry raised MemoryError: (*faulty.py:*), in trace 0; that *"),
        (
            "Endless",
            1,
            "a chunk failed: Endless raised TraceTimeout: no end after 0.5 s (--trace-timeout) (*), in *",
        ),
    ],
)
def test_what_may_pass_is_tried_again_and_all_is_said_in_one_line(
    tmp_path: Path, broker: str, tries: int, told: str
) -> None:
    (tmp_path / "faulty.py").write_text(FAULTY)
    one_chunk = ("--traces", "5", *PROFILE, "--trace-timeout", "0.5" if broker == "Endless" else "60")
    done = fuzz(tmp_path, f"faulty:{broker}", *one_chunk, "--out", "out", "--master", "local[2]")
    assert done.returncode == 2
    *before, line = done.stderr.splitlines()
    assert fnmatch(line, f"partq: error: {told.replace('[', '[[]')}")
    assert all(said == "starting Spark" or " of 5 traces, " in said for said in before)
    assert (tmp_path / "tries").read_text() == tries * "x"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("master", "told"),
    [
        ("nonsense", "Spark does not start on nonsense: Master must"),
        ("local[x]", "Spark does not start on local[x]: Could not parse Master URL: 'local[x]'"),
        ("spark://127.0.0.1:1,localhost:1", "spark://127.0.0.1:1,localhost:1 does not answer"),
    ],
)
def test_a_master_that_is_none_is_one_line_and_leaves_no_folder(
    tmp_path: Path, master: str, told: str
) -> None:
    done = fuzz(tmp_path, "reference", *ARGS, "--out", "out", "--master", master)
    assert done.returncode == 2
    assert f"partq: error: {told}" in done.stderr.splitlines()[-1]
    assert "adapter" not in done.stderr
    assert not (tmp_path / "out").exists()


SETTINGS = {
    "spark.ui.enabled": "true",
    "spark.app.name": "ours",
    "spark.sql.shuffle.partitions": "3",
    "spark.task.maxFailures": "2",
    "spark.driver.extraJavaOptions": "-Dtheir.kerberos=on -XX:ReservedCodeCacheSize=99m",
}
PRINTED = dedent(
    """
    import json
    from partq.conformance.frontends.campaign import jvm
    session = jvm.open_session("local[2]")
    context = session.sparkContext
    got = {**dict(context.getConf().getAll()), "master": context.master, "named": jvm.master(session)}
    system = context._jvm.java.lang.System
    names = ("their.kerberos", "log4j2.configurationFile")
    print(json.dumps(got | {name: system.getProperty(name) for name in names}))
    jvm.close(session)
    """
)


@pytest.mark.parametrize("settings", [{}, SETTINGS], ids=["none", "some"])
def test_what_the_user_sets_is_kept_and_what_is_missing_set(tmp_path: Path, settings: dict[str, str]) -> None:
    conf = tmp_path / "spark-defaults.conf"
    conf.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    env = {**os.environ, "SPARK_CONF_DIR": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", PRINTED], env=env, capture_output=True, text=True, check=True)
    got = json.loads(ran.stdout)
    for name, value in settings.items():
        assert got[name].endswith(value), "of Java's options the last word"
    assert got["spark.ui.enabled"] == settings.get("spark.ui.enabled", "false")
    assert got["their.kerberos"] == ("on" if settings else None)
    assert got["log4j2.configurationFile"].endswith("log4j2.properties"), "ours, beside theirs"
    named = ("ours", "local[2,2]") if settings else ("partq", "local[2,4]")
    assert (got["spark.app.name"], got["master"], got["named"]) == (*named, "local[2]")


def test_spark_submit_starts_a_campaign_on_its_own_master(tmp_path: Path, expected: str) -> None:
    import pyspark

    (tmp_path / "fuzz.py").write_text(
        "import sys\nfrom partq.conformance.frontends.cli.app import main\nsys.exit(main())\n"
    )
    submit = [str(Path(pyspark.__path__[0], "bin", "spark-submit")), "--master", "local[1]", "--conf"]
    command = [*submit, "spark.log.level=OFF", "fuzz.py", "fuzz", "reference", *ARGS, "--out", "out"]
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    ran = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    assert ran.returncode in (0, 3), ran.stdout  # to which spark-submit sends standard error, too
    stored = json.loads((tmp_path / "out" / "campaign.json").read_text())
    assert (stored["digest"], stored["master"]) == (expected, "local[1]")


def group(leader: int) -> list[str]:
    """The processes of that group, but for zombies."""
    listed = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True)
    fields = [line.split(maxsplit=2) for line in listed.stdout.splitlines()]
    return [line[2] for line in fields if line[0] == str(leader) and not line[1].startswith("Z")]


LONG = ("--profile", "azure-flat", "--length", "2", "--traces", "5000", "--wave", "1000", "--seed", "7")


def begun(folder: Path, waves: int, *more: str) -> subprocess.Popen[str]:
    """A long campaign that has stored so many waves."""
    running = started(folder, "reference", *LONG, *more, "--out", "out", "--master", "local[2]")
    until = time.monotonic() + 200
    manifests = folder / "out" / "manifests"
    while len(list(manifests.glob("wave=*.json"))) < waves and time.monotonic() < until:
        assert running.poll() is None, running.stderr and running.stderr.read()
        time.sleep(0.1)
    return running


def test_an_interrupt_ends_all_at_once_and_can_be_resumed(tmp_path: Path) -> None:
    running = begun(tmp_path, waves=1)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert re.fullmatch(
        r"[\d,]+ of 5,000 traces are stored; finish with the same command and --resume",
        said.splitlines()[-2],
    )
    assert said.splitlines()[-1] == "partq: interrupted"
    assert "Traceback" not in said
    assert "ERROR" not in said
    assert group(running.pid) == []


def test_a_java_that_ends_is_one_line_and_what_is_stored_can_be_resumed(tmp_path: Path) -> None:
    running = begun(tmp_path, waves=1)
    listed = subprocess.run(["pgrep", "-g", str(running.pid), "java"], capture_output=True, text=True)
    os.kill(int(listed.stdout), signal.SIGKILL)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 2
    why = "Spark's Java was killed, as a machine does whose memory is full"
    assert said.splitlines()[-1] == f"partq: error: {why}; finish with the same command and --resume"
    assert "Traceback" not in said
    assert fuzz(tmp_path, "reference", *LONG, "--out", "out", "--resume").returncode in (0, 3)


def test_a_connection_that_breaks_amid_a_command_is_no_traceback_on_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from py4j.java_gateway import GatewayClient
    from py4j.protocol import ERROR, Py4JNetworkError

    class Broken:
        def send_command(self, command: str) -> str:
            raise Py4JNetworkError("Error while sending or receiving")

        def close(self, reset: bool) -> None: ...

    client = GatewayClient()
    monkeypatch.setattr(client, "_get_connection", Broken)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # as in a process that has set up no logging
    jvm.hush()
    assert client.send_command("") == ERROR
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("code", "told"), [(52, "ran out of memory: .* SPARK_DRIVER_MEMORY"), (50, "ended with exit code 50")]
)
def test_why_java_ended_is_told_by_its_exit_code(code: int, told: str) -> None:
    java = subprocess.Popen(["sh", "-c", f"exit {code}"])
    context = SimpleNamespace(_gateway=SimpleNamespace(proc=java))
    assert re.search(told, jvm.death(cast("SparkSession", SimpleNamespace(sparkContext=context))))


@pytest.mark.parametrize(
    ("raised", "kind", "told"),
    [
        (
            "Aborted: most recent failure: ValueError: no such thing",
            CampaignError,
            "a chunk failed 4 times",
        ),
        ("Job 1 cancelled because SparkContext was shut down", SparkFailed, "Spark stopped: spark://there:1"),
    ],
)
def test_a_spark_that_stops_is_told_from_a_chunk_that_fails(
    raised: str, kind: type[CampaignError], told: str
) -> None:
    """After one the campaign can go on, after the other it can't."""

    def fail(*arguments: object) -> NoReturn:
        raise RuntimeError(raised)

    frame = SimpleNamespace(mapInArrow=fail)
    conf = {"spark.task.maxFailures": "4"}
    context = SimpleNamespace(defaultParallelism=2, master="spark://there:1", getConf=lambda: conf)
    session = cast("SparkSession", SimpleNamespace(sparkContext=context, range=lambda *of: frame))
    tally = cast(Tally, SimpleNamespace(traces=0, violations=0, failure=0, lost=0, check=lambda: None))
    with pytest.raises(CampaignError, match=told) as failed:
        run_wave(session, Plan(even("reference", ["azure-flat"], 1), 1, None, 0), range(1), "x", tally)
    assert type(failed.value) is kind


def test_a_broken_broker_gives_exit_code_1_and_a_counterexample(tmp_path: Path) -> None:
    done = fuzz(tmp_path, "mutant:long-bodies-cut", *ARGS, "--out", "out", "--master", "local[2]")
    assert done.returncode == 1, done.stderr
    result = json.loads(done.stdout)
    assert result["requirements"]["RCV-1"]["status"] == "violated"
    assert result["campaign"]["counterexamples"]


def fake_java(folder: Path, version: str) -> str:
    """A PATH whose java says that it is of that version."""
    java = folder / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2020-01-01' >&2\n")
    java.chmod(0o755)
    return str(folder)


@pytest.mark.parametrize(
    ("version", "told"), [("11.0.2", "Java 11, too old"), ("1.8.0_292", "Java 8, too old")]
)
def test_an_old_java_is_one_clear_line(tmp_path: Path, version: str, told: str) -> None:
    path = fake_java(tmp_path, version)
    done = fuzz(tmp_path, "reference", *ARGS, "--out", "out", PATH=path, JAVA_HOME="")
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2


def test_a_missing_java_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    problem = jvm.java_problem()
    assert problem is not None
    assert "no Java found" in problem
    assert "install" in problem


def test_a_recent_java_will_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{fake_java(tmp_path, '21.0.1')}{os.pathsep}{os.environ['PATH']}")
    assert jvm.java_problem() is None
