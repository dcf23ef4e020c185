"""Reads a flow's desired state, driver status, anchors and end offsets from its clusters.

Reads only. A cluster that does not answer is part of the result, not an error: a tick that cannot
read the target must report that instead of taking a silent cluster for a dead driver.
"""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, TypeVar

from replication.adapters.local.processes import began
from replication.client.cluster_ids import FlowClusters, known_ids, stored_ids
from replication.errors import ReplicationError, WrongCluster
from replication.model import ABSENT, Desired, FlowState, TopicPartition
from replication.recovery.procedure import newest, open_since
from replication.recovery.procedure import standing as standing_of
from replication.state import (
    AbsentTopic,
    Anchor,
    BatchRun,
    ClusterIds,
    Drill,
    FlowStatus,
    GroupPositions,
    Intent,
    Loss,
    Operation,
    Stored,
    TaskReport,
    Verification,
    anchors_topic,
    offsets_topic,
    status_topic,
)
from replication.supervision.health import Health, Seen, flow_health, has_driver
from replication.supervision.lag import (
    FlowLag,
    caught_up,
    flow_lag,
    last_known,
    standing,
    unknown_lag,
    with_absent,
)
from replication.supervision.partition_states import paused
from replication.supervision.recovery_point import (
    RecoveryPoint,
    anchored,
    recovery_point,
    selected_groups,
    unplaced,
)
from replication.supervision.settings_check import in_force

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from replication.adapters.followed_file import Reading
    from replication.client.cluster_ids import Verify
    from replication.settings.flow_settings import Flow
    from replication.supervision.driver_supervision import Application

Item = TypeVar("Item")
Found = TypeVar("Found")


class Store(Protocol):
    """Isthmus' own topics on a target; see ``adapters.topics.state_store``."""

    def read(self, topic: str, kind: type[Stored] | None = None) -> Mapping[bytes, Stored]:
        """Return the newest record of every key, of one ``kind`` if that is given.

        Raises ClusterUnavailable.
        """

    def write(self, topic: str, *records: Stored) -> None:
        """Write the records and wait until they are acked. Raises ClusterUnavailable."""

    def ensure_topics(self, source: str) -> None:
        """Create the topics of the flows from ``source`` if they are not there."""

    def cluster_id(self) -> str:
        """Return the id of the cluster that answers."""

    def reconnect(self) -> None:
        """Forget the brokers that it has learned: they are another cluster's."""


class Ends(Protocol):
    """End offsets of a source; see ``adapters.admin.kafka_admin``."""

    def cluster_id(self) -> str:
        """Return the id of the cluster that answers."""

    def reconnect(self) -> None:
        """Forget the brokers that it has learned: they are another cluster's."""

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return the readable end of each partition that has a leader."""


class Clusters(Protocol):
    """Clients of a flow's two clusters."""

    def store(self, flow: Flow) -> Store: ...

    def source(self, flow: Flow) -> Ends: ...


class Processes(Protocol):
    """The local processes of an application; see orchestration.services.launcher."""

    def watcher_alive(self, app: Application) -> bool: ...

    def driver_alive(self, app: Application) -> bool: ...

    def stopped_ms(self, app: Application) -> int: ...

    def cluster_ids(self, app: Application, flow: Flow) -> ClusterIds: ...


@dataclass(frozen=True, slots=True)
class FlowLook:
    """What one look at a flow found.

    ``groups`` are the stored offsets of the selected groups at the source. ``drill`` is the last
    good one, ``verification`` the last one.
    """

    flow: Flow
    seen: Seen
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

    def follows(self, reading: Reading) -> tuple[bool, str]:
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


