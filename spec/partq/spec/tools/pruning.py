"""The modules of a question as one, without the definitions that it does not need.

TLC's start is most of a small question's time, and reading is most of that. What is left out is named by
nothing that is kept, so it changes no answer; TLC refuses a module that lacks something. (Where states are
merged by symmetry the order of variables may change how many are: there the modules are read as they are.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

_COMMENT: Final = re.compile(r"\(\*(?:.|\n)*?\*\)|\\\*.*")
_EXTENDS: Final = re.compile(r"^EXTENDS (\w+(?:, *\w+)*)\n", re.M)
_DEFINED: Final = re.compile(r"(\w+)(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?\s*==")
_WORD: Final = re.compile(r"(?:\b(?:[WS]F)?_)?(\w+)")
"""Also within ``]_vars`` and ``WF_vars(…)``."""


def pruned(root: Path, asked: str) -> str:
    """The module with all that it extends, as far as ``asked``, its configuration, needs it."""
    texts = _extended(root)
    standard = sorted({name for name in texts if not (root.parent / f"{name}.tla").is_file()})
    blocks = [block for text in texts.values() for block in re.split(r"\n(?=\S)", text)]
    parts = [(_name(block), block, {*_WORD.findall(block)}) for block in blocks if block.strip("=- \n")]
    todo = {*_WORD.findall(asked)}.union(*(words for name, _, words in parts if not name))
    kept: set[str] = set()
    while todo:
        kept |= todo
        todo = {word for name, _, words in parts if name in todo for word in words} - kept
    lines = [block for name, block, _ in parts if not name or name in kept]
    head = f"---- MODULE {root.stem} ----\nEXTENDS {', '.join(standard)}"
    return "\n".join([head, *lines, "====", ""])


def _name(block: str) -> str:
    """What a block of lines defines; empty for constants, variables and assumptions."""
    found = _DEFINED.match(block)
    return found[1] if found else ""


@cache
def _extended(root: Path) -> dict[str, str]:
    """The texts of the modules, without comments, those first that others extend; of standard ones none."""
    return dict(_texts(root))


def _texts(file: Path) -> Iterator[tuple[str, str]]:
    if not file.is_file():
        yield file.stem, ""
        return
    lines = _COMMENT.sub("", file.read_text(encoding="utf-8")).splitlines()[1:]
    text = "\n".join(line.rstrip() for line in lines if line.strip()) + "\n"
    found = _EXTENDS.search(text)
    for name in re.split(r", *", found[1]) if found else ():
        yield from _texts(file.with_name(f"{name}.tla"))
    yield file.stem, _EXTENDS.sub("", text, count=1)
