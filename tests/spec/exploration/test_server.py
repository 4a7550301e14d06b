"""The explorer's server: what it does wrong is said in a line, and it never outlives us. Recorded
exchanges."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
from pathlib import Path

import pytest
from executables import write_executable

from partq.spec.exploration import server
from partq.spec.exploration.server import Explorer, recording, replayed, serving
from partq.spec.exploration.session import ExplorerFailed
from partq.spec.tools.toolbox import APALACHE, ToolMissing

TOY = """import json, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

print("# APALACHE version:", os.getpid(), "| build: toy", flush=True)
BODIES = {{
    "rubbish": b"<html>hello</html>",
    "list": b"[]",
    "refuse": json.dumps({{"error": {{"code": -32602, "message": "no such\\nsession"}}}}).encode(),
}}

class Toy(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if asked["method"] == "die":
            print("out of memory", flush=True)
            os._exit(3)
        if asked["method"] == "hang":
            self.rfile.read()
        body = BODIES.get(asked["method"], json.dumps({{"result": asked["params"]}}).encode())
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass

port = next(word for word in sys.argv if word.startswith("--port="))
{start}"""
SERVES = 'HTTPServer(("127.0.0.1", int(port.removeprefix("--port="))), Toy).serve_forever()'


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, start: str = SERVES) -> None:
    """A toy in the place of Apalache."""
    write_executable(folder / "bin" / "apalache-mc", TOY.format(start=start), sys.executable)
    monkeypatch.setenv(APALACHE, str(folder))


def is_gone(version: str) -> bool:
    """Whether the toy, whose version is its process, has ended."""
    try:
        os.kill(int(version), 0)
    except ProcessLookupError:
        return True
    return False


def test_a_server_is_asked_and_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch)
    with serving() as server:
        assert server.call("query", {"sessionId": "1"}) == {"sessionId": "1"}
        assert server.name.startswith(f"Apalache {server.version}, a server at port ")
        assert not is_gone(server.version)
    assert is_gone(server.version)


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("rubbish", r"answered rubbish with no JSON-RPC \(HTTP 200\): '<html>hello</html>'"),
        ("list", r"answered list with no JSON-RPC \(HTTP 200\): '\[\]'"),
        ("refuse", "refused refuse: no such session"),
        ("die", r"ended \(exit code 3\) at die: out of memory"),
    ],
)
def test_what_a_server_does_wrong(
    method: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch)
    with serving() as server, pytest.raises(ExplorerFailed, match=said):
        server.call(method, {})
    assert is_gone(server.version)


def test_a_server_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch)
    with (
        serving(patience=0.5) as server,
        pytest.raises(ExplorerFailed, match=r"did not answer hang within 0\.5 s"),
    ):
        server.call("hang", {})
    assert is_gone(server.version)


def test_a_server_that_ends_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, 'sys.exit("port in use")')
    with pytest.raises(ExplorerFailed, match=r"ended \(exit code 1\) at health: port in use"), serving():
        pass


def test_a_server_that_never_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, "import signal; signal.pause()")
    monkeypatch.setattr(server, "START", 0.5)
    with pytest.raises(ExplorerFailed, match=r"did not begin to answer within 0\.5 s"), serving():
        pass


@pytest.mark.parametrize("ending", [KeyboardInterrupt, RuntimeError, SystemExit])
def test_a_server_ends_with_us(
    ending: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch)
    with pytest.raises(ending), serving() as server:
        raise ending
    assert is_gone(server.version)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_server_ends_when_we_are_ended(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals are the main thread's")
    install(tmp_path, monkeypatch)
    with pytest.raises(SystemExit), serving() as server:
        signal.raise_signal(number)
    assert is_gone(server.version)


def test_where_apalache_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(APALACHE, str(tmp_path))
    with pytest.raises(ToolMissing, match="unpack a release of Apalache"), serving():
        pass


# Recorded exchanges


def recorded(*asked: str) -> list[str]:
    """The exchanges of an explorer that is asked those, and answers what it was asked."""
    out = io.StringIO()
    echo = Explorer(lambda method, parameters: {"said": method}, "echo", "0.57.0")
    call = recording(echo, out, "2026-11-22").call
    for method in asked:
        call(method, {"sources": ["a long text"], "sessionId": "1"})
    return out.getvalue().splitlines()


def test_what_was_recorded_is_replayed() -> None:
    lines = recorded("loadSpec", "nextStep")
    assert "a long text" not in "".join(lines)
    again = replayed(lines)
    assert again.name == "exchanges with Apalache 0.57.0 that were recorded on 2026-11-22"
    assert again.call("loadSpec", {"sources": ["another"], "sessionId": "1"}) == {"said": "loadSpec"}
    assert again.call("nextStep", {"sessionId": "1"}) == {"said": "nextStep"}


@pytest.mark.parametrize(
    ("method", "session", "instead"),
    [("rollback", "1", "nextStep"), ("nextStep", "2", "nextStep")],
)
def test_only_what_was_recorded_is_replayed(method: str, session: str, instead: str) -> None:
    again = replayed(recorded("nextStep"))
    with pytest.raises(ExplorerFailed, match=f"{method} is asked otherwise, they have {instead}"):
        again.call(method, {"sessionId": session})


def test_there_is_nothing_after_what_was_recorded() -> None:
    with pytest.raises(ExplorerFailed, match="they have nothing more"):
        replayed(recorded()).call("nextStep", {})


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "has not the schema"),
        (["{}"], "has not the schema"),
        (["no JSON"], "line 1 is not one"),
        ([json.dumps({"schema": server.SCHEMA}), "{}"], "line 2 is not one"),
    ],
)
def test_what_is_no_recording(lines: list[str], said: str) -> None:
    with pytest.raises(ExplorerFailed, match=said):
        replayed(lines)
