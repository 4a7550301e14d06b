"""Campaigns in S3, where nothing is renamed: moto's server beside these tests, Spark's magic committer.

Hadoop's S3A is no part of PySpark: `tools/ensure-s3a`. This file runs by itself, on a session of its own.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from campaign_commands import ARGS, dies_at, digest, fuzz, killed, started
from standalone import Cluster

from partq.conformance.frontends.campaign import spark
from partq.conformance.frontends.campaign.errors import CampaignError
from partq.conformance.frontends.campaign.files import Folder
from partq.conformance.frontends.campaign.plan import Lane, Plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.server,
    pytest.mark.timeout(3600),
    pytest.mark.xdist_group("spark"),
    pytest.mark.skipif(
        "PARTQ_S3A_JARS" not in os.environ, reason="PARTQ_S3A_JARS is not set: tools/ensure-s3a pytest …"
    ),
]

Do = Callable[..., str]
PLAN = Plan((Lane("mutant:long-bodies-cut", "azure-premium", 20, chunk=5),), seed=7, length=24)
KEYS = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}


@pytest.fixture(scope="module")
def s3() -> Iterator[Any]:
    """A client of a server that has an empty bucket, ``campaigns``."""
    import boto3
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it tells of each request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    client = boto3.client("s3", endpoint_url=f"http://{host}:{port}", **KEYS)
    client.create_bucket(Bucket="campaigns")
    yield client
    server.stop()


@pytest.fixture(scope="module")
def conf(s3: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A user's ``SPARK_CONF_DIR``, as docs/scale.md has it, for that server."""
    folder = tmp_path_factory.mktemp("conf")
    (folder / "spark-defaults.conf").write_text(
        f"""
        spark.driver.extraClassPath {os.environ["PARTQ_S3A_JARS"]}
        spark.executor.extraClassPath {os.environ["PARTQ_S3A_JARS"]}
        spark.hadoop.fs.s3a.endpoint {s3.meta.endpoint_url}
        spark.hadoop.fs.s3a.endpoint.region {KEYS["region_name"]}
        spark.hadoop.fs.s3a.path.style.access true
        spark.hadoop.fs.s3a.access.key {KEYS["aws_access_key_id"]}
        spark.hadoop.fs.s3a.secret.key {KEYS["aws_secret_access_key"]}
        """
    )
    return str(folder)


@pytest.fixture(scope="module")
def session(conf: str) -> Iterator[SparkSession]:
    """A session that knows the server, instead of the one of the other tests."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SPARK_CONF_DIR", conf)
        with spark.session("local[2]") as opened:
            yield opened


def test_a_campaign_in_s3_comes_to_the_same_and_goes_on_there(
    do: Do, session: SparkSession, tmp_path: Path
) -> None:
    digest, out = do(PLAN, tmp_path / "out"), "s3a://campaigns/one"
    assert do(PLAN, out, wave=10) == digest
    folder = Folder(session, out)
    tables = [name for name in folder.names() if name.startswith("table=")]
    assert folder.names() == ["campaign.json", "manifests", *tables]
    assert folder.names("manifests") == ["wave=0.json", "wave=2.json"]
    for table in tables:
        success = json.loads(folder.read(f"{table}/wave=0/_SUCCESS") or "{}")
        assert success["committer"] == "magic"
    folder.delete("manifests/wave=2.json")
    assert do(PLAN, out, wave=5, resume=True) == digest
    assert folder.names("manifests") == ["wave=0.json", "wave=2.json", "wave=3.json"]
    folder.delete("table=violations/wave=0")
    with pytest.raises(CampaignError, match=r"table=violations/wave=0 has 0 rows"):
        do(PLAN, out, resume=True)


def test_a_manifest_is_made_once_there(session: SparkSession) -> None:
    folder = Folder(session, "s3a://campaigns/two")
    folder.create("manifests/x", "one")
    with pytest.raises(CampaignError, match=r"x exists: another session works on this campaign$"):
        folder.create("manifests/x", "two")
    assert folder.read("manifests/x") == "one"
    folder.write("manifests/x", "three")
    assert folder.read("manifests/x") == "three"
    assert folder.names("manifests") == ["x"]


HELD = """
import time
from pathlib import Path
from partq.conformance.adapters.reference import Reference
from partq.conformance.workload.generator import trace_seed

class Held(Reference):
    def stage(self, program, on_event):
        while program.seed == trace_seed(7, 519) and not Path(__file__).with_name("go").exists():
            time.sleep(0.05)
        return super().stage(program, on_event)
"""


def test_a_campaign_that_is_killed_amid_its_uploads_goes_on_to_the_same_end(
    s3: Any, conf: str, tmp_path: Path
) -> None:
    (tmp_path / "held.py").write_text(HELD)
    args = ("held:Held", *ARGS, "--master", "local[2]", "--out")
    running = started(tmp_path, *args, "s3a://campaigns/three", SPARK_CONF_DIR=conf)
    while len(s3.list_multipart_uploads(Bucket="campaigns").get("Uploads", ())) < 2:
        assert running.poll() is None, running.communicate()
        time.sleep(0.1)
    killed(running)
    (tmp_path / "go").touch()
    stored = s3.list_objects_v2(Bucket="campaigns", Prefix="three/")["Contents"]
    assert not [one for one in stored if one["Key"].endswith("_SUCCESS")]
    resumed = fuzz(tmp_path, *args, "s3a://campaigns/three", "--resume", SPARK_CONF_DIR=conf)
    assert digest(resumed) == digest(fuzz(tmp_path, *args, "whole"))
    assert "Uploads" not in s3.list_multipart_uploads(Bucket="campaigns"), "nothing is left to be paid for"


INSTANTS = (
    "before Store.complete 1",  # the rows of the first wave are committed
    "before Store._write 4",  # between two tables
    "before Folder.create 2",  # all tables are there, the manifest is not
    "before Folder.write 1",  # all waves are complete, campaign.json does not say so yet
)


def test_a_campaign_on_a_cluster_that_is_killed_five_times_comes_to_the_same_end(
    s3: Any, conf: str, cluster: Cluster, bare_python: str, tmp_path: Path
) -> None:
    env = {"SPARK_CONF_DIR": conf, "PYSPARK_PYTHON": bare_python}
    whole = fuzz(tmp_path, "reference", *ARGS, "--master", "local[2]", "--out", "whole")
    again = ("--wave", "500", "--master", cluster.master, "--out", "s3a://campaigns/four", "--resume")
    running = started(tmp_path, "reference", *ARGS, *again, **env)
    while not s3.list_multipart_uploads(Bucket="campaigns").get("Uploads"):
        assert running.poll() is None, running.communicate()
        time.sleep(0.1)
    killed(running)
    for instant in INSTANTS:
        dies_at(instant, tmp_path, "reference", *ARGS, *again, **env)
    assert digest(fuzz(tmp_path, "reference", *ARGS, *again, **env)) == digest(whole)
    assert "Uploads" not in s3.list_multipart_uploads(Bucket="campaigns"), "nothing is left to be paid for"