class LagWatch:
    """Computes lag; keeps when each partition's lag was last known, and when it was last 0.

    Both are safe to lose.
    """

    def __init__(self) -> None:
        self._caught_up: dict[str, dict[TopicPartition, int]] = {}
        self._known: dict[str, dict[TopicPartition, int]] = {}
        self._lock = threading.Lock()  # sensors run in threads

    def lag(self, look: FlowLook) -> FlowLag:
        """Return the flow's lag and remember which partitions had none."""
        name, now = look.flow.name, look.seen.now_ms
        with self._lock:
            idle, known = self._caught_up.get(name, {}), self._known.get(name, {})
            lag = look.lag(idle, known)
            self._caught_up[name] = caught_up(idle, lag, now)
            self._known[name] = last_known(known, lag, now)
        return lag


def look_at(
    flow: Flow,
    clusters: Clusters,
    *,
    driver: bool = False,
    stopped_ms: int = 0,
    local: ClusterIds | None = None,
) -> FlowLook:
    """Look at one flow. ``driver``: whether a driver holds the lock of our state directory.

    One that was started with another state directory of this host is known by its process.

    ``stopped_ms``: when it was last stopped on purpose on this host; 0: it was not. ``local``: what
    the state directory knows of its clusters. What another cluster says is left out.
    """
    target_silence = source_silence = None
    wrong_cluster, known = "", FlowClusters(flow.name)
    stored: list[Stored] = []
    ends: Mapping[TopicPartition, int] = {}
    try:
        found = _read_target(flow, clusters.store(flow))
        ids = stored_ids(flow.name, found) or ClusterIds(flow.name)
        known.learn(known_ids(ids, local or ClusterIds(flow.name)))
        _require_same(clusters.store(flow), known.verify_target)
        stored = found
    except WrongCluster as error:
        wrong_cluster = target_silence = str(error)
    except ReplicationError as error:
        target_silence = f"target cluster {flow.target} did not answer ({error})"
    anchors = with_absent(_anchors(stored), _absent(stored))
    try:
        # Before the ends: a silent source is asked for one answer only, or the look takes too long.
        _require_same(clusters.source(flow), known.verify_source)
        ends = _read_source(flow, clusters, anchors)
        anchors = standing(anchors, ends)
    except WrongCluster as error:
        wrong_cluster = wrong_cluster or str(error)
        source_silence = str(error)
    except ReplicationError as error:
        source_silence = f"source cluster {flow.source} did not answer ({error})"
    intent = next((each for each in stored if isinstance(each, Intent)), Intent(flow.name))
    status = next((each for each in stored if isinstance(each, FlowStatus)), None)
    last = newest(_operations(stored), flow.name)
    seen = Seen(
        flow=flow.name,
        host=socket.gethostname(),
        now_ms=now_ms(),
        desired=Desired(intent.desired),
        desired_ms=intent.at_ms,
        desired_by=intent.by,
        status=status,
        anchors=anchors,
        absent=_absent(stored),
        losses=_losses(stored),
        driver=driver or (status is not None and _runs_here(status)),
        stopped_ms=stopped_ms,
        source_silence=source_silence,
        target_silence=target_silence,
        wrong_cluster=wrong_cluster,
        recovery=standing_of(last, flow.target),
        open_since=open_since(last, flow.target),
        is_batch=flow.is_batch,
        run=next((each for each in stored if isinstance(each, BatchRun)), None),
        batch_max_age=flow.batch_max_age,
    )
    return FlowLook(
        flow,
        seen,
        ends,
        _tasks(stored),
        _groups(flow, stored),
        _good_drill(stored),
        next((each for each in stored if isinstance(each, Verification)), None),
    )


def _require_same(client: Store | Ends, verify: Verify) -> None:
    """Raise WrongCluster if ``client`` has reached another cluster; the next look finds the way."""
    try:
        verify(client.cluster_id())
    except WrongCluster:
        client.reconnect()
        raise


def look_here(flow: Flow, app: Application, clusters: Clusters, processes: Processes) -> FlowLook:
    """Look at one flow and at the processes of its application on this host."""
    driver, stopped_ms = processes.driver_alive(app), processes.stopped_ms(app)
    local = processes.cluster_ids(app, flow)
    return look_at(flow, clusters, driver=driver, stopped_ms=stopped_ms, local=local)


