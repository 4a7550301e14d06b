"""The error that is the user's to mend, in whichever part of the project it shows."""

from __future__ import annotations


class UserError(Exception):
    """What a user gave cannot be used, or what it takes is not there. The text says so in one line: commands
    end with it and exit code 2."""
