"""Text for people: numbers, and strings of unknown origin made harmless to the eye.

Escaping for HTML is the renderer's work (autoescape, `svg.el`); here is what escaping leaves untouched:
control characters and marks that turn the direction of writing around.
"""

from __future__ import annotations

import re
from typing import Final

from markupsafe import Markup
from rich.cells import cell_len, set_cell_size

_PICTURES: Final = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "␡"}
_NO_TEXT: Final = dict.fromkeys((*range(0x80, 0xA0), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF), "�")
_DIRECTIONS: Final = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_BREAKS: Final = (0x2028, 0x2029, 0xFEFF)
_NAMED: Final = {code: f"⟨U+{code:04X}⟩" for code in (*_DIRECTIONS, *_BREAKS)}
_VISIBLE: Final = _PICTURES | _NO_TEXT | _NAMED


def visible(text: str, keep: str = "") -> str:
    """The text with control and direction characters shown as symbols; those in ``keep`` stay."""
    if text.isprintable():
        return text
    return text.translate({code: to for code, to in _VISIBLE.items() if chr(code) not in keep})


_SEAM: Final = re.compile(r"(?<=[-/:._?&=@])(?=[^-/:._?&=@])|(?<=[a-z])(?=[A-Z])")
"""Where a name may be broken: after a separator, and before the next word of a CamelCase name."""


def breakable(name: str) -> Markup:
    """A name, made harmless, that a narrow page breaks between its words."""
    return Markup("<wbr>").join(map(visible, _SEAM.split(name)))


def columns(text: str) -> int:
    """How many columns of a fixed-width font the text takes, made harmless."""
    return cell_len(visible(text))


def shortened(text: str, room: int) -> str:
    """The text, made harmless, cut with an ellipsis so that it takes at most ``room`` columns."""
    text = visible(text)
    return text if cell_len(text) <= room else set_cell_size(text, room - 1).rstrip() + "…"


def count(number: float) -> str:
    """A whole number with separators."""
    return f"{number:,.0f}"


def compact(number: int) -> str:
    """A whole number in at most four characters or so: ``980``, ``12k``, ``3.4M``."""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            short = number / size
            return f"{short:.1f}{unit}" if short < 9.95 else f"{short:.0f}{unit}"
    return str(number)
