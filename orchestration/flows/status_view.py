"""Collects the data of ``isthmus status``: health, rates and lag of all flows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from orchestration.flows.kafka_clients import KafkaClusters
from orchestration.flows.observation.beat_watch import BeatWatch
from orchestration.flows.observation.flow_reader import look_here
from orchestration.flows.observation.lag_watch import LagWatch
from orchestration.flows.observation.time_limit import in_time
from orchestration.flows.reachability import Answers
from replication.clock import now_ms
from replication.config.changes import is_same
from replication.model import TopicPartition
from replication.supervision.driver_supervision import applications
from replication.supervision.flow_figures import CounterSample, Rate, rate, sample
from replication.supervision.health import Health, has_driver
from replication.supervision.lag import PartitionLag
from replication.supervision.partition_states import worst
from replication.supervision.recovery_point import RecoveryPoint
from replication.supervision.settings_check import is_older

if TYPE_CHECKING:
    from orchestration.flows.observation.clients import ClusterClients
    from orchestration.flows.observation.flow_look import FlowLook
    from orchestration.services.launcher import Launcher
    from replication.adapters.followed_file import FileInForce, FollowedFile
    from replication.settings.config import Config
    from replication.state import Anchor, FlowStatus
    from replication.supervision.lag import FlowLag
    from replication.supervision.recovery_point import MissingRecords

LOOK_S = 15.0
SPAN_MS = 5_000  # rates are means over the last few seconds: anchors come once a second


@dataclass(frozen=True, slots=True)
class TopicView:
    """One source topic of a flow."""

    topic: str
    target: str
    anchors: tuple[Anchor, ...]
    counters: CounterSample
    rate: Rate | None
    lag: FlowLag
    point: RecoveryPoint = field(default_factory=RecoveryPoint)

    @property
    def worst(self) -> Anchor:
        return worst(self.anchors)


@dataclass(frozen=True, slots=True)
class FlowView:
    """One flow; ``look`` is None when its clusters did not answer in time."""

    name: str
    look: FlowLook | None
    health: Health
    topics: tuple[TopicView, ...] = ()
    point: RecoveryPoint = field(default_factory=RecoveryPoint)
    in_force: tuple[bool, str] = (True, "")  # whether the driver follows the file, and why not
    is_older: bool = False  # its settings are others than the file's

    @property
    def mode(self) -> str | None:
        """``stream`` or ``batch``. None: its clusters did not answer in time."""
        return self.look.flow.mode if self.look else None

    @property
    def records(self) -> int:
        return sum(each.counters.records for each in self.topics)


class StatusView:
    """Reads all flows of a configuration repeatedly; keeps counters, to compute rates."""

    def __init__(
        self,
        config: Config,
        launcher: Launcher,
        clusters: ClusterClients | None = None,
        file: FollowedFile | None = None,
    ) -> None:
        """``file``: is looked at each time, so that an edit of it is followed, and shown."""
        self._launcher = launcher
        self._given = clusters
        self._file = file
        self._reading: FileInForce | None = None
        self._use(config)
        self._lag, self._beats = LagWatch(), BeatWatch()
        self._history: dict[tuple[str, str], list[CounterSample]] = {}

    def _use(self, config: Config) -> None:
        self._config = config
        self._flows = [
            (config.flow(name), app) for app in applications(config) for name in app.flows
        ]
        self._answers = Answers(flow for flow, _ in self._flows if self._given is None)
        self._clusters = self._given or KafkaClusters(self._answers.require)

    def look(self) -> tuple[FlowView, ...]:
        """Read every flow now. Takes as long as the slowest cluster, at most LOOK_S.

        A cluster that has not answered yet is asked whether it does, at most 10 s, before that.
        """
        if self._file is not None:
            self._reading = self._file.look()
            if not is_same(self._config, self._reading.config):
                self._use(self._reading.config)
        self._answers.ask()
        looks = in_time(
            lambda each: self._beats.aged(lambda: look_here(*each, self._clusters, self._launcher)),
            self._flows,
            LOOK_S,
        )
        views = [
            self._view(flow.name, look) for (flow, _), look in zip(self._flows, looks, strict=True)
        ]
        return tuple(sorted(views, key=lambda each: each.name))

    def _view(self, name: str, look: FlowLook | None) -> FlowView:
        if look is None:
            reason = f"its clusters did not answer within {LOOK_S:g} s"
            unknown = Health("UNKNOWN", healthy=False, reason=reason)
            return FlowView(name, None, unknown, in_force=self._in_force(None))
        lag = self._lag.lag(look)
        point = look.recovery_point(lag)
        anchors = look.anchors
        topics = dict.fromkeys(each.topic for each in anchors)
        return FlowView(
            name,
            look,
            look.health,
            tuple(
                self._topic(name, tuple(a for a in anchors if a.topic == topic), lag, point)
                for topic in topics
            ),
            point,
            self._in_force(look),
            self._is_older(look),
        )

    def _in_force(self, look: FlowLook | None) -> tuple[bool, str]:
        if self._reading is None:
            return True, ""
        if look is None:
            return not self._reading.problem, self._reading.problem
        return look.follows(self._reading)

    def _is_older(self, look: FlowLook) -> bool:
        status = look.seen.status if has_driver(look.seen) else None
        if self._reading is None or status is None:
            return False
        return is_older(self._reading.fingerprint, status)

    def _topic(
        self, flow: str, anchors: tuple[Anchor, ...], lag: FlowLag, point: RecoveryPoint
    ) -> TopicView:
        """Return the view of the topic of these anchors; lag and point are the flow's."""
        topic = anchors[0].topic
        counters = sample(anchors, now_ms())
        history = self._history.setdefault((flow, topic), [])
        history.append(counters)
        while len(history) > 2 and counters.at_ms - history[1].at_ms >= SPAN_MS:
            history.pop(0)
        before = history[0] if len(history) > 1 else None
        return TopicView(
            topic,
            anchors[0].target_topic,
            anchors,
            counters,
            rate(before, counters),
            lag.topic(topic),
            point.topic(topic),
        )


