"""What several looks at flows found, as series over time. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from replication.supervision.lag import FlowLag

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from orchestration.flows.status_view import FlowView
    from replication.state import Drill, Loss


class FlowSample(NamedTuple):
    """A flow at one moment; None: not known."""

    at_ms: int
    state: str
    healthy: bool | None
    lag_s: float | None
    records_s: float | None
    mb_s: float | None
    latency_ms: int | None  # the highest of its partitions


@dataclass(frozen=True, slots=True)
class OverTime:
    """Hours or days, in equal intervals: one entry for each in all series, the oldest first."""

    span: str  # in words
    samples: Sequence[FlowSample] = ()
    lags: Mapping[str, Sequence[float | None]] = field(default_factory=dict)


@dataclass(slots=True)
class FlowSeries:
    """One flow. ``lags``: seconds by topic, one for each sample."""

    name: str
    sla_s: float
    drills: Sequence[Drill] | None = ()  # None: they could not be read
    past: OverTime | None = None  # before the first sample; None: it was not asked for
    samples: list[FlowSample] = field(default_factory=list)
    lags: dict[str, list[float | None]] = field(default_factory=dict)
    last: FlowView | None = None

    @property
    def ends(self) -> tuple[str, str]:
        """Source and target."""
        source, _, target = self.name.partition("->")
        return source, target

    @property
    def is_known(self) -> bool:
        """Whether the target answered when it was last looked at."""
        look = self.last.look if self.last else None
        return look is not None and look.seen.target_silence is None

    @property
    def silence(self) -> str:
        """Why it is not known; empty: it is."""
        if self.last is None:
            return "it was not looked at"
        silence = self.last.look.seen.target_silence if self.last.look else None
        return "" if self.is_known else silence or self.last.health.reason

    @property
    def losses(self) -> Sequence[Loss]:
        """What was not copied, the newest first."""
        look = self.last.look if self.last else None
        return tuple(reversed(look.seen.losses)) if look else ()

    def add(self, view: FlowView, at_ms: int) -> None:
        """Take what one look found."""
        before = len(self.samples)
        self.samples.append(_sample(view, at_ms))
        self.last = view
        for topic in view.topics:
            row = self.lags.setdefault(topic.topic, [])
            row.extend([None] * (before - len(row)))  # it came later
            row.append(None if topic.lag.unknown_since else topic.lag.seconds)
        for each in self.lags.values():
            each.extend([None] * (len(self.samples) - len(each)))  # it was not seen now


def _sample(view: FlowView, at_ms: int) -> FlowSample:
    lag = FlowLag(tuple(part for each in view.topics for part in each.lag.partitions))
    rates = [each.rate for each in view.topics if each.rate]
    delays = [anchor.latency_ms[0] for each in view.topics for anchor in each.anchors]
    return FlowSample(
        at_ms,
        str(view.health.state),
        view.health.healthy,
        None if lag.unknown_since or not lag.partitions else lag.seconds,
        sum(each.records_s for each in rates) if rates else None,
        sum(each.bytes_s for each in rates) / 1e6 if rates else None,
        max(delays, default=None),
    )


def worst_first(lags: Mapping[str, Sequence[float | None]], most: int) -> list[str]:
    """Return the topics with the highest lag, at most so many."""
    return sorted(lags, key=lambda topic: (-_highest(lags[topic]), topic))[:most]


def _highest(row: Iterable[float | None]) -> float:
    return max((each for each in row if each is not None), default=0.0)
