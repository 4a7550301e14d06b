"""Apalache's explorer server: started, asked, ended; and its exchanges, recorded and replayed.

The server is the user's own Apalache (`tools.toolbox.apalache`). It listens on all interfaces, as long as
this process uses it. What it is asked is `session`'s business.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Final, NamedTuple, TextIO

from partq.spec.tools.apalache import command, environment, version

from .session import Call, ExplorerFailed

SCHEMA: Final = "partq.exchanges/1"
"""Recorded exchanges: a header, then a request with its answer in each line."""

START: Final = 60.0
"""Seconds that the server has to begin to answer."""

PATIENCE: Final = 600.0
"""Seconds that it has for one answer."""

ENDING: Final = 5.0
"""Seconds that it has to end before it is killed."""

_BEAT: Final = 0.2


class Explorer(NamedTuple):
    """Who answers: ``call`` asks it, ``name`` says in words who it is, ``version`` is Apalache's."""

    call: Call
    name: str
    version: str


# The server


@contextmanager
def serving(patience: float = PATIENCE) -> Iterator[Explorer]:
    """A server of one's own on a free port, ended with the context, however that ends. ``patience``: seconds
    for one answer.

    Raises `ToolMissing`, and `ExplorerFailed` where it does not begin to answer.
    """
    with tempfile.TemporaryDirectory(prefix="partq-explorer-") as folder:
        said, port = Path(folder) / "said", _free_port()
        with open(said, "wb") as output, _ended_by_signals():
            process = subprocess.Popen(
                command(("server", "--server-type=explorer", f"--port={port}"), Path(folder)),
                cwd=folder,
                env=environment(Path(folder)),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                server = _Server(port, process, said, patience)
                server.wait()
                running = server.version()
                yield Explorer(server.call, f"Apalache {running}, a server at port {port}", running)
            finally:
                _end(process)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP unwind the stack meanwhile, so that nothing is left running."""

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():  # who ends that ends the process
        yield
        return
    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the server and what its start script left between us and it."""
    for way in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, way)
        with suppress(subprocess.TimeoutExpired):
            process.wait(ENDING)
            return


class _Server:
    """A server that was started. ``said``: the file of what it prints."""

    def __init__(self, port: int, process: subprocess.Popen[bytes], said: Path, patience: float) -> None:
        self._port = port
        self._process = process
        self._said = said
        self._patience = patience

    def wait(self) -> None:
        """Until it answers. Raises `ExplorerFailed`."""
        until = time.monotonic() + START
        while True:
            try:
                post(self._port, "health", {}, START)
                return
            except ConnectionError:
                self._check_alive("health")
            if time.monotonic() > until:
                raise ExplorerFailed(f"Apalache's server did not begin to answer within {START:g} s")
            time.sleep(_BEAT)

    def call(self, method: str, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Ask it."""
        try:
            return post(self._port, method, parameters, self._patience)
        except ConnectionError as error:
            self._check_alive(method)
            raise ExplorerFailed(f"Apalache's server broke off at {method}: {error}") from None

    def version(self) -> str:
        """Apalache's, as it prints it."""
        return version(self._said.read_text(errors="replace")) or "of unknown version"

    def _check_alive(self, method: str) -> None:
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(_BEAT)
            lines = self._said.read_text(errors="replace").split("\n")
            last = next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
            raise ExplorerFailed(f"Apalache's server ended (exit code {code}) at {method}: {last}")


def post(port: int, method: str, parameters: Mapping[str, Any], patience: float) -> Mapping[str, Any]:
    """One JSON-RPC request to a server on this machine; never repeated, as most change the session.

    ``patience``: seconds to wait for the answer. Raises `ExplorerFailed` where there is none or it is no
    answer, `ConnectionError` where nobody listens.
    """
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters})
    connection = HTTPConnection("127.0.0.1", port, timeout=patience)
    try:
        connection.request("POST", "/rpc", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        status, text = response.status, response.read()
    except TimeoutError:
        raise ExplorerFailed(f"Apalache's server did not answer {method} within {patience:g} s") from None
    except HTTPException as error:
        raise ConnectionError(str(error) or type(error).__name__) from error
    finally:
        connection.close()
    return _result(method, status, text)


def _result(method: str, status: int, text: bytes) -> Mapping[str, Any]:
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        shown = " ".join(text[:80].decode(errors="replace").split())
        raise ExplorerFailed(
            f"Apalache's server answered {method} with no JSON-RPC (HTTP {status}): {shown!r}"
        )
    if isinstance(answer.get("result"), dict):
        return dict(answer["result"])
    error = answer.get("error")
    said = error.get("message") if isinstance(error, dict) else None
    raise ExplorerFailed(f"Apalache's server refused {method}: {' '.join(str(said or answer)[:300].split())}")


# Recorded exchanges


def recording(explorer: Explorer, out: TextIO, day: str) -> Explorer:
    """The same, with every exchange written to ``out``, the texts of the modules left out. ``day``: when."""
    _write(out, {"schema": SCHEMA, "apalache": explorer.version, "recorded": day})

    def call(method: str, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        result = explorer.call(method, parameters)
        _write(out, {"method": method, "params": _kept(parameters), "result": result})
        return result

    return explorer._replace(call=call)


def replayed(lines: Iterable[str]) -> Explorer:
    """An explorer that answers what was recorded, as long as it is asked the same. Raises
    `ExplorerFailed`."""
    exchanges = [_read(number, line) for number, line in enumerate(lines, 1)]
    header = exchanges[0] if exchanges else {}
    if header.get("schema") != SCHEMA:
        raise ExplorerFailed(f"no recorded exchanges: the first line has not the schema {SCHEMA!r}")
    left = iter(exchanges[1:])

    def call(method: str, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        recorded = next(left, None)
        asked = json.loads(json.dumps(_kept(parameters)))
        if recorded is None or (recorded["method"], recorded["params"]) != (method, asked):
            instead = recorded["method"] if recorded is not None else "nothing more"
            raise ExplorerFailed(
                f"the recorded exchanges do not fit: {method} is asked otherwise, they have {instead}; "
                "record them anew with --record"
            )
        return dict(recorded["result"])

    known = str(header.get("apalache"))
    name = f"exchanges with Apalache {known} that were recorded on {header.get('recorded')}"
    return Explorer(call, name, known)


def _kept(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in parameters.items() if name != "sources"}


def _read(number: int, line: str) -> dict[str, Any]:
    try:
        read = json.loads(line)
    except ValueError:
        read = None
    if not isinstance(read, dict) or (number > 1 and not {"method", "params", "result"} <= read.keys()):
        raise ExplorerFailed(f"no recorded exchanges: line {number} is not one")
    return read


def _write(out: TextIO, line: Mapping[str, Any]) -> None:
    out.write(json.dumps(line, separators=(",", ":")) + "\n")
