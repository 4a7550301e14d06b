"""The modules of a question as one, without what it does not need."""

from pathlib import Path

from partq.spec.tools.pruning import pruned


def test_what_nothing_names_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "Low.tla").write_text(
        "---- MODULE Low ----\n(* x *)\nEXTENDS Integers\nVARIABLES a\nvars == <<a>>\nUnused == 1\n===="
    )
    (tmp_path / "Top.tla").write_text(
        "---- MODULE Top ----\nEXTENDS Low\nHelp(x) ==\n    x + 1\nNext == a' = Help(a) \\* Unused\n"
        "Fair == WF_vars(Next)\nOther == Unused\n====\n"
    )

    text = pruned(tmp_path / "Top.tla", "NEXT Fair")

    assert text.startswith("---- MODULE Top ----\nEXTENDS Integers\nVARIABLES a\nvars == <<a>>\n")
    assert "Help(x) ==\n    x + 1\nNext" in text and "Unused" not in text and "Other" not in text
    assert text.count("EXTENDS") == 1
