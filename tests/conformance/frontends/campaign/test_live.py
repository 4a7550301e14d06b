"""Campaigns of live brokers: few traces in a chunk, what brokers share honoured, what was found kept."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from partq.conformance.frontends.campaign import jvm, run
from partq.conformance.frontends.campaign.errors import CampaignError
from partq.conformance.frontends.campaign.local_folder import manifests, stored_traces
from partq.conformance.frontends.campaign.plan import Lane, Plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

Do = Callable[..., str]

LIVE = """
    from pathlib import Path
    from canned_broker import Refusing
    from partq.conformance.adapters import Shares, Unreachable

    HERE = Path({here!r})

    class Everything(Refusing):
        pass

    class Faults(Refusing):
        shares = Shares.FAULTS

    class Nothing(Refusing):
        shares = Shares.NOTHING

    class Mortal(Refusing):
        def open(self, entity):
            with (HERE / "opened").open("a") as opened:
                opened.write("x")
            if (HERE / "opened").stat().st_size > 6 and not (HERE / "up").exists():
                raise Unreachable("the server is gone")

        def restore(self):
            (HERE / "restored").touch()
    """


@pytest.fixture
def module(here: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a user's module with live brokers, which the workers know."""
    name = f"live_{re.sub(r'[^a-z0-9]', '_', str(tmp_path).lower())}"
    file = tmp_path / f"{name}.py"
    file.write_text(dedent(LIVE.format(here=str(tmp_path))))
    monkeypatch.syspath_prepend(str(tmp_path))
    here.sparkContext.addPyFile(str(file))
    return name


def plan(broker: str) -> Plan:
    return Plan((Lane(broker, "azure-premium", 8, chunk=2),), seed=7, length=1)


@pytest.mark.parametrize(("broker", "tasks"), [("Everything", 1), ("Faults", 1), ("Nothing", None)])
def test_what_brokers_share_is_honoured_across_tasks(
    do: Do, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broker: str, tasks: int | None
) -> None:
    asked, run_wave = [], run.run_wave

    def noted(*arguments: Any) -> None:
        asked.append(arguments[-1])
        run_wave(*arguments)

    monkeypatch.setattr(run, "run_wave", noted)
    do(plan(f"{module}:{broker}"), tmp_path / "out")
    assert asked == [tasks]
    assert stored_traces(tmp_path / "out") == 8


@pytest.mark.parametrize("broker", ["Everything", "Faults"])
def test_nor_is_a_task_run_twice_at_once(
    do: Do, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broker: str
) -> None:
    monkeypatch.setattr(jvm, "speculates", lambda session: True)
    with pytest.raises(CampaignError, match=r"spark\.speculation .* set it to false"):
        do(plan(f"{module}:{broker}"), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    do(plan(f"{module}:Nothing"), tmp_path / "out")


def test_what_was_done_before_a_broker_was_lost_is_kept(do: Do, module: str, tmp_path: Path) -> None:
    mortal, out = plan(f"{module}:Mortal"), tmp_path / "out"
    told = r"lost after 4 of 8 traces, which are stored: .* 4 times: the server is gone; .*--resume"
    with pytest.raises(CampaignError, match=told):
        do(mortal, out)
    assert [one.units for one in manifests(out)] == [range(2)]
    assert (tmp_path / "restored").exists(), "what its faults left down is brought up again"
    (tmp_path / "restored").unlink()
    (tmp_path / "up").touch()
    do(mortal, out, resume=True)
    assert not (tmp_path / "restored").exists()
    assert [one.units for one in manifests(out)] == [range(2), range(2, 4)]
    assert stored_traces(out) == 8


def test_a_broker_that_was_lost_at_once_leaves_no_folder(do: Do, module: str, tmp_path: Path) -> None:
    (tmp_path / "opened").write_text("xxxxx")
    with pytest.raises(CampaignError, match="a chunk failed 4 times: the server is gone"):
        do(plan(f"{module}:Mortal"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_manifest_of_a_live_broker_that_was_lost_is_missed(do: Do, module: str, tmp_path: Path) -> None:
    nothing, out = plan(f"{module}:Nothing"), tmp_path / "out"
    do(nothing, out, wave=4)
    (out / "manifests" / "wave=0.json").unlink()
    with pytest.raises(CampaignError, match="manifests were lost"):
        do(nothing, out, resume=True)
