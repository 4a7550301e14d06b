"""Charts: they say what the model does, and open in the tools that people have."""

from __future__ import annotations

import networkx as nx
import pytest

from partq.model.charts import NoChart, chart, dot, graphml, subjects
from partq.model.statuses import STATUSES


def test_a_settled_message_is_gone_or_back() -> None:
    words = {(was, now): label for was, now, label in chart("settling").edges(data="label")}
    assert words == {
        ("not sent", "fresh"): "send",
        ("fresh", "locked"): "receive",
        ("back", "locked"): "receive",
        ("locked", "back"): "abandon\nexpire",
        ("locked", "gone"): "complete",
    }


def test_a_partition_is_paused_before_another_flow_has_it() -> None:
    found = chart("rebalancing")
    assert nx.has_path(found, "nobody's", "ready") and ("ready", "paused") in found.edges


@pytest.mark.parametrize("subject", subjects())
def test_every_state_is_reached_from_the_first_one(subject: str) -> None:
    found = chart(subject)
    first = "nobody's" if subject == "rebalancing" else "not sent"
    assert {first, *nx.descendants(found, first)} == {*found}


@pytest.mark.parametrize("subject", ["azure-standard", "azure-premium"])
def test_under_azure_a_message_has_every_status(subject: str) -> None:
    met = {state.partition(",")[0] for state in chart(subject)}
    assert {status.name for status in STATUSES} - {"reserved", "overdue", "parting", "fading"} <= met


def test_files_open_in_other_tools() -> None:
    found = chart("transactions")
    again = nx.parse_graphml(graphml(found))
    assert {*again.edges(data="label")} == {*found.edges(data="label")}
    assert dot(found).count("->") == found.number_of_edges()


def test_what_has_no_chart_names_those_that_have() -> None:
    with pytest.raises(NoChart, match="no chart of 'paying'; there are charts of deferral, "):
        chart("paying")
