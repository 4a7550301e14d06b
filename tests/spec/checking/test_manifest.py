"""The manifest: a configuration is said by its differences from a base."""

from pathlib import Path

import pytest

from partq.spec.checking.manifest import Check, Expected, InvalidManifest, read_manifest, read_symbolic

BASE = """
[base.Small]
constants = { MessageCount = 1, Clients = ["c1"], TwoKeys = [], Observing = true, KeyOf = "KeysAA" }

[check.MCPlain]
question = "?"
base = "Small"
properties = ["RCV_1", "RCV_7"]
"""


def checks(folder: Path, more: str) -> dict[str, Check]:
    """The checks of a manifest that has these entries besides `BASE`."""
    file = folder / "manifest.toml"
    file.write_text(BASE + more)
    return {one.name: one for one in read_manifest(file)}


def test_values_are_written_as_tla_has_them_and_names_are_operators(tmp_path: Path) -> None:
    found = checks(tmp_path, "")["MCPlain"].configuration

    assert found.values == {
        "MessageCount": "1",
        "Clients": '{"c1"}',
        "TwoKeys": "{}",
        "Observing": "TRUE",
    }
    assert found.variants == {"KeyOf": "KeysAA"}
    assert found.steps == "Next"


def test_an_entry_begins_with_its_base_and_what_it_says_stands_instead(tmp_path: Path) -> None:
    other = 'base = "MCPlain"\nsteps = "Wider"\nconstants = { TwoKeys = [2], KeyOf = "KeysAB" }\n'
    found = checks(tmp_path, f'[check.MCOther]\nquestion = "?"\n{other}')["MCOther"].configuration

    assert (found.values["TwoKeys"], found.values["MessageCount"]) == ("{2}", "1")
    assert found.variants == {"KeyOf": "KeysAB"}
    assert (found.properties, found.steps) == (("RCV_1", "RCV_7"), "Wider")


def test_what_has_to_come_out_is_all_that_is_checked(tmp_path: Path) -> None:
    more = "".join(
        f'[check.{name}]\nquestion = "?"\nbase = "MCPlain"\n{line}\n'
        for name, line in {"Bug": 'violates = "RCV_1"', "Reach": 'reaches = "NeverLost"'}.items()
    )
    found = checks(tmp_path, more)
    bug, reach = found["Bug"], found["Reach"]

    assert (bug.expected, bug.breaks) == (Expected.VIOLATES, "RCV_1")
    assert (bug.configuration.properties, bug.configuration.invariants) == (("RCV_1",), ())
    assert (reach.expected, reach.breaks) == (Expected.REACHES, "NeverLost")
    assert (reach.configuration.properties, reach.configuration.invariants) == ((), ("NeverLost",))
    assert bug.configuration.view and not reach.configuration.view


def test_the_name_of_a_group_stands_for_its_properties(tmp_path: Path) -> None:
    more = '[groups]\nlocks = ["RCV_6", "RCV_8"]\n[check.MCOther]\nquestion = "?"\nbase = "Small"\n'
    found = checks(tmp_path, more + 'properties = ["locks", "RCV_1"]\n')["MCOther"].configuration

    assert found.properties == ("RCV_6", "RCV_8", "RCV_1")


def test_a_mechanism_has_a_file_of_its_own_beside_it(tmp_path: Path) -> None:
    own = tmp_path / "Own.toml"
    own.write_text('[check.MCOwn]\nquestion = "?"\nbase = "MCPlain"\n')
    assert checks(tmp_path, "")["MCOwn"].configuration == checks(tmp_path, "")["MCPlain"].configuration

    own.write_text('[base.Own]\nbase = "MCPlain"\nsteps = "OwnNext"\n[check.MCOwn]\nquestion = "?"\n')
    assert checks(tmp_path, "")["MCOwn"].configuration.steps == "OwnNext", "a base called as the file"

    own.write_text('[switches]\nRCV_7 = { all = "peek" }\n')
    with pytest.raises(InvalidManifest, match="MCPlain: RCV_7 can't fail in it: it is without peek"):
        checks(tmp_path, "")

    own.write_text('[check.MCPlain]\nquestion = "?"\n')
    with pytest.raises(InvalidManifest, match=r"Own\.toml: MCPlain is there twice"):
        checks(tmp_path, "")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('[check.A]\nquestion = "?"\nbase = "B"', "A: no base is called B"),
        ('[check.A]\nquestion = "?"\nbase = "A"', "A: no base is called A"),
        ('[check.Small]\nquestion = "?"', "Small is there twice"),
        ('[check.A]\nquestion = "?"', "A: no base is called Azure"),
        (
            '[check.A]\nquestion = "?"\nbase = "Small"\nproperties = ["PEEK_2"]',
            "PEEK_2 can't fail in it: it is without peek",
        ),
        ('[check.A]\nquestion = "?"\ncfg = "A.cfg"', "unknown field `cfg`"),
    ],
)
def test_what_makes_no_sense_is_told(tmp_path: Path, more: str, said: str) -> None:
    with pytest.raises(InvalidManifest, match=said):
        checks(tmp_path, more)


def test_each_property_that_a_wrong_variant_breaks_is_asked_by_itself() -> None:
    found = [one for one in read_manifest() if one.name.startswith("BugKeyForgotten")]

    assert [one.name.partition("-")[2] for one in found] == ["", "ROUTE_2", "KEY_2"]
    assert [one.configuration.properties for one in found] == [("ROUTE_1",), ("ROUTE_2",), ("KEY_2",)]
    assert [one.breaks for one in found] == ["ROUTE_1", "ROUTE_2", "KEY_2"]


def test_no_question_stands_twice() -> None:
    questions = [one.question for one in (*read_manifest(), *read_symbolic()) if "-" not in one.name]

    assert [one for one in questions if questions.count(one) > 1] == []
