"""Profiles: what is built in, and by which pages rules bind families without a column of the catalogue."""

from __future__ import annotations

from importlib import resources
from urllib.parse import urlsplit

import pytest

from partq.model.profiles import BUILT_IN, PROFILES, OrderDomain, Profile, grounds_of
from partq.model.requirements import PROFILE_COLUMNS, selected

WITHOUT_COLUMN = [family for family in PROFILES.values() if family.name not in PROFILE_COLUMNS]


def test_the_files_are_the_profiles_that_are_named() -> None:
    files = resources.files("partq.model") / "profile_files"
    assert {file.name for file in files.iterdir()} == {f"{name}.toml" for name in BUILT_IN}
    assert [family.name for family in PROFILES.values()] == list(PROFILES) == list(BUILT_IN)


@pytest.mark.parametrize("name", PROFILE_COLUMNS)
def test_a_profile_of_the_catalogue_takes_its_column(name: str) -> None:
    assert grounds_of(name) == dict.fromkeys(selected(name))


@pytest.mark.parametrize("family", WITHOUT_COLUMN, ids=lambda family: family.name)
def test_each_ground_names_a_page_of_the_vendor(family: Profile) -> None:
    grounds = grounds_of(family.name)
    assert set(grounds) == set(family.rules)
    assert all(ground.page in family.pages and ground.says for ground in grounds.values() if ground)


def test_each_row_that_applies_to_rabbitmq_has_a_page_that_says_so() -> None:
    assert None not in grounds_of("rabbitmq").values()


def test_a_partitioned_queue_binds_what_every_partitioned_broker_promises() -> None:
    assert set(grounds_of("partitioned-queue")) == {
        *("KEY-2", "KEY-9", "ROUTE-1", "ROUTE-2", "RCV-1", "RCV-2", "RCV-6", "RCV-7"),
    }


def test_an_ordered_queue_binds_order_domains_besides() -> None:
    more = set(grounds_of("ordered-queue")) - set(grounds_of("partitioned-queue"))
    assert more == {"ORD-1", "ORD-2", "ORD-3"}
    assert PROFILES["ordered-queue"].order is OrderDomain.KEY


def test_pages_are_those_of_the_vendor() -> None:
    urls = [urlsplit(url) for family in PROFILES.values() for url in family.pages.values()]
    assert {(url.scheme, url.hostname) for url in urls} == {
        ("https", "www.rabbitmq.com"),
        ("https", "github.com"),
        ("https", "docs.aws.amazon.com"),
    }
    assert all(url.path.startswith("/rabbitmq/") for url in urls if url.hostname == "github.com")
