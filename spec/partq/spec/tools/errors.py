"""The error that is the user's to mend, whichever question of the specification meets it."""

from __future__ import annotations


class SpecError(Exception):
    """The specification cannot be asked: a tool is missing or ended otherwise, or a file is wrong. The text
    says so in one line: commands end with it and exit code 2."""
