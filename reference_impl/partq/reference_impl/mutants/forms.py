"""How a defect and its hook come together: it takes its place (unless another form is named), or comes before
it, after it, or around it. What the broker does itself, no defect says again.

A defect takes those of the hook's arguments that it needs, by their names, and after them, if it comes later,
what the hook answered, or its refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from inspect import isgeneratorfunction, signature
from typing import Any

from ..errors import Refused

Method = Callable[..., Any]

Frame = AbstractContextManager[Any]
"""What a hook happens in."""


class Answer:
    """What the hook returns."""

    value: Any = None


Form = Callable[[Method], AbstractContextManager[Answer]]
"""Of a defect that waits for the hook's answer alone: what is done around the hook."""


@contextmanager
def before(defect: Method) -> Iterator[Answer]:
    """The defect, and then the hook, unless the defect raises."""
    defect(None)
    yield Answer()


@contextmanager
def then(defect: Method) -> Iterator[Answer]:
    """The hook, and then the defect, unless the hook raises. The answer remains the hook's."""
    answer = Answer()
    yield answer
    defect(answer.value)


@contextmanager
def answering(defect: Method) -> Iterator[Answer]:
    """The hook, and then the defect, which says what is answered."""
    answer = Answer()
    yield answer
    answer.value = defect(answer.value)


@contextmanager
def refused(defect: Method) -> Iterator[Answer]:
    """The hook, and where it refuses, the defect, which is given the refusal. It remains refused."""
    try:
        yield Answer()
    except Refused as refusal:
        defect(refusal)
        raise


@contextmanager
def amid(defect: Method) -> Iterator[Answer]:
    """The hook within the context that the defect gives."""
    with defect(None):
        yield Answer()


def together(defect: Method, hook: Method, form: Form | None) -> Method:
    """The method in the place of the hook. Raises TypeError where the defect takes what the hook does not."""
    asked, taken = signature(hook).parameters, [*signature(defect).parameters]
    sees_answer = form in (then, answering, refused) and taken[-1] not in asked
    if sees_answer:
        taken.pop()
    if unknown := [name for name in taken if name not in asked]:
        raise TypeError(f"{defect.__name__} takes {unknown}, its hook {[*asked]}")
    usual = {name: parameter.default for name, parameter in asked.items()}

    def bound(args: tuple[Any, ...], named: dict[str, Any]) -> Method:
        given = {**usual, **dict(zip(asked, args, strict=False)), **named}
        needed = [given[name] for name in taken]
        return lambda answer: defect(*needed, answer) if sees_answer else defect(*needed)

    def method(*args: Any, **named: Any) -> Any:
        if form is None:
            return bound(args, named)(None)
        with form(bound(args, named)) as answer:
            answer.value = hook(*args, **named)
        return answer.value

    def steps(*args: Any, **named: Any) -> Any:
        assert form is not None
        with form(bound(args, named)) as answer:
            answer.value = yield from hook(*args, **named)
        return answer.value

    return wraps(hook)(steps if form is not None and isgeneratorfunction(hook) else method)
