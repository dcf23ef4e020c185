"""Carries a step out again while a cluster does not answer for a moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from replication.errors import ClusterUnavailable, UntrustedConnection, WrongCluster

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
        if attempt.outcome is not None:
            say(f"  {attempt.outcome.exception()}; the step is tried again")

    again = Retrying(
        retry=retry_if_exception(_may_pass),
        stop=stop_after_attempt(_TRIES),
        wait=_PAUSE,
        before_sleep=log_retry,
        reraise=True,
    )
    return again(step)


def _may_pass(error: BaseException) -> bool:
    """Say whether the same step may succeed soon: not on another cluster, or without trust."""
    wrong = isinstance(error, (WrongCluster, UntrustedConnection))
    return isinstance(error, ClusterUnavailable) and not wrong
