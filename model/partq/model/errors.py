"""The errors that cross rooms: what the user can mend, and a question that is given up."""

from __future__ import annotations


class UserError(Exception):
    """The user's input cannot be used, or something that it needs is missing. The text is one line: commands
    end with it and exit code 2."""


class TooManyWays(Exception):
    """A step has more ways to happen than are tried, and none of those that were explains what is shown:
    whether one does is not known."""
