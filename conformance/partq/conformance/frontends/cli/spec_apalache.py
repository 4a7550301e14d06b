"""``partq spec check --tool apalache``: the questions for Apalache, and what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from partq.conformance.frontends.cli.common import Format, note, output
from partq.conformance.frontends.cli.spec_answers import ok_or, report, today, told
from partq.conformance.frontends.cli.table import titled

if TYPE_CHECKING:
    from partq.spec.checking.figures import LastRun
    from partq.spec.checking.manifest import Symbolic
    from partq.spec.checking.symbolic import Answered


def check_by_apalache(chosen: Sequence[Symbolic], jobs: int | None, record: bool, format: Format) -> None:
    """Put these questions to Apalache, compare the answers with the manifest, and end with the exit code."""
    from partq.spec.checking.figures import record_runs
    from partq.spec.checking.symbolic import jobs_that_fit, run
    from partq.spec.tools.toolbox import apalache

    def begun(question: Symbolic, words: Sequence[str]) -> None:
        note(f"{question.name}: {' '.join(words)}")

    def ended(one: Answered) -> str:
        return f"{one.question.name}: {one.wrong or 'as expected'}, {_seconds(one):.0f} s"

    apalache()
    done = [*told(run(chosen, jobs or jobs_that_fit(), begun), len(chosen), ended)]
    done.sort(key=lambda one: chosen.index(one.question))
    if record:
        record_runs({one.question.name: _recorded(one) for one in done if not one.wrong})
    tell_of_earlier(chosen)
    report("questions", done, format, plain=_plain, show=_show)


def tell_of_earlier(questions: Sequence[Symbolic]) -> None:
    """Say which records of Apalache in the manifest were made on an earlier text of the specification."""
    from partq.spec.checking.records import earlier

    if found := earlier(questions):
        names = ", ".join(one.name for one in found)
        note(
            f"{len(found)} of {len(questions)} records of Apalache are of an earlier text of the "
            f"specification, and prove nothing of this one: {names}"
        )


def _seconds(one: Answered) -> float:
    return sum(call.seconds for call in one.made)


def _recorded(one: Answered) -> LastRun:
    from partq.spec.checking.figures import Call, LastRun
    from partq.spec.checking.records import text_of

    calls = [Call(" ".join(call.words), call.answer.outcome, round(call.seconds)) for call in one.made]
    return LastRun(today(), one.made[-1].answer.version, calls, text_of(one.question))


def _plain(one: Answered) -> dict[str, Any]:
    from msgspec import to_builtins

    question = one.question
    return {
        "name": question.name,
        "question": question.question,
        "kind": str(question.kind),
        "expected": str(question.expected),
        **to_builtins(_recorded(one)),
        "wrong": one.wrong,
    }


def _show(done: Sequence[Answered]) -> None:
    headings = ("name", "question", "expected", "calls")
    table = titled("the specification, asked of Apalache", headings, right=["s"], overflow="fold")
    table.add_column("")
    for one in done:
        outcomes = ", ".join(str(call.answer.outcome) for call in one.made)
        asked, seconds = one.question, f"{_seconds(one):.0f}"
        table.add_row(asked.name, asked.question, str(asked.expected), outcomes, seconds, ok_or(one.wrong))
    output().print(table)
