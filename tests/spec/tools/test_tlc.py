"""TLC's answers, read from what it prints, and asked for where it is installed."""

from pathlib import Path

import pytest

from partq.spec.tools.tlc import DEADLOCK, LIVENESS, Answer, Step, check, read_answer
from partq.spec.tools.toolbox import ToolMissing, java, tlc_jar


def said(*messages: tuple[int, str]) -> str:
    """What TLC prints with ``-tool``: numbered messages."""
    return "\n".join(f"@!@!@STARTMSG {n}:0 @!@!@\n{text}\n@!@!@ENDMSG {n} @!@!@" for n, text in messages)


COUNTS = (2199, "1,009 states generated, 707 distinct states found, 0 states left on queue.")
DEPTH = (2194, "The depth of the complete state graph search is 3.")
COMPLETED = (2193, "Model checking completed. No error has been found.")
ENDED = (2186, "Finished in 421ms")


def test_a_search_to_the_end_holds_with_its_counts() -> None:
    answer = read_answer(said(COMPLETED, COUNTS, DEPTH, ENDED))

    assert answer == Answer(distinct=707, generated=1009, depth=3)
    assert answer.holds


def test_a_violated_invariant_comes_with_its_counterexample() -> None:
    states = [
        (2217, "1: <Initial predicate>\n/\\ x = 0"),
        (2217, "2: <Inc line 5, col 11 to line 5, col 63 of module A>\n/\\ x = 1"),
    ]
    answer = read_answer(said((2110, "Invariant Low is violated."), *states, COUNTS, ENDED))

    assert (answer.violated, answer.holds) == ("Low", False)
    assert answer.trace == (Step("Initial", answer.trace[0].state), Step("Inc", answer.trace[1].state))
    assert [step.state for step in answer.trace] == [{"x": 0}, {"x": 1}]


@pytest.mark.parametrize(
    ("message", "violated"),
    [
        ((2112, "Action property Step is violated."), "Step"),
        ((2107, "Invariant Low is violated by the initial state:\n/\\ x = 9"), "Low"),
        ((2114, "Deadlock reached."), DEADLOCK),
        ((2116, "Temporal properties were violated."), LIVENESS),
    ],
)
def test_whatever_can_be_violated_is_named(message: tuple[int, str], violated: str) -> None:
    assert read_answer(said(message, ENDED)).violated == violated


def test_a_module_that_does_not_parse_is_an_error_with_the_place() -> None:
    place = "Semantic errors:\n\n*** Errors: 1\n\nline 5, col 15 of module A\n\nUnknown operator: `Bnd'.\n\n"
    answer = read_answer(place + said((3002, "Parsing or semantic analysis failed."), ENDED))

    assert not answer.holds
    assert "line 5, col 15 of module A Unknown operator: `Bnd'." in answer.error


@pytest.mark.parametrize("output", ["", "Killed", said(COUNTS, DEPTH, ENDED), said(COMPLETED)[:40]])
def test_an_answer_without_its_end_is_no_success(output: str) -> None:
    answer = read_answer(output)

    assert answer.error
    assert not answer.holds


def needs_tlc() -> None:
    """Skip where there is no TLC."""
    try:
        java(), tlc_jar()
    except ToolMissing as error:
        pytest.skip(str(error))


COUNTER = """---- MODULE Counter ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Inc(n) == x < 3 /\\ x' = x + n
Next == \\E n \\in 1..2 : Inc(n)
Low == x < LIMIT
====
"""


def asked(folder: Path, limit: int) -> Answer:
    """TLC asked whether a counter that ends at 4 stays below a limit."""
    (folder / "Counter.tla").write_text(COUNTER.replace("LIMIT", str(limit)))
    (folder / "Counter.cfg").write_text("INIT Init\nNEXT Next\nINVARIANT Low\nCHECK_DEADLOCK FALSE\n")
    return check(folder / "Counter.tla", folder / "Counter.cfg")


def test_tlc_finds_what_holds_and_what_does_not(tmp_path: Path) -> None:
    needs_tlc()

    assert asked(tmp_path, 5) == Answer(distinct=5, generated=7, depth=3)
    assert [step.state["x"] for step in asked(tmp_path, 2).trace] == [0, 2]


def test_what_does_not_happen_in_the_end_is_found(tmp_path: Path) -> None:
    needs_tlc()
    lively = "Fair == Init /\\ [][Next]_x /\\ WF_x(Next)\nHigh == TRUE ~> x > LIMIT\n===="
    text = COUNTER.replace("Low == x < LIMIT\n====", lively)
    configuration = tmp_path / "Counter.cfg"
    configuration.write_text("SPECIFICATION Fair\nPROPERTIES\n  High\nCHECK_DEADLOCK FALSE\n")

    for limit, violated in ((2, ""), (3, LIVENESS)):
        (tmp_path / "Counter.tla").write_text(text.replace("LIMIT", str(limit)))
        answer = check(tmp_path / "Counter.tla", configuration)
        assert (answer.violated, answer.error) == (violated, "")


def test_tlc_that_takes_too_long_is_an_error(tmp_path: Path) -> None:
    needs_tlc()
    (tmp_path / "Counter.tla").write_text(COUNTER.replace("x < 3 /\\", "").replace("LIMIT", "10 * x + 5"))
    (tmp_path / "Counter.cfg").write_text("INIT Init\nNEXT Next\nCHECK_DEADLOCK FALSE\n")

    answer = check(tmp_path / "Counter.tla", tmp_path / "Counter.cfg", timeout=1)

    assert answer.error == "TLC did not end within 1 s"


def test_a_jar_that_is_not_there_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLA2TOOLS_JAR", str(tmp_path / "none.jar"))
    with pytest.raises(ToolMissing, match=r"none\.jar is no file"):
        tlc_jar()
    monkeypatch.delenv("TLA2TOOLS_JAR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(ToolMissing, match="partq spec setup"):
        tlc_jar()
