"""The RabbitMQ adapter: what needs no server, and then a real one (PARTQ_RABBITMQ_URL).

With PARTQ_RABBITMQ_CONTROL naming the helper program (tools/rabbitmq) the server is killed and started too.
"""

from __future__ import annotations

import inspect
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from one_case import run_case

from partq.conformance.adapters import (
    Indefinite,
    Rejected,
    UnknownBroker,
    Unreachable,
    claimed_profiles,
    open_broker,
)
from partq.conformance.adapters.rabbitmq import CONTROL, RabbitMQ
from partq.conformance.adapters.rabbitmq_address import Address, address
from partq.conformance.adapters.rabbitmq_client import WAYS, RabbitMQClient
from partq.conformance.adapters.rabbitmq_wire import HASH_HEADER, headers, shown
from partq.conformance.evaluation.decision import NONE, check_history
from partq.conformance.execution.runner import Limits, run
from partq.conformance.history import History
from partq.conformance.verdict import Status
from partq.conformance.workload.cases.table import ALL_CASES
from partq.conformance.workload.generator import generate
from partq.conformance.workload.program import Program, Step
from partq.model.messages import Message
from partq.model.operations import ENV
from partq.model.profiles import SECOND, Entity, requirements_of

URL = os.environ.get("PARTQ_RABBITMQ_URL", "")
QUICK = Limits(wait=0.4, advance=0.2)

ODD = Message(
    "identity ✓ " * 60,
    "body\x00 with ünï¢ødé ✓\n",
    session_id="session " * 50,
    partition_key="key",
    properties=(("name", "1"), ("name", "2"), ("x" * 400, ""), ("", "ü" * 400)),
)


# --- without a server ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("rabbitmq://", Address("localhost")),
        ("rabbitmq://there", Address("there")),
        ("rabbitmq://there/", Address("there")),
        ("rabbitmq://there/%2F", Address("there")),
        ("rabbitmq://there:1234/test", Address("there", 1234, vhost="test")),
        ("rabbitmq://[::1]:1234/a%2Fb", Address("::1", 1234, vhost="a/b")),
        ("rabbitmq://u:p%40%2F@there", Address("there", user="u", password="p@/")),
        (
            "amqp://there?partitions=4&type=quorum&prefetch=9&cancel=always",
            Address("there", partitions=4, type="quorum", prefetch=9, cancel="always"),
        ),
    ],
)
def test_a_url_is_read(url: str, expected: Address) -> None:
    assert address(url) == expected


@pytest.mark.parametrize(
    ("url", "part"),
    [
        ("rabbitmq://there?type=mirrored", "type=mirrored"),
        ("rabbitmq://there?partitions=0", "partitions=0"),
        ("rabbitmq://there?partitions=4.5", "partitions=4.5"),
        ("rabbitmq://there?prefetch=65536", "prefetch=65536"),
        ("rabbitmq://there?shards=4", "shards=4"),
        ("rabbitmq://there?control=/bin/true", "control=/bin/true"),
        ("rabbitmq://there:99999", "port"),
    ],
)
def test_a_wrong_url_is_one_clear_line(url: str, part: str) -> None:
    with pytest.raises(UnknownBroker) as raised:
        open_broker(url)
    assert part in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_missing_library_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pika", None)
    with pytest.raises(UnknownBroker, match=r"pip install 'partq\[rabbitmq\]'"):
        open_broker("rabbitmq://there")


def test_a_server_that_is_not_there_is_one_clear_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    broker = open_broker(f"rabbitmq://127.0.0.1:{port}")
    with pytest.raises(Unreachable) as raised:
        run(broker, Program("rabbitmq", ()))
    assert f"127.0.0.1:{port}" in str(raised.value)
    assert "start" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_comes_back_goes_first_only_without_prefetch() -> None:
    for options, binds in (("", True), ("?prefetch=1", True), ("?prefetch=2", False)):
        (name,) = claimed_profiles(open_broker(f"rabbitmq://there{options}"))
        assert ("ORD-3" in requirements_of(name)) is binds
        assert requirements_of(name) | {"ORD-3"} == requirements_of("rabbitmq")