def _runs_here(status: FlowStatus) -> bool:
    """Say whether the process that wrote ``status`` runs on this host."""
    return status.host == socket.gethostname() and began(status.pid) is not None


def now_ms() -> int:
    """Return the wall clock in ms, as in all stored records."""
    return int(time.time() * 1000)


def _read_target(flow: Flow, store: Store) -> list[Stored]:
    """Return the flow's own records; several flows may share a topic."""
    topics = (status_topic(flow.source), anchors_topic(flow.source))
    records = [each for topic in topics for each in store.read(topic).values()]
    if flow.groups.sync:
        records += store.read(offsets_topic(flow.source), GroupPositions).values()
    return [each for each in records if getattr(each, "flow", None) == flow.name]


def _anchors(stored: Iterable[Stored]) -> tuple[Anchor, ...]:
    anchors = (each for each in stored if isinstance(each, Anchor))
    return tuple(sorted(anchors, key=lambda each: (each.topic, each.partition)))


def _absent(stored: Iterable[Stored]) -> tuple[AbsentTopic, ...]:
    absent = (each for each in stored if isinstance(each, AbsentTopic) and each.state)
    return tuple(sorted(absent, key=lambda each: each.topic))


def _tasks(stored: Iterable[Stored]) -> tuple[TaskReport, ...]:
    tasks = (each for each in stored if isinstance(each, TaskReport))
    return tuple(sorted(tasks, key=lambda each: each.name))


def _groups(flow: Flow, stored: Iterable[Stored]) -> tuple[GroupPositions, ...]:
    groups = (each for each in stored if isinstance(each, GroupPositions))
    return selected_groups(groups, flow.selection)


def _good_drill(stored: Iterable[Stored]) -> Drill | None:
    return next((each for each in stored if isinstance(each, Drill) and each.good), None)


def _operations(stored: Iterable[Stored]) -> Iterable[Operation]:
    return (each for each in stored if isinstance(each, Operation))


def _losses(stored: Iterable[Stored]) -> tuple[Loss, ...]:
    losses = (each for each in stored if isinstance(each, Loss))
    return tuple(sorted(losses, key=lambda each: (each.at_ms, each.topic, each.partition)))


def _read_source(
    flow: Flow, clusters: Clusters, anchors: Iterable[Anchor]
) -> Mapping[TopicPartition, int]:
    """Return the end offsets, read after the anchors: so lag cannot be negative.

    Not of topics that are not copied any more: they have no lag, and a request about one that our
    user may not describe would fail for all.
    """
    partitions = [
        TopicPartition(each.topic, each.partition) for each in anchors if each.state not in ABSENT
    ]
    source = clusters.source(flow)  # also without partitions: it may be known to be silent
    ends = source.end_offsets(partitions) if partitions else {}
    bounds = flow.copying.until_offsets  # a flow that ends there is not behind what comes later
    return {each: min(end, _bound(bounds, each, end)) for each, end in ends.items()}


def _bound(bounds: Mapping[str, Mapping[int, int]], where: TopicPartition, end: int) -> int:
    named = bounds.get(where.topic)
    return end if named is None else named.get(where.partition, 0)


def in_time(
    work: Callable[[Item], Found], items: Sequence[Item], limit_s: float
) -> list[Found | None]:
    """Run ``work`` on all items at once. None for each that is not ready after ``limit_s``.

    The threads are daemons: a client that hangs must not keep the process from ending.
    """
    found: list[Found | None] = [None] * len(items)
    failures: list[Exception] = []

    def one(index: int, item: Item) -> None:
        try:
            found[index] = work(item)
        except Exception as error:  # noqa: BLE001 - raised again below, in the caller's thread
            failures.append(error)

    threads = [threading.Thread(target=one, args=pair, daemon=True) for pair in enumerate(items)]
    for each in threads:
        each.start()
    deadline = time.monotonic() + limit_s
    for each in threads:
        each.join(max(0.0, deadline - time.monotonic()))
    if failures:
        raise failures[0]
    return found
