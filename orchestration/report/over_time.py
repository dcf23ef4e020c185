"""A flow over hours and days: what was stored of it, in equal intervals of time. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from orchestration.report.flow_history import FlowSample, OverTime
from replication.model import FlowState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_INTERVALS = 96  # a quarter of an hour each in a day
SAMPLE_MS = 300_000  # the history has a sample at least so often, while Dagster runs
_HOLDS_MS = 2 * SAMPLE_MS + 60_000
_WELL = {FlowState.RUNNING, FlowState.PAUSED, FlowState.STOPPED}
_NOT_KNOWN = "not known"


class Stored(NamedTuple):
    """One observation of a flow; ``lags``: seconds by topic, of those that were furthest behind."""

    sample: FlowSample
    lags: Mapping[str, float | None]


def is_well(state: str) -> bool:
    """Say whether a stored state is one that somebody wants."""
    return state in _WELL


def over_time(stored: Sequence[Stored], span: str, since_ms: int, until_ms: int) -> OverTime:
    """Return what ``stored``, the oldest first, says of the time in between.

    Of an interval: the worst state, the highest lag and latency, the mean rates. Where nothing was
    stored, the state of before for some minutes.
    """
    count = max(1, min(MOST_INTERVALS, (until_ms - since_ms) // SAMPLE_MS))
    length = (until_ms - since_ms) / count
    rows: list[list[Stored]] = [[] for _ in range(count)]
    for each in stored:
        if since_ms <= each.sample.at_ms < until_ms:
            rows[int((each.sample.at_ms - since_ms) / length)].append(each)
    before = next((each for each in reversed(stored) if each.sample.at_ms < since_ms), None)
    samples: list[FlowSample] = []
    for n, row in enumerate(rows):
        samples.append(_summed(row, before, since_ms + int(length * n)))
        before = row[-1] if row else before
    topics = dict.fromkeys(topic for each in stored for topic in each.lags)
    lags = {topic: [_lag(row, topic) for row in rows] for topic in topics}
    return OverTime(span, samples, lags if any(rows) else {})


def _summed(row: Sequence[Stored], before: Stored | None, at_ms: int) -> FlowSample:
    found = [each.sample for each in row]
    if not found:
        holds = before is not None and at_ms - before.sample.at_ms < _HOLDS_MS
        state = before.sample.state if before is not None and holds else _NOT_KNOWN
        return FlowSample(at_ms, state, is_well(state) if holds else None, None, None, None, None)
    worst = next((each for each in found if not each.healthy), found[-1])
    return FlowSample(
        at_ms,
        worst.state,
        worst.healthy,
        max((e.lag_s for e in found if e.lag_s is not None), default=None),
        _mean([e.records_s for e in found]),
        _mean([e.mb_s for e in found]),
        max((e.latency_ms for e in found if e.latency_ms is not None), default=None),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return sum(known) / len(known) if known else None


def _lag(row: Sequence[Stored], topic: str) -> float | None:
    return max((lag for e in row if (lag := e.lags.get(topic)) is not None), default=None)
