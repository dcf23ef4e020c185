"""Carries a step out again while a cluster does not answer for a moment.

A wait of the step goes on with the limit that it has begun with.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from replication.errors import (
    ClusterRejected,
    ClusterUnavailable,
    UntrustedConnection,
    WrongCluster,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tenacity import RetryCallState

_TRIES = 5
_PAUSE = wait_exponential(1)  # 1, 2, 4, 8 s


def answered(step: Callable[[], str], say: Callable[[str], None]) -> str:
    """Return what a step did that may run twice; ``say`` gets why it is tried again.

    Raises ReplicationError: at once where time does not help, else after four more tries. So a
    moment without an answer does not end a procedure in which people wait for each step.
    """

    def log_retry(attempt: RetryCallState) -> None:
        if attempt.outcome is not None and attempt.next_action is not None:
            number, pause_s = attempt.attempt_number, attempt.next_action.sleep
            say(f"  {attempt.outcome.exception()}; retry {number} of {_TRIES - 1} in {pause_s:g} s")

    again = Retrying(
        retry=retry_if_exception(_may_pass),
        stop=stop_after_attempt(_TRIES),
        wait=_PAUSE,
        before_sleep=log_retry,
        reraise=True,
    )
    return again(step)


@dataclass(slots=True)
class WaitLimits:
    """The ends of a procedure's waits, each by its name: a step that is tried again has no new one.

    People and producers wait meanwhile, with writes denied.
    """

    _until: dict[str, float] = field(default_factory=dict)  # monotonic, in s

    def within(self, limit_s: float, name: str, wait: Callable[[float], str]) -> str:
        """Return what ``wait`` returns, which gets the seconds that are left.

        Raises ClusterRejected for a cluster that did not answer until the end.
        """
        until = self._until.setdefault(name, time.monotonic() + limit_s)
        try:
            return wait(max(0.0, until - time.monotonic()))
        except ClusterUnavailable as error:
            if time.monotonic() < until or not _may_pass(error):
                raise
            raise ClusterRejected(f"{name}: not within {limit_s:g} s: {error}") from error


def _may_pass(error: BaseException) -> bool:
    """Say whether the same step may succeed soon: not on another cluster, or without trust."""
    wrong = isinstance(error, (WrongCluster, UntrustedConnection))
    return isinstance(error, ClusterUnavailable) and not wrong
