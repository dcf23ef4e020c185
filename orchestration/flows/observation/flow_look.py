"""What one look at a flow found, and what follows: health, lag, what a failover would lose."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from replication.model import FlowState, TopicPartition
from replication.supervision.health import FlowObservation, Health, flow_health, has_driver
from replication.supervision.lag import FlowLag, flow_lag, unknown_lag
from replication.supervision.partition_states import paused
from replication.supervision.recovery_point import RecoveryPoint, anchored, recovery_point, unplaced
from replication.supervision.settings_check import in_force

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.adapters.followed_file import FileInForce
    from replication.settings.flow_settings import Flow
    from replication.state import Anchor, Drill, GroupPositions, TaskReport, Verification


@dataclass(frozen=True, slots=True)
class FlowLook:
    """What one look at a flow found.

    ``groups`` are the stored offsets of the selected groups at the source. ``drill`` is the last
    good one, ``verification`` the last one.
    """

    flow: Flow
    seen: FlowObservation
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    tasks: tuple[TaskReport, ...] = ()
    groups: tuple[GroupPositions, ...] = ()
    drill: Drill | None = None
    verification: Verification | None = None

    @property
    def health(self) -> Health:
        return flow_health(self.seen)

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """The anchors with the states of partitions as operators see them."""
        is_paused = self.health.state == FlowState.PAUSED
        return paused(self.seen.anchors) if is_paused else self.seen.anchors

    @property
    def up_s(self) -> float:
        """Seconds since the last driver started, alive or not; 0 without one.

        What a dead driver should have done by now counts as not done.
        """
        status = self.seen.status
        return max(0, self.seen.now_ms - status.started_ms) / 1000 if status else 0.0

    @property
    def alive_s(self) -> float:
        """Seconds that the present driver has been up; 0 without one."""
        return self.up_s if has_driver(self.seen) else 0.0

    @property
    def due_s(self) -> float:
        """Seconds since background tasks are due: the driver is up and the flow should run."""
        return min(self.up_s, max(0, self.seen.now_ms - self.seen.desired_ms) / 1000)

    @property
    def silence(self) -> str | None:
        """Why lag is not known: the clusters that did not answer. None: both answered."""
        silent = (self.seen.target_silence, self.seen.source_silence)
        return "; ".join(each for each in silent if each is not None) or None

    def follows(self, reading: FileInForce) -> tuple[bool, str]:
        """Return whether the flow's driver follows the file as it was just read, and the reason."""
        status = self.seen.status if has_driver(self.seen) else None
        last = (reading.problem, reading.fingerprint, reading.read_ms)
        return in_force(*last, status, self.seen.now_ms)

    def lag(
        self,
        caught_up_ms: Mapping[TopicPartition, int] | None = None,
        known_ms: Mapping[TopicPartition, int] | None = None,
    ) -> FlowLag:
        if self.seen.target_silence is not None:
            return unknown_lag(caught_up_ms or {}, known_ms or {}, self.seen.now_ms)
        return flow_lag(self.seen.anchors, self.ends, self.seen.now_ms, caught_up_ms, known_ms)

    def recovery_point(self, lag: FlowLag) -> RecoveryPoint:
        """Return what a failover would lose; ``lag`` is this look's."""
        anchors = self.seen.anchors
        point = recovery_point(anchored(anchors), self.groups, lag, self.seen.now_ms)
        return replace(point, unplaced=unplaced(anchors, lag))
