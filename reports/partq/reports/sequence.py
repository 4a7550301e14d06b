"""A `Diagram` as inline SVG: lifelines downwards, operations as bars, messages as arrows.

Only layout and drawing; what is shown was decided in `diagram.py`. Colours are classes of the page's
style sheet, so that the picture follows light, dark and print. The names of the lanes are a drawing of their
own, of equal width, so that they can stay in sight while the other scrolls.

Rows are as high as their labels need. How much time passed between them is told by a true scale to the left
of them: lines lead from each moment on it to the rows of that moment.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Final

from markupsafe import Markup

from .diagram import ARRIVING, Activation, Band, Diagram, Lifeline, Link, Mark, TimeBreak
from .svg import el
from .text import columns, shortened
from .timescale import Moment, Tick, TimeScale, time_scale

_HEIGHT: Final = {"call": 38, "return": 15, "instant": 22, "gap": 30}
"""Row heights in pixels, by kind. The arrow is drawn at the top edge, the label below it."""

_WIDTHS: Final = {"env": (104, 190), "client": (116, 268), "partition": (92, 168)}
"""Kind of lane -> its least and greatest width in pixels."""

_HEAD: Final = 36
"""The height of the lanes' names."""

_TOP: Final = 10
_FOOT: Final = 18
_COLUMN: Final = 6.7
"""Pixels of one column of the fixed-width label font."""

_AXIS: Final = 16
"""From a lane's left edge to its lifeline."""

_TEXT: Final = 12
"""From the lifeline to the text beside it."""

_FULL: Final = 1100
"""Pixels that a drawing of few lanes is stretched towards, by `_STRETCH` at the most."""

_STRETCH: Final = 1.5

_BAR: Final = 9

_TICK: Final = 64
"""Pixels that two ticks of the time scale are apart at least."""

_DIGIT: Final = 6.2
"""Pixels of one column of the time scale's font."""

_FAN: Final = 30
"""Pixels from the time scale to its rows."""


def sequence_svg(diagram: Diagram, title: str) -> Markup:
    """The drawing, with ``title`` as its accessible name, below the names of its lanes."""
    return _Drawing(diagram).draw(title)