def test_what_it_lacks_depends_on_the_helper_program(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = open_broker("rabbitmq://there")
    monkeypatch.setenv(CONTROL, "/somewhere/rabbitmq")
    lacks = broker.lacks()
    assert {"peek", "begin", "renew_lock", "send_batch", "bind", "partition_down", "frontend_lost"} <= lacks
    assert not lacks & {"send", "receive", "complete", "abandon", "disconnect", "broker_kill", "broker_start"}
    monkeypatch.delenv(CONTROL)
    assert broker.lacks() - lacks == {"broker_kill", "broker_start"}
    with pytest.raises(Rejected, match=CONTROL):
        broker.inject("broker_kill", {})


@pytest.mark.parametrize(
    ("type", "version", "safe"),
    [
        ("classic", "3.9.26", False),
        ("classic", "3.9.27", True),
        ("classic", "3.10.8", False),
        ("classic", "3.10.13", True),
        ("classic", "3.11.4", False),
        ("classic", "3.11.5", True),
        ("classic", "3.12.0", True),
        ("classic", "4.1.2", True),
        ("classic", "3.8.34", False),
        ("classic", "", True),
        ("quorum", "3.10.8", True),
    ],
)
def test_consumers_are_cancelled_only_where_the_queue_survives(type: str, version: str, safe: bool) -> None:
    class Impl:
        server_properties = {"version": version}  # noqa: RUF012

    class Connection:
        _impl = Impl()

    broker = RabbitMQ(f"rabbitmq://there?type={type}")
    assert broker._cancel_is_safe(Connection()) is safe


@pytest.mark.parametrize(
    "message",
    [
        Message("m"),
        Message("m", "body", "s"),
        Message("m", partition_key="k"),
        Message("m", properties=(("a", "b"),)),
        ODD,
    ],
    ids=["plain", "session", "key", "property", "odd"],
)
def test_a_message_s_headers_hold_all_of_it(message: Message) -> None:
    seen = shown(3, "lock", False, headers(message), message.body.encode())
    assert (seen.id, seen.body, seen.properties) == (message.id, message.body, message.properties)
    assert (seen.session_id, seen.partition_key) == (message.session_id, message.partition_key)
    assert (seen.partition, seen.lock, seen.redelivered, seen.delivery_count) == (3, "lock", False, None)


def test_the_exchange_hashes_the_key_or_without_one_anything() -> None:
    assert headers(Message("m", session_id="s"))[HASH_HEADER] == "s"
    assert headers(Message("m", partition_key="k"))[HASH_HEADER] == "k"
    assert headers(Message("m", session_id="s", partition_key="k"))[HASH_HEADER] == "s"
    assert headers(Message("m"))[HASH_HEADER] != headers(Message("m"))[HASH_HEADER]


def test_what_is_used_of_pika_s_insides_is_there() -> None:
    """A socket cannot be cut, nor a channel closed without cancelling first, through what pika documents."""
    from pika.adapters.blocking_connection import BlockingChannel
    from pika.channel import Channel
    from pika.connection import Connection

    assert not inspect.signature(BlockingChannel._cancel_all_consumers).parameters.keys() - {"self"}
    assert "consumer_tag" in inspect.signature(Channel.basic_cancel).parameters
    assert "error" in inspect.signature(Connection._terminate_stream).parameters
    assert "self.basic_cancel(consumer_tag=consumer_tag)" in inspect.getsource(Channel.close)


# --- with one --------------------------------------------------------------------------------------------

server = [
    pytest.mark.server,
    pytest.mark.xdist_group("rabbitmq"),
    pytest.mark.skipif(not URL, reason="PARTQ_RABBITMQ_URL is not set: 'tools/rabbitmq start' prints one"),
]
killing = [
    *server,
    pytest.mark.skipif(not os.environ.get(CONTROL), reason=f"{CONTROL} is not set: tools/rabbitmq is one"),
]
TYPES = ("classic", "quorum")
GLANCE = {"max": 3, "timeout": SECOND // 5}


def marked(marks: list[Any]) -> Callable[[Any], Any]:
    def mark(function: Any) -> Any:
        for one in marks:
            function = one(function)
        return function

    return mark


@pytest.fixture(params=TYPES)
def broker(request: pytest.FixtureRequest) -> RabbitMQ:
    """A broker of each type with four partitions, not opened."""
    return RabbitMQ(f"{URL}?partitions=4&type={request.param}")


@pytest.fixture
def opened(broker: RabbitMQ) -> Iterator[RabbitMQ]:
    broker.open(Entity(partitions=4))
    yield broker
    broker.close()


def client(broker: RabbitMQ, proc: str) -> RabbitMQClient:
    made = broker.connect(proc)
    assert isinstance(made, RabbitMQClient)
    return made


def lock(delivery: Any) -> str:
    assert isinstance(delivery.lock, str)
    return delivery.lock


def judge(history: History, *exercised: str) -> None:
    """Nothing is violated or left open, the queue was drained, and these rules were put to the test."""
    verdicts = check_history(history, NONE)
    assert {id: v.findings for id, v in verdicts.items() if v.status is Status.VIOLATED} == {}
    assert {id: v.reason for id, v in verdicts.items() if v.status is Status.UNKNOWN} == {}
    assert history.records[-1].op == "drained"
    assert {id for id in exercised if verdicts[id].status is not Status.PASS} == set()


def send(proc: str, name: str, key: str | None = None) -> Step:
    return Step(proc, "send", {"messages": (Message(name, partition_key=key),)})


@marked(server)
def test_a_message_comes_back_unchanged(opened: RabbitMQ) -> None:
    sender = client(opened, "a")
    sender.send(ODD)
    (seen,) = sender.receive(10, timeout=10.0)
    assert (seen.id, seen.body, seen.properties) == (ODD.id, ODD.body, ODD.properties)
    assert (seen.session_id, seen.partition_key) == (ODD.session_id, ODD.partition_key)
    assert seen.partition in range(4)
    assert (seen.redelivered, seen.lock is None) == (False, False)
    assert seen.seq is None, "what the broker does not show is not invented"
    assert seen.locked_until is None


@marked(server)
def test_a_requeued_message_says_so(opened: RabbitMQ) -> None:
    one = client(opened, "a")
    one.send(Message("m"))
    (first,) = one.receive(1, timeout=10.0)
    one.abandon([lock(first)])
    (again,) = one.receive(1, timeout=10.0)
    assert again.redelivered
    assert again.delivery_count == (1 if opened.address.type == "quorum" else None)
    with pytest.raises(Rejected, match="lock_lost"):
        one.complete([lock(first)])
    one.complete([lock(again)])
    with pytest.raises(Rejected, match="lock_lost"):
        one.complete([lock(again)])
    assert opened.is_empty()


@marked(server)
def test_a_settlement_of_several_is_all_or_nothing(opened: RabbitMQ) -> None:
    one = client(opened, "a")
    for n in range(12):
        one.send(Message(f"m{n}", partition_key=f"k{n}"))
    held = [*one.receive(20, timeout=10.0), *one.receive(20, timeout=1.0)]
    assert len(held) > 1, "more than one partition has messages"
    with pytest.raises(Rejected, match="lock_lost"):
        one.complete([lock(held[0]), "no lock"])
    one.abandon([lock(delivery) for delivery in held])
    again = one.receive(20, timeout=10.0)
    assert {delivery.id for delivery in again} <= {delivery.id for delivery in held}


@marked(server)
def test_of_two_consumers_one_is_active_and_the_other_takes_over(opened: RabbitMQ) -> None:
    first, second = client(opened, "a"), client(opened, "b")
    for n in range(8):
        first.send(Message(f"m{n}", partition_key="k"))
    while not (held := first.receive(1, timeout=0.5)):
        pass
    assert [delivery.id for delivery in held] == ["m0"]
    for _ in range(2):
        assert second.receive(10, timeout=0.2) == []
    first.disconnect(how="channel")
    (next_one,) = second.receive(10, timeout=10.0)
    assert (next_one.id, next_one.redelivered) == ("m0", True)


@marked(server)
@pytest.mark.parametrize("how", WAYS)
def test_what_a_client_holds_goes_back_however_it_leaves(opened: RabbitMQ, how: str) -> None:
    first, second = client(opened, "a"), client(opened, "b")
    first.send(Message("m0", partition_key="k"))
    first.send(Message("m1", partition_key="k"))
    while not (held := first.receive(1, timeout=0.5)):
        pass
    second.receive(1, timeout=0.2)
    second.receive(1, timeout=0.2)
    first.disconnect(how=how)
    (taken,) = second.receive(1, timeout=10.0)
    if how == "consumer" and opened.cancels:
        assert taken.id == "m1", "a cancelled consumer keeps what it holds"
        first.complete([lock(held[0])])
    else:
        assert (taken.id, taken.redelivered) == ("m0", True)
        with pytest.raises(Rejected, match="lock_lost"):
            first.complete([lock(held[0])])
    first.send(Message("m2", partition_key="k"))


@marked(server)
def test_a_way_it_does_not_know_is_refused(opened: RabbitMQ) -> None:
    with pytest.raises(Rejected, match="unsupported"):
        client(opened, "a").disconnect(how="sabotage")


@marked(server)
def test_a_message_that_no_queue_takes_is_returned_and_refused(opened: RabbitMQ) -> None:
    nowhere = f"{opened.exchange}.nowhere"
    with opened.connection() as connection:
        channel = connection.channel()
        channel.exchange_declare(nowhere, "fanout", auto_delete=True)
        channel.exchange_bind(nowhere, opened.exchange, routing_key="1")
        for queue in opened.queues:
            channel.queue_unbind(queue, opened.exchange, routing_key="1")
    with pytest.raises(Rejected, match="not_found") as raised:
        client(opened, "a").send(Message("m"))
    assert not isinstance(raised.value, Indefinite)


@marked(server)
def test_it_is_empty_only_without_locked_messages(opened: RabbitMQ) -> None:
    one, other = client(opened, "a"), client(opened, "b")
    assert opened.is_empty()
    one.send(Message("m"))
    assert not opened.is_empty()
    (held,) = one.receive(1, timeout=10.0)
    assert not opened.is_empty(), "the question ends the lock, and shows what it held"
    assert other.receive(1, mode="receive_and_delete", timeout=10.0)[0].id == held.id
    assert opened.is_empty()


@marked(server)
def test_nothing_is_left_behind_and_runs_do_not_meet(broker: RabbitMQ) -> None:
    twin = RabbitMQ(f"{URL}?type={broker.address.type}")
    assert broker.open(Entity(partitions=2)) == Entity(partitions=4), "the URL decides"
    assert twin.open(Entity(partitions=2)) == Entity(partitions=2)
    queues = [*broker.queues, *twin.queues]
    assert len(set(queues)) == 6
    client(broker, "a").send(Message("m"))
    assert twin.is_empty()
    broker.close()
    twin.close()
    for queue in queues:
        with broker.connection() as connection, pytest.raises(broker.pika.exceptions.ChannelClosedByBroker):
            connection.channel().queue_declare(queue, passive=True)


@marked(server)
@pytest.mark.parametrize(
    "wrong",
    [{"user": "nobody"}, {"password": "wrong"}, {"vhost": "nowhere"}],
    ids=["user", "password", "vhost"],
)
def test_a_server_that_refuses_us_is_one_clear_line(broker: RabbitMQ, wrong: dict[str, str]) -> None:
    broker.address = replace(broker.address, **wrong)
    with pytest.raises(Unreachable) as raised:
        run(broker, Program("rabbitmq", ()))
    assert broker.address.place in str(raised.value)
    assert "\n" not in str(raised.value)


@marked(server)
def test_an_adapter_that_loses_its_connection_says_so(opened: RabbitMQ) -> None:
    """The history must know that the locks ended."""
    told: list[tuple[str, dict[str, Any]]] = []
    opened.on_event = lambda op, args: told.append((op, args))
    one = client(opened, "a")
    one.send(Message("m"))
    (held,) = one.receive(1, timeout=10.0)
    one._connection._impl._transport._sock.shutdown(socket.SHUT_RDWR)
    with pytest.raises((Indefinite, Rejected)):
        one.complete([lock(held)])
    assert [(op, args["proc"]) for op, args in told] == [("connection_lost", "a")]
    assert one.receive(1, timeout=10.0)[0].redelivered


@marked(server)
@pytest.mark.parametrize("name", [name for name, case in ALL_CASES.items() if "rabbitmq" in case.profiles])
def test_the_cases_hold(broker: RabbitMQ, name: str) -> None:
    case = ALL_CASES[name]
    run_ = run_case(broker, "rabbitmq", case)
    judge(run_.history, *case.requirements)


@marked(server)
@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("sequential", [True, False], ids=["in order", "at once"])
def test_no_false_alarm_however_clients_disconnect(broker: RabbitMQ, how: str, sequential: bool) -> None:
    steps: list[Step] = []
    for n in range(30):
        proc, other = f"c{n % 3}", f"c{(n + 1) % 3}"
        steps += [
            send(proc, f"m{n}", f"k{n % 5}"),
            Step(other, "receive", {"max": 3, "timeout": SECOND // 5}),
        ]
        if n % 3 == 1:
            steps.append(Step(other, "complete", {"pick": [0, 1]}))
        if n % 4 == 2:
            steps.append(Step(other, "disconnect", {"how": how}))
        if n % 7 == 3:
            steps.append(Step(other, "abandon", {"pick": [0]}))
    history = run(broker, Program("rabbitmq", tuple(steps), sequential=sequential), limits=QUICK)
    judge(history, "ROUTE-1", "RCV-1", "RCV-2", "RCV-7", "REB-3")
    assert {r.args["how"] for r in history.records if r.op == "disconnect" and r.proc != "drain"} >= {how}


@marked(server)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("prefetch", [1, 5])
def test_no_false_alarm_on_drawn_programs(broker: RabbitMQ, seed: int, prefetch: int) -> None:
    broker.address = replace(broker.address, prefetch=prefetch)
    drawn = generate(
        *broker.profiles(), seed, length=60, lacks=broker.lacks() | {"broker_kill", "broker_start"}
    )
    judge(run(broker, drawn, limits=QUICK), "RCV-1", "RCV-2")


@marked(killing)
@pytest.mark.parametrize("seed", range(2))
def test_no_false_alarm_when_the_server_is_killed_in_the_middle(broker: RabbitMQ, seed: int) -> None:
    steps: list[Step] = []
    for n in range(60):
        proc, other = f"c{(n + seed) % 3}", f"c{(n + 1) % 3}"
        steps += [
            send(proc, f"m{n}", f"k{n % 5}"),
            Step(other, "receive", {"max": 3, "timeout": SECOND // 5}),
        ]
        if n % 2:
            steps.append(Step(other, "complete", {"pick": [0, 1]}))
        if n % 9 == 5:
            steps.append(Step(other, "disconnect", {}))
        if n in (20, 40):
            steps.append(Step(ENV, "broker_kill"))
        if n in (28, 41):
            steps.append(Step(ENV, "broker_start"))
    history = run(broker, Program("rabbitmq", tuple(steps), seed=seed), limits=QUICK)
    judge(history, "ROUTE-1", "RCV-1", "RCV-2", "RCV-7", "REB-3")
    faults = [r.op for r in history.records if r.is_env and r.op.startswith("broker_")]
    assert faults == ["broker_kill", "broker_start"] * 2
    struck = [r.op for r in history.records if r.error in ("connection_lost", "unavailable")]
    assert struck, "nobody noticed that the server died"


@marked(killing)
def test_a_server_left_dead_is_started_again(broker: RabbitMQ) -> None:
    steps = (send("a", "m"), Step(ENV, "broker_kill"), send("a", "m2"))
    history = run(broker, Program("rabbitmq", steps, sequential=True, drain=False), limits=QUICK)
    assert [(r.op, str(r.outcome)) for r in history.records][:2] == [("send", "ok"), ("broker_kill", "ok")]
    assert history.records[-1].outcome != "ok"
    with broker.connection() as connection:
        assert connection.is_open


@marked(killing)
def test_a_server_that_a_cut_off_campaign_left_dead_is_brought_up(broker: RabbitMQ) -> None:
    broker.inject("broker_kill", {})
    RabbitMQ(URL).restore()
    with broker.connection() as connection:
        assert connection.is_open


@marked(killing)
def test_only_the_server_under_test_is_killed(
    broker: RabbitMQ, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "control"
    other.write_text(f'#!/bin/sh\necho "$1" >>{tmp_path}/asked\necho rabbitmq://localhost:1/\n')
    other.chmod(0o755)
    monkeypatch.setenv(CONTROL, str(other))
    with suppress(Rejected):
        broker.inject("broker_kill", {})
    RabbitMQ(URL).restore()
    assert (tmp_path / "asked").read_text().split() == ["url", "url"]
