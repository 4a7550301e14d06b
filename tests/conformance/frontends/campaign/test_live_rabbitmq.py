"""A campaign on a real server (PARTQ_RABBITMQ_URL), which is killed and started meanwhile where
PARTQ_RABBITMQ_CONTROL names the helper program."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from campaign_commands import fuzz

from partq.conformance.adapters.rabbitmq import RabbitMQ
from partq.conformance.frontends.campaign.local_folder import manifests

URL = os.environ.get("PARTQ_RABBITMQ_URL", "")

pytestmark = [
    pytest.mark.server,
    pytest.mark.xdist_group("rabbitmq"),
    pytest.mark.skipif(not URL, reason="PARTQ_RABBITMQ_URL is not set: 'tools/rabbitmq start' prints one"),
]


def test_a_campaign_is_done_in_waves_and_the_server_is_up_at_its_end(tmp_path: Path) -> None:
    few = ("--traces", "12", "--length", "6", "--wave", "8", "--seed", "3", "--format", "json")
    done = fuzz(tmp_path, URL, *few, "--out", "out", "--master", "local[2]")
    assert done.returncode in (0, 3), done.stderr
    assert json.loads(done.stdout)["campaign"]["traces"] == 12
    assert [one.traces for one in manifests(tmp_path / "out")] == [8, 4]
    with RabbitMQ(URL).connection() as connection:
        assert connection.is_open


def test_a_server_that_does_not_answer_is_met_at_once(tmp_path: Path) -> None:
    done = fuzz(tmp_path, "rabbitmq://guest:guest@localhost:1/", "--traces", "4", "--out", "out")
    assert done.returncode == 2
    assert "no RabbitMQ server answers at localhost:1" in done.stderr
    assert not (tmp_path / "out").exists()
