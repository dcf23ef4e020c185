"""Batches the requests of one iteration of the event loop into a single one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

Query = TypeVar("Query")
Answer = TypeVar("Answer")


class BatchedRequests(Generic[Query, Answer]):
    """Collects queries and sends them in one request: thousands of partitions start together.

    ``ask_all`` returns the answers by query.
    """

    def __init__(
        self, ask_all: Callable[[Sequence[Query]], Awaitable[Mapping[Query, Answer]]]
    ) -> None:
        self._ask_all = ask_all
        self._waiting: list[tuple[Query, asyncio.Future[Answer]]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(self, query: Query) -> Answer:
        """Return the answer, or raise the error of the request."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._begin)
        answer: asyncio.Future[Answer] = loop.create_future()
        self._waiting.append((query, answer))
        return await answer

    def _begin(self) -> None:
        waiting, self._waiting = self._waiting, []
        task = asyncio.ensure_future(self._answer(waiting))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, waiting: Sequence[tuple[Query, asyncio.Future[Answer]]]) -> None:
        try:
            answers = await self._ask_all(list(dict.fromkeys(each for each, _ in waiting)))
        except Exception as problem:  # noqa: BLE001 -- it goes to all callers
            for _, future in waiting:
                if not future.done():
                    future.set_exception(problem)
            return
        for query, future in waiting:
            if not future.done():
                future.set_result(answers[query])
