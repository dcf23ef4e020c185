"""What writes a flow's records in MirrorMaker 2's formats, with its connections.

Making one costs nothing and asks no cluster: clients are made when they are first needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.adapters.client_config import to_librdkafka
from replication.adapters.internal_topics import InternalTopics
from replication.mm2.checkpoints import Recorder, Stand
from replication.mm2.heartbeats import Pulse
from replication.mm2.syncs import Emitter
from replication.policy import policy_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.adapters.offset_reader import GroupSyncs
    from replication.config.model import Flow
    from replication.group_round import Moved


def pulse(flow: Flow) -> Pulse:
    """Return the writer of the flow's heartbeats, on its target."""
    client = flow.clients.target_admin
    factor = flow.mm2.heartbeats.replication_factor
    return Pulse(flow.source, flow.target, factor, lambda: _topics(client))


def pulse_back(flow: Flow) -> Pulse:
    """Return the writer of the heartbeats of the way back, on the flow's source."""
    client = flow.clients.source_admin
    factor = flow.mm2.heartbeats.replication_factor
    return Pulse(flow.target, flow.source, factor, lambda: _topics(client))


def recorder(flow: Flow, syncs: GroupSyncs) -> Recorder:
    """Return the writer of the flow's checkpoints; its groups are read by ``syncs``."""
    return Recorder(
        policy_for(flow, syncs.config.clusters).checkpoints_topic(flow.source),
        flow.mm2.checkpoints.replication_factor,
        lambda: _topics(flow.clients.target_admin),
        lambda: map(_stand, syncs.of(flow).moved()),
    )


def _stand(moved: Moved) -> Stand:
    position = moved.position
    return Stand(moved.group, moved.target, position.offset, moved.answer.offset, position.metadata)


def emitter(flow: Flow, syncs: GroupSyncs) -> Emitter:
    """Return the writer of offset syncs; the topic is named after the cluster it is not on."""
    at_source = flow.mm2.syncs.location == "source"
    client = flow.clients.source_admin if at_source else flow.clients.target_admin
    other = flow.target if at_source else flow.source
    return Emitter(
        policy_for(flow, syncs.config.clusters).offset_syncs_topic(other),
        flow.mm2.syncs.replication_factor,
        lambda: _topics(client),
        lambda: list(syncs.reader(flow).look().anchors.values()),
    )


def _topics(client: Mapping[str, str]) -> InternalTopics:
    return InternalTopics(to_librdkafka(client))
