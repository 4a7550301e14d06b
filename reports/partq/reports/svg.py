"""SVG elements as safe markup. Every attribute and every text goes through escaping here."""

from __future__ import annotations

from markupsafe import Markup, escape

from .text import visible


def el(name: str, *children: str, **attributes: object) -> Markup:
    """An element. Children that are not markup are escaped. ``class_`` is ``class``, ``_`` in names is ``-``.

    Attributes that are None are left out. ``name`` and the attributes' names are ours, never data.
    """
    parts = [
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _value(value))
        for key, value in attributes.items()
        if value is not None
    ]
    inside = Markup("").join(_safe(child) for child in children)
    return Markup("<{}{}>{}</{}>").format(Markup(name), Markup("").join(parts), inside, Markup(name))


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.1f}".rstrip("0").rstrip(".")
    return visible(str(value))


def _safe(child: str) -> Markup:
    return child if isinstance(child, Markup) else escape(visible(child, keep="\n"))
