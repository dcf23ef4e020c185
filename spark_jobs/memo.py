"""Keeps the last result of a pure function whose arguments rarely change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class MemoizeLast(Generic[Arguments, Result]):
    """Calls ``function`` again only when the arguments are not equal to those of the last call.

    Equal arguments get the same object, so the caller can see that nothing has changed.
    """

    def __init__(self, function: Callable[Arguments, Result]) -> None:
        self._function = function
        self._last: tuple[object, Result] | None = None

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        arguments = args, kwargs
        if self._last is None or self._last[0] != arguments:
            self._last = arguments, self._function(*args, **kwargs)
        return self._last[1]