class _Drawing:
    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram
        *self.tops, end = accumulate((_HEIGHT[kind] for kind in diagram.rows), initial=_TOP)
        self.bottom = end + 10
        self.height = self.bottom + _FOOT
        scale = time_scale(diagram.times, max(2, self.bottom // _TICK))
        self.gutter = _Gutter(scale) if scale else None
        self.margin = margin = self.gutter.width if self.gutter else 0
        widths = _stretched(
            [self._lifeline_width(index, lifeline) for index, lifeline in enumerate(diagram.lifelines)],
            _FULL - margin,
        )
        self.left = [margin + sum(widths[:index]) for index in range(len(widths))]
        self.lifeline_width = widths
        self.width = max(margin + sum(widths), 240)

    def draw(self, title: str) -> Markup:
        d = self.diagram
        parts = [el("title", title)]
        parts += [self.gutter.draw(self.tops)] if self.gutter else []
        parts += [self._band(band) for band in d.bands]
        parts += [self._lifeline(index, lifeline) for index, lifeline in enumerate(d.lifelines)]
        parts += [self._gap(time_break) for time_break in d.time_breaks]
        parts += [self._halo(a.lifeline, self._y(a.start) + 5, 29) for a in d.activations if a.witness]
        parts += [self._arrow(link) for link in d.links]
        parts += [self._bar(activation) for activation in d.activations]
        parts += [self._words(activation) for activation in d.activations]
        parts += [self._link_label(link) for link in d.links]
        parts += [self._mark(mark) for mark in d.marks]
        return self._names() + self._picture("sequence", self.height, parts)

    def _names(self) -> Markup:
        """The lanes' names."""
        lifelines = self.diagram.lifelines
        parts = [el("title", "Lanes: " + ", ".join(lifeline.title for lifeline in lifelines))]
        parts += [self.gutter.name()] if self.gutter else []
        parts += [self._lifeline_head(index, lifeline) for index, lifeline in enumerate(lifelines)]
        return self._picture("sequence names", _HEAD, parts)

    def _picture(self, classes: str, height: int, parts: list[Markup]) -> Markup:
        box = f"0 0 {self.width} {height}"
        return el("svg", *parts, class_=classes, role="img", width=self.width, height=height, viewBox=box)

    # --- places ---------------------------------------------------------------------------------

    def _lifeline_width(self, index: int, lifeline: Lifeline) -> int:
        least, most = _WIDTHS[lifeline.kind]
        d = self.diagram
        texts = [lifeline.title, *(_pointed(mark) for mark in d.marks if mark.lifeline == index)]
        texts += [
            text
            for activation in d.activations
            if activation.lifeline == index
            for text in (_pointed(activation), activation.note)
        ]
        texts += [link.label for link in d.links if self._partition_end(link) == index]
        wanted = int(max(columns(text) for text in texts) * _COLUMN) + _AXIS + _TEXT + 14
        return max(least, min(most, wanted))

    def _partition_end(self, link: Link) -> int:
        return link.source if link.kind in ARRIVING else link.target

    def _axis(self, lifeline: int) -> int:
        return self.left[lifeline] + _AXIS

    def _room(self, lifeline: int) -> int:
        """Columns of text beside a lane's lifeline."""
        return int((self.lifeline_width[lifeline] - _AXIS - _TEXT - 4) / _COLUMN)

    def _y(self, row: int | None) -> int:
        return self.bottom if row is None else self.tops[row]

    # --- parts ----------------------------------------------------------------------------------

    def _lifeline(self, index: int, lifeline: Lifeline) -> Markup:
        x = self._axis(index)
        return el("line", x1=x, x2=x, y1=0, y2=self.bottom, class_=f"life {lifeline.kind}")

    def _lifeline_head(self, index: int, lifeline: Lifeline) -> Markup:
        left, width = self.left[index] + 4, self.lifeline_width[index] - 10
        box = el("rect", x=left, y=4, width=width, height=28, rx=6, class_="head")
        room = int((width - 16) / _COLUMN)
        title, shown = el("title", lifeline.title), shortened(lifeline.title, room)
        words = el("text", shown, title, x=left + 10, y=22.5, class_="name")
        return el("g", box, words, class_=f"lane {lifeline.kind}")

    def _bar(self, activation: Activation) -> Markup:
        x, top, bottom = self._axis(activation.lifeline), self._y(activation.start), self._y(activation.end)
        classes = f"bar {activation.outcome}" + (" open" if activation.end is None else "")
        height = max(4, bottom - top)
        bar = el("rect", x=x - _BAR / 2, y=top, width=_BAR, height=height, rx=2.5, class_=classes)
        return el("g", el("title", activation.tooltip), bar)

    def _words(self, activation: Activation) -> Markup:
        x, y = self._axis(activation.lifeline) + _TEXT, self._y(activation.start)
        room = self._room(activation.lifeline)
        label = _pointed(activation)
        classes = "what witness" if activation.witness else "what"
        return el(
            "g",
            el("title", activation.tooltip),
            el("text", shortened(label, room), x=x, y=y + 17, class_=classes),
            el("text", shortened(activation.note, room), x=x, y=y + 29, class_=f"how {activation.outcome}"),
        )

    def _halo(self, lifeline: int, top: int, height: int) -> Markup:
        left = self._axis(lifeline) + _BAR - 2
        width = self.left[lifeline] + self.lifeline_width[lifeline] - 4 - left
        return el("rect", x=left, y=top, width=width, height=height, rx=5, class_="halo")

    def _arrow(self, link: Link) -> Markup:
        y = self._y(link.row)
        start, end = self._axis(link.source), self._axis(link.target)
        way = 1 if end > start else -1
        start, end = start + way * 5, end - way * 5
        line = el("line", x1=start, x2=end - way * 6, y1=y, y2=y)
        head = el("polygon", points=f"{end},{y} {end - way * 8},{y - 4} {end - way * 8},{y + 4}")
        classes = f"link {link.kind} {link.outcome}" + (" witness" if link.witness else "")
        return el("g", line, head, class_=classes)

    def _link_label(self, link: Link) -> Markup:
        lifeline = self._partition_end(link)
        x, y = self._axis(lifeline) + 9, self._y(link.row) + 4
        text = shortened(link.label, self._room(lifeline))
        return el("text", text, el("title", link.label), x=x, y=y, class_=f"tag {link.kind}")

    def _band(self, band: Band) -> Markup:
        top, bottom = self._y(band.start), self._y(band.end)
        if band.lifeline is None:
            left, width = self.margin + 2, self.width - self.margin - 4
        else:
            left, width = self.left[band.lifeline] + 4, self.lifeline_width[band.lifeline] - 10
        box = el("rect", x=left, y=top, width=width, height=max(8, bottom - top), rx=4, class_="band")
        words = el("text", band.label, x=left + width - 6, y=top + 13, class_="bandname")
        return el("g", el("title", band.label), box, words)

    def _mark(self, mark: Mark) -> Markup:
        x, y = self._axis(mark.lifeline), self._y(mark.row) + 6
        words = _pointed(mark)
        diamond = el("polygon", points=f"{x},{y - 5} {x + 5},{y} {x},{y + 5} {x - 5},{y}", class_="mark")
        shown, classes = shortened(words, self._room(mark.lifeline)), "event" + " witness" * mark.witness
        text = el("text", shown, el("title", words), x=x + _TEXT, y=y + 4, class_=classes)
        halo = [self._halo(mark.lifeline, y - 8, 16)] if mark.witness else []
        return el("g", *halo, diamond, text)

    def _gap(self, time_break: TimeBreak) -> Markup:
        y = self._y(time_break.row) + 10
        left, width = self.margin + _AXIS + _TEXT, columns(time_break.label) * _COLUMN + 20
        line = el("line", x1=self.margin + 6, x2=self.width - 6, y1=y, y2=y, class_="gap")
        paper = el("rect", x=left, y=y - 9, width=width, height=18, rx=9, class_="gapname")
        words = el("text", time_break.label, x=left + width / 2, y=y + 4, class_="gaptext")
        return el("g", line, paper, words)


class _Gutter:
    """The time scale, left of all lanes: ticks, and from each moment a line to its rows."""

    def __init__(self, scale: TimeScale) -> None:
        self.scale = scale
        self.axis = int(_DIGIT * max((columns(tick.label) for tick in scale.ticks), default=0)) + 12
        self.rows = self.axis + _FAN
        self.width = self.rows + int(_DIGIT * max(columns(moment.label) for moment in scale.moments)) + 16

    def name(self) -> Markup:
        return el("text", "time", x=self.axis, y=22.5, class_="clock")

    def draw(self, tops: list[int]) -> Markup:
        first, last = tops[self.scale.moments[0].first], tops[self.scale.moments[-1].last]
        line = el("line", x1=self.axis, x2=self.axis, y1=first, y2=last, class_="ruler")
        share = (last - first) / (self.scale.end - self.scale.start)

        def height(time: int) -> float:
            return first + (time - self.scale.start) * share

        ticks = [self._tick(tick, height(tick.time)) for tick in self.scale.ticks]
        moments = [self._moment(moment, height(moment.time), tops) for moment in self.scale.moments]
        return el("g", line, *ticks, *moments, class_="time")

    def _tick(self, tick: Tick, y: float) -> Markup:
        stroke = el("line", x1=self.axis - 5, x2=self.axis, y1=y, y2=y, class_="ruler")
        return el("g", stroke, el("text", tick.label, x=self.axis - 8, y=y + 3.5, class_="tick"))

    def _moment(self, moment: Moment, y: float, tops: list[int]) -> Markup:
        first, last = tops[moment.first], tops[moment.last]
        fan = el("line", x1=self.axis, x2=self.rows, y1=y, y2=first, class_="fan")
        rows = el("line", x1=self.rows, x2=self.rows, y1=first - 2, y2=last + 4, class_="moment")
        return el("g", fan, rows, el("text", moment.label, x=self.rows + 6, y=first + 4, class_="when"))


def _pointed(part: Activation | Mark) -> str:
    """Its label, with the sign of a witness before it."""
    return f"▶ {part.label}" if part.witness else part.label


def _stretched(widths: list[int], room: int) -> list[int]:
    """Wider lanes where few leave room for it, in pixels."""
    factor = min(_STRETCH, max(1.0, room / max(1, sum(widths))))
    return [int(width * factor) for width in widths]
