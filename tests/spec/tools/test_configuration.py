"""Configurations as TLC reads them."""

from partq.spec.tools.configuration import Configuration, text


def test_constants_variants_and_what_is_checked_have_sections_of_their_own() -> None:
    written = text(
        Configuration(
            values={"Modulus": "8", "Clients": '{"c1", "c2"}'},
            variants={"KeyOf": "KeysAA"},
            invariants=("Shape", "Atomicity"),
            properties=("TXN_5",),
        )
    )

    assert written == (
        "INIT Init\nNEXT Next\nVIEW View\nCHECK_DEADLOCK FALSE\n"
        '\nCONSTANTS\n    Modulus = 8\n    Clients = {"c1", "c2"}\n    KeyOf <- KeysAA\n'
        "\nINVARIANT\n    Shape\n    Atomicity\n\nPROPERTIES\n    TXN_5\n"
    )


def test_what_happens_in_the_end_is_asked_of_a_specification_and_of_whole_states() -> None:
    assert text(Configuration({}, {}, steps="FairSpec")) == "SPECIFICATION FairSpec\nCHECK_DEADLOCK FALSE\n"


def test_an_interesting_state_is_looked_for_among_whole_states() -> None:
    assert "VIEW" not in text(Configuration({}, {}, invariants=("NeverLost",), view=False))
