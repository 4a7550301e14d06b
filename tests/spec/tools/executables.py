"""Scripts that play the programs which the tools call."""

from __future__ import annotations

from pathlib import Path


def write_executable(file: Path, script: str, interpreter: str = "/bin/sh") -> None:
    """Make the file a program that runs this script. Its folder is made too, where it is missing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!{interpreter}\n{script}\n")
    file.chmod(0o755)
