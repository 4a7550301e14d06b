"""The text of the specification on which a record of Apalache was made.

Its runs take too long to be repeated after each change. So a record has a digest of Apalache's input; if that
has changed since, the record is of an earlier text.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from partq.spec import MODULES
from partq.spec.tools.configuration import text

from .manifest import Kind, Symbolic

_NAMED: Final = re.compile(r"(?:^EXTENDS|\bINSTANCE) (\w+(?:, *\w+)*)", re.M)
_COMMENT: Final = re.compile(r"\(\*(?:.|\n)*?\*\)|\\\*(?! @type).*")


def earlier(questions: Sequence[Symbolic], modules: Path = MODULES) -> list[Symbolic]:
    """Those whose record was made on another text than what is in ``modules``."""
    return [one for one in questions if one.last_run and one.last_run.text != text_of(one, modules)]


def text_of(question: Symbolic, modules: Path = MODULES) -> str:
    """A digest of what Apalache is given for a question: the modules, without comments (but with the types
    that are in them), and the configuration. The first 16 digits of the SHA-256."""
    given = [_code(modules / f"{name}.tla") for name in sorted(_modules("MC", modules))]
    if question.kind is not Kind.TYPES:
        given.append(text(question.configuration))
    return hashlib.sha256(json.dumps(given).encode()).hexdigest()[:16]


def _modules(name: str, modules: Path) -> set[str]:
    """A module and all that it extends or instantiates, but for those of the standard."""
    file = modules / f"{name}.tla"
    if not file.is_file():
        return set()
    named = _NAMED.findall(_code(file))
    names = {one.strip() for line in named for one in line.split(",")}
    return {name}.union(*(_modules(one, modules) for one in names))


def _code(file: Path) -> str:
    lines = _COMMENT.sub("", file.read_text(encoding="utf-8")).splitlines()
    return "\n".join(line.rstrip() for line in lines if line.strip())
