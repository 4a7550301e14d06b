"""`partq run`, `search` and `replay` say the same of an adapter: of the one in examples/, of one that refuses
an operation as the documentation advises, and of one that is wrong."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from partq.conformance.frontends.cli.app import main
from partq.conformance.workload.program import Program, Step, dumps
from partq.model.messages import Message
from partq.model.profiles import SECOND, Entity

EXAMPLES = Path(__file__).parents[3] / "examples"

OTHERS = dedent(
    """
    from partq.conformance.adapters import Rejected
    from toy_broker import Toy, ToyClient


    class RefusingClient(ToyClient):
        def abandon(self, locks, *, txn=None):
            raise Rejected("unsupported")


    class Refusing(Toy):
        def connect(self, proc):
            return RefusingClient(self)


    class ForgetfulClient(ToyClient):
        def send(self, message, *, txn=None, timeout=60.0):
            pass


    class Forgetful(Toy):
        def connect(self, proc):
            return ForgetfulClient(self)
    """
)

PROGRAM = Program(
    "azure-premium",
    (
        Step("c1", "send", {"messages": (Message("m1", partition_key="k"),)}),
        Step("c1", "send", {"messages": (Message("m2", partition_key="k"),)}),
        Step("c1", "receive", {"max": 1}),
        Step("c1", "abandon", {"pick": [0]}),
        Step("c1", "receive", {"max": 2}),
        Step("c1", "complete", {"pick": [0]}),
    ),
    entity=Entity(lock_duration=SECOND),
    sequential=True,
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "others.py").write_text(OTHERS, encoding="utf-8")
    (tmp_path / "program.json").write_text(dumps(PROGRAM), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broker", "code"), [("toy_broker:Toy", 0), ("others:Refusing", 0), ("others:Forgetful", 1)]
)
def test_run_search_and_replay_agree(broker: str, code: int) -> None:
    assert main(["run", broker, "--case", "one-by-one-in-order"]) == code
    assert (
        main(["search", broker, "--profile", "azure-premium", "--examples", "5", "--seconds", "20"]) == code
    )
    assert main(["replay", "program.json", "--broker", broker]) == code
