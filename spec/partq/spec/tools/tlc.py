"""TLC run on one configuration, and what it answers.

It speaks TLC's own protocol (``-tool``: numbered messages), which versions 1.7 and 1.8 have in common. Which
configurations there are is `checking.manifest`'s business, what the graph of one is good for
`comparison.graphs`'.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from partq.spec import MODULES
from partq.spec.tools.errors import SpecError

from .toolbox import java, ran, tlc_jar
from .values import Function, read_state

HEAP: Final = ("-Xmx2g", "-Xms300m", "-Xmn200m")
"""Room for what is young from the start: most questions end before any of it has to be collected."""

_MESSAGE: Final = re.compile(r"@!@!@STARTMSG (\d+):\d+ @!@!@\n(.*?)\n?@!@!@ENDMSG \1 @!@!@", re.S)
_COUNTS: Final = re.compile(r"([\d,]+) states generated, ([\d,]+) distinct states found")
_DEPTH: Final = re.compile(r"search is (\d+)")
_STEP: Final = re.compile(r"\d+: <(\w+)[^>]*>\n(.*)", re.S)
_WALKED: Final = re.compile(r"^STATE_\d+ == *\n(.*?)(?=\n\n|\Z)", re.S | re.M)

_ENDED: Final = "2186"
_COMPLETED: Final = "2193"
_STATISTICS: Final = "2199"
_DEEPEST: Final = "2194"
_STATE: Final = "2217"
_PRINTED: Final = "2000"
_VIOLATED: Final = {
    "2107": re.compile(r"Invariant (\w+) is violated by the initial state"),
    "2110": re.compile(r"Invariant (\w+) is violated"),
    "2112": re.compile(r"Action property (\w+) is violated"),
    "2108": re.compile(r"Property (\w+) is violated by the initial state"),
}
"""The messages that name a property, and where."""

LIVENESS: Final = "liveness"
_UNENDING: Final = "2116"
"""Of a property that something has to happen in the end TLC says that it is violated, and not its name."""

DEADLOCK: Final = "deadlock"
_DEADLOCKED: Final = "2114"

_UNTOLD: Final = frozenset(
    {"2262", "2401", "2187", "2188", "2220", "2219", "2185", "2189", "2190", "2200", "2209", "2268", "2269"}
    | {"2121", "2191", "2192", "2207", "2208", "2212", "2267"}
)
"""Messages that say nothing of an error."""


class Step(NamedTuple):
    """One state of a counterexample, and the action that led to it (``Initial`` for the first)."""

    action: str
    state: Function


class Answer(NamedTuple):
    """What TLC found. ``violated``: the property, `DEADLOCK`, `LIVENESS`, or empty if everything held.
    ``error``: why it could not tell, in one line. ``distinct``, ``generated``: states; ``depth``: of the
    search."""

    violated: str = ""
    error: str = ""
    distinct: int = 0
    generated: int = 0
    depth: int = 0
    trace: tuple[Step, ...] = ()
    printed: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the whole state space was searched, and nothing was violated."""
        return not self.violated and not self.error


def check(
    module: Path,
    configuration: Path,
    workers: int = 1,
    options: Sequence[str] = (),
    timeout: float | None = None,
    library: Path = MODULES,
    machine: Sequence[str] = (),
) -> Answer:
    """Model-check a module under a configuration. ``timeout``: seconds, after which it is an error (with what
    was printed by then). ``library``: the folder of the modules that it extends. ``machine``: options of
    Java.

    Raises `ToolMissing`.
    """
    words = ["-workers", str(workers), *options]
    try:
        return read_answer(_said(words, module, configuration, timeout, library, machine))
    except subprocess.TimeoutExpired as late:
        said = (late.stdout or b"").decode(errors="replace")
        return Answer(error=f"TLC did not end within {timeout:g} s", printed=_tuples(said))


class NoTrace(SpecError):
    """The tool came to no behaviour; the message says why."""


