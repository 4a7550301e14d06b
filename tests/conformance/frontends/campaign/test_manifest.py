"""What a manifest says comes back as it was; what is none is refused with the reason."""

from __future__ import annotations

import json

import pytest

from partq.conformance.frontends.campaign import manifest
from partq.conformance.frontends.campaign.manifest import Fingerprint, Manifest
from partq.conformance.frontends.campaign.tables import TABLES

ONE = Manifest(
    "plan", range(2, 5), {name: Fingerprint(n, (n, 2**70, 0, 1)) for n, name in enumerate(TABLES)}, 9
)


def test_it_comes_back() -> None:
    assert manifest.loads(manifest.dumps(ONE)) == ONE
    assert (ONE.wave, manifest.file_of(ONE.wave)) == (2, "manifests/wave=2.json")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"schema": "x"}, "schema"),
        ({"units": None}, "NoneType"),
        ({"units": [1]}, "unpack"),
        ({"units": [0, float("inf")]}, "infinity"),
        ({"findings": None}, "NoneType"),
        ({"tables": {}}, "verdicts"),
        ({"tables": {name: {"rows": 1, "digest": ["1"]} for name in TABLES}}, "4 words"),
        ({"tables": {name: {"rows": 1, "digest": ["x"] * 4} for name in TABLES}}, "invalid literal"),
    ],
)
def test_what_is_none_is_refused(change: dict[str, object], told: str) -> None:
    data = {**json.loads(manifest.dumps(ONE)), **change}
    with pytest.raises(ValueError, match=told):
        manifest.loads(json.dumps(data))


@pytest.mark.parametrize("text", ["", "{", "[]", "1", "null", 100_000 * "["])
def test_nor_is_any_other_text(text: str) -> None:
    with pytest.raises(ValueError):
        manifest.loads(text)


def test_fingerprints_add_up() -> None:
    one, two = Fingerprint(1, (1, 2, 3, 4)), Fingerprint(2, (10, 20, 30, 40))
    assert one.with_(two) == Fingerprint(3, (11, 22, 33, 44)) == two.with_(one)


def test_two_of_the_same_units_overlap() -> None:
    apart = [Manifest("p", range(2, 4), {}), Manifest("p", range(2), {})]
    assert manifest.overlap(apart) is None
    assert manifest.overlap([*apart, Manifest("p", range(3, 6), {})]) == (
        apart[0],
        Manifest("p", range(3, 6), {}),
    )
