"""Slips in an adapter's classes are one line, before anything is called."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import canned_broker
import pytest

from partq.conformance.adapters import Broker, Client, open_broker
from partq.conformance.adapters.reference import LiveReference
from partq.conformance.adapters.shape import misfit, near_misses
from partq.conformance.frontends.cli.app import main
from partq.model.messages import Delivery


class Talker(Client):
    def send(self, message: Any, *, txn: str | None = None, timeout: float = 60.0) -> None: ...


class Fine(Broker):
    profile = "azure-premium"
    client_class = Talker

    def connect(self, proc: str) -> Client:
        return Talker()


class Wide(Fine):
    """Arguments of other names, more of them, and a static method, can all be called."""

    class client_class(Talker):
        def receive(self, most: int, **how: Any) -> Sequence[Delivery]:  # type: ignore[override]
            return ()

        @staticmethod
        def complete(locks: Sequence[str], *, txn: str | None = None) -> None: ...  # type: ignore[override]

    def connect(self, *whoever: str, more: int = 0) -> Client:
        return Talker()


class Lonely(Broker):
    profile = "azure-premium"
    client_class = Talker


class Nobody(Fine):
    client_class = Client


class NoClass(Fine):
    client_class = Talker()  # type: ignore[assignment]


class Deaf(Fine):
    def connect(self) -> Client:  # type: ignore[override]
        raise AssertionError("never called")


class Hasty(Fine):
    class client_class(Talker):
        def receive(self, max_messages: int, mode: str) -> Sequence[Delivery]:  # type: ignore[override]
            return ()


class Publishing(Hasty):
    """It has topics, so that its clients are asked for subscriptions."""

    class client_class(Talker):
        def add_rule(self, rule: Any, *, txn: str | None = None, entity: str | None = None) -> None: ...

        def receive(  # type: ignore[override]
            self, max_messages: int, *, mode: str = "", timeout: float = 1.0
        ) -> Sequence[Delivery]:
            return ()


@pytest.mark.parametrize(
    ("name", "meant"),
    [("renew", "renew_lock"), ("recieve", "receive"), ("peak", "peek"), ("roll_back", "rollback")],
)
def test_a_word_less_and_a_letter_else_are_near(name: str, meant: str) -> None:
    class Slip(Fine):
        client_class = type("Slipped", (Talker,), {name: lambda self: None})

    assert list(near_misses(Slip())) == [f"Slipped.{name} is never called: did you mean {meant}?"]


@pytest.mark.parametrize("broker", [Fine, Wide, LiveReference, canned_broker.Canned, canned_broker.Refusing])
def test_what_can_be_called_fits(broker: Callable[[], Broker]) -> None:
    assert misfit(broker()) is None


def test_the_brokers_at_hand_fit() -> None:
    assert misfit(open_broker("rabbitmq://guest:guest@localhost:1/%2f")) is None
    quick = Fine()
    quick.connect = lambda proc: Talker()  # type: ignore[method-assign]
    assert misfit(quick) is None


@pytest.mark.parametrize(
    ("broker", "told"),
    [
        ("Lonely", "Lonely does not override Broker.connect, as every adapter must"),
        ("Nobody", "Nobody.client_class is not set: from it partq learns which operations the broker has"),
        ("NoClass", "which is no subclass of Client"),
        ("Deaf", "Deaf.connect cannot be called with (proc): too many positional arguments"),
        ("Hasty", "client_class.receive cannot be called with (max_messages, mode=…, timeout=…): got an"),
        (
            "Publishing",
            "client_class.receive cannot be called with (max_messages, mode=…, timeout=…, entity=…)",
        ),
    ],
)
@pytest.mark.parametrize(
    "command", [("run", "--case", "same-key"), ("search", "--examples", "2")], ids=["run", "search"]
)
def test_what_cannot_be_called_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    broker: str,
    told: str,
    command: tuple[str, ...],
) -> None:
    monkeypatch.setattr(canned_broker, broker, globals()[broker], raising=False)
    name, *options = command
    assert main([name, f"canned_broker:{broker}", *options]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert told in err


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("mine", "no broker 'mine'; for a class in your mine.py say mine:ItsName; known: "),
        ("referense", "no broker 'referense'; did you mean reference?; known: "),
        ("here_is_one:", "module 'here_is_one' ({file}) has no ''; say here_is_one:Mine"),
        ("here_is_one:Yours", "module 'here_is_one' ({file}) has no 'Yours'; say here_is_one:Mine"),
    ],
)
def test_a_name_that_leads_nowhere_has_a_hint(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    told: str,
) -> None:
    text = "from partq.conformance.adapters import Broker\n\n\nclass Mine(Broker):\n    pass\n"
    file = tmp_path / "here_is_one.py"
    file.write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "here_is_one", raising=False)
    assert main(["run", name]) == 2
    assert told.format(file=file) in capsys.readouterr().err


class Misspelt(Fine):
    class client_class(Talker):
        def recieve(self, most: int) -> None: ...
        def completed(self, locks: Sequence[str]) -> None: ...
        def _peek(self) -> None: ...
        def statistics(self) -> None: ...

    def isempty(self) -> bool:
        return True


def test_methods_that_may_be_misspelt_are_named() -> None:
    assert list(near_misses(Misspelt())) == [
        "Misspelt.isempty is never called: did you mean is_empty?",
        "client_class.recieve is never called: did you mean receive?",
        "client_class.completed is never called: did you mean complete?",
    ]


@pytest.mark.parametrize("broker", [Fine, Wide, LiveReference, lambda: open_broker("reference")])
def test_an_adapter_as_it_should_be_has_none(broker: Callable[[], Broker]) -> None:
    assert list(near_misses(broker())) == []


def test_a_method_that_is_there_may_have_a_neighbour() -> None:
    class Both(Fine):
        class client_class(Talker):
            def sends(self) -> None: ...

    assert list(near_misses(Both())) == []


class Broken(Wide.client_class):
    """A working client, and a method that was meant to replace one of its own."""

    def recieve(self, most: int) -> None: ...
    def sent(self, message: Any, *, txn: str | None = None, timeout: float = 60.0) -> None: ...
    def sends(self) -> None: ...


def test_a_subclass_of_a_working_client_is_warned_of_what_replaces_nothing() -> None:
    class Mutant(Fine):
        client_class = Broken

    assert list(near_misses(Mutant())) == [
        "Broken.recieve is never called: did you mean receive?",
        "Broken.sent is never called: did you mean send?",
    ]


def test_a_command_warns_of_them(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canned_broker, "Misspelt", Misspelt, raising=False)
    main(["run", "canned_broker:Misspelt", "--case", "same-key"])
    told = "partq: warning: client_class.recieve is never called: did you mean receive?"
    assert told in capsys.readouterr().err.splitlines()
