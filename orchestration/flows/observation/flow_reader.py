"""Reads a flow's desired state, driver status, anchors and end offsets from its clusters.

Reads only. A cluster that does not answer is part of the result, not an error: a tick that cannot
read the target must report that instead of taking a silent cluster for a dead driver.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, NamedTuple

from orchestration.flows.observation.flow_look import FlowLook
from orchestration.flows.observation.flow_records import (
    absent_topics,
    anchors_of,
    good_drill,
    group_positions,
    losses_of,
    operations,
    task_reports,
)
from replication.adapters.local.processes import began
from replication.client.cluster_ids import FlowClusters, known_ids, stored_ids
from replication.clock import now_ms
from replication.errors import ReplicationError, WrongCluster
from replication.model import ABSENT, Desired, TopicPartition
from replication.recovery.procedure import newest, open_since
from replication.recovery.procedure import standing as standing_of
from replication.state import (
    Anchor,
    BatchRun,
    ClusterIds,
    FlowStatus,
    GroupPositions,
    Intent,
    Stored,
    Verification,
    anchors_topic,
    offsets_topic,
    status_topic,
)
from replication.supervision.health import FlowObservation
from replication.supervision.lag import standing, with_absent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from orchestration.flows.observation.clients import (
        ClusterClients,
        Ends,
        ObservedStore,
        Processes,
    )
    from replication.client.cluster_ids import Verify
    from replication.settings.flow_settings import Flow
    from replication.supervision.driver_supervision import Application


class _Target(NamedTuple):
    """What a target says; of another cluster nothing but that it is another one."""

    known: FlowClusters  # the ids of the flow's clusters
    stored: list[Stored]
    silence: str | None = None
    wrong_cluster: str = ""


class _Source(NamedTuple):
    """What a source says; the same holds."""

    ends: Mapping[TopicPartition, int]
    silence: str | None = None
    wrong_cluster: str = ""


def look_at(
    flow: Flow,
    clusters: ClusterClients,
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
    target = _see_target(flow, clusters, local or ClusterIds(flow.name))
    stored, absent = target.stored, absent_topics(target.stored)
    anchors = with_absent(anchors_of(stored), absent)
    source = _see_source(flow, clusters, anchors, target.known)
    intent = next((each for each in stored if isinstance(each, Intent)), Intent(flow.name))
    status = next((each for each in stored if isinstance(each, FlowStatus)), None)
    last = newest(operations(stored), flow.name)
    seen = FlowObservation(
        flow=flow.name,
        host=socket.gethostname(),
        now_ms=now_ms(),
        desired=Desired(intent.desired),
        desired_ms=intent.at_ms,
        desired_by=intent.by,
        status=status,
        anchors=standing(anchors, source.ends) if source.silence is None else anchors,
        absent=absent,
        losses=losses_of(stored),
        driver=driver or (status is not None and _runs_here(status)),
        stopped_ms=stopped_ms,
        source_silence=source.silence,
        target_silence=target.silence,
        wrong_cluster=target.wrong_cluster or source.wrong_cluster,
        recovery=standing_of(last, flow.target),
        open_since=open_since(last, flow.target),
        is_batch=flow.is_batch,
        run=next((each for each in stored if isinstance(each, BatchRun)), None),
        batch_max_age=flow.batch_max_age,
    )
    return FlowLook(
        flow,
        seen,
        source.ends,
        task_reports(stored),
        group_positions(flow, stored),
        good_drill(stored),
        next((each for each in stored if isinstance(each, Verification)), None),
    )


def _see_target(flow: Flow, clusters: ClusterClients, local: ClusterIds) -> _Target:
    known = FlowClusters(flow.name)
    try:
        found = _read_target(flow, clusters.store(flow))
        ids = stored_ids(flow.name, found) or ClusterIds(flow.name)
        known.learn(known_ids(ids, local))
        _require_same(clusters.store(flow), known.verify_target)
    except WrongCluster as error:
        return _Target(known, [], str(error), str(error))
    except ReplicationError as error:
        return _Target(known, [], f"target cluster {flow.target} did not answer ({error})")
    return _Target(known, found)


def _see_source(
    flow: Flow, clusters: ClusterClients, anchors: Iterable[Anchor], known: FlowClusters
) -> _Source:
    try:
        # Before the ends: a silent source is asked for one answer only, or the look takes too long.
        _require_same(clusters.source(flow), known.verify_source)
        return _Source(_read_source(flow, clusters, anchors))
    except WrongCluster as error:
        return _Source({}, str(error), str(error))
    except ReplicationError as error:
        return _Source({}, f"source cluster {flow.source} did not answer ({error})")


def _require_same(client: ObservedStore | Ends, verify: Verify) -> None:
    """Raise WrongCluster if ``client`` has reached another cluster; the next look finds the way."""
    try:
        verify(client.cluster_id())
    except WrongCluster:
        client.reconnect()
        raise


def look_here(
    flow: Flow, app: Application, clusters: ClusterClients, processes: Processes
) -> FlowLook:
    """Look at one flow and at the processes of its application on this host."""
    driver, stopped_ms = processes.driver_alive(app), processes.stopped_ms(app)
    local = processes.cluster_ids(app, flow)
    return look_at(flow, clusters, driver=driver, stopped_ms=stopped_ms, local=local)


def _runs_here(status: FlowStatus) -> bool:
    """Say whether the process that wrote ``status`` runs on this host."""
    return status.host == socket.gethostname() and began(status.pid) is not None


def _read_target(flow: Flow, store: ObservedStore) -> list[Stored]:
    """Return the flow's own records; several flows may share a topic."""
    topics = (status_topic(flow.source), anchors_topic(flow.source))
    records = [each for topic in topics for each in store.read(topic).values()]
    if flow.groups.sync:
        records += store.read(offsets_topic(flow.source), GroupPositions).values()
    return [each for each in records if getattr(each, "flow", None) == flow.name]


def _read_source(
    flow: Flow, clusters: ClusterClients, anchors: Iterable[Anchor]
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
