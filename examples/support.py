"""What the adapters beside it share: a server of one's own, and messages as JSON."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from partq.conformance.adapters import Rejected, Unreachable
from partq.model.messages import Delivery, Message


class PrivateServer:
    """Runs ``command`` on a free port of the loopback interface, with its files in a temporary folder;
    ``{port}`` and ``{folder}`` stand for these. It may be killed and started again."""

    process: subprocess.Popen[bytes] | None = None

    def __init__(self, *command: str, configuration: str = "") -> None:
        if not shutil.which(command[0]):
            raise Unreachable(f"there is no {command[0]} on the PATH: install the package of that name")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.folder = Path(tempfile.mkdtemp(prefix="partq-"))
        own = {"{port}": str(self.port), "{folder}": str(self.folder)}
        (self.folder / "server.conf").write_text(_filled(configuration, own))
        self.command = [_filled(word, own) for word in command]
        self.start()

    def start(self) -> None:
        """Start it, unless it runs. It is not waited for: who connects tries until it answers."""
        if self.process and self.process.poll() is None:
            return
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self) -> None:
        """End it without warning. What the operating system has of its files stays."""
        if self.process:
            self.process.kill()
            self.process.wait()

    def remove(self) -> None:
        """Kill it and delete its files."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def _filled(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(name, value)
    return text


def key_of(message: Message) -> str | None:
    """What decides where the message goes: its session ID or its partition key, which must not differ."""
    if message.session_id and message.partition_key not in (None, message.session_id):
        raise Rejected("invalid_operation", "session ID and partition key differ")
    return message.session_id or message.partition_key


def packed(message: Message) -> str:
    """The message as text."""
    return json.dumps(asdict(message))


def unpacked(text: str | bytes, **shown: Any) -> Delivery:
    """The message in such a text, with what else the server shows of it."""
    message = json.loads(text)
    return Delivery(
        id=message["id"],
        body=message["body"],
        session_id=message["session_id"],
        partition_key=message["partition_key"],
        properties=tuple((name, value) for name, value in message["properties"]),
        **shown,
    )