def walks(
    module: Path,
    configuration: Path,
    number: int,
    length: int,
    seed: int,
    timeout: float | None = None,
    library: Path = MODULES,
) -> list[list[Function]]:
    """So many random behaviours of so many steps, as their states, each checked by all that the configuration
    asks about. Equal seeds give equal ones, by one version of TLC.

    Raises `NoTrace`, also where one breaks what is checked, and `ToolMissing`.
    """
    with tempfile.TemporaryDirectory(prefix="partq-tlc-") as folder:
        words = ["-workers", "1", "-simulate", f"file={folder}/walk,num={number}"]
        words += ["-depth", str(length + 1), "-seed", str(seed)]
        try:
            said = _said(words, module, configuration, timeout, library)
        except subprocess.TimeoutExpired:
            raise NoTrace(f"TLC did not end within {timeout:g} s") from None
        told = [text for code, text in _messages(said) if code not in _UNTOLD | {_ENDED}]
        files = [Path(folder) / f"walk_0_{n}" for n in range(number)]
        if told or not all(file.is_file() for file in files):
            raise NoTrace(_reason(said, told, ended=False))
        return [read_walk(file.read_text(encoding="utf-8")) for file in files]


def read_walk(text: str) -> list[Function]:
    """The states of a behaviour, as TLC writes it to a file. Raises `values.InvalidValue`."""
    return [read_state(found[1]) for found in _WALKED.finditer(text)]


def _said(
    words: Sequence[str],
    module: Path,
    configuration: Path,
    timeout: float | None,
    library: Path,
    machine: Sequence[str] = (),
) -> str:
    """What TLC prints, run with these options. Raises `subprocess.TimeoutExpired`."""
    with tempfile.TemporaryDirectory(prefix="partq-tlc-") as folder:
        command = _command(library, Path(folder), machine)
        asked = [*words, "-config", str(configuration), str(module)]
        done = ran([*command, *asked], cwd=module.parent, timeout=timeout)
    return done.stdout + done.stderr


def _command(library: Path, folder: Path, machine: Sequence[str]) -> list[str]:
    """TLC, with a folder of its own for its files: it unpacks the standard modules into that of Java's
    temporary files and deletes them at its end, so that two runs in one folder disturb each other."""
    options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", *HEAP, *machine]
    options += [f"-Djava.io.tmpdir={folder}", f"-DTLA-Library={library}", "-cp", str(tlc_jar())]
    return [java(), *options, "tlc2.TLC", "-tool", "-metadir", str(folder)]


def read_answer(output: str) -> Answer:
    """What TLC's output says."""
    answer, completed, ended, told = Answer(printed=_tuples(output)), False, False, []
    for code, text in _messages(output):
        if code == _STATISTICS and (counts := _COUNTS.search(text)):
            generated, distinct = (int(count.replace(",", "")) for count in counts.groups())
            answer = answer._replace(distinct=distinct, generated=generated)
        elif code == _DEEPEST and (depth := _DEPTH.search(text)):
            answer = answer._replace(depth=int(depth[1]))
        elif code == _STATE and (step := _STEP.match(text)):
            answer = answer._replace(trace=(*answer.trace, Step(step[1], read_state(step[2]))))
        elif code in _VIOLATED and (found := _VIOLATED[code].search(text)):
            answer = answer._replace(violated=found[1])
        elif code == _UNENDING:
            answer = answer._replace(violated=LIVENESS)
        elif code == _DEADLOCKED:
            answer = answer._replace(violated=DEADLOCK)
        elif code == _PRINTED:
            answer = answer._replace(printed=(*answer.printed, text))
        elif code not in _UNTOLD | {_ENDED, _COMPLETED}:
            told.append(text)
        completed, ended = completed or code == _COMPLETED, ended or code == _ENDED
    if answer.violated or (completed and not told):
        return answer
    return answer._replace(error=_reason(output, told, ended))


def _tuples(output: str) -> tuple[str, ...]:
    """What `PrintT` printed that is a tuple: lines outside TLC's own messages."""
    return tuple(line for line in output.splitlines() if line.startswith("<<"))


def _messages(output: str) -> Iterator[tuple[str, str]]:
    for found in _MESSAGE.finditer(output):
        yield found[1], found[2]


def _reason(output: str, told: Sequence[str], ended: bool) -> str:
    """Why there is no answer, in one line: where the parser was stuck, else what TLC said."""
    wrong = re.search(r"(?:Parse Error|\*\*\* Errors).*?(?=@!@!@|\Z)", output, re.S)
    said = wrong[0] if wrong else " ".join(told)
    if not said and not ended:
        said = "TLC ended early: " + _MESSAGE.sub("", output)[-300:]
    return " ".join(said.split()) or "TLC said nothing of an end"