def as_data(views: tuple[FlowView, ...]) -> dict[str, Any]:
    """Return the status as plain data for ``-o json``; its keys are kept for scripts."""
    return {
        "healthy": bool(views) and all(each.health.healthy for each in views),
        "file_in_force": all(each.in_force[0] for each in views),
        "flows": [_flow_data(each) for each in views],
    }


def _flow_data(view: FlowView) -> dict[str, Any]:
    status = view.look.seen.status if view.look else None
    return {
        "flow": view.name,
        "mode": view.mode,
        "state": view.health.state,
        "healthy": view.health.healthy,
        "reason": view.health.reason,
        "file": {
            "in_force": view.in_force[0],
            "reason": view.in_force[1],
            "driver_read_ms": status.config_read_ms if status else None,
        },
        "desired": str(view.look.seen.desired) if view.look else None,
        "up_s": view.look.alive_s if view.look else None,
        "host": status.host if status else None,
        "pid": status.pid if status else None,
        "generation": status.generation if status else None,
        "byte_rate": _byte_rate(status) if status else None,
        "records": view.records,
        "recovery_point": view.point.as_data(),
        "background_tasks": _tasks_data(view),
        "duties": _tasks_data(view),  # the name of earlier releases, for programs that read it
        "topics": [_topic_data(each) for each in view.topics],
    }


def _tasks_data(view: FlowView) -> list[dict[str, Any]]:
    return [
        {
            "name": each.name,
            "ok": each.ok,
            "summary": each.summary,
            "at_ms": each.at_ms,
            "took_ms": each.took_ms,
        }
        for each in (view.look.tasks if view.look else ())
    ]


def _byte_rate(status: FlowStatus) -> dict[str, int | None]:
    """Return what keeps a flow below its budget: throttles of its last epoch in ms, and limits."""
    return {
        "throttled_by_source_ms": status.source_throttled_ms,
        "throttled_by_target_ms": status.target_throttled_ms,
        "backed_off_to": status.backed_off_to or None,
        "disk_limit": status.disk_limit or None,
    }


def _topic_data(view: TopicView) -> dict[str, Any]:
    return {
        "topic": view.topic,
        "target": view.target,
        "records": view.counters.records,
        "bytes": view.counters.bytes,
        "records_s": view.rate.records_s if view.rate else None,
        "bytes_s": view.rate.bytes_s if view.rate else None,
        "lag_records": view.lag.records if view.lag.seconds is not None else None,
        "lag_s": view.lag.seconds,
        "lag_unknown_since_ms": view.lag.unknown_since_ms,
        "rpo_records": view.point.records,
        "rpo_bytes": view.point.bytes,
        "rpo_s": view.point.seconds,
        "rpo_unknown_since_ms": view.point.unknown_since_ms,
        "partitions": [
            {
                "partition": anchor.partition,
                "source": anchor.source,
                "target": anchor.target,
                "lag_records": lag.records,
                "lag_s": lag.seconds,
                "rpo_records": missing.records if missing else None,
                "lost": anchor.lost,
                "mode": anchor.mode,
                "state": anchor.state,
                "reason": anchor.reason,
            }
            for anchor, lag, missing in zip(view.anchors, _lags(view), _missing(view), strict=True)
        ],
    }


def _missing(view: TopicView) -> list[MissingRecords | None]:
    by_number = {each.partition.partition: each for each in view.point.partitions}
    return [by_number.get(each.partition) for each in view.anchors]


def _lags(view: TopicView) -> list[PartitionLag]:
    by_number = {each.partition.partition: each for each in view.lag.partitions}
    absent = PartitionLag(TopicPartition(view.topic, 0), None, None)
    return [by_number.get(each.partition, absent) for each in view.anchors]
