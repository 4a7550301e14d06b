"""Names of brokers as they are shown and stored: no secret of a URL is."""

from __future__ import annotations

import pytest

from partq.conformance.adapters import is_public, public_name
from partq.conformance.adapters.names import public_text
from partq.conformance.adapters.rabbitmq_address import address


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("rabbitmq://me:SECRET@host:1/v", "rabbitmq://me:***@host:1/v"),
        ("AMQPS://me:SECRET@host", "AMQPS://me:***@host"),
        ("rabbitmq://:SECRET@host", "rabbitmq://:***@host"),
        ("rabbitmq://me:SE/CR@E?T@host", "rabbitmq://me:***@host"),
        ("rabbitmq://me:SEC RET@[host", "rabbitmq://me:***@[host"),
        ("nosuch+x://me:SECRET@host", "nosuch+x://me:***@host"),
        ("rabbitmq://host/?password=SECRET&type=quorum", "rabbitmq://host/?password=***&type=quorum"),
        ("rabbitmq://host/?type=quorum&sasl_token=SECRET", "rabbitmq://host/?type=quorum&sasl_token=***"),
        ("--broker=rabbitmq://me:SECRET@host", "--broker=rabbitmq://me:***@host"),
    ],
)
def test_secrets_are_left_out(name: str, shown: str) -> None:
    assert public_name(name) == shown
    assert public_name(shown) == shown
    assert is_public(name)
    assert not is_public(shown)


@pytest.mark.parametrize(
    "name", ["reference", "mutant:route-by-body", "mine:MyBroker", "rabbitmq://me@host:1/v?type=quorum"]
)
def test_what_holds_no_secret_stays(name: str) -> None:
    assert public_name(name) == name
    assert is_public(name)


def test_secrets_are_left_out_of_texts() -> None:
    text = "a@b: no file 'rabbitmq:/me:SECRET@host', nor amqp://you:SECRET@host; ask c@d"
    shown = "a@b: no file 'rabbitmq:/me:***@host', nor amqp://you:***@host; ask c@d"
    assert public_text(text) == shown


def test_an_address_does_not_show_its_password() -> None:
    assert "SECRET" not in repr(address("rabbitmq://me:SECRET@host"))
