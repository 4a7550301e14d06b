"""``partq graph``: what becomes of a message, or of a partition's owner, as a chart drawn from the model."""

from __future__ import annotations

import subprocess
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from partq.conformance.frontends.cli.common import fail, failing
from partq.conformance.frontends.cli.lazy import lazily
from partq.conformance.frontends.cli.streams import say

with lazily():
    from partq.model import charts


class Drawing(StrEnum):
    """How a chart is written."""

    DOT = "dot"
    GRAPHML = "graphml"
    SVG = "svg"


def graph(
    subject: Annotated[str, typer.Argument(help="A mechanism, such as transactions, or a profile.")],
    format: Annotated[Drawing, typer.Option(help="For Graphviz, graph tools, browsers.")] = Drawing.DOT,
    out: Annotated[Path | None, typer.Option(help="The file; the terminal without it.")] = None,
) -> None:
    """Draw a state chart from the model: under a profile, or by one mechanism, what leads a message from one
    state to the next; with rebalancing whose a partition is."""
    found = charts.chart(subject)
    text = charts.graphml(found) if format is Drawing.GRAPHML else charts.dot(found)
    if format is Drawing.SVG:
        text = _picture(text)
    if out is None:
        say(text.rstrip("\n"))
        return
    with failing(out):
        out.write_text(text, encoding="utf-8")
    say(f"{out}: {len(found)} states, {found.number_of_edges()} arrows")


def _picture(text: str) -> str:
    """The chart as SVG, by Graphviz."""
    try:
        ran = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        fail("--format svg needs Graphviz: install it, so that dot is on PATH, or say --format dot")
    except subprocess.CalledProcessError as error:
        fail(f"dot ended with {error.returncode}: {error.stderr.strip()}")
    return ran.stdout
