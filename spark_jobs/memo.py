"""Remember the last answer of a pure function: what is looked at again and again rarely changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


class MemoizeLast(Generic[Asked, Answer]):
    """Calls ``function`` again only when the arguments are not equal to those of the last call.

    The same arguments get the same object, so whoever takes it on can see that nothing is new.
    """

    def __init__(self, function: Callable[Asked, Answer]) -> None:
        self._function = function
        self._last: tuple[object, Answer] | None = None

    def __call__(self, *args: Asked.args, **kwargs: Asked.kwargs) -> Answer:
        asked = args, kwargs
        if self._last is None or self._last[0] != asked:
            self._last = asked, self._function(*args, **kwargs)
        return self._last[1]
