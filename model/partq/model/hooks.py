"""Hooks: where other mechanisms add to what one mechanism decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])


class Hook(list[F]):
    """The functions that mechanisms add to one decision. It is the decorator that marks them, too."""

    def __call__(self, function: F) -> F:
        """Add a function."""
        self.append(function)
        return function
