"""A report as one HTML file that needs nothing else: no network, no second file.

Everything that comes from data passes `visible` and Jinja's autoescape. A content security policy in the
page lets nothing run but the one script that ships with it.
"""

from __future__ import annotations

import base64
from functools import cache
from hashlib import sha256
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from partq.conformance.verdict import plural

from .material import Material
from .signs import SIGNS
from .text import breakable, count, visible
from .view import SHOWN_FINDINGS, report_view


def render(material: Material) -> str:
    """The page. Equal material gives equal text."""
    style, script = static("report.css"), static("report.js")
    digest = base64.b64encode(sha256(script.encode()).digest()).decode()
    return filled(
        "report.html.j2",
        report=report_view(material),
        shown=SHOWN_FINDINGS,
        style=Markup(style),
        script=Markup(script),
        script_hash=f"sha256-{digest}",
    )


def filled(template: str, **values: object) -> str:
    """The page that this template makes of these values, and of the signs that every page explains."""
    return environment().get_template(template).render(signs=tuple(SIGNS.values()), **values)


def static(name: str) -> str:
    """The text of a style or script that ships with the package."""
    return (resources.files("partq.reports") / "static" / name).read_text(encoding="utf-8")


@cache
def environment() -> Environment:
    """Where the templates are, set up so that nothing of the data can become markup."""
    environment = Environment(
        loader=PackageLoader("partq.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"breakable": breakable, "count": count, "plural": plural}
    return environment


def _finalize(value: object) -> object:
    """Every value a template puts out comes through here, before it is escaped."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
