"""Root modules for Apalache: constants, wrong variants and properties as it takes them."""

import pytest

from partq.spec.checking.manifest import Check, Kind, Symbolic, read_manifest, read_symbolic
from partq.spec.checking.properties import properties
from partq.spec.tools.configuration import Configuration, InvalidConfiguration
from partq.spec.tools.roots import of_steps, root

PLAIN = Configuration(values={}, variants={}, invariants=(), properties=())


def written(configuration: Configuration) -> list[str]:
    """The lines of a root."""
    return root(configuration).splitlines()


def test_a_constant_has_its_type_also_where_its_value_shows_none() -> None:
    lines = written(PLAIN._replace(values={"TwoKeys": "{}"}))

    assert lines[2:4] == ["\\* @type: Set(Int);", "OVERRIDE_TwoKeys == {}"]


@pytest.mark.parametrize(
    ("words", "asked"), [('{"peek", "kill"}', 'word = "peek" \\/ word = "kill"'), ("{}", "FALSE")]
)
def test_words_are_compared_so_that_switches_are_folded(words: str, asked: str) -> None:
    assert f"OVERRIDE_Offers(word) == {asked}" in written(PLAIN._replace(values={"Alphabet": words}))


def test_a_wrong_variant_takes_the_parameters_of_the_right_one() -> None:
    lines = written(
        PLAIN._replace(variants={"DutyWithout": "BugDutyAtOnce", "BindsActive": "BugBindsActive"})
    )

    assert "OVERRIDE_DutyWithout(p, c, s) == BugDutyAtOnce(p, c, s)" in lines
    assert "OVERRIDE_BindsActive == BugBindsActive" in lines


@pytest.mark.parametrize(
    ("property", "steps", "bare"),
    [
        ("SEQ_6", False, "(\\A m \\in Messages : Cardinality(ShownNumbers(m)) <= 1)"),
        ("RCV_7", True, "( Hands => answer'.ms \\cap history.consumed = {} )"),
    ],
)
def test_a_property_of_states_or_of_steps_loses_its_temporal_operators(
    property: str, steps: bool, bare: str
) -> None:
    lines = written(PLAIN._replace(properties=(property,)))

    at = lines.index(f"Bare_{property} ==")
    assert lines[at + 1].strip() == bare
    assert of_steps(property) is steps


def test_bullets_stay_in_their_columns() -> None:
    """TLA+ reads conjunctions by their columns, so none may move against the others."""
    lines = written(PLAIN._replace(properties=("ROUTE_6",)))
    formula = properties()["ROUTE-6"].formula.splitlines()

    at = lines.index("Bare_ROUTE_6 ==")
    assert [line.find("/\\") for line in lines[at + 1 : at + 3]] == [line.find("/\\") for line in formula[:2]]


def test_invariants_are_one_and_the_shape_begins() -> None:
    lines = written(PLAIN._replace(invariants=("Shape", "DealKnown", "Atomicity")))

    assert lines[2:4] == [
        "Ind == Shape /\\ DealKnown /\\ Atomicity",
        "AnyInd == AnyShape /\\ DealKnown /\\ Atomicity",
    ]


ASKED = [*read_manifest(), *(one for one in read_symbolic() if one.kind is not Kind.TYPES)]


@pytest.mark.parametrize("one", ASKED, ids=lambda one: one.name)
def test_every_configuration_has_a_root_unless_it_asks_what_happens_in_the_end(one: Check | Symbolic) -> None:
    configuration = one.configuration
    if configuration.fair:
        with pytest.raises(InvalidConfiguration, match="no property of all states or of all steps"):
            written(configuration)
        return
    lines = written(configuration)

    assert not any("[]" in line for line in lines)
    assert lines[-1] == "===="


@pytest.mark.parametrize(
    ("configuration", "said"),
    [
        (PLAIN._replace(variants={"MayLock": "BugNone"}), "no operator BugNone"),
        (PLAIN._replace(properties=("RCV_99",)), "no operator RCV_99"),
        (PLAIN._replace(properties=("Canonical",)), "Canonical is no property of all states"),
        (PLAIN._replace(values={"Speed": "3"}), "no constant Speed"),
    ],
)
def test_what_the_modules_do_not_have_is_named(configuration: Configuration, said: str) -> None:
    with pytest.raises(InvalidConfiguration, match=said):
        root(configuration)
