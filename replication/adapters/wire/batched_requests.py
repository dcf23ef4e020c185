"""Questions that come in one turn of the event loop, answered by one request."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class BatchedRequests(Generic[Question, Answer]):
    """Collects questions and asks all of them at once: thousands of partitions start together.

    ``ask_all`` answers each of them.
    """

    def __init__(
        self, ask_all: Callable[[Sequence[Question]], Awaitable[Mapping[Question, Answer]]]
    ) -> None:
        self._ask_all = ask_all
        self._waiting: list[tuple[Question, asyncio.Future[Answer]]] = []
        self._asking: set[asyncio.Task[None]] = set()

    async def ask(self, question: Question) -> Answer:
        """Return the answer, or raise what asking raised."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._begin)
        answer: asyncio.Future[Answer] = loop.create_future()
        self._waiting.append((question, answer))
        return await answer

    def _begin(self) -> None:
        waiting, self._waiting = self._waiting, []
        task = asyncio.ensure_future(self._settle(waiting))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _settle(self, waiting: Sequence[tuple[Question, asyncio.Future[Answer]]]) -> None:
        try:
            answers = await self._ask_all(list(dict.fromkeys(each for each, _ in waiting)))
        except Exception as problem:  # noqa: BLE001 -- it goes to those who asked
            for _, future in waiting:
                if not future.done():
                    future.set_exception(problem)
            return
        for question, future in waiting:
            if not future.done():
                future.set_result(answers[question])
