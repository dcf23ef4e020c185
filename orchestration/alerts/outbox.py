"""Alerts on their way: each is posted to each channel once, and again later where that failed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from orchestration.alerts.alert import Alert
from orchestration.flows.observation.time_limit import in_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orchestration.alerts.channels import AlertChannel

LIMIT_S = 10.0  # for all channels: a sensor's tick must not be long
FIRST_MS, LONGEST_MS = 10_000, 300_000  # between two tries
KEEP_MS = 86_400_000  # an alert that no channel took for a day is dropped
MOST = 100  # alerts that wait for one channel; its oldest are dropped beyond


@dataclass(frozen=True, slots=True)
class Waiting:
    """One alert for one channel."""

    channel: str
    alert: Alert
    tries: int = 0
    due_ms: int = 0

    @classmethod
    def parse(cls, stored: dict[str, Any]) -> Self:
        """Return what ``asdict`` has stored as JSON; tuples are lists there."""
        alert = {**stored["alert"], **{k: tuple(stored["alert"][k]) for k in ("flows", "at_risk")}}
        return cls(stored["channel"], Alert(**alert), stored["tries"], stored["due_ms"])


def parse(stored: Any) -> tuple[Waiting, ...]:
    """Return what a cursor holds; nothing where it is not readable."""
    try:
        return tuple(Waiting.parse(each) for each in stored)
    except (TypeError, KeyError, AttributeError):
        return ()


def dump(waiting: Iterable[Waiting]) -> list[dict[str, Any]]:
    return [asdict(each) for each in waiting]


def deliver(
    waiting: Sequence[Waiting],
    alerts: Sequence[Alert],
    channels: Sequence[AlertChannel],
    now_ms: int,
) -> tuple[tuple[Waiting, ...], tuple[str, ...]]:
    """Post what is due; return what still waits, and why it does, a line for each channel.

    Each channel gets its alerts in their order; after one that fails the others wait too. What
    waited for an URL that was of no use goes to the one that is in its place now.
    """
    new = [Waiting(channel.name, alert) for alert in alerts for channel in channels]
    everything = [*waiting, *new]
    queues = [
        [each for each in everything if each.channel in {ch.name, ch.place}] for ch in channels
    ]
    due = [
        (ch, queue) for ch, queue in zip(channels, queues, strict=True) if _is_due(queue, now_ms)
    ]
    results = in_time(lambda each: _post(*each, now_ms), due, LIMIT_S)
    left = [w for queue in queues if not _is_due(queue, now_ms) for w in queue[-MOST:]]
    problems = []
    for (channel, queue), result in zip(due, results, strict=True):
        rest, problem = result or (_later(queue, now_ms), f"{channel.name} did not answer in time")
        left += rest[-MOST:]
        problems += [problem] if problem else []
    return tuple(left), tuple(problems)


def _is_due(queue: Sequence[Waiting], now_ms: int) -> bool:
    """Say whether the first may be posted; one put off for too long: the clock was set back."""
    return bool(queue) and not now_ms < queue[0].due_ms <= now_ms + LONGEST_MS


def _post(
    channel: AlertChannel, queue: Sequence[Waiting], now_ms: int
) -> tuple[list[Waiting], str]:
    for number, each in enumerate(queue):
        problem = channel.problem(each.alert)
        if problem is not None:
            return _later(queue[number:], now_ms), problem
    return [], ""


def _later(queue: Sequence[Waiting], now_ms: int) -> list[Waiting]:
    """Return the queue with the next try of its first alert put off, and without old alerts."""
    fresh = [each for each in queue if now_ms - each.alert.at_ms < KEEP_MS]
    if not fresh:
        return []
    pause_ms = min(FIRST_MS << min(fresh[0].tries, 10), LONGEST_MS)
    first = replace(fresh[0], tries=fresh[0].tries + 1, due_ms=now_ms + pause_ms)
    return [first, *fresh[1:]]
