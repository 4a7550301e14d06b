"""A configuration lists no property that can't fail in it."""

from pathlib import Path

import pytest

from partq.spec import MODULES
from partq.spec.checking import manifest
from partq.spec.checking.manifest import Expected, InvalidManifest, read_manifest
from partq.spec.checking.properties import properties
from partq.spec.checking.switches import SWITCHES, idle
from partq.spec.tools.roots import Configuration, read_configuration


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
    assert SWITCHES.keys() <= {name.replace("-", "_") for name in properties()}


def test_each_wrong_variant_breaks_its_property_where_that_is_switched_on() -> None:
    for check in read_manifest():
        if check.expected is Expected.VIOLATES:
            configuration = read_configuration(check.files[1])
            assert [*idle(configuration._replace(properties=(check.breaks,)))] == [], check.name


@pytest.mark.parametrize("read", [manifest.read_manifest, manifest.read_symbolic])
def test_a_manifest_is_refused_whose_configuration_lists_a_property_that_is_switched_off(
    read: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in (*MODULES.glob("*.tla"), MODULES / "MCKill.cfg"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    text = (tmp_path / "MCKill.cfg").read_text()
    (tmp_path / "MCKill.cfg").write_text(f"{text}\n    PEEK_2\n")
    entry = 'name = "MCKill"\nquestion = "?"\n'
    (tmp_path / "manifest.toml").write_text(
        f'[[check]]\n{entry}module = "MC"\ncfg = "MCKill.cfg"\nexpected = "holds"\n'
        f'[[apalache]]\n{entry}kind = "bounded"\nfile = "MCKill.cfg"\nlength = 3\n'
    )
    monkeypatch.setattr(manifest, "MODULES", tmp_path)

    with pytest.raises(InvalidManifest, match=r"PEEK_2 can't fail in MCKill.cfg: it is without peek"):
        read(tmp_path / "manifest.toml")  # type: ignore[operator]
