"""The error that the user can mend, raised anywhere in the project."""

from __future__ import annotations


class UserError(Exception):
    """The user's input cannot be used, or something that it needs is missing. The text is one line: commands
    end with it and exit code 2."""
