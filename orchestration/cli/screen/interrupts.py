"""What ends a command from outside: SIGTERM and SIGHUP end it as Ctrl-C does, with its clean-up.

By default Python ends at once: a flow that was stopped for a moment would stay so, and a switchover
that an ended SSH session has cut off would not be undone.
"""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

from orchestration.cli.screen.pipes import drop_unread

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_ENDS = (signal.SIGTERM, signal.SIGHUP)


def guard_signals() -> None:
    """Let the first SIGTERM or SIGHUP raise KeyboardInterrupt, and no later one do anything.

    One that is ignored already stays so: ``nohup``.
    """
    for number in _ENDS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupted)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C, SIGTERM and SIGHUP back until the block has ended: for a short last step."""
    held: list[int] = []

    def hold(number: int, _: FrameType | None) -> None:
        held.append(number)

    numbers = (signal.SIGINT, *_ENDS)
    before = {each: signal.getsignal(each) for each in numbers}
    for each in numbers:
        if before[each] is not signal.SIG_IGN:
            signal.signal(each, hold)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    if held:
        raise KeyboardInterrupt


def _interrupted(_number: int, _frame: FrameType | None) -> None:
    for number in _ENDS:
        signal.signal(number, _ignored)
    drop_unread()  # a terminal that is gone must not end the clean-up
    raise KeyboardInterrupt


def _ignored(_number: int, _frame: FrameType | None) -> None:
    """Do nothing. SIG_IGN would be inherited by what the clean-up starts."""
