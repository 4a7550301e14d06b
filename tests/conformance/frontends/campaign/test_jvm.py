"""What is found out about a master before Spark is started. That a real one passes: `test_clusters`."""

from __future__ import annotations

import os
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from partq.conformance.frontends.campaign import jvm
from partq.conformance.frontends.campaign.errors import CampaignError
from partq.conformance.frontends.campaign.jobs import Job

UNKNOWN = b"Stream '/files/partq' was not found."
ANSWER = struct.pack(">qBi", 8 + 1 + 4 + len(UNKNOWN), 8, len(UNKNOWN)) + UNKNOWN
"""What a master of Spark 4 answers, but for the name that it repeats."""


@contextmanager
def server(reply: Callable[[socket.socket], object]) -> Iterator[str]:
    """Where a server listens that takes one connection, reads once, and replies so."""

    def serve() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(4096)
            reply(connection)
            connection.recv(4096)  # until the other side hangs up

    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = Job(serve)
        yield f"spark://127.0.0.1:{listening.getsockname()[1]}"
        serving.result()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Java is there, and a server has a moment to answer."""
    monkeypatch.setattr(jvm, "java_problem", lambda: None)
    monkeypatch.setattr(jvm, "ANSWERING", 0.3)


REPLIES: dict[str, Callable[[socket.socket], object]] = {
    "silence": lambda connection: None,
    "http": lambda connection: connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_what_listens_but_is_no_master_is_refused_at_once(reply: Callable[[socket.socket], object]) -> None:
    with server(reply) as master, pytest.raises(CampaignError) as told:
        jvm.check(master)
    assert str(told.value) == f"{master} does not answer: what listens there is no Spark master"


PASSING: dict[str, Callable[[socket.socket], object]] = {
    "answers": lambda connection: connection.sendall(ANSWER),
    "hangs up": lambda connection: connection.shutdown(socket.SHUT_RDWR),
}


@pytest.mark.parametrize("reply", PASSING.values(), ids=PASSING)
def test_what_answers_or_hangs_up_is_left_to_spark(reply: Callable[[socket.socket], object]) -> None:
    with server(reply) as master:
        jvm.check(master)


def test_one_of_several_masters_is_enough() -> None:
    with server(PASSING["answers"]) as master:
        jvm.check(master.replace("spark://", "spark://127.0.0.1:1,"))


def test_several_masters_are_asked_at_once_so_that_dead_ones_take_no_longer_than_one() -> None:
    meeting = threading.Barrier(3, timeout=10)
    with ExitStack() as stack:
        servers = [stack.enter_context(server(lambda _: meeting.wait())) for _ in range(3)]
        master = "spark://" + ",".join(one.removeprefix("spark://") for one in servers)
        with pytest.raises(CampaignError, match="what listens there is no Spark master"):
            jvm.check(master)


def test_a_name_that_is_looked_up_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for_ever = threading.Event()
    monkeypatch.setattr(socket, "create_connection", lambda *address: for_ever.wait())
    with pytest.raises(CampaignError, match="does not answer: nothing listens there"):
        jvm.check("spark://one:7077,two:7077")


@pytest.mark.parametrize(
    ("local", "used", "said"),
    [
        (False, "/opt/python", ""),
        (
            True,
            sys.executable,
            "partq: PYSPARK_PYTHON=/opt/python is for clusters: local workers are of this Python\n",
        ),
    ],
)
def test_a_python_that_is_overridden_is_told(
    local: bool, used: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/python")
    monkeypatch.setenv("PYSPARK_DRIVER_PYTHON", "/opt/python")
    jvm._choose_python(local)
    assert (os.environ["PYSPARK_PYTHON"], os.environ["PYSPARK_DRIVER_PYTHON"]) == (used, sys.executable)
    assert capsys.readouterr().err == said


def test_a_cluster_of_another_kind_is_not_asked() -> None:
    with server(REPLIES["silence"]) as master:
        jvm.check(master.replace("spark://", "k8s://http://"))
