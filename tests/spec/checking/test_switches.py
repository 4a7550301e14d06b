"""A configuration lists no property that can't fail in it."""

import pytest

from partq.spec.checking.manifest import Expected, read_manifest
from partq.spec.checking.properties import properties
from partq.spec.checking.switches import SWITCHES, idle
from partq.spec.tools.configuration import Configuration


def scope(*listed: str, **values: str) -> Configuration:
    return Configuration(values, {}, (), listed)


@pytest.mark.parametrize(
    ("listed", "values", "why"),
    [
        ("PEEK_4", {"Alphabet": '{"delete"}'}, "without peek"),
        ("PEEK_1", {"Profile": '{"partitioned"}', "Alphabet": '{"peek"}'}, "with partitioned"),
        ("ROUTE_8", {"Alphabet": "{}"}, "without outage or kill"),
        (
            "RCV_14",
            {"Alphabet": "{}", "Profile": '{"flows"}'},
            "without partitioned, without pairs, with flows",
        ),
        ("KEY_3", {"Profile": '{"partitioned"}', "TwoKeys": "{}"}, "without TwoKeys"),
        ("ROUTE_7", {"Freedoms": '{"busy"}'}, "with busy"),
    ],
)
def test_what_is_switched_off_is_told(listed: str, values: dict[str, str], why: str) -> None:
    assert [*idle(scope(listed, **values))] == [(listed, why)]


def test_what_is_switched_on_may_fail() -> None:
    assert [*idle(scope("ROUTE_8", "RCV_6", Alphabet='{"kill"}'))] == []
    assert [*idle(scope("KEY_3", Profile='{"partitioned"}', TwoKeys="{2}"))] == []


def test_switches_are_of_properties_that_there_are() -> None:
    written = {name.replace("-", "_") for name in properties()}

    assert {name.removesuffix("_Eventually") for name in SWITCHES} <= written


def test_each_wrong_variant_breaks_its_property_where_that_is_switched_on() -> None:
    for check in read_manifest():
        if check.expected is Expected.VIOLATES:
            assert [*idle(check.configuration)] == [], check.name
