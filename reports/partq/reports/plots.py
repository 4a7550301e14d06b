"""Plots as inline SVG: the histogram of messages over partitions. Numbers in, markup out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from .svg import el
from .text import compact, count

_PLOT: Final = 132
"""Pixels of the tallest bar."""

_TOP: Final = 22
_FLOOR: Final = _TOP + _PLOT
_AXIS: Final = 22
_MARGIN: Final = 4
_SLOT: Final = (30, 96)
"""The narrowest and the widest slot of a bar."""

_WIDE: Final = 560
"""The width that few bars are stretched to fill."""


class Bar(NamedTuple):
    """Messages of the partitions of one rank, with and without a key."""

    name: str
    keyed: int
    keyless: int

    @property
    def total(self) -> int:
        return self.keyed + self.keyless


def histogram_svg(bars: Sequence[Bar], title: str) -> Markup:
    """Stacked bars, one a rank; a dashed line at the mean. ``title`` is the accessible name."""
    slot = max(_SLOT[0], min(_SLOT[1], _WIDE // max(1, len(bars))))
    width = max(220, slot * len(bars)) + 2 * _MARGIN
    most = max((bar.total for bar in bars), default=0) or 1
    mean = sum(bar.total for bar in bars) / max(1, len(bars))
    parts = [el("title", title)]
    places = [_MARGIN + slot * n for n in range(len(bars))]
    parts += [_bar(bar, left, slot, most) for bar, left in zip(bars, places, strict=True)]
    parts.append(_mean(mean, most, width))
    parts += [_words(bar, left, slot, most) for bar, left in zip(bars, places, strict=True)]
    height = _FLOOR + _AXIS
    box = f"0 0 {width} {height}"
    return el("svg", *parts, class_="histogram", role="img", width=width, height=height, viewBox=box)


def _bar(bar: Bar, left: int, slot: int, most: int) -> Markup:
    keyed, keyless = (_PLOT * part / most for part in (bar.keyed, bar.keyless))
    x, wide = left + slot * 0.14, slot * 0.72
    tip = f"rank {bar.name}: {count(bar.keyed)} keyed, {count(bar.keyless)} keyless"
    shapes = [
        el("rect", x=x, y=_FLOOR - keyed, width=wide, height=keyed, class_="keyed"),
        el("rect", x=x, y=_FLOOR - keyed - keyless, width=wide, height=keyless, class_="keyless"),
    ]
    return el("g", el("title", tip), *shapes)


def _words(bar: Bar, left: int, slot: int, most: int) -> Markup:
    middle = left + slot / 2
    top = _FLOOR - _PLOT * bar.total / most
    amount = el("text", compact(bar.total), x=middle, y=top - 5, class_="amount")
    return el("g", amount, el("text", bar.name, x=middle, y=_FLOOR + 15, class_="axis"))


def _mean(mean: float, most: int, width: int) -> Markup:
    y = _FLOOR - _PLOT * mean / most
    return el(
        "g",
        el("line", x1=0, x2=width, y1=_FLOOR, y2=_FLOOR, class_="floor"),
        el("line", x1=0, x2=width, y1=y, y2=y, class_="mean"),
        el("title", f"mean {count(mean)}"),
    )
