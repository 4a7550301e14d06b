"""Campaigns in HDFS: a whole cluster of it runs in a process beside these tests (`tools/ensure-hdfs`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from partq.conformance.frontends.campaign.errors import CampaignError
from partq.conformance.frontends.campaign.files import Folder
from partq.conformance.frontends.campaign.plan import Lane, Plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.server, pytest.mark.xdist_group("spark")]

Do = Callable[..., str]
PLAN = Plan((Lane("mutant:long-bodies-cut", "azure-premium", 20, chunk=5),), seed=7, length=24)


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URI of an empty file system."""
    if "PARTQ_HDFS_JAR" not in os.environ:
        pytest.skip("PARTQ_HDFS_JAR is not set: tools/ensure-hdfs pytest …")
    jars = Path(pyspark.__path__[0]) / "jars"
    port = launch_gateway(
        classpath=f"{os.environ['PARTQ_HDFS_JAR']}:{jars}/*",
        jarpath=str(next(jars.glob("py4j-*.jar"))),
        javaopts=["-Xmx512m"],
        die_on_exit=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    settings = gateway.jvm.org.apache.hadoop.conf.Configuration()
    settings.set("hdfs.minidfs.basedir", str(tmp_path_factory.mktemp("hdfs")))
    builder = getattr(gateway.jvm, "org.apache.hadoop.hdfs.MiniDFSCluster$Builder")
    cluster = builder(settings).numDataNodes(1).build()
    yield cluster.getURI().toString()
    cluster.shutdown()
    gateway.shutdown()


def test_a_campaign_in_hdfs_comes_to_the_same_and_goes_on_there(
    do: Do, session: SparkSession, hdfs: str, tmp_path: Path
) -> None:
    digest, out = do(PLAN, tmp_path / "out"), f"{hdfs}/campaigns/one"
    assert do(PLAN, out, wave=10) == digest
    folder = Folder(session, out)
    assert folder.names() == [
        "campaign.json",
        "manifests",
        *(n for n in folder.names() if n.startswith("table=")),
    ]
    assert folder.names("manifests") == ["wave=0.json", "wave=2.json"]
    folder.delete("manifests/wave=2.json")
    assert do(PLAN, out, wave=5, resume=True) == digest
    assert folder.names("manifests") == ["wave=0.json", "wave=2.json", "wave=3.json"]


def test_what_was_lost_there_is_missed(do: Do, session: SparkSession, hdfs: str) -> None:
    out = f"{hdfs}/campaigns/two"
    do(PLAN, out)
    Folder(session, out).delete("table=violations/wave=0")
    with pytest.raises(CampaignError, match="table=violations/wave=0 has 0 rows, not "):
        do(PLAN, out, resume=True)


def test_a_manifest_is_made_once_there(session: SparkSession, hdfs: str) -> None:
    folder = Folder(session, f"{hdfs}/campaigns/three")
    folder.create("manifests/x", "one")
    with pytest.raises(CampaignError, match="another session"):
        folder.create("manifests/x", "two")
    folder.write("manifests/x", "three")
    assert folder.read("manifests/x") == "three"
    assert folder.names("manifests") == ["x"]
