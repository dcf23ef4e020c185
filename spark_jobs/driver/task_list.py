"""Lists the background tasks of a flow, from its settings. What they do is in ``replication``."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING

from replication.adapters.clients import KafkaClients
from replication.adapters.mm2_writers import (
    emitter,
    heartbeat_pair,
    heartbeat_pair_on_source,
    recorder,
)
from replication.planning.execute import plan_and_apply
from replication.planning.planner import Planner, PlanPart
from replication.state import GROUPS_OFF
from replication.supervision.heartbeat_check import HEARTBEATS_TASK
from replication.supervision.task_schedule import GROUPS_TASK, is_for_driver
from spark_jobs.driver.background_tasks import BackgroundTask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from replication.adapters.group_syncs import GroupSyncs
    from replication.client.cluster_ids import FlowClusters
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

_SYNCS_EVERY = timedelta(seconds=5)  # dense for MirrorMaker 2, and few for a compacted topic
_OFF = timedelta(seconds=60)


def tasks_of(flow: Flow, config: Config, syncs: GroupSyncs) -> Iterator[BackgroundTask]:
    """Yield the background tasks of ``flow``.

    ``syncs`` are shared by all flows of the driver. Listing the tasks costs nothing and connects to
    no cluster: clients are created in the first run.
    """
    yield from _heartbeats(flow, syncs.clusters.get(flow.name))
    yield _groups(flow, syncs)
    if flow.mm2.checkpoints.enabled:
        yield BackgroundTask(
            "checkpoints", flow.mm2.checkpoints.every, recorder(flow, syncs).record
        )
    if flow.mm2.syncs.enabled:
        yield BackgroundTask("offset syncs", _SYNCS_EVERY, emitter(flow, syncs).emit)
    yield from _syncs(flow, config, syncs)


def _syncs(flow: Flow, config: Config, syncs: GroupSyncs) -> Iterator[BackgroundTask]:
    """Yield the syncs that are too frequent for Dagster; see ``supervision.task_schedule``."""
    clients = cache(lambda: KafkaClients(known=syncs.clusters))

    def sync(part: PlanPart) -> str:
        planner = Planner(config, clients(), {part})
        return plan_and_apply(planner, flow, f"the driver of {flow.name}").summary

    if flow.configs.enabled and is_for_driver(flow.configs.every):
        yield BackgroundTask("topic configs", flow.configs.every, lambda: sync(PlanPart.CONFIGS))
    if flow.acls.enabled and is_for_driver(flow.acls.every):
        yield BackgroundTask("ACLs", flow.acls.every, lambda: sync(PlanPart.ACLS))


def _groups(flow: Flow, syncs: GroupSyncs) -> BackgroundTask:
    """Return the group sync; where it is off, a task that reports so: it is often forgotten."""
    if not flow.groups.sync:
        return BackgroundTask(GROUPS_TASK, _OFF, lambda: GROUPS_OFF, does_nothing=True)
    return BackgroundTask(GROUPS_TASK, flow.groups.every, lambda: syncs.of(flow).sync())


def _heartbeats(flow: Flow, known: FlowClusters | None) -> Iterator[BackgroundTask]:
    beats = flow.mm2.heartbeats
    if beats.enabled:
        yield BackgroundTask(HEARTBEATS_TASK, beats.every, heartbeat_pair(flow, known).beat)
    if beats.back:
        yield BackgroundTask(
            "heartbeats on the source", beats.every, heartbeat_pair_on_source(flow, known).beat
        )
