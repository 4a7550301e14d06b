"""Profiles: what a family without a column of its own takes from the catalogue, and by which page."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from partq.model.profiles import PROFILES, Profile
from partq.model.requirements import catalogue

WITHOUT_COLUMN = [family for family in PROFILES.values() if family.column is None]


@pytest.mark.parametrize("family", WITHOUT_COLUMN, ids=lambda family: family.name)
def test_each_row_that_applies_has_a_page_of_the_vendor_that_says_so(family: Profile) -> None:
    assert set(family.overrides) <= set(catalogue())
    assert all(ground.page in family.pages and ground.says for ground in family.overrides.values())


def test_pages_are_those_of_the_vendor() -> None:
    urls = [urlsplit(url) for family in PROFILES.values() for url in family.pages.values()]
    assert {(url.scheme, url.hostname) for url in urls} == {
        ("https", "www.rabbitmq.com"),
        ("https", "github.com"),
    }
    assert all(url.path.startswith("/rabbitmq/") for url in urls if url.hostname == "github.com")
