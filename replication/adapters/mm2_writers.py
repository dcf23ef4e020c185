"""Writes a flow's records in MirrorMaker 2's formats, with the connections that this needs.

A new writer costs nothing and sends no request: clients are created when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.adapters.auth.client_config import to_librdkafka
from replication.adapters.topics.internal_topic_client import InternalTopicClient
from replication.mm2.checkpoints import CheckpointPosition, Recorder
from replication.mm2.compacted_topic import CompactedTopic
from replication.mm2.heartbeats import HeartbeatPair
from replication.mm2.syncs import Emitter
from replication.model import UNKNOWN_OFFSET, TopicPartition
from replication.naming.policy import policy_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from replication.adapters.group_syncs import GroupSyncs
    from replication.client.cluster_ids import FlowClusters, Verify
    from replication.offsets.groups.group_sync import GroupSync
    from replication.offsets.groups.sync_round import TranslatedPosition
    from replication.settings.flow_settings import Flow


def heartbeat_pair(flow: Flow, known: FlowClusters | None = None) -> HeartbeatPair:
    """Return the writer of the flow's heartbeats, on its target; it writes to no other cluster."""
    verify = None if known is None else known.verify_target
    topic = _heartbeats(flow, flow.clients.target_admin, verify)
    return HeartbeatPair(flow.source, flow.target, topic)


def heartbeat_pair_on_source(flow: Flow, known: FlowClusters | None = None) -> HeartbeatPair:
    """Return the writer of the heartbeats of the reverse direction, on the flow's source."""
    verify = None if known is None else known.verify_source
    topic = _heartbeats(flow, flow.clients.source_admin, verify)
    return HeartbeatPair(flow.target, flow.source, topic)


def _heartbeats(flow: Flow, client: Mapping[str, str], verify: Verify | None) -> CompactedTopic:
    name = policy_for(flow, ()).heartbeats_topic()
    return _topic(name, flow.mm2.heartbeats.replication_factor, client, verify)


def recorder(flow: Flow, syncs: GroupSyncs) -> Recorder:
    """Return the writer of the flow's checkpoints; its groups are read by ``syncs``."""
    name = policy_for(flow, syncs.config.clusters).checkpoints_topic(flow.source)
    factor, client = flow.mm2.checkpoints.replication_factor, flow.clients.target_admin
    known = syncs.clusters.get(flow.name)
    verify = None if known is None else known.verify_target
    topic = _topic(name, factor, client, verify)
    return Recorder(topic, lambda: checkpoint_positions(syncs.of(flow)))


def checkpoint_positions(sync: GroupSync) -> Iterator[CheckpointPosition]:
    """Yield what checkpoints say of a flow's groups, also of those that may not be read."""
    yield from map(position_of, sync.translated())
    for each in sync.unreadable():
        nowhere = TopicPartition("", 0)
        yield CheckpointPosition(each.group, nowhere, UNKNOWN_OFFSET, None, problem=each.reason)


def position_of(moved: TranslatedPosition) -> CheckpointPosition:
    """Return what a checkpoint says of a translated offset."""
    offset, metadata = moved.position
    return CheckpointPosition(
        moved.group, moved.target, offset, moved.answer.offset, metadata, moved.problem
    )


def emitter(flow: Flow, syncs: GroupSyncs) -> Emitter:
    """Return the writer of offset syncs; the topic is named after the cluster it is not on."""
    at_source = flow.mm2.syncs.location == "source"
    client = flow.clients.source_admin if at_source else flow.clients.target_admin
    other = flow.target if at_source else flow.source
    name = policy_for(flow, syncs.config.clusters).offset_syncs_topic(other)
    known = syncs.clusters.get(flow.name)
    verify = None
    if known is not None:
        verify = known.verify_source if at_source else known.verify_target
    topic = _topic(name, flow.mm2.syncs.replication_factor, client, verify)
    return Emitter(topic, lambda: list(syncs.reader(flow).look().anchors.values()))


def _topic(
    name: str, factor: int, client: Mapping[str, str], verify: Verify | None
) -> CompactedTopic:
    return CompactedTopic(
        name, factor, lambda: InternalTopicClient(to_librdkafka(client), verify=verify)
    )
